//! The index of a site: histories, runs and crash tests as tables, with a search. Without
//! JavaScript it lacks only the search.

use crate::formats::html;
use crate::lists::unique;
use crate::options::Assets;
use crate::terms;
use fsdyno_model::{Contender, Exploration, Outcome, ResultSet, Series};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A history page in the index.
pub(super) struct HistoryRow {
    pub file: String,
    pub workload: String,
    pub phase: String,
    pub contenders: Vec<String>,
    pub kernels: usize,
    pub runs: usize,
    pub steps: usize,
}

/// A run in the index.
#[derive(Debug)]
pub(super) struct RunRow {
    file: String,
    id: String,
    started_unix_ns: u64,
    kernels: Vec<String>,
    contenders: Vec<String>,
    phases: Vec<String>,
    tags: Vec<String>,
    failed: usize,
    skipped: usize,
}

/// A series of crash tests or an exploration in the index.
#[derive(Debug)]
pub(super) struct CrashRow {
    file: String,
    id: String,
    started_unix_ns: u64,
    contenders: Vec<String>,
    result: String,
}

impl RunRow {
    pub fn of(set: &ResultSet, tags: &[String], file: &str) -> Self {
        let plan = &set.run.plan;
        let phases = plan.workloads.iter().flat_map(|workload| {
            let phases = workload.phases.iter();
            phases.map(|phase| format!("{}/{}", workload.name, phase.label))
        });
        let count = |is: fn(&Outcome) -> bool| {
            let cells = set.cells.iter();
            cells.filter(|record| is(&record.outcome)).count()
        };
        Self {
            file: file.to_owned(),
            id: set.run.id.clone(),
            started_unix_ns: set.run.started_unix_ns,
            kernels: unique(set.labs().into_iter().flat_map(|share| share.kernels)),
            contenders: labels(&plan.contenders),
            phases: phases.collect(),
            tags: tags.to_vec(),
            failed: count(|outcome| matches!(outcome, Outcome::Failed(_))),
            skipped: count(|outcome| matches!(outcome, Outcome::Skipped { .. })),
        }
    }
}

impl CrashRow {
    pub fn of_series(series: &Series, file: &str) -> Self {
        let power_cuts = series.power_cuts.iter();
        let losing = power_cuts.filter(|one| !one.recovery.is_whole()).count();
        Self {
            file: file.to_owned(),
            id: series.info.id.clone(),
            started_unix_ns: series.info.started_unix_ns,
            contenders: labels(&series.info.contenders),
            result: format!(
                "{}, {losing} with losses",
                terms::count(series.power_cuts.len(), "power cut")
            ),
        }
    }

    pub fn of_exploration(exploration: &Exploration, file: &str) -> Self {
        let info = &exploration.info;
        let programs = exploration.programs.iter();
        let findings = programs.map(|program| program.findings.len());
        Self {
            file: file.to_owned(),
            id: info.id.clone(),
            started_unix_ns: info.started_unix_ns,
            contenders: labels(&info.contenders),
            result: format!(
                "{}, {}",
                terms::count(exploration.programs.len(), "program"),
                terms::count(findings.sum(), "finding")
            ),
        }
    }
}

fn labels(contenders: &[Contender]) -> Vec<String> {
    let contenders = contenders.iter();
    contenders.map(|one| one.label.clone()).collect()
}

/// The index of a store.
pub(super) fn render(histories: &[HistoryRow], runs: &[RunRow], crashes: &[CrashRow]) -> Vec<u8> {
    let mut page = String::new();
    let assets = Assets::Shared { root: "" };
    html::begin(&mut page, "Results", assets);
    let counts = [
        terms::count(runs.len(), "run"),
        format!("{} with a history", terms::count(histories.len(), "phase")),
    ];
    let _ = writeln!(page, r#"<p class="sub">{}.</p>"#, counts.join(", "));
    html::begin_content(&mut page);
    let contenders = { histories.iter() }.flat_map(|row| &row.contenders);
    let contenders = contenders.chain(runs.iter().flat_map(|row| &row.contenders));
    let contenders = contenders.chain(crashes.iter().flat_map(|row| &row.contenders));
    let phases = runs.iter().flat_map(|row| &row.phases);
    search(&mut page, contenders.collect(), ("Phase", phases.collect()));
    if runs.is_empty() && crashes.is_empty() {
        page += "<p>The store has no runs.</p>\n";
    }
    let headings = ["phase", "contenders", "kernels", "runs", "steps"];
    table(&mut page, "History", &headings, histories, |page, row| {
        let name = format!("{} / {}", row.workload, row.phase);
        let phases = [format!("{}/{}", row.workload, row.phase)];
        begin_row(page, &row.contenders, &phases);
        link(page, "history", &row.file, &name);
        text(page, &row.contenders.join(" "));
        let numbers = [
            (row.kernels, "kernels"),
            (row.runs, "runs"),
            (row.steps, "steps"),
        ];
        for (number, unit) in numbers {
            let _ = write!(page, r#"<td class="num" data-unit="{unit}">{number}</td>"#);
        }
    });
    let headings = ["run", "started", "kernel", "contenders", "phases", "result"];
    table(&mut page, "Runs", &headings, runs, |page, row| {
        begin_row(page, &row.contenders, &row.phases);
        link(page, "runs", &row.file, &row.id);
        text(page, &terms::date(row.started_unix_ns));
        text(page, &row.kernels.join(", "));
        let tags = row.tags.iter().map(|tag| format!("#{tag}"));
        let words: Vec<String> = row.contenders.iter().cloned().chain(tags).collect();
        text(page, &words.join(" "));
        text(page, &row.phases.join(" "));
        text(page, &result(row));
    });
    let headings = ["crash test", "started", "contenders", "result"];
    table(&mut page, "Crash tests", &headings, crashes, |page, row| {
        begin_row(page, &row.contenders, &[]);
        link(page, "crash", &row.file, &row.id);
        text(page, &terms::date(row.started_unix_ns));
        text(page, &row.contenders.join(" "));
        text(page, &row.result);
    });
    html::end(&mut page, "", assets, &["site.js"]);
    page.into_bytes()
}

fn result(row: &RunRow) -> String {
    let parts = [(row.failed, "failed"), (row.skipped, "skipped")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() {
        "measured".to_owned()
    } else {
        parts.join(", ")
    }
}

/// The search form, with what is searched besides contenders. The script shows it.
pub(super) fn search(
    page: &mut String,
    contenders: BTreeSet<&String>,
    (phase, phases): (&str, BTreeSet<&String>),
) {
    *page += "<form id=\"search\" class=\"search\" role=\"search\" hidden>\n";
    for (name, label, items) in [
        ("contender", "Contender", contenders),
        ("phase", phase, phases),
    ] {
        let _ = writeln!(
            page,
            r#"<label>{label} <input type="search" name="{name}" list="{name}s" autocomplete="off" spellcheck="false"></label><datalist id="{name}s">"#
        );
        for item in items {
            let _ = writeln!(page, r#"<option value="{}">"#, shown(item));
        }
        *page += "</datalist>\n";
    }
    *page += "<label>Text <input type=\"search\" name=\"text\" autocomplete=\"off\"></label>\n\
              <p class=\"sub\" role=\"status\"></p>\n</form>\n";
}

/// A section with a table, unless it has no rows.
pub(super) fn table<T>(
    page: &mut String,
    name: &str,
    headings: &[&str],
    rows: &[T],
    write: impl Fn(&mut String, &T),
) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<section class=\"found\">\n<h2>{name}</h2>\n<div class=\"scroll\" role=\"region\" \
         aria-label=\"{name}\" tabindex=\"0\">\n<table class=\"index\">\n<thead><tr>"
    );
    for heading in headings {
        let number = ["kernels", "runs", "steps"].contains(heading);
        let class = if number { r#" class="num""# } else { "" };
        let _ = write!(page, r#"<th scope="col"{class}>{heading}</th>"#);
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in rows {
        write(page, row);
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n</div>\n</section>\n";
}

/// Names contain no newlines after escaping, so that newlines separate them.
pub(super) fn begin_row(page: &mut String, contenders: &[String], phases: &[String]) {
    let list = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| shown(name)).collect();
        names.join("\n")
    };
    let _ = write!(
        page,
        r#"<tr data-contenders="{}" data-phases="{}">"#,
        list(contenders),
        list(phases)
    );
}

pub(super) fn link(page: &mut String, directory: &str, file: &str, name: &str) {
    let _ = write!(
        page,
        r#"<th scope="row"><a href="{directory}/{file}">{}</a></th>"#,
        shown(name)
    );
}

pub(super) fn text(page: &mut String, text: &str) {
    let _ = write!(page, "<td>{}</td>", shown(text));
}

/// A text from a store, for a page.
fn shown(text: &str) -> String {
    html::escape(&terms::printable(text))
}
