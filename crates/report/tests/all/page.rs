//! Limits of the page: no requests, no foreign code, valid HTML, bounded size.

use crate::fixture::{self, empty, many, mixed_labs, single};
use crate::{text, wide};
use fsdyno_report::{Format, render};

#[test]
fn the_page_loads_nothing_and_runs_no_foreign_code() {
    for set in [fixture::run(), many(), single(), empty(), mixed_labs()] {
        // The end markers of whiskers are defined once, on the page itself.
        let page = text(&set, Format::Html, &wide(80)).replace("url(#cap)", "");
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
fn the_page_of_a_run_is_deterministic() {
    for set in [fixture::run(), fixture::repeated(), mixed_labs()] {
        let page = render(&set, Format::Html, &wide(80)).unwrap();
        // A fresh copy excludes state of the first rendering and another order of maps.
        let again = fsdyno_model::ResultSet::clone(&set);
        assert!(render(&again, Format::Html, &wide(100)).unwrap() == page);
    }
}

#[test]
fn contenders_are_compared_within_their_layout_and_the_best_of_all_layouts() {
    let labels = ["ext4", "xfs", "btrfs@pool2", "xfs@raid0x2", "ext4@raid0x2"];
    // Constant ratios in every block, in steps of one twentieth.
    let times = [50_u64, 40, 30, 25, 20].map(|by| [200, 201, 202, 203, 204, 205].map(|n| n * by));
    let mut set = fixture::one_phase(&labels, &times.each_ref().map(|times| &times[..]));
    let page = text(&set, Format::Html, &wide(80));
    assert!(
        !page.contains("<section id=\"layouts\">"),
        "all are on one device"
    );
    for (at, name) in [(2, "pool"), (3, "raid0"), (4, "raid0")] {
        let layout = &mut set.run.plan.contenders[at].layout;
        (layout.name, layout.devices) = (name.into(), 2);
    }
    let page = text(&set, Format::Html, &wide(80));
    let (_, section) = page.split_once("<section id=\"layouts\">").unwrap();
    let (equals, best) = section.split_once("The fastest of each layout").unwrap();
    // A layout with one contender has no section.
    for (heading, there) in [("single", true), ("raid0x2", true), ("pool2", false)] {
        assert_eq!(
            equals.contains(&format!("<h3>{heading}</h3>")),
            there,
            "{heading}"
        );
    }
    let lowest = |of: &str| of.matches("lowest</span>").count();
    assert_eq!((lowest(equals), lowest(best)), (2, 1));
    for (contender, ratio) in [("xfs", "2.00×"), ("btrfs@", "1.50×"), ("ext4@", "1.00×")] {
        let (_, cell) = best.split_once(&format!("<b>{contender}")).unwrap();
        assert!(
            cell.split_once("</td>").unwrap().0.contains(ratio),
            "{contender}"
        );
    }
}

#[test]
fn only_contenders_that_differ_from_the_baseline_are_explained() {
    let labels = ["ext4", "xfs", "btrfs"];
    let times: [&[u64]; 3] = [
        &[1000, 1010, 1020, 1030, 1040, 1050],
        &[500, 505, 510, 515, 520, 525],
        &[1001, 1009, 1021, 1029, 1041, 1049],
    ];
    let page = text(
        &fixture::one_phase(&labels, &times),
        Format::Html,
        &wide(80),
    );
    let (_, why) = page.split_once("<section id=\"why\">").unwrap();
    let (why, _) = why.split_once("<section id=\"costs\">").unwrap();
    assert!(why.contains("<h3>xfs"), "{why}");
    assert!(!why.contains("<h3>btrfs"), "{why}");
    assert!(why.contains("processor, kernel"), "{why}");
}

#[test]
fn the_page_of_a_published_suite_has_the_published_figures() {
    let heading = "<h2>Then and now</h2>";
    let page = text(&fixture::run(), Format::Html, &wide(80));
    assert!(!page.contains(heading));
    let page = text(&crate::comparison::classic(), Format::Html, &wide(80));
    assert!(page.contains(heading));
    assert!(page.contains("<b>btrfs-2008</b>"));
    assert!(!page.contains("Figures of another order"));
}

#[test]
fn the_page_bins_many_samples_and_explains_the_dots() {
    let (few, many) = (fixture::large(4, 10, 7), fixture::large(4, 10, 50));
    let [few, many] = [few, many].map(|set| text(&set, Format::Html, &wide(80)));
    // Ten times the samples add little to the size; `cargo bench` has 100,000.
    assert!(
        many.len() < few.len() * 3 / 2,
        "{} {}",
        few.len(),
        many.len()
    );
    let output = "too many samples for a dot each";
    assert_eq!((few.contains(output), many.contains(output)), (false, true));
    assert!(many.contains(" of 50 samples"));
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
            // Each cell runs 128 commands with output; the page has those of one block.
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
