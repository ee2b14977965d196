//! A run with several labs: contenders of different kernels are not compared, and the report states
//! this.

use crate::fixture::{self, mixed_labs};
use crate::{table_of, text, wide};
use fsdyno_model::{Contender, FilesystemKind, LabChoice, ResultSet};
use fsdyno_report::comparison::{Comparison, Comparisons};
use fsdyno_report::published::find;
use fsdyno_report::published_comparison::PublishedComparison;
use fsdyno_report::{Format, Options, render, render_comparison};

#[test]
fn every_format_shows_labs_separately() {
    let set = mixed_labs();
    insta::assert_snapshot!("labs_terminal", text(&set, Format::Terminal, &wide(80)));
    insta::assert_snapshot!("labs_markdown", text(&set, Format::Markdown, &wide(80)));
    let page = text(&set, Format::Html, &wide(80));
    for place in ["times", "times-2"] {
        insta::assert_snapshot!(format!("labs_html_{place}"), table_of(&page, place));
    }
    let csv = text(&set, Format::Csv, &wide(80));
    let heading = csv.lines().next().unwrap();
    let of_reiserfs = csv.lines().find(|line| line.contains("reiserfs")).unwrap();
    assert!(
        heading.ends_with(",lab,kernel") && of_reiserfs.contains(",uml,Linux 6.1.0"),
        "{csv}"
    );
}

/// The ratios and the marks of the fastest in the last line of the first phase.
fn compared(lab: &Comparison) -> Vec<Option<(f64, bool)>> {
    let line = lab.workloads[0].phases[0].lines.last().unwrap();
    let values = line.values.iter().map(|value| {
        let value = value.as_ref()?;
        Some((value.ratio?.middle, value.best))
    });
    values.collect()
}

#[test]
fn each_lab_has_its_own_baseline_and_fastest() {
    let labs = Comparisons::of(&mixed_labs()).labs;
    let contenders: Vec<_> = labs.iter().map(|lab| lab.contenders.join(" ")).collect();
    assert_eq!(
        contenders,
        ["ext4 xfs", "uml/ext4 uml/reiserfs:notail uml/jfs"]
    );
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let [Some((base, false)), Some((xfs, true))] = compared(&labs[0])[..] else {
        panic!("{:?}", compared(&labs[0]));
    };
    assert!(near(base, 1.0) && near(xfs, 0.78), "{xfs}");
    // Four times slower than all contenders on the host, but the fastest of its lab.
    let [Some((base, false)), Some((reiserfs, true)), None] = compared(&labs[1])[..] else {
        panic!("{:?}", compared(&labs[1]));
    };
    assert!(near(base, 1.0) && near(reiserfs, 0.8), "{reiserfs}");
    let conclusions = Comparisons::of(&mixed_labs()).answers();
    assert!(
        conclusions[0].starts_with("host: For this work xfs is fastest"),
        "{}",
        conclusions[0]
    );
    assert!(
        !conclusions[0].contains("reiserfs") && !conclusions[1].contains("xfs"),
        "{conclusions:?}"
    );
}

#[test]
fn a_single_lab_is_not_mentioned() {
    let mut set = mixed_labs().only(&[1, 3]);
    set.run.plan.contenders[0].label = "ext4".into();
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        let text = text(&set, format, &wide(80));
        assert!(
            !text.contains("each lab is separate") && !text.contains("class=\"lab\""),
            "{format}"
        );
    }
    assert!(!text(&set, Format::Csv, &wide(80)).contains(",lab,kernel"));
}

#[test]
fn two_kernels_of_one_lab_are_separate() {
    let mut set = mixed_labs();
    let of_reiserfs = set
        .cells
        .iter_mut()
        .filter(|record| record.cell.contender == 3);
    for effective in of_reiserfs.flat_map(|record| &mut record.effective) {
        effective.text = effective.text.replace("6.1.0", "6.12.0");
    }
    let labs = Comparisons::of(&set).labs;
    let headings: Vec<_> = labs
        .iter()
        .filter_map(|one| Some(one.lab.as_ref()?.heading()))
        .collect();
    assert_eq!(
        headings,
        [
            "host: Linux 6.1.0-18-amd64 x86_64",
            "uml: Linux 6.1.0 (User-mode Linux), 512 MiB",
            "uml: Linux 6.12.0 (User-mode Linux), 512 MiB",
        ]
    );
}

#[test]
fn ids_on_the_page_are_unique() {
    let page = text(&mixed_labs(), Format::Html, &wide(80));
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let once: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), once.len(), "{ids:?}");
    assert_eq!(page.matches("<h2 class=\"lab\">").count(), 3);
    assert_eq!(page.matches("class=\"controls\"").count(), 1);
}

/// Two contenders of the table on the host, and the same two in guests.
fn in_two_labs() -> ResultSet {
    let labels = ["btrfs", "ext3", "uml/btrfs", "uml/ext3"];
    let mut iso = fixture::workload("iso");
    iso.dataset = fsdyno_model::DatasetChoice::Generated("iso".into());
    iso.phases = vec![fixture::phase(
        "copy",
        "copy",
        fsdyno_model::CacheState::Cold,
    )];
    let mut set = fixture::with(&labels, &[iso], 3);
    fixture::put_into_guests(&mut set);
    for contender in &mut set.run.plan.contenders {
        let plain = Contender::parse(&contender.filesystem, &|_| Some(FilesystemKind::Block));
        *contender = Contender {
            label: contender.label.clone(),
            lab: contender.lab.clone(),
            ..plain.unwrap()
        };
    }
    for (block, contender) in (0..3).flat_map(|b| (0..4).map(move |c| (b, c))) {
        let speed = [1000, 1500, 6000, 4000][contender as usize];
        let mut record = fixture::record(&set, block, contender, 0, speed);
        if set.run.plan.contenders[contender as usize].lab == LabChoice::Uml {
            record.effective.push(fixture::guest());
        }
        set.cells.push(record);
    }
    set
}

#[test]
fn each_lab_is_compared_with_a_table_separately() {
    let table = find("btrfs-2008").unwrap().read().unwrap();
    let compared = PublishedComparison::in_each_lab(&in_two_labs(), &table).unwrap();
    let ratios: Vec<Vec<Option<f64>>> = compared
        .iter()
        .map(|of| {
            of.lines[0]
                .entries
                .iter()
                .map(|entry| entry.ratio_now)
                .collect()
        })
        .collect();
    assert_eq!(
        ratios,
        [[Some(1.0), Some(1.5)], [Some(1.0), Some(4000.0 / 6000.0)]]
    );
    // Conclusions are judged for each lab, and may hold in only one.
    let holding = |of: &PublishedComparison| {
        of.conclusions
            .iter()
            .map(|conclusion| conclusion.holding)
            .collect::<Vec<_>>()
    };
    assert_ne!(holding(&compared[0]), holding(&compared[1]));
    let shown = |format| {
        let bytes = render_comparison(&compared, format, &Options::default()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    insta::assert_snapshot!("labs_against_terminal", shown(Format::Terminal));
    let csv = shown(Format::Csv);
    assert_eq!(
        csv.lines()
            .filter(|line| line.contains("uml: Linux"))
            .count(),
        2
    );
    assert_eq!(csv.matches("now_by_published,lab").count(), 1);
    let json: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    for format in [Format::Html, Format::Markdown] {
        let text = shown(format);
        assert!(text.contains("uml: Linux"), "{format}");
    }
    // A lab that shares nothing with the table is listed in the comparison of the other.
    let mut set = in_two_labs();
    for contender in &mut set.run.plan.contenders[2..] {
        contender.filesystem = "jfs".into();
    }
    let compared = PublishedComparison::in_each_lab(&set, &table).unwrap();
    assert_eq!(compared.len(), 1);
    let only_now = &compared[0].only_now.contenders;
    assert!(
        only_now.ends_with(&["uml/btrfs".to_owned(), "uml/ext3".to_owned()]),
        "{only_now:?}"
    );
}

#[test]
fn json_has_the_lab_of_each_contender() {
    let bytes = render(&mixed_labs(), Format::Json, &Options::default()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let contenders = &json["run"]["plan"]["contenders"];
    assert_eq!(contenders[3]["lab"], "uml");
    assert_eq!(contenders[0].get("lab"), None);
}
