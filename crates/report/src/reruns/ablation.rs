//! The results of an ablation of a rerun: the same phases on contenders that differ in one
//! property, on the original disk and on a disk that differs in one property.

use super::{Ablation, Setting};
use crate::document::{
    self, Block, Cell, Column, Document, Group, Item, Quantity, Section, Text, Tone,
};
use crate::published::{Line, Table, place};
use crate::terms;
use crate::terms::grouped;
use fsdyno_model::{Bytes, Nanos, ResultSet, Sample};
use serde::Serialize;

/// An ablation with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AblationSummary {
    /// The version of this structure in JSON.
    pub schema: u32,
    /// Its rerun.
    pub rerun: String,
    /// The question.
    pub question: String,
    /// The scale of the datasets; 1 is full size.
    pub scale: f64,
    /// The published contender that it examines.
    pub published: String,
    /// The disks, each with its run.
    pub disks: Vec<OnDisk>,
    /// The contenders, each with the property that it represents.
    pub contenders: Vec<(String, String)>,
    /// The phases.
    pub parts: Vec<Part>,
    /// The results to report.
    pub read: Vec<String>,
}

/// The numbers of findings on a screen, and whether it has the figures. The first form that fits is
/// used.
pub const SCREENS: [(usize, bool); 5] = [
    (usize::MAX, true),
    (usize::MAX, false),
    (6, false),
    (3, false),
    (1, false),
];

/// A disk of an ablation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnDisk {
    /// Its description.
    pub disk: String,
    /// The run on it.
    pub run: String,
}

/// A phase of an ablation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Its name.
    pub label: String,
    /// The published figure, seconds.
    pub published: Option<f64>,
    /// The figures, ordered by contender, then by disk.
    pub rows: Vec<Row>,
}

/// The figures of one contender on one disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The contender, by index.
    pub contender: usize,
    /// The disk, by index.
    pub disk: usize,
    /// Time to return.
    pub return_ns: Nanos,
    /// Time to durable.
    pub durable_ns: Option<Nanos>,
    /// The time to return, scaled to full size, divided by the published time.
    pub by_published: Option<f64>,
    /// Flushes.
    pub flushes: Option<u64>,
    /// The total wait of requests for flushes.
    pub flush_wait_ns: Option<Nanos>,
    /// Writes.
    pub writes: Option<u64>,
    /// Bytes written.
    pub written: Option<Bytes>,
}

const QUANTITIES: [Quantity<Row>; 7] = [
    ("return", 0, |row| Cell::Duration(row.return_ns)),
    ("durable", 0, |row| {
        Cell::known(row.durable_ns, Cell::Duration)
    }),
    ("now/then", 0, |row| {
        Cell::known(row.by_published, Cell::Ratio)
    }),
    ("flushes", 1, |row| Cell::known(row.flushes, Cell::Count)),
    ("waited", 2, |row| {
        Cell::known(row.flush_wait_ns, Cell::Duration)
    }),
    ("writes", 3, |row| Cell::known(row.writes, Cell::Count)),
    ("written", 4, |row| Cell::known(row.written, Cell::Size)),
];

/// The description of a disk, and the run on it.
pub type Ran<'a> = (&'a str, &'a ResultSet);

impl AblationSummary {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 2;

    /// Collects the runs of an ablation.
    pub fn of(setting: &Setting, ablation: &Ablation, table: &Table, ran: &[Ran<'_>]) -> Self {
        let scale = ran.first().map_or(1.0, |(_, set)| set.run.plan.scale);
        let of_it = |line: &&Line| ablation.workloads.contains(&line.workload);
        let parts: Vec<Part> = table
            .lines
            .iter()
            .filter(of_it)
            .map(|line| Part::of(line, ablation, table, ran))
            .filter(|part| !part.rows.is_empty())
            .collect();
        let disks = ran.iter().map(|(disk, set)| OnDisk {
            disk: (*disk).to_owned(),
            run: terms::printable(&set.run.id),
        });
        let contenders = ablation.contenders.iter();
        let mut summary = Self {
            schema: Self::SCHEMA,
            rerun: setting.name.clone(),
            question: ablation.question.clone(),
            scale,
            published: ablation.reference.clone(),
            disks: disks.collect(),
            contenders: contenders
                .map(|one| (one.contender.clone(), one.is.clone()))
                .collect(),
            parts,
            read: Vec::new(),
        };
        summary.read = summary.read_off();
        summary.read.extend(ablation.read.iter().cloned());
        summary
    }

    /// The gain of each contender on the other disk, as text: `xfs, portage copy: 9.1 s for 13 s,
    /// ...`.
    fn read_off(&self) -> Vec<String> {
        let mut read = Vec::new();
        for part in &self.parts {
            for (at, (name, _)) in self.contenders.iter().enumerate() {
                let on = |disk: usize| {
                    let mut rows = part.rows.iter();
                    rows.find(|row| row.contender == at && row.disk == disk)
                };
                let (Some(here), Some(there)) = (on(0), on(1)) else {
                    continue;
                };
                read.push(format!("{name}, {}: {}", part.label, here.compare(there)));
            }
        }
        read
    }

    /// The ablation as a document: the findings first.
    pub fn document(&self) -> Document {
        Document {
            page_title: Some(format!("{}: {}", self.rerun, self.question)),
            lead: self.findings().take(1).map(Text::from).collect(),
            blocks: vec![
                Section::new("findings", "Findings")
                    .with(Block::sentences(self.findings().skip(1)))
                    .into(),
                self.setup(),
                Section::new("figures", "The figures")
                    .with(Block::Legend(self.legend().into()))
                    .with(self.figures())
                    .into(),
            ],
            ..Document::new(format!("fsdyno: {}: {}", self.rerun, self.question))
        }
    }

    /// The answer and this number of findings, with or without the figures, for a screen.
    pub fn screen(&self, findings: usize, has_figures: bool) -> Document {
        let mut blocks = vec![Block::sentences(self.findings().take(findings).skip(1))];
        let left_out = self.read.len().saturating_sub(findings.max(1));
        if left_out > 0 {
            let more = terms::count(left_out, "more finding");
            let page = format!(
                "{more}: fsdyno rerun {} --ablation -o ablation.md.",
                self.rerun
            );
            blocks.push(Block::paragraph(page));
        }
        if has_figures {
            blocks.push(self.figures().into());
        }
        let runs = self.disks.iter();
        let runs = runs.map(|disk| format!("fsdyno report {} --long", disk.run));
        let runs: Vec<String> = runs.collect();
        blocks.push(Block::List(vec![Item::new(
            "More",
            Tone::Soft,
            runs.join("; "),
        )]));
        Document {
            lead: self.findings().take(1).map(Text::from).collect(),
            blocks,
            ..Document::default()
        }
    }

    fn findings(&self) -> impl Iterator<Item = String> {
        self.read.iter().map(|text| format!("{text}."))
    }

    /// The contenders with their properties, and the disks with their runs.
    fn setup(&self) -> Block {
        let contenders = self.contenders.iter();
        let contenders =
            contenders.map(|(name, is)| Item::new(name.as_str(), Tone::Plain, is.as_str()));
        let disks = self.disks.iter().enumerate().map(|(at, disk)| {
            let text = format!("{} (run {})", disk.disk, disk.run);
            Item::new(format!("disk {}", at + 1), Tone::Plain, text)
        });
        Block::List(contenders.chain(disks).collect())
    }

    /// The figures, a row for each contender on each disk.
    pub fn figures(&self) -> document::Table {
        let groups = self.parts.iter().map(|part| Group {
            heading: part.heading(),
            rows: part
                .rows
                .iter()
                .map(|row| {
                    let name = &self.contenders[row.contender].0;
                    let name = format!("{name}, disk {}", row.disk + 1);
                    document::Row::of_quantities(name, &QUANTITIES, row)
                })
                .collect(),
            ..Group::default()
        });
        let columns = Column::of_quantities(&QUANTITIES);
        document::Table::grouped("The figures", ["phase", "contender"], columns, groups)
    }

    /// The legend of the figures.
    fn legend(&self) -> String {
        let size = if (self.scale - 1.0).abs() < 1e-9 {
            String::new()
        } else {
            format!(
                ", scaled to full size (the datasets have {} of it)",
                self.scale
            )
        };
        format!(
            "Virtual time. now/then: the time to return{size}, divided by the published time of {}. \
             waited: the sum of the times that requests waited for flushes. flushes, waited, writes \
             and written count until durable.",
            self.published
        )
    }
}

impl Part {
    fn of(line: &Line, ablation: &Ablation, table: &Table, ran: &[Ran<'_>]) -> Self {
        let reference = table.contender(&ablation.reference);
        let published = reference.and_then(|at| line.published(table, at));
        let mut rows = Vec::new();
        for (contender, requested) in ablation.contenders.iter().enumerate() {
            for (disk, (_, set)) in ran.iter().enumerate() {
                let mut contenders = set.run.plan.contenders.iter();
                let in_run = contenders.position(|one| one.short_form() == requested.contender);
                let (Some(in_run), Some((workload, phase))) = (in_run, place(set, line)) else {
                    continue;
                };
                let samples = set.samples(in_run, workload, phase);
                if let Some((_, sample)) = samples.first() {
                    let full = sample.return_ns.seconds() / set.run.plan.scale;
                    let by_published = published
                        .filter(|published| *published > 0.0)
                        .map(|published| full / published);
                    rows.push(Row::of(contender, disk, sample, by_published));
                }
            }
        }
        Self {
            label: line.label.clone(),
            published,
            rows,
        }
    }

    /// The name of the phase, with the published figure.
    pub fn heading(&self) -> String {
        let published = self.published.map_or_else(String::new, |published| {
            format!(" (then {} s)", terms::published(published))
        });
        format!("{}{published}", self.label)
    }
}

impl Row {
    fn of(contender: usize, disk: usize, sample: &Sample, by_published: Option<f64>) -> Self {
        let device = sample.device;
        Self {
            contender,
            disk,
            return_ns: sample.return_ns,
            durable_ns: sample.durable_ns,
            by_published,
            flushes: device.map(|device| device.flushes),
            flush_wait_ns: sample.on_disks().map(|used| Nanos(used.causes.flush)),
            writes: device.map(|device| device.writes),
            written: device.map(|device| device.written_bytes),
        }
    }

    /// The figure on this disk, compared with that on the other.
    fn compare(&self, other: &Self) -> String {
        let whole = |row: &Self| row.durable_ns.unwrap_or(row.return_ns);
        let (here, there) = (whole(self), whole(other));
        let both = format!("{here} to durable, and {there} on the other disk");
        let saved = here.0.saturating_sub(there.0);
        let Some(flushes) = self.flushes.filter(|n| *n > 0 && saved > 0) else {
            return both;
        };
        let share = 100.0 * saved as f64 / here.0.max(1) as f64;
        format!(
            "{both}: {share:.0} % of it is what {} flushes cost, {} each",
            grouped(flushes),
            Nanos(saved / flushes)
        )
    }
}
