//! The compact table of workloads with many phases, the layout of published comparisons.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::{Bytes, CacheState, Fragmentation, ResultSet, Workload};
use fsdyno_report::Format;
use unicode_width::UnicodeWidthStr;

fn work(name: &str) -> Workload {
    let phases = [
        "create",
        "copy",
        "a phase of a very long name",
        "read",
        "delete",
    ];
    let kinds = ["copy", "copy", "copy", "grep", "delete"];
    let mut workload = fixture::workload(name);
    workload.phases = phases
        .iter()
        .zip(kinds)
        .map(|(label, kind)| fixture::phase(label, kind, CacheState::AsIs))
        .collect();
    workload
}

/// Two workloads with five phases, and one with two, which is not long. Extents are counted, but
/// unknown after the copy of the last contender.
fn long(labels: &[&str]) -> ResultSet {
    let workloads = [
        work("size-100"),
        work("size-1000"),
        fixture::search("short"),
    ];
    let mut set = fixture::with(labels, &workloads, 3);
    let contenders = u32::try_from(labels.len()).unwrap();
    for (block, workload, contender) in
        (0..3).flat_map(|b| (0..3).flat_map(move |w| (0..contenders).map(move |c| (b, w, c))))
    {
        let speed = 90 + 700 * u64::from(workload) + 37 * u64::from(contender * block);
        let mut record = fixture::record(&set, block, contender, workload, speed);
        for (at, sample) in record.samples.iter_mut().enumerate() {
            let writes = sample.durable_ns.is_some();
            sample.fragmentation = writes.then(|| Fragmentation {
                floor: Bytes(16_385),
                files: 100,
                extents: 135 + u64::from(contender),
                unavailable: (at == 1 && contender == 2).then(|| "no map".to_owned()),
                ..Fragmentation::default()
            });
        }
        set.cells.push(record);
    }
    set
}

const THREE: [&str; 3] = ["ext3", "xfs", "btrfs"];

#[test]
fn each_long_workload_has_one_table_with_seconds_and_ratios() {
    let section = |format, begin: &str, end: &str| {
        let text = text(&long(&THREE), format, &wide(80));
        let (_, rest) = text.split_once(begin).unwrap();
        rest.split_once(end).unwrap().0.to_owned()
    };
    let terminal = section(Format::Terminal, "\nAt a glance\n", "\nTime\n");
    insta::assert_snapshot!("glance_terminal", terminal);
    let markdown = section(Format::Markdown, "\n## At a glance\n", "\n## ");
    insta::assert_snapshot!("glance_markdown", markdown);
    let html = section(Format::Html, "<section id=\"glance\">", "</section>");
    insta::assert_snapshot!("glance_html", html);
}

#[test]
fn each_part_of_a_split_table_begins_with_the_baseline_and_fits() {
    let labels = [
        "ext4",
        "ext4:noatime,data=writeback",
        "xfs",
        "btrfs@pool2:compress=zstd",
        "ext3[-O ^dir_index]",
    ];
    let set = long(&labels);
    for width in [60, 72, 80, 100, 120] {
        let text = text(&set, Format::Terminal, &wide(width));
        for line in text.lines() {
            assert!(line.width() <= width, "{width}: {line}");
        }
        let (_, rest) = text.split_once("\nAt a glance\n").unwrap();
        let (glance, _) = rest.split_once("\nTime\n").unwrap();
        let parts = glance.matches("size-1000, s").count();
        let bases = glance.lines().filter(|line| line.contains("base"));
        // Nine rows of times in each of two workloads.
        assert_eq!(bases.count(), parts * 18, "{width}: {glance}");
    }
}

#[test]
fn a_run_of_few_phases_has_no_compact_table() {
    for format in [Format::Terminal, Format::Markdown] {
        let text = text(&fixture::run(), format, &wide(80));
        assert!(!text.contains("At a glance"), "{format}");
    }
}
