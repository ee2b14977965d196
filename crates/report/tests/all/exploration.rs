//! Reports of an exploration, in all formats.

use crate::explored::exploration;
use crate::wide;
use fsdyno_model::{ClassCount, Exploration, Nanos, ProgramSource, StateClass, Violation};
use fsdyno_report::exploration::Progress;
use fsdyno_report::{Format, Options, render_exploration};
use std::collections::BTreeMap;

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
    minimal.requests = vec!["request 1, write: dropped".into(); 300];
    minimal.program = "fsync a\n".repeat(100);
    let page = text(&long, Format::Terminal, &brief(80));
    let lines = page
        .lines()
        .skip_while(|line| !line.starts_with("btrfs 1:"));
    let lines = lines.take_while(|line| !line.starts_with("btrfs 2:"));
    assert!(lines.count() <= 12, "{page}");
}

#[test]
fn a_screen_has_at_most_forty_lines_with_any_number_of_contenders_and_findings() {
    for (contenders, findings) in [(1, 1), (1, 40), (3, 1), (3, 7), (12, 0), (12, 3), (60, 2)] {
        let mut large = exploration();
        let (contender, mut program) =
            (large.info.contenders[1].clone(), large.programs[4].clone());
        let finding = program.findings[0].clone();
        let findings = (0..findings).map(|number| {
            let mut one = finding.clone();
            one.signature = format!("signature {number}");
            one.minimal.as_mut().unwrap().signature = one.signature.clone();
            one
        });
        program.findings = findings.collect();
        (large.info.contenders, large.programs) = (0..contenders)
            .map(|at| {
                let (mut contender, mut program) = (contender.clone(), program.clone());
                contender.label = format!("btrfs:compress=zstd,commit={at},space_cache=v2");
                program.contender.clone_from(&contender.label);
                // The last one alone has no finding.
                if at > 0 && at + 1 == contenders {
                    program.findings.clear();
                    program.failed = Some("the guest ended: ".repeat(40));
                }
                (contender, program)
            })
            .unzip();
        for width in [60, 80, 120] {
            let page = text(&large, Format::Terminal, &brief(width));
            assert!(page.lines().count() <= 40, "{page}");
            let first = page.lines().next().unwrap();
            assert!(first.starts_with("btrfs:compress=zstd,commit=0"), "{page}");
            assert!(
                page.contains(&large.info.id) && page.contains("--long"),
                "{page}"
            );
        }
    }
}

#[test]
fn the_terminal_shows_the_most_frequent_findings_and_the_way_to_all() {
    let mut many = exploration();
    let findings = &mut many.programs[4].findings;
    let first = findings[0].clone();
    for number in 0..7 {
        let mut other = first.clone();
        (other.signature, other.count) = (format!("other {number}"), 1000 + number);
        other.minimal.as_mut().unwrap().signature = other.signature.clone();
        findings.push(other);
    }
    let page = text(&many, Format::Terminal, &brief(80));
    let shown = page.matches("btrfs 1: a: it was unlinked").count();
    assert_eq!(shown, 1, "{page}");
    let more = "fsdyno report 20261123-1000-explore --long (4 more findings, states and costs)";
    let words = |page: &str| page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(more), "{page}");
    let page = text(&many, Format::Terminal, &wide(80));
    assert!(page.contains("btrfs 9:"), "{page}");
}

#[test]
fn findings_with_equal_least_programs_are_one() {
    let mut joined = exploration();
    let mut other = joined.programs[4].findings[0].clone();
    (other.signature, other.count) = ("returned:rename unlink".into(), 1000);
    joined.programs[4].findings.push(other.clone());
    // Of equal signatures, one is minimised.
    other.minimal = None;
    joined.programs[7].findings.push(other);
    let page = text(&joined, Format::Csv, &wide(80));
    let before = text(&exploration(), Format::Csv, &wide(80));
    let findings = |page: &str| {
        let mut lines = page.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let column = header.iter().position(|name| *name == "findings").unwrap();
        let of: Vec<String> = lines.map(|line| line[column].to_owned()).collect();
        of
    };
    assert_eq!(findings(&page), findings(&before));
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
fn what_an_application_loses_counts_for_no_file_system() {
    let mut application = exploration();
    let (command, check) = ("sqlite3 db", "test -s db");
    application.info.search.programs = ProgramSource::Application {
        name: None,
        prepare: None,
        command: command.into(),
        check: check.into(),
    };
    for program in &mut application.programs {
        program.program = format!("exec {command}\ncheck {check}");
        for finding in &mut program.findings {
            finding.violation = Violation::Application;
            finding.class = StateClass::C1;
            finding.minimal = None;
        }
    }
    let page = text(&application, Format::Terminal, &brief(120));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "The application loses data on btrfs (2 findings) and xfs:nobarrier (2 findings).";
    assert!(page.contains(first), "{page}");
    assert!(
        page.contains("broke no promise in the checked states"),
        "{page}"
    );
    assert!(page.contains("Findings of the application"), "{page}");
    assert!(page.contains(command) && page.contains(check), "{page}");
    let csv = text(&application, Format::Csv, &wide(80));
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let at = |name: &str| head.iter().position(|column| *column == name).unwrap();
    let (violations, of_application) = (at("violations"), at("application_states"));
    let mut failed = 0;
    for row in rows {
        assert_eq!(row[violations], "0");
        failed += row[of_application].parse::<u64>().unwrap();
    }
    assert!(failed > 0);
}

#[test]
fn sampled_states_are_never_called_complete() {
    let mut close = exploration();
    for program in &mut close.programs {
        for count in program.states.classes.values_mut() {
            *count = ClassCount {
                legal: Some(1_000_000),
                checked: 999_999,
                found: BTreeMap::new(),
            };
        }
    }
    let page = text(&close, Format::Terminal, &wide(120));
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

#[test]
fn progress_counts_programs_of_all_sessions_and_states_of_this_one() {
    let all = exploration().programs;
    let (before, now) = all.split_at(5);
    let mut progress = Progress::new(2700, before);
    let second = Nanos(1_000_000_000);
    assert_eq!(
        progress.line(Nanos(0), None),
        "5 of 2,700 programs, 0 states, 1 finding, 0:00.0"
    );
    for program in now {
        progress.add(program);
    }
    let line = progress.line(Nanos(2 * second.0), Some(Nanos(1800 * second.0)));
    assert_eq!(
        line,
        "10 of 2,700 programs, 4,853 states (2,426/s), 2 findings, 0:02.0 of 30:00"
    );
}
