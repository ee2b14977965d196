//! Joins records of one plan: shards, copies of one record at different times, and what was joined
//! before. The result does not depend on the order.

use fsdyno_model::{
    Cell, CellRecord, Effective, Exploration, ExploredProgram, FaultTest, FaultTests, Outcome,
    PowerCut, Provenance, ResultSet, Series, Shard, StopReason, kernel_of_guest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::num::NonZeroU32;

/// A record that was joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Its id.
    pub id: String,
    /// The kind of its parts.
    pub unit: Unit,
    /// The number of its recorded parts.
    pub recorded: u64,
    /// The number of its planned parts.
    pub planned: u64,
    /// The shards that lack parts; empty if no shard was joined.
    pub missing: Vec<Shard>,
}

/// The parts of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The cells of a run.
    Cell,
    /// The power cuts of a series.
    PowerCut,
    /// The programs of an exploration.
    Program,
    /// The contenders of tests with faulty disks.
    FaultTest,
}

/// What records have in common.
pub(crate) struct Heading<'r> {
    pub id: &'r mut String,
    pub started_unix_ns: &'r mut u64,
    pub ended_unix_ns: &'r mut Option<u64>,
    pub stop: &'r mut Option<StopReason>,
    /// None if there are no shards of this kind.
    pub shard: Option<&'r mut Option<Shard>>,
    pub provenance: &'r mut Provenance,
    pub command_line: &'r mut Vec<String>,
}

/// The heading in the fields of a record, which have the same names in all kinds.
macro_rules! heading {
    ($info:expr, $shard:expr) => {
        Heading {
            id: &mut $info.id,
            started_unix_ns: &mut $info.started_unix_ns,
            ended_unix_ns: &mut $info.ended_unix_ns,
            stop: &mut $info.stop,
            shard: $shard,
            provenance: &mut $info.provenance,
            command_line: &mut $info.command_line,
        }
    };
}

/// A run, a series, an exploration, or tests with faulty disks.
pub(crate) trait Record: Clone + PartialEq {
    /// The kind of its parts.
    const UNIT: Unit;
    /// A cell, a power cut, a program, or a tested contender.
    type Part: Clone + PartialEq + Serialize + DeserializeOwned;

    fn heading(&mut self) -> Heading<'_>;
    /// The id of the record that the shards of its plan are joined into.
    fn whole_id(&self) -> String;
    fn parts(&mut self) -> &mut Vec<Self::Part>;
    /// The parts of one place are taken from one record. None if its plan has no such part.
    fn place(&self, part: &Self::Part) -> Option<u64>;
    /// The description of the guest of a part, whose kernel must be that of the others; none if
    /// kernels may differ.
    fn guest<'p>(&self, part: &'p Self::Part) -> Option<&'p str>;
    /// Whether the parts of a place replace those that are recorded. The error says in which way
    /// they contradict each other.
    fn replaces(&self, theirs: &[Self::Part], ours: &[Self::Part]) -> Result<bool, String>;
    /// The number of planned parts.
    fn planned(&self) -> u64;
    /// The shards, of this number, that lack parts.
    fn missing(&self, of: NonZeroU32) -> BTreeSet<Shard>;
    /// Takes a later plan of the same run.
    fn extend(&mut self, _other: &Self) {}

    fn shard(&mut self) -> Option<Shard> {
        *self.heading().shard?
    }

    /// The id of the record that it is joined into.
    fn id_of_joined(&mut self) -> String {
        match self.shard() {
            Some(_) => self.whole_id(),
            None => self.heading().id.clone(),
        }
    }
}

/// A record that others are added to.
pub(crate) struct Joining<R: Record> {
    record: R,
    parts: BTreeMap<u64, Vec<R::Part>>,
    /// Whether shards of the plan are joined; else copies of one record.
    whole: bool,
    /// The largest number of shards among the records.
    of: Option<NonZeroU32>,
}

impl<R: Record> Joining<R> {
    /// Begins with a record.
    pub fn with(mut record: R) -> Self {
        let id = record.id_of_joined();
        let whole = id == record.whole_id();
        let of = record.shard().map(|shard| shard.of);
        let parts = by_place(&mut record);
        let heading = record.heading();
        *heading.id = id;
        if let Some(shard) = heading.shard {
            *shard = None;
        }
        Self {
            record,
            parts,
            whole,
            of,
        }
    }

    /// Adds a record whole, or not at all with the reason.
    pub fn add(&mut self, mut other: R) -> Result<(), String> {
        let shard = other.shard();
        let name = {
            let id = other.heading().id.clone();
            shard.map_or_else(|| id.clone(), |shard| format!("{id} (shard {shard})"))
        };
        let id = self.record.heading().id.clone();
        let versions =
            [&mut self.record, &mut other].map(|one| one.heading().provenance.fsdyno.clone());
        let theirs = by_place(&mut other);
        let differ = |what: &str, ours: &str, new: &str| {
            format!("{name} was measured with another {what} ({new}; the other shards: {ours})")
        };
        if versions[0] != versions[1] {
            return Err(differ("version of fsdyno", &versions[0], &versions[1]));
        }
        let kernels = [&self.parts, &theirs].map(|parts| self.kernel(parts));
        if let [Some(ours), Some(new)] = &kernels
            && ours != new
        {
            return Err(differ("kernel of its guests", ours, new));
        }
        // All parts are checked before the first one is taken.
        let mut taken = Vec::new();
        for (place, parts) in &theirs {
            let ours = self.parts.get(place);
            let replaces = ours.map_or(Ok(true), |ours| self.record.replaces(parts, ours));
            let replaces = replaces.map_err(|what| {
                format!(
                    "{what} of {name} differs from the one that is recorded in {id}, although time \
                     is virtual; repeat it on both machines, and compare their block traces \
                     (--disk-trace)"
                )
            })?;
            if replaces {
                taken.push(*place);
            }
        }
        self.add_heading(&mut other, theirs.len());
        self.record.extend(&other);
        self.of = self.of.max(shard.map(|shard| shard.of));
        let taken = theirs
            .into_iter()
            .filter(|(place, _)| taken.contains(place));
        self.parts.extend(taken);
        Ok(())
    }

    /// The kernel of the guests of the first part that has one.
    fn kernel(&self, parts: &BTreeMap<u64, Vec<R::Part>>) -> Option<String> {
        let mut guests = parts
            .values()
            .flatten()
            .filter_map(|part| self.record.guest(part));
        let guest = guests.find(|guest| !guest.is_empty())?;
        Some(kernel_of_guest(guest).to_owned())
    }

    /// Of shards the earliest is the origin of the whole; of copies the fullest is the latest.
    fn add_heading(&mut self, other: &mut R, parts: usize) {
        let (ours, theirs) = (self.record.heading(), other.heading());
        if !self.whole {
            let (known, new) = (self.parts.len(), parts);
            if (new, *theirs.ended_unix_ns) > (known, *ours.ended_unix_ns) {
                *ours.ended_unix_ns = *theirs.ended_unix_ns;
                *ours.stop = *theirs.stop;
            }
            return;
        }
        let origin = |heading: &Heading<'_>| {
            let provenance = serde_json::to_string(heading.provenance).unwrap_or_default();
            (
                *heading.started_unix_ns,
                heading.command_line.clone(),
                provenance,
            )
        };
        *ours.ended_unix_ns = (*ours.ended_unix_ns).max(*theirs.ended_unix_ns);
        let budgets = [&ours.stop, &theirs.stop].map(|stop| **stop == Some(StopReason::Budget));
        *ours.stop = budgets.contains(&true).then_some(StopReason::Budget);
        if origin(&theirs) < origin(&ours) {
            *ours.started_unix_ns = *theirs.started_unix_ns;
            *ours.provenance = mem::take(theirs.provenance);
            *ours.command_line = mem::take(theirs.command_line);
        }
    }

    /// The joined record, and what it lacks.
    pub fn finish(mut self) -> (R, Joined) {
        *self.record.parts() = self.parts.into_values().flatten().collect();
        let (recorded, planned) = (self.record.parts().len() as u64, self.record.planned());
        let missing = self
            .of
            .map_or_else(BTreeSet::new, |of| self.record.missing(of));
        let heading = self.record.heading();
        if self.whole && recorded >= planned {
            *heading.stop = Some(StopReason::Complete);
        } else if self.whole && *heading.stop != Some(StopReason::Budget) {
            *heading.stop = None;
        }
        let joined = Joined {
            id: heading.id.clone(),
            unit: R::UNIT,
            recorded,
            planned,
            missing: missing.into_iter().collect(),
        };
        (self.record, joined)
    }
}

/// The parts of a record by their place.
fn by_place<R: Record>(record: &mut R) -> BTreeMap<u64, Vec<R::Part>> {
    let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for part in mem::take(record.parts()) {
        if let Some(place) = record.place(&part) {
            places.entry(place).or_default().push(part);
        }
    }
    places
}

/// The shards of the planned parts that are not recorded.
fn missing(
    recorded: &BTreeSet<u32>,
    planned: u64,
    shard: impl Fn(u32) -> Shard,
) -> BTreeSet<Shard> {
    let all = 0..u32::try_from(planned).unwrap_or(u32::MAX);
    let lacking = all.filter(|unit| !recorded.contains(unit));
    lacking.map(shard).collect()
}

impl Record for ResultSet {
    const UNIT: Unit = Unit::Cell;
    type Part = CellRecord;

    fn heading(&mut self) -> Heading<'_> {
        heading!(self.run, Some(&mut self.run.plan.shard))
    }

    fn whole_id(&self) -> String {
        crate::resolve::id_of_whole(&self.run)
    }

    fn parts(&mut self) -> &mut Vec<CellRecord> {
        &mut self.cells
    }

    /// In real time the cells of a block are compared, so one machine measured all of them.
    fn place(&self, part: &CellRecord) -> Option<u64> {
        let Cell { index, block, .. } = part.cell;
        let place = if self.run.plan.in_virtual_time() {
            index
        } else {
            block
        };
        Some(place.into())
    }

    /// Figures in real time are not compared between machines.
    fn guest<'p>(&self, part: &'p CellRecord) -> Option<&'p str> {
        let compared = self.run.plan.in_virtual_time();
        text(part, Effective::GUEST).filter(|_| compared)
    }

    /// The one with more measured cells, then the first one, then the one with more profiles.
    fn replaces(&self, theirs: &[CellRecord], ours: &[CellRecord]) -> Result<bool, String> {
        let rank = |cells: &[CellRecord]| {
            let measured = cells.iter().filter(|one| one.outcome == Outcome::Measured);
            let started = cells.iter().map(|one| one.started_unix_ns).min();
            let samples = cells.iter().flat_map(|one| &one.samples);
            let profiles = samples.filter(|sample| sample.profile.is_some());
            (
                measured.count(),
                cells.len(),
                Reverse(started),
                profiles.count(),
            )
        };
        let (new, known) = (rank(theirs), rank(ours));
        let twice = self.run.plan.in_virtual_time() && new.0 > 0 && known.0 > 0;
        let disk = |cells: &[CellRecord]| {
            let first = cells.first().and_then(|one| text(one, Effective::DISK));
            first.map(str::to_owned)
        };
        if twice && new.2 != known.2 && disk(theirs) != disk(ours) {
            return Err(format!("cell {}", theirs[0].cell.index));
        }
        Ok(new > known)
    }

    fn planned(&self) -> u64 {
        self.run.plan.cells()
    }

    fn missing(&self, of: NonZeroU32) -> BTreeSet<Shard> {
        let plan = &self.run.plan;
        let recorded = self.cells.iter().map(|record| record.cell.index).collect();
        let of_block = (plan.contenders.len() * plan.workloads.len()).max(1);
        missing(&recorded, plan.cells(), |index| {
            let cell = Cell {
                index,
                block: index / u32::try_from(of_block).unwrap_or(u32::MAX),
                contender: 0,
                workload: 0,
            };
            plan.shard_of(&cell, of)
        })
    }

    fn extend(&mut self, other: &Self) {
        let repeats = &mut self.run.plan.repeats;
        *repeats = (*repeats).max(other.run.plan.repeats);
    }
}

/// The text of a source in a record.
fn text<'a>(record: &'a CellRecord, source: &str) -> Option<&'a str> {
    let mut effective = record.effective.iter();
    let found = effective.find(|one| one.source == source)?;
    Some(&found.text)
}

impl Record for Series {
    const UNIT: Unit = Unit::PowerCut;
    type Part = PowerCut;

    fn heading(&mut self) -> Heading<'_> {
        heading!(self.info, Some(&mut self.info.shard))
    }

    fn whole_id(&self) -> String {
        crate::resolve::id_of_whole_series(&self.info)
    }

    fn parts(&mut self) -> &mut Vec<PowerCut> {
        &mut self.power_cuts
    }

    fn place(&self, part: &PowerCut) -> Option<u64> {
        self.info.place(part).map(u64::from)
    }

    fn guest<'p>(&self, part: &'p PowerCut) -> Option<&'p str> {
        Some(&part.guest)
    }

    /// A power cut has no start: any fixed order of its text will do.
    fn replaces(&self, theirs: &[PowerCut], ours: &[PowerCut]) -> Result<bool, String> {
        let text = |cuts: &[PowerCut]| serde_json::to_string(cuts).unwrap_or_default();
        Ok(text(theirs) < text(ours))
    }

    fn planned(&self) -> u64 {
        self.info.power_cuts()
    }

    fn missing(&self, of: NonZeroU32) -> BTreeSet<Shard> {
        let cuts = self.power_cuts.iter();
        let recorded = cuts.filter_map(|one| self.info.place(one)).collect();
        missing(&recorded, self.planned(), |place| Shard::with(place, of))
    }
}

impl Record for Exploration {
    const UNIT: Unit = Unit::Program;
    type Part = ExploredProgram;

    fn heading(&mut self) -> Heading<'_> {
        heading!(self.info, Some(&mut self.info.shard))
    }

    fn whole_id(&self) -> String {
        crate::resolve::id_of_whole_exploration(&self.info)
    }

    fn parts(&mut self) -> &mut Vec<ExploredProgram> {
        &mut self.programs
    }

    fn place(&self, part: &ExploredProgram) -> Option<u64> {
        self.info.place(part)
    }

    fn guest<'p>(&self, part: &'p ExploredProgram) -> Option<&'p str> {
        Some(&part.guest)
    }

    /// An explored program replaces one that failed.
    fn replaces(
        &self,
        theirs: &[ExploredProgram],
        ours: &[ExploredProgram],
    ) -> Result<bool, String> {
        let ([new], [known]) = (theirs, ours) else {
            return Ok(theirs.len() > ours.len());
        };
        match (&new.failed, &known.failed) {
            (None, None) if new.digest() != known.digest() => {
                Err(format!("program {} on {}", new.number, new.contender))
            }
            (new, known) => Ok(new < known),
        }
    }

    fn planned(&self) -> u64 {
        self.info.programs()
    }

    fn missing(&self, of: NonZeroU32) -> BTreeSet<Shard> {
        let programs = self.programs.iter();
        let recorded: BTreeSet<_> = programs.filter_map(|one| self.info.unit(one)).collect();
        let lacking = self.info.units().filter(|unit| !recorded.contains(unit));
        lacking.map(|unit| self.info.shard_of(unit, of)).collect()
    }
}

impl Record for FaultTests {
    const UNIT: Unit = Unit::FaultTest;
    type Part = FaultTest;

    fn heading(&mut self) -> Heading<'_> {
        heading!(self.info, None)
    }

    fn whole_id(&self) -> String {
        crate::resolve::id_of_whole_fault_tests(&self.info)
    }

    fn parts(&mut self) -> &mut Vec<FaultTest> {
        &mut self.tests
    }

    fn place(&self, part: &FaultTest) -> Option<u64> {
        self.info.place(part)
    }

    fn guest<'p>(&self, part: &'p FaultTest) -> Option<&'p str> {
        Some(&part.guest)
    }

    /// A test is recorded whole, once.
    fn replaces(&self, theirs: &[FaultTest], ours: &[FaultTest]) -> Result<bool, String> {
        match (theirs.first(), ours.first()) {
            (Some(new), Some(known)) if new != known => Err(format!("test of {}", new.contender)),
            _ => Ok(theirs.len() > ours.len()),
        }
    }

    fn planned(&self) -> u64 {
        self.info.contenders.len() as u64
    }

    fn missing(&self, _of: NonZeroU32) -> BTreeSet<Shard> {
        BTreeSet::new()
    }
}
