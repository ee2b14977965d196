//! A run as read from the store: the input of every report.

use crate::cell::{Cell, CellRecord, Effective, Outcome};
use crate::contender::Contender;
use crate::lab::LabChoice;
use crate::names::short_hash;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::sample::Sample;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A run with its cells.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ResultSet {
    /// The version of this structure, as JSON carries it.
    #[schemars(extend("const" = ResultSet::SCHEMA))]
    pub schema: u32,
    /// Identity, plan and provenance.
    pub run: RunInfo,
    /// All cells recorded, by index.
    pub cells: Vec<CellRecord>,
    /// The runs that vary its model disk and processor, if they were read too.
    #[serde(skip)]
    pub variants: Vec<ResultSet>,
}

/// A run without its cells.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RunInfo {
    /// Its name: date and time (UTC), suite, and a number where that is taken (`20261121-1730-quick-2`).
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended, if it did.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it did not.
    pub stop: Option<StopReason>,
    /// The plan.
    pub plan: Plan,
    /// The hash of the plan.
    pub plan_hash: String,
    /// The machine, its kernel and its programs.
    pub provenance: Provenance,
    /// The command line that began it.
    pub command_line: Vec<String>,
}

/// The reason why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All cells of the plan are recorded.
    Complete,
    /// The budget was spent.
    Budget,
    /// The user interrupted it.
    Interrupted,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Complete => "complete",
            Self::Budget => "budget",
            Self::Interrupted => "interrupted",
        })
    }
}

/// The contenders whose figures may be compared: those of one lab and one kernel, or one contender
/// on several kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabShare {
    /// The lab.
    pub lab: LabChoice,
    /// The label of the contender whose kernels are compared; none if contenders are compared.
    pub kernels_of: Option<String>,
    /// Its kernels, if known; one, unless they are compared.
    pub kernels: Vec<String>,
    /// The descriptions of its guests, with the kernel first, in the order of the kernels; empty on
    /// the host.
    pub guests: Vec<String>,
    /// The contenders, by their indices in the plan.
    pub contenders: Vec<usize>,
}

/// The kernel in the description of a guest.
fn kernel_in(guest: &str) -> &str {
    guest.split(',').next().unwrap_or(guest)
}

/// The samples of a cell at one phase, with its block.
fn of_phase(record: &CellRecord, phase: usize) -> impl Iterator<Item = (u32, &Sample)> {
    let samples = record.samples.iter();
    let wanted = samples.filter(move |sample| sample.phase as usize == phase);
    wanted.map(|sample| (record.cell.block, sample))
}

/// Figures of one contender, each with its block.
pub type BlockFigures = Vec<(u32, f64)>;

impl ResultSet {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 2;

    /// The samples of one contender at one phase of one workload, with their blocks, by block.
    pub fn samples(&self, contender: usize, workload: usize, phase: usize) -> Vec<(u32, &Sample)> {
        let mut samples: Vec<_> = self
            .cells
            .iter()
            .filter(|r| {
                r.cell.contender as usize == contender && r.cell.workload as usize == workload
            })
            .flat_map(|r| of_phase(r, phase))
            .collect();
        samples.sort_by_key(|(block, _)| *block);
        samples
    }

    /// The samples of every contender at one phase of one workload, as [`Self::samples`] returns
    /// them for one contender. Iterates over the cells only once, as there may be many.
    pub fn samples_of_all(&self, workload: usize, phase: usize) -> Vec<Vec<(u32, &Sample)>> {
        let mut all = vec![Vec::new(); self.run.plan.contenders.len()];
        let wanted = |record: &&CellRecord| record.cell.workload as usize == workload;
        for record in self.cells.iter().filter(wanted) {
            if let Some(of) = all.get_mut(record.cell.contender as usize) {
                of.extend(of_phase(record, phase));
            }
        }
        for of in &mut all {
            of.sort_by_key(|(block, _)| *block);
        }
        all
    }

    /// The descriptions of the initial state of a contender, as its cells recorded them.
    pub fn states(&self, contender: usize) -> Vec<&str> {
        self.cells
            .iter()
            .filter(|record| record.cell.contender as usize == contender)
            .flat_map(|record| &record.effective)
            .filter(|effective| effective.source == Effective::STATE)
            .map(|effective| effective.text.as_str())
            .collect()
    }

    /// The guest in which cells ran, as the first cell recorded it; none if all ran on the host.
    pub fn guest(&self) -> Option<&str> {
        let mut effective = self.cells.iter().flat_map(|record| &record.effective);
        effective
            .find(|effective| effective.source == Effective::GUEST)
            .map(|effective| effective.text.as_str())
    }

    /// The machines of a run that was executed on several, each with its share of the cells.
    pub fn machines(&self) -> Vec<String> {
        let mut machines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        let blocks = !self.run.plan.in_virtual_time();
        for record in &self.cells {
            let mut effective = record.effective.iter();
            if let Some(machine) = effective.find(|one| one.source == Effective::MACHINE) {
                let Cell { index, block, .. } = record.cell;
                let unit = if blocks { block + 1 } else { index };
                machines.entry(&machine.text).or_default().insert(unit);
            }
        }
        let text = |(machine, units): (&str, BTreeSet<u32>)| {
            let units: Vec<_> = units.iter().map(ToString::to_string).collect();
            let what = if blocks { "blocks" } else { "cells" };
            format!("{machine} ({what} {})", units.join(", "))
        };
        machines.into_iter().map(text).collect()
    }

    /// A digest of all disk requests of cells in virtual time, with their times; none without such
    /// cells. The same plan on the same kernel gives the same digest.
    pub fn digest(&self) -> Option<String> {
        if self.run.plan.disk_in_real_time().is_some() {
            return None;
        }
        let report = |record: &CellRecord| {
            let mut of_disk = record.effective.iter();
            let found = of_disk.find(|effective| effective.source == Effective::DISK)?;
            Some((record.cell.index, found.text.clone()))
        };
        let mut cells: Vec<_> = self.cells.iter().filter_map(report).collect();
        // In the order of the plan, independent of the order of execution.
        cells.sort();
        let texts: Vec<String> = cells.into_iter().map(|(_, text)| text).collect();
        (!texts.is_empty()).then(|| short_hash(&texts.join("\n")))
    }

    /// The kernel under test: that of the guest if there is one, else that of the host.
    pub fn kernel(&self) -> &str {
        let of_guest = self.guest().map(kernel_in);
        of_guest.unwrap_or(&self.run.provenance.kernel)
    }

    /// The groups of comparable contenders: one for each lab and kernel, in the order of the plan.
    /// Figures of two kernels are not compared, because the costs of their system calls differ. If the
    /// kernels of contenders were named, they are the question: then a group is one contender on all
    /// of them.
    pub fn labs(&self) -> Vec<LabShare> {
        let mut shares: Vec<LabShare> = Vec::new();
        for (at, contender) in self.run.plan.contenders.iter().enumerate() {
            let guest = self.guest_of(at);
            let kernel = self.kernel_of(at);
            let of_any = contender.clone().on_any_kernel();
            let kernels_of = contender.kernel.is_some().then_some(of_any.label);
            let known = shares.iter_mut().find(|share| {
                let is_same_kernel = share.kernels.first().map(String::as_str) == kernel;
                share.lab == contender.lab
                    && share.kernels_of == kernels_of
                    && (kernels_of.is_some() || is_same_kernel)
            });
            let (kernel, guest) = (kernel.map(str::to_owned), guest.map(str::to_owned));
            let Some(share) = known else {
                shares.push(LabShare {
                    lab: contender.lab.clone(),
                    kernels_of,
                    kernels: kernel.into_iter().collect(),
                    guests: guest.into_iter().collect(),
                    contenders: vec![at],
                });
                continue;
            };
            share.contenders.push(at);
            if share.kernels_of.is_some() {
                share.kernels.extend(kernel);
                share.guests.extend(guest);
            }
        }
        shares
    }

    /// The kernel of a contender; none if it is unknown.
    pub fn kernel_of(&self, contender: usize) -> Option<&str> {
        if let Some(guest) = self.guest_of(contender) {
            return Some(kernel_in(guest));
        }
        let lab = &self.run.plan.contenders.get(contender)?.lab;
        lab.is_host().then_some(&*self.run.provenance.kernel)
    }

    /// The guest in which the cells of a contender ran, as the first cell recorded it. Without a
    /// record, the guest of another contender of the same lab and kernel.
    pub fn guest_of(&self, contender: usize) -> Option<&str> {
        let guest = |wanted: &dyn Fn(usize) -> bool| {
            let cells = self.cells.iter();
            let mut cells = cells.filter(|record| wanted(record.cell.contender as usize));
            cells.find_map(|record| {
                let mut effective = record.effective.iter();
                let guest = effective.find(|effective| effective.source == Effective::GUEST)?;
                Some(guest.text.as_str())
            })
        };
        let contenders = &self.run.plan.contenders;
        let Contender { lab, kernel, .. } = contenders.get(contender)?;
        let is_same = |at: usize| {
            let other = contenders.get(at);
            other.is_some_and(|other| other.lab == *lab && other.kernel == *kernel)
        };
        guest(&|at| at == contender).or_else(|| guest(&is_same))
    }

    /// A copy of the run with only these contenders, in this order.
    #[must_use]
    pub fn only(&self, contenders: &[usize]) -> Self {
        let mut set = Self {
            schema: self.schema,
            run: self.run.clone(),
            cells: Vec::new(),
            variants: self.variants.clone(),
        };
        let all = &self.run.plan.contenders;
        let kept = contenders.iter().filter_map(|at| all.get(*at).cloned());
        set.run.plan.contenders = kept.collect();
        for record in &self.cells {
            let place = record.cell.contender as usize;
            let place = contenders.iter().position(|at| *at == place);
            if let Some(place) = place.and_then(|place| u32::try_from(place).ok()) {
                let mut record = record.clone();
                record.cell.contender = place;
                set.cells.push(record);
            }
        }
        set
    }

    /// The cells that were not measured.
    pub fn unmeasured(&self) -> impl Iterator<Item = &CellRecord> {
        self.cells.iter().filter(|r| r.outcome != Outcome::Measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Cell;
    use crate::contender::ContenderKernel;
    use crate::lab::KernelChoice;
    use crate::units::Nanos;

    fn record(index: u32, contender: u32, guest: Option<&str>) -> CellRecord {
        let effective = guest.map(|text| Effective {
            source: Effective::GUEST.into(),
            text: text.into(),
        });
        CellRecord {
            cell: Cell {
                index,
                block: 0,
                contender,
                workload: 0,
            },
            outcome: Outcome::Measured,
            started_unix_ns: 0,
            took_ns: Nanos(1),
            samples: Vec::new(),
            commands: Vec::new(),
            effective: effective.into_iter().collect(),
            warnings: Vec::new(),
        }
    }

    fn run(labs: &[LabChoice], cells: Vec<CellRecord>) -> ResultSet {
        let contender = |(at, lab): (usize, &LabChoice)| Contender {
            lab: lab.clone(),
            ..Contender::plain(&format!("c{at}"))
        };
        let plan = Plan {
            name: "test".into(),
            contenders: labs.iter().enumerate().map(contender).collect(),
            check: false,
            ..Plan::new(Vec::new(), Vec::new())
        };
        ResultSet {
            schema: ResultSet::SCHEMA,
            run: RunInfo {
                id: "test".into(),
                started_unix_ns: 0,
                ended_unix_ns: None,
                stop: None,
                plan,
                plan_hash: String::new(),
                provenance: Provenance {
                    kernel: "Linux 6.1".into(),
                    ..Provenance::default()
                },
                command_line: Vec::new(),
            },
            cells,
            variants: Vec::new(),
        }
    }

    #[test]
    fn contenders_are_grouped_by_lab_and_kernel() {
        use LabChoice::{Host, Uml};
        let (old, new) = (
            "Linux 6.1 (uml), one, 512 MiB",
            "Linux 6.12 (uml), one, 512 MiB",
        );
        let cells = vec![
            record(0, 0, None),
            record(1, 1, Some(old)),
            record(2, 2, None),
            record(3, 3, Some(new)),
            record(4, 4, None), // its guest did not start
        ];
        let set = run(&[Host, Uml, Host, Uml, Uml], cells);
        let shares = set.labs();
        let found: Vec<_> = shares
            .iter()
            .map(|share| (&*share.kernels[0], &share.contenders[..]))
            .collect();
        assert_eq!(
            found,
            [
                ("Linux 6.1", &[0, 2][..]),
                ("Linux 6.1 (uml)", &[1, 4]),
                ("Linux 6.12 (uml)", &[3]),
            ]
        );
        let share = set.only(&shares[1].contenders);
        let labels: Vec<&str> = share
            .run
            .plan
            .contenders
            .iter()
            .map(|c| c.label.as_str())
            .collect();
        assert_eq!(labels, ["c1", "c4"]);
        let cells: Vec<_> = share
            .cells
            .iter()
            .map(|r| (r.cell.index, r.cell.contender))
            .collect();
        assert_eq!(cells, [(1, 0), (4, 1)]);
        // Before the first cell, a lab is one group.
        assert_eq!(run(&[Uml, Uml], Vec::new()).labs().len(), 1);
    }

    #[test]
    fn a_contender_on_several_kernels_is_one_group() {
        let guest = |kernel: &str| format!("Linux {kernel} (uml), one, 512 MiB");
        let [old, new] = ["6.11", "6.12"].map(guest);
        let cells = vec![
            record(0, 0, Some(&old)),
            record(1, 1, Some(&new)),
            record(2, 2, Some(&old)),
            record(3, 3, None), // its guest did not start
        ];
        let mut set = run(&[], cells);
        let kernel = |name: &str| ContenderKernel {
            name: name.into(),
            program: KernelChoice::File(format!("/{name}").into()),
            source: None,
        };
        for filesystem in ["ext4", "xfs"] {
            for name in ["a", "b"] {
                let contender = Contender {
                    lab: LabChoice::Uml,
                    ..Contender::plain(filesystem).on_kernel(kernel(name))
                };
                set.run.plan.contenders.push(contender);
            }
        }
        let shares = set.labs();
        let on_kernels: Vec<_> = shares
            .iter()
            .map(|share| (share.kernels_of.as_deref(), &share.contenders[..]))
            .collect();
        assert_eq!(
            on_kernels,
            [(Some("ext4"), &[0, 1][..]), (Some("xfs"), &[2, 3])]
        );
        for share in shares {
            assert_eq!(share.kernels, ["Linux 6.11 (uml)", "Linux 6.12 (uml)"]);
        }
        assert_eq!(set.guest_of(3), Some(new.as_str()));
    }
}
