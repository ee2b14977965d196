//! Reports of an exploration, in all formats.

use crate::explored::exploration;
use crate::wide;
use fsdyno_model::{ClassCount, Exploration};
use fsdyno_report::{Format, Options, render_exploration};

fn text(exploration: &Exploration, format: Format, options: &Options) -> String {
    String::from_utf8(render_exploration(exploration, format, options).unwrap()).unwrap()
}

fn brief(width: usize) -> Options {
    Options {
        long: false,
        ..wide(width)
    }
}

#[test]
fn the_terminal_answers_first_and_reports_findings_in_brief() {
    for width in [80, 120] {
        let page = text(&exploration(), Format::Terminal, &brief(width));
        assert!(page.lines().all(|line| {
            // Commands to copy are wrapped, and names of paths too.
            line.chars().count() <= width
        }));
        insta::assert_snapshot!(format!("exploration_terminal_{width}"), page);
    }
}

#[test]
fn every_format_has_each_finding_with_its_proof() {
    for (name, format) in [
        ("long", Format::Terminal),
        ("markdown", Format::Markdown),
        ("csv", Format::Csv),
        ("html", Format::Html),
        ("json", Format::Json),
    ] {
        let page = text(&exploration(), format, &wide(80));
        assert!(!page.contains('\x1b'), "{name}");
        insta::assert_snapshot!(format!("exploration_{name}"), page);
    }
}

#[test]
fn a_finding_in_brief_has_at_most_twelve_lines() {
    let mut long = exploration();
    let finding = &mut long.programs[4].findings[0];
    finding.message = "a very long message ".repeat(40);
    finding.kernel = vec!["kernel ".repeat(40); 30];
    finding.checker = Some("line of the checker\n".repeat(50));
    let minimal = finding.minimal.as_mut().unwrap();
    minimal.requests = vec!["dropped 1: write of a block".into(); 300];
    minimal.program = "fsync a\n".repeat(100);
    let page = text(&long, Format::Terminal, &brief(80));
    let lines = page
        .lines()
        .skip_while(|line| !line.starts_with("btrfs 1:"));
    let lines = lines.take_while(|line| !line.starts_with("btrfs 2:"));
    assert!(lines.count() <= 12, "{page}");
}

#[test]
fn extra_promises_and_faults_of_the_disk_are_no_violations() {
    let page = text(&exploration(), Format::Terminal, &brief(120));
    let of_xfs = page
        .lines()
        .find(|line| line.starts_with("xfs:nobarrier: "));
    assert!(of_xfs.unwrap().contains(": 0 violations in "), "{page}");
    let findings = page.split("\nFindings\n").nth(1).unwrap();
    let (findings, rest) = findings.split_once("\nExtra promises\n").unwrap();
    assert!(!findings.contains("xfs"), "{findings}");
    let (extra, disk) = rest.split_once("\nFaults of the disk\n").unwrap();
    assert!(extra.contains("before the creation") && disk.contains("it was fsynced, and is gone"));
}

#[test]
fn sampled_states_are_never_called_complete() {
    let mut close = exploration();
    for program in &mut close.programs {
        for count in program.states.classes.values_mut() {
            *count = ClassCount {
                legal: Some(1_000_000),
                checked: 999_999,
            };
        }
    }
    let page = text(&close, Format::Terminal, &brief(120));
    let counts = page.lines().filter(|line| line.contains("legal states"));
    let partial = |line: &str| line.contains("(99.9 %)") || line.contains("the checked states");
    assert!(counts.clone().count() == 6 && !page.contains("(complete)"));
    assert!(page.contains("broke none in the checked states"), "{page}");
    assert!(counts.clone().all(partial), "{page}");
}

#[test]
fn an_exploration_without_programs_has_no_verdict() {
    let mut empty = exploration();
    empty.programs.clear();
    (empty.info.stop, empty.info.ended_unix_ns) = (None, None);
    for format in [
        Format::Terminal,
        Format::Markdown,
        Format::Html,
        Format::Csv,
    ] {
        let page = text(&empty, format, &brief(80));
        assert!(!page.contains(" broke "), "{page}");
    }
    let page = text(&empty, Format::Terminal, &brief(80));
    assert!(page.contains("No program was explored."));
    assert!(page.contains("not ended"));
}

#[test]
fn links_of_the_matrix_lead_to_findings() {
    let page = text(&exploration(), Format::Html, &wide(80));
    let links: Vec<&str> = page
        .split("<a href=\"#finding-")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(links.len(), 6, "four kinds, symlink, and all programs");
    for link in links {
        assert!(page.contains(&format!("<details id=\"finding-{link}\"")));
    }
    assert!(page.contains("<fieldset data-kind=\"contender\""));
}
