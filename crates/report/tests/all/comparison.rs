//! Runs compared with a published table: figures, ranks and results of conclusions, on constructed
//! runs with each result.

use crate::fixture;
use crate::wide;
use fsdyno_model::{
    Better, Bytes, CacheState, Contender, DatasetChoice, Figure, Fragmentation, Nanos, PhasePlan,
    ResultSet, Workload,
};
use fsdyno_report::published::{Published, Table, find};
use fsdyno_report::published_comparison::{ConclusionResult, PublishedComparison};
use fsdyno_report::{Format, Options, render_comparison, render_published};

const MS: u64 = 1_000_000;

fn phase(kind: &str) -> PhasePlan {
    PhasePlan {
        label: kind.into(),
        kind: kind.into(),
        cache: CacheState::Cold,
        pattern: None,
        parameters: std::collections::BTreeMap::new(),
        judge: None,
    }
}

fn work(name: &str, kinds: &[&str]) -> Workload {
    Workload {
        name: name.into(),
        dataset: DatasetChoice::Generated(name.into()),
        phases: kinds.iter().map(|kind| phase(kind)).collect(),
    }
}

/// A run of some workloads of 2008; `times` are milliseconds to return by phase and contender.
/// Times grow by 1 % per block.
fn run(contenders: &[&str], workloads: &[Workload], times: &[&[u64]], repeats: u32) -> ResultSet {
    let mut set = fixture::with(contenders, workloads, repeats);
    for contender in &mut set.run.plan.contenders {
        let known = |_: &str| Some(fsdyno_model::FilesystemKind::Block);
        *contender = Contender::parse(&contender.label, &known).unwrap();
    }
    let mut first = 0;
    for (workload, planned) in (0..).zip(workloads) {
        for (block, contender) in
            (0..repeats).flat_map(|b| (0..contenders.len()).map(move |c| (b, c)))
        {
            let place = u32::try_from(contender).unwrap();
            let mut record = fixture::record(&set, block, place, workload, 1);
            for (at, sample) in record.samples.iter_mut().enumerate() {
                let time = times[first + at][contender] * MS;
                sample.return_ns = Nanos(time + time / 100 * u64::from(block));
            }
            set.cells.push(record);
        }
        first += planned.phases.len();
    }
    set
}

/// Conclusions that hold, are reversed, or are inconclusive, in one run.
fn mixed() -> ResultSet {
    let workloads = [
        work("music", &["copy"]),
        work("portage", &["copy", "delete"]),
        work("avi", &["copy"]),
        work("ports", &["untar"]),
    ];
    run(
        &["ext2", "ext3", "xfs", "btrfs", "ext4"],
        &workloads,
        &[
            &[800, 801, 790, 805, 700],
            &[1200, 1500, 1300, 1000, 900],
            &[500, 600, 90, 1900, 400],
            &[5000, 3000, 2000, 4000, 3000],
            &[1000, 1000, 1000, 1000, 1000],
        ],
        3,
    )
}

/// The given run as a run of the corresponding suite.
pub fn classic() -> ResultSet {
    let mut set = mixed();
    set.run.plan.name = "classic-2008".into();
    set
}

fn table(name: &str) -> Table {
    find(name).unwrap().read().unwrap()
}

/// The comparison of a run of one lab with a table.
fn alone(set: &ResultSet, table: &Table) -> PublishedComparison {
    let mut comparison = PublishedComparison::in_each_lab(set, table).unwrap();
    assert_eq!(comparison.len(), 1);
    comparison.remove(0)
}

fn text(comparison: &PublishedComparison, format: Format, options: &Options) -> String {
    String::from_utf8(render_comparison(std::slice::from_ref(comparison), format, options).unwrap())
        .unwrap()
}

#[test]
fn a_comparison_with_a_table_has_this_text() {
    let comparison = alone(&mixed(), &table("btrfs-2008"));
    insta::assert_snapshot!(
        "against_terminal",
        text(&comparison, Format::Terminal, &wide(80))
    );
    insta::assert_snapshot!(
        "against_markdown",
        text(&comparison, Format::Markdown, &wide(80))
    );
    insta::assert_snapshot!("against_csv", text(&comparison, Format::Csv, &wide(80)));
    insta::assert_snapshot!("against_json", text(&comparison, Format::Json, &wide(80)));
}

#[test]
fn ratios_ranks_and_correlation_use_the_common_contenders() {
    let comparison = alone(&mixed(), &table("btrfs-2008"));
    let line = |label: &str| comparison.lines.iter().find(|l| l.label == label).unwrap();
    let copy = line("portage copy");
    let ranks: Vec<_> = copy
        .entries
        .iter()
        .map(|e| (e.rank_published, e.rank_now))
        .collect();
    // Published: 88, 101, 1013, 24; now 1200, 1500, 1300, 1000.
    assert_eq!(ranks, [(2.0, 2.0), (3.0, 4.0), (4.0, 3.0), (1.0, 1.0)]);
    assert!((copy.rank_correlation.unwrap() - 0.8).abs() < 1e-12);
    let btrfs = &copy.entries[3];
    assert!((btrfs.ratio_published.unwrap() - 24.0 / 88.0).abs() < 1e-12);
    assert!((btrfs.ratio_now.unwrap() - 1000.0 / 1200.0).abs() < 1e-3);
    // ext3 and xfs share a published rank: 156 s both.
    let avi: Vec<f64> = line("avi copy")
        .entries
        .iter()
        .map(|e| e.rank_published)
        .collect();
    assert_eq!(avi, [4.0, 2.5, 2.5, 1.0]);
    assert_eq!(comparison.only_now.contenders, ["ext4"]);
    assert_eq!(comparison.only_now.phases, ["ports / untar"]);
    assert_eq!(comparison.only_published.phases, ["iso copy"]);
}

#[test]
fn a_conclusion_holds_is_reversed_or_is_inconclusive() {
    let comparison = alone(&mixed(), &table("btrfs-2008"));
    let of = |begin: &str| {
        let mut reported = comparison.conclusions.iter();
        reported.find(|t| t.text.starts_with(begin)).unwrap()
    };
    for (begin, holding) in [
        // Copies of a Portage tree confirm it, copies of a large file do not.
        ("Btrfs copies", ConclusionResult::InPart),
        ("ext3 copies a music folder", ConclusionResult::Undecidable),
        ("Deleting is not", ConclusionResult::Holds),
        // Published as slowest at copying; now neither at copying nor at deleting.
        ("XFS is the slowest", ConclusionResult::InPart),
        ("ReiserFS deletes", ConclusionResult::NotTested),
        ("With large files ext2", ConclusionResult::Holds),
        ("It takes two disks", ConclusionResult::NotTested),
    ] {
        assert_eq!(of(begin).holding, holding, "{begin}: {}", of(begin).today());
    }
    let words = of("ext3 copies a music folder").today();
    assert!(
        words.contains("ext3 is not distinguishable from"),
        "{words}"
    );
    let words = of("ReiserFS deletes").today();
    assert_eq!(words, "there are no figures of reiserfs and zfs");
    let words = of("With large files ext2").today();
    assert!(
        words.contains("(2 of 6 comparisons can be made)"),
        "{words}"
    );
}

#[test]
fn opposite_figures_are_reversed_and_too_few_repeats_are_inconclusive() {
    let workloads = [work("portage", &["copy"])];
    let times: &[&[u64]] = &[&[2000, 1000]];
    let of = |repeats| {
        let set = run(&["ext2", "ext3"], &workloads, times, repeats);
        let comparison = alone(&set, &table("btrfs-2008"));
        let mut reported = comparison.conclusions.iter();
        let reported = reported
            .find(|t| t.text.contains("the journal costs"))
            .unwrap();
        (reported.holding, reported.today())
    };
    let (holding, words) = of(3);
    assert_eq!(holding, ConclusionResult::Reversed);
    assert_eq!(words, "ext2 is behind ext3 (portage copy)");
    let (holding, words) = of(2);
    assert_eq!(holding, ConclusionResult::Undecidable);
    assert!(
        words.contains("not judged, for too few figures, against ext3"),
        "{words}"
    );
}

#[test]
fn a_single_contender_has_no_ratio_and_no_rank() {
    let set = run(&["ext4", "ext2"], &[work("iso", &["copy"])], &[&[9, 10]], 3);
    let comparison = alone(&set, &table("btrfs-2008"));
    let text = text(&comparison, Format::Terminal, &wide(80));
    assert!(
        !text.contains("base") && !text.contains("Spearman"),
        "{text}"
    );
    assert!(comparison.lines[0].rank_correlation.is_none());
}

#[test]
fn a_substitute_file_system_is_used_and_reported() {
    let workloads = [work("music", &["copy"])];
    let at = |contenders: &[&str], times: &[u64]| {
        let set = run(contenders, &workloads, &[times], 3);
        alone(&set, &table("zfs-two-disks-2008"))
    };
    let comparison = at(&["btrfs@pool2", "ext4", "btrfs"], &[100, 100, 200]);
    let pairs: Vec<_> = comparison
        .contenders
        .iter()
        .map(|pair| (pair.now.as_str(), pair.published.as_str(), pair.instead))
        .collect();
    assert_eq!(
        pairs,
        [("btrfs@pool2", "zfs 2 disks", true), ("btrfs", "zfs", true)]
    );
    assert_eq!(comparison.conclusions[0].holding, ConclusionResult::Holds);
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let reported = text(&comparison, format, &wide(200));
        let words = "btrfs@pool2 for zfs 2 disks and btrfs for zfs: another file system";
        assert!(reported.contains(words), "{format}: {reported}");
    }
    // If the original contender is present, there is no substitute.
    let comparison = at(&["btrfs", "zfs"], &[200, 100]);
    let pairs: Vec<_> = comparison
        .contenders
        .iter()
        .map(|p| p.now.as_str())
        .collect();
    assert_eq!(pairs, ["zfs"]);
}

#[test]
fn runs_without_common_phases_are_rejected_with_the_reason() {
    let of = |contenders: &[&str], workload: Workload| {
        let times: Vec<u64> = vec![10; contenders.len()];
        let set = run(contenders, &[workload], &[&times], 3);
        PublishedComparison::in_each_lab(&set, &table("btrfs-2008"))
            .unwrap_err()
            .to_string()
    };
    let error = of(&["ext4"], work("iso", &["copy"]));
    assert!(
        error.ends_with("the run has no contender of the table"),
        "{error}"
    );
    let error = of(&["ext2"], work("mixed", &["copy"]));
    assert!(
        error.ends_with("the run has no phase of the table"),
        "{error}"
    );
    // Other mount options or another cache state do not correspond.
    let error = of(&["ext2:noatime"], work("iso", &["copy"]));
    assert!(error.ends_with("no contender of the table"), "{error}");
    let mut warm = work("iso", &["copy"]);
    warm.phases[0].cache = CacheState::AsIs;
    assert!(of(&["ext2"], warm).ends_with("no phase of the table"));
    let set = run(&["ext2"], &[work("iso", &["copy"])], &[], 0);
    let error = PublishedComparison::in_each_lab(&set, &table("btrfs-2008")).unwrap_err();
    assert!(error.to_string().ends_with("was measured"), "{error}");
}

const RATES: &str = r#"
title = "rates and fragments"
year = 2001
source = "a table made up"
machine = "none"
measured = "not at all"
suite = "rates"
contender = [
  { label = "a", filesystem = "a", today = ["a"] },
  { label = "b", filesystem = "b", today = ["b"] },
]
conclusion = [{ text = "a writes faster.", phases = ["out/write"], ahead = ["a"], trailing = ["b"] }]

[[line]]
label = "write"
rows = ["out/write"]
workload = "out"
dataset = "out"
kind = "copy"
cache = "cold"
today = { figure = "write" }

[[line]]
label = "fragments"
rows = ["out/fragments"]
workload = "out"
dataset = "out"
kind = "copy"
cache = "cold"
today = { fragments-per-file = { above = 16384 } }
"#;

const RATES_FIGURES: &str = "\
table,year,system,kernel,filesystem,variant,layout,test,phase,value,unit,better
rates,2001,x,k,a,,single,out,write,900,KB/s,higher
rates,2001,x,k,b,,single,out,write,300,KB/s,higher
rates,2001,x,k,a,,single,out,fragments,1.5,fragments/file,lower
rates,2001,x,k,b,,single,out,fragments,1.25,fragments/file,lower
";

#[test]
fn higher_is_better_figures_rank_first_and_extents_are_per_file() {
    let published = Published {
        name: "rates",
        header: RATES,
        figures: RATES_FIGURES,
        rerun: "",
    };
    let mut set = run(&["a", "b"], &[work("out", &["copy"])], &[&[10, 10]], 3);
    for record in &mut set.cells {
        let fast = record.cell.contender == 0;
        let sample = &mut record.samples[0];
        sample.figures.push(Figure {
            name: "write".into(),
            value: if fast { 5000.0 } else { 2000.0 },
            unit: "KiB/s".into(),
            better: Better::Higher,
        });
        sample.fragmentation = Some(Fragmentation {
            floor: Bytes(16_385),
            files: 10,
            extents: if fast { 12 } else { 30 },
            unavailable: (record.cell.block == 2).then(|| "no FIEMAP".into()),
            ..Fragmentation::default()
        });
    }
    let comparison = alone(&set, &published.read().unwrap());
    let write = &comparison.lines[0];
    assert_eq!(
        (write.entries[0].rank_published, write.entries[0].rank_now),
        (1.0, 1.0)
    );
    assert!(write.entries[0].best_now && !write.entries[1].best_now);
    assert_eq!(write.heading(), "write (KB/s)");
    assert_eq!(comparison.conclusions[0].holding, ConclusionResult::Holds);
    let extents = &comparison.lines[1];
    // A failed count is omitted, not zero.
    assert_eq!(extents.entries[0].repeats, 2);
    assert!((extents.entries[1].now - 3.0).abs() < 1e-12);
    assert_eq!(
        (
            extents.entries[0].rank_published,
            extents.entries[0].rank_now
        ),
        (2.0, 1.0)
    );
    // A count over all files does not correspond to the published figure.
    for record in &mut set.cells {
        record.samples[0].fragmentation.as_mut().unwrap().floor = Bytes(0);
    }
    let comparison = alone(&set, &published.read().unwrap());
    assert_eq!(comparison.lines.len(), 1);
    assert_eq!(comparison.only_published.phases, ["out fragments"]);
}

#[test]
fn two_phases_of_one_kind_are_matched_by_label() {
    let table = table("bonnie-2001");
    let stat = |label: &str| PhasePlan {
        label: label.into(),
        cache: CacheState::AsIs,
        ..phase("bonnie-stat")
    };
    let workload = Workload {
        name: "bonnie-10mb".into(),
        dataset: DatasetChoice::parse("none"),
        phases: ["stat random", "another", "stat"].map(stat).into(),
    };
    let times: &[&[u64]] = &[&[30, 30], &[20, 20], &[10, 10]];
    let mut set = run(&["ext2", "xfs"], &[workload], times, 3);
    for sample in set.cells.iter_mut().flat_map(|record| &mut record.samples) {
        let seconds = sample.return_ns.seconds();
        let rate = Figure::new("rate", 1.0 / seconds, "1/s", Better::Higher);
        let cpu = Figure::new("cpu", seconds, "%", Better::Lower);
        sample.figures = vec![rate, cpu];
    }
    let comparison = alone(&set, &table);
    let reported: Vec<_> = comparison
        .lines
        .iter()
        .map(|line| {
            (
                line.heading(),
                line.entries[0].published,
                line.entries[0].now,
            )
        })
        .collect();
    let reported: Vec<_> = reported
        .iter()
        .map(|(heading, published, now)| (heading.as_str(), *published, (now * 100.0).round()))
        .collect();
    assert_eq!(
        reported,
        [
            ("stat (files/s)", 278.0, 9901.0),
            ("stat cpu (%cpu)", 99.0, 1.0),
            ("stat random (files/s)", 284.0, 3300.0),
            ("stat random cpu (%cpu)", 100.0, 3.0),
        ]
    );
    assert_eq!(comparison.only_now.phases, ["another"]);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    use unicode_width::UnicodeWidthStr;
    let comparison = alone(&mixed(), &table("btrfs-2008"));
    for (width, clock) in [60, 80, 120]
        .into_iter()
        .flat_map(|w| [(w, false), (w, true)])
    {
        let options = Options {
            width,
            clock,
            color: false,
            ..Options::default()
        };
        let mut texts = vec![text(&comparison, Format::Terminal, &options)];
        for published in fsdyno_report::published::ALL {
            let bytes = render_published(published, Format::Terminal, &options).unwrap();
            texts.push(String::from_utf8(bytes).unwrap());
        }
        for line in texts.iter().flat_map(|text| text.lines()) {
            assert!(line.width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn the_comparison_page_loads_nothing_and_escapes_labels() {
    let mut set = mixed();
    set.run.plan.contenders[0].label = "<script>alert(1)</script>".into();
    let comparison = alone(&set, &table("btrfs-2008"));
    let page = text(&comparison, Format::Html, &wide(80));
    let table = render_published(find("atime-2007").unwrap(), Format::Html, &wide(80)).unwrap();
    let table = String::from_utf8(table).unwrap();
    for page in [&page, &table] {
        // The end markers of whiskers are defined once, on the page itself.
        let page = page.replace("url(#cap)", "");
        for outside in [
            "http:",
            "https:",
            "src=",
            "<link",
            "@import",
            "url(",
            "<script>alert",
        ] {
            assert!(!page.contains(outside), "{outside}");
        }
        for element in ["table", "tr", "td", "th", "ul", "li", "section", "div"] {
            let opened = page.matches(&format!("<{element} ")).count()
                + page.matches(&format!("<{element}>")).count();
            let closed = page.matches(&format!("</{element}>")).count();
            assert_eq!(opened, closed, "{element}");
        }
    }
    assert!(page.contains("&lt;") && page.contains("rank correlation 0.80 of 4"));
    assert!(page.contains("is reversed in part"));
    assert!(table.contains("★</span>14.773"));
}

#[test]
fn a_published_table_has_this_text() {
    let shown = |name: &str, format, clock| {
        let options = Options {
            clock,
            ..Options::default()
        };
        let bytes = render_published(find(name).unwrap(), format, &options).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    insta::assert_snapshot!(
        "published_terminal",
        shown("btrfs-2008", Format::Terminal, true)
    );
    insta::assert_snapshot!(
        "published_markdown",
        shown("bonnie-2001", Format::Markdown, false)
    );
    let csv = shown("mongo-2001", Format::Csv, false);
    assert_eq!(csv, find("mongo-2001").unwrap().figures);
    let json: serde_json::Value =
        serde_json::from_str(&shown("ufs-async-2004", Format::Json, false)).unwrap();
    assert_eq!(json["rows"][0]["values"][0], 136.0);
}
