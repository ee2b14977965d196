//! What the page must not do: ask, run, break, or grow without bounds.

use crate::fixture::{self, empty, many, mixed_labs, single};
use crate::{text, wide};
use fsdyno_report::{Format, render};

#[test]
fn the_page_asks_for_nothing_and_runs_nothing_of_others() {
    for set in [fixture::run(), many(), single(), empty(), mixed_labs()] {
        let page = text(&set, Format::Html, &wide(80));
        for outside in ["http:", "https:", "src=", "<link", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }
    let page = text(&fixture::run(), Format::Html, &wide(80));
    for hostile in [
        "zstd,<b>",
        "<b>,",
        "<script>alert",
        "<i>done",
        "Virtual <disk>",
        "\x1b",
    ] {
        assert!(!page.contains(hostile), "{hostile}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn every_opened_element_of_the_page_is_closed() {
    for set in [fixture::run(), many(), single(), empty(), mixed_labs()] {
        let page = text(&set, Format::Html, &wide(80));
        for element in [
            "table", "tbody", "tr", "td", "th", "svg", "g", "section", "details", "ul",
        ] {
            let opened = page.matches(&format!("<{element} ")).count()
                + page.matches(&format!("<{element}>")).count();
            assert_eq!(
                opened,
                page.matches(&format!("</{element}>")).count(),
                "{element}"
            );
        }
    }
}

#[test]
fn the_page_of_500_cells_stays_below_2_megabytes() {
    let labels = ["ext2", "ext3", "ext4", "xfs", "btrfs"];
    let names = ["copy-all", "music", "portage", "iso", "ports"];
    let workloads = names.map(fixture::workload);
    let mut set = fixture::with(&labels, &workloads, 20);
    for block in 0..20 {
        for (workload, contender) in (0..5).flat_map(|w| (0..5).map(move |c| (w, c))) {
            let mut record = fixture::record(&set, block, contender, workload, 1000);
            // Each cell runs 128 commands, each with output; a reader needs those of one block.
            let commands = std::mem::take(&mut record.commands);
            record.commands = commands.into_iter().cycle().take(128).collect();
            for command in &mut record.commands {
                command.stdout = "x".repeat(1 << 10);
            }
            record.effective[0].text = "y".repeat(200 << 10);
            set.cells.push(record);
        }
    }
    assert_eq!(set.cells.len(), 500);
    let page = render(&set, Format::Html, &wide(80)).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}
