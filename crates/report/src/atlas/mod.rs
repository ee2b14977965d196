//! The atlas: figures of many runs in virtual time in one small file, which anyone can read, judge and
//! verify.
//!
//! A *question* of an atlas is a work (a suite) on a model disk at one size: it was one run. Its cells
//! keep the compared times of their phases, the amount of work, and a digest of all disk requests with
//! their times. [`Question::run`] makes a run of them, so that every report and every verdict of a run
//! is one of the atlas too. The format is described in docs/atlas.md.

mod answers;
mod chart;
mod difference;
mod faults;
mod lines;
mod power;

pub use answers::{Answer, AnswerAtSize, AtlasAnswers, Contended};
pub(crate) use answers::{legend, list, of_one};
pub use difference::{AtlasDiff, ChangedAnswer, ChangedFigure, ChangedIdentity, identity};
pub use faults::AtlasFaults;
pub use lines::{AtlasError, FORMAT};
pub use power::AtlasPower;

use crate::comparison::warnings::is_about_work;
use fsdyno_model::names::short_hash;
use fsdyno_model::{
    Cell, CellRecord, DeviceChoice, Effective, GuestSize, KernelChoice, Nanos, Outcome, Plan,
    Provenance, ResultSet, RunInfo, Sample, StopReason, Tally, Warning, kernel_of_guest,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The atlas that is shipped; empty if this version ships none.
const SHIPPED: &str = include_str!("../../data/atlas.jsonl");

/// An atlas: where it comes from, and its questions with their cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Atlas {
    pub head: Head,
    /// The tests with faulty disks.
    pub faults: Option<AtlasFaults>,
    /// The power cuts during usual work.
    pub power: Option<AtlasPower>,
    pub questions: Vec<Question>,
}

/// Where an atlas comes from: the first line of its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The version of the format.
    pub format: u32,
    /// What the atlas compares, in one line.
    pub title: String,
    /// The hash of its plan file.
    pub plan_hash: String,
    /// The number of questions of the plan file. An atlas of a part of them has fewer.
    pub planned: u32,
    /// The number of cells in the file.
    pub cells: u32,
    /// When its last run began: nanoseconds since 1970 (UTC).
    pub measured_unix_ns: u64,
    /// The version of fsdyno.
    pub fsdyno: String,
    /// The kernel of the guests, with its build.
    pub kernel: String,
    /// The programs that make and check the file systems, with their versions.
    pub programs: BTreeMap<String, String>,
    /// The profiles of the model disks, by name.
    pub disks: BTreeMap<String, String>,
    /// The profiles of the model processors, by name.
    pub processors: BTreeMap<String, String>,
}

/// A work on a model disk at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The suite.
    pub work: String,
    /// The profile of the model disk.
    pub disk: String,
    /// The size of the work, as a multiple of the smallest size.
    pub size: u32,
    /// The mean time of a cell on the machine that built the atlas, seconds.
    pub seconds: f64,
    /// The plan of its run, without directories. The texts of the profiles are in the head.
    pub plan: Plan,
    /// Its cells.
    #[serde(skip)]
    pub cells: Vec<AtlasCell>,
}

/// A cell: its compared figures, and the digest that identifies it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasCell {
    /// The name of its question: `mail/nvme/1`.
    pub of: String,
    /// The label of the contender, as in the plan, with its options and state.
    pub contender: String,
    /// The workload.
    pub workload: String,
    /// The draw, from 1: the block of the plan.
    pub draw: u32,
    /// A digest of all disk requests, with their times; none if the cell was not measured.
    pub digest: Option<String>,
    /// How it ended, unless it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Outcome>,
    /// The phases, in order.
    pub phases: Vec<AtlasPhase>,
}

/// A phase of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasPhase {
    /// The label of the phase.
    pub phase: String,
    /// The time until its last system call returned.
    pub return_ns: Nanos,
    /// The time until it was durable; none if the phase only reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable_ns: Option<Nanos>,
    /// The amount of work.
    pub work: Tally,
    /// The warnings about work that is not what the cell should measure: nothing was durable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Atlas {
    /// The atlas of this version; none if it ships none.
    pub fn shipped() -> Result<Option<Self>, AtlasError> {
        if SHIPPED.is_empty() {
            return Ok(None);
        }
        Self::read(SHIPPED).map(Some)
    }

    /// The question of that name: `mail/nvme/1`.
    pub fn question(&self, name: &str) -> Option<&Question> {
        self.questions.iter().find(|one| one.name() == name)
    }

    /// The questions of a work on a disk, by size.
    pub fn about(&self, work: &str, disk: &str) -> Vec<&Question> {
        let all = self.questions.iter();
        let mut found: Vec<_> = all
            .filter(|one| one.work == work && one.disk == disk)
            .collect();
        found.sort_by_key(|one| one.size);
        found
    }
}

impl Head {
    /// Adds what a run knows about its origin. An error, a message, if it differs from what the runs
    /// before it had: figures of two kernels or two versions are not compared.
    pub fn add(&mut self, set: &ResultSet) -> Result<(), String> {
        let same = |what: &str, known: &mut String, one: &str| {
            if known.is_empty() {
                one.clone_into(known);
            }
            if known == one {
                return Ok(());
            }
            let run = &set.run.id;
            Err(format!(
                "run {run} has another {what} ({one}) than others ({known})"
            ))
        };
        same(
            "version of fsdyno",
            &mut self.fsdyno,
            &set.run.provenance.fsdyno,
        )?;
        if let Some(guest) = set.guest() {
            same("kernel", &mut self.kernel, kernel_of_guest(guest))?;
        }
        for (program, version) in &set.run.provenance.programs {
            let known = self.programs.entry(program.clone()).or_default();
            same(program, known, version)?;
        }
        if let Some(disk) = &set.run.plan.disk {
            let known = self.disks.entry(disk.profile.clone()).or_default();
            same("disk profile", known, &disk.text)?;
        }
        if let Some(cpu) = &set.run.plan.cpu {
            let known = self.processors.entry(cpu.profile.clone()).or_default();
            same("processor profile", known, &cpu.text)?;
        }
        self.measured_unix_ns = self.measured_unix_ns.max(set.run.started_unix_ns);
        Ok(())
    }
}

impl Question {
    /// The question that a run answers.
    pub fn of(work: &str, disk: &str, size: u32, set: &ResultSet) -> Self {
        let mut question = Self {
            work: work.to_owned(),
            disk: disk.to_owned(),
            size,
            seconds: seconds_of_cell(set),
            plan: without_places(&set.run.plan),
            cells: Vec::new(),
        };
        let name = question.name();
        let cells = set.cells.iter();
        question.cells = cells
            .filter_map(|record| AtlasCell::of(&name, &set.run.plan, record))
            .collect();
        // In the order of the plan, whatever the order of execution was: files of two builds are alike.
        let of_plan = |cell: &AtlasCell| {
            let plan = &set.run.plan;
            let contender = plan
                .contenders
                .iter()
                .position(|one| one.label == cell.contender);
            let workload = plan
                .workloads
                .iter()
                .position(|one| one.name == cell.workload);
            (contender, workload, cell.draw)
        };
        question.cells.sort_by_key(of_plan);
        question
    }

    /// Its name: `mail/nvme/1`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.work, self.disk, self.size)
    }

    /// Its run, with the figures that the atlas keeps.
    pub fn run(&self, head: &Head) -> ResultSet {
        let guest = Effective {
            source: Effective::GUEST.to_owned(),
            text: head.kernel.clone(),
        };
        let cells = (0..).zip(&self.cells);
        let cells = cells.filter_map(|(index, cell)| cell.record(index, &self.plan, &guest));
        ResultSet {
            schema: ResultSet::SCHEMA,
            run: RunInfo {
                id: self.name(),
                started_unix_ns: head.measured_unix_ns,
                ended_unix_ns: Some(head.measured_unix_ns),
                stop: Some(StopReason::Complete),
                plan_hash: self.plan.hash(),
                plan: self.plan.clone(),
                provenance: Provenance {
                    fsdyno: head.fsdyno.clone(),
                    programs: head.programs.clone().into_iter().collect(),
                    ..Provenance::default()
                },
                command_line: Vec::new(),
            },
            cells: cells.collect(),
            variants: Vec::new(),
        }
    }

    /// The phases of one of its workloads.
    fn workload(&self, name: &str) -> Option<usize> {
        let mut all = self.plan.workloads.iter();
        all.position(|one| one.name == name)
    }
}

/// The mean time of a cell of a run on its machine, seconds, to a tenth.
fn seconds_of_cell(set: &ResultSet) -> f64 {
    let worked: f64 = set.cells.iter().map(|cell| cell.took_ns.seconds()).sum();
    (10.0 * worked / set.cells.len().max(1) as f64).round() / 10.0
}

/// A plan without what is only of the machine on which it ran.
pub fn without_places(plan: &Plan) -> Plan {
    let lab = |guest: GuestSize| GuestSize {
        kernel: Some(KernelChoice::Lab),
        ..guest
    };
    let device = match &plan.device {
        DeviceChoice::Loop { size, memory, .. } => DeviceChoice::Loop {
            size: *size,
            directory: PathBuf::new(),
            memory: *memory,
        },
        _ => DeviceChoice::None,
    };
    Plan {
        work_dir: None,
        device,
        contents: BTreeMap::new(),
        disk_trace: None,
        advice: None,
        shard: None,
        budget: None,
        guest: plan.guest.clone().map(lab),
        ..plan.clone()
    }
}

impl AtlasCell {
    /// The cell of a record of a run; none if the plan does not have it.
    fn of(question: &str, plan: &Plan, record: &CellRecord) -> Option<Self> {
        let contender = plan.contenders.get(record.cell.contender as usize)?;
        let workload = plan.workloads.get(record.cell.workload as usize)?;
        let is_measured = record.outcome == Outcome::Measured;
        Some(Self {
            of: question.to_owned(),
            contender: contender.label.clone(),
            workload: workload.name.clone(),
            draw: record.cell.block + 1,
            digest: digest(record).filter(|_| is_measured),
            ended: (!is_measured).then(|| record.outcome.clone()),
            phases: record.samples.iter().map(AtlasPhase::of).collect(),
        })
    }

    /// Its name: `mail/nvme/1/ext4/maildir/1`.
    pub fn name(&self) -> String {
        let Self {
            of,
            contender,
            workload,
            draw,
            ..
        } = self;
        format!("{of}/{contender}/{workload}/{draw}")
    }

    /// Its record in a run; none if the plan does not have it.
    fn record(&self, index: u32, plan: &Plan, guest: &Effective) -> Option<CellRecord> {
        let mut contenders = plan.contenders.iter();
        let contender = contenders.position(|one| one.label == self.contender)?;
        let mut workloads = plan.workloads.iter();
        let workload = workloads.position(|one| one.name == self.workload)?;
        let phases = &plan.workloads[workload].phases;
        let samples = self.phases.iter().filter_map(|phase| {
            let at = phases.iter().position(|one| one.label == phase.phase)?;
            Some(Sample {
                phase: u32::try_from(at).ok()?,
                label: phase.phase.clone(),
                kind: phases[at].kind.clone(),
                engine: plan.engine.clone(),
                return_ns: phase.return_ns,
                durable_ns: phase.durable_ns,
                tally: phase.work,
                warnings: phase.warnings.clone(),
                ..Sample::default()
            })
        });
        Some(CellRecord {
            cell: Cell {
                index,
                block: self.draw.checked_sub(1)?,
                contender: u32::try_from(contender).ok()?,
                workload: u32::try_from(workload).ok()?,
            },
            outcome: self.ended.clone().unwrap_or(Outcome::Measured),
            started_unix_ns: 0,
            took_ns: Nanos(0),
            samples: samples.collect(),
            commands: Vec::new(),
            effective: vec![guest.clone()],
            warnings: Vec::new(),
        })
    }

    /// What differs in a cell that was measured again; empty if nothing does.
    pub fn differences(&self, again: &Self) -> Vec<String> {
        let mut all = Vec::new();
        let ended = |of: &Self| match &of.ended {
            None => "measured".to_owned(),
            Some(Outcome::Failed(failure)) => format!("failed at {}", failure.stage),
            Some(_) => "skipped".to_owned(),
        };
        if ended(self) != ended(again) {
            all.push(format!(
                "{} in the atlas, {} here",
                ended(self),
                ended(again)
            ));
        }
        for phase in &self.phases {
            let mut others = again.phases.iter();
            let name = &phase.phase;
            let Some(other) = others.find(|one| one.phase == *name) else {
                all.push(format!("{name}: not measured here"));
                continue;
            };
            let times = [
                ("return", Some(phase.return_ns), Some(other.return_ns)),
                ("durable", phase.durable_ns, other.durable_ns),
            ];
            let time = |time: Option<Nanos>| {
                time.map_or_else(|| "none".to_owned(), |time| format!("{} ns", time.0))
            };
            for (what, then, now) in times.into_iter().filter(|(_, then, now)| then != now) {
                let (then, now) = (time(then), time(now));
                all.push(format!("{name}, {what}: {then} in the atlas, {now} here"));
            }
            if phase.work != other.work {
                all.push(format!("{name}: another amount of work"));
            }
            if phase.warnings.len() != other.warnings.len() {
                all.push(format!("{name}: other warnings about its work"));
            }
        }
        if self.digest != again.digest {
            let digest = |of: &Self| of.digest.clone().unwrap_or_else(|| "none".to_owned());
            let (then, now) = (digest(self), digest(again));
            all.push(format!(
                "digest of the disk requests: {then} in the atlas, {now} here"
            ));
        }
        all
    }
}

impl AtlasPhase {
    fn of(sample: &Sample) -> Self {
        let warnings = sample.warnings.iter();
        Self {
            phase: sample.label.clone(),
            return_ns: sample.return_ns,
            durable_ns: sample.durable_ns,
            work: sample.tally,
            warnings: warnings
                .filter(|warning| is_about_work(warning.kind))
                .cloned()
                .collect(),
        }
    }
}

/// A digest of the disk requests of a cell, with their times.
fn digest(record: &CellRecord) -> Option<String> {
    let mut effective = record.effective.iter();
    let of_disk = effective.find(|one| one.source == Effective::DISK)?;
    Some(short_hash(&of_disk.text))
}
