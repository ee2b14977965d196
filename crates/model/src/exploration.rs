//! An exploration of crash states as stored: programs of operations on some contenders, each with
//! the states that a power cut can leave, and what was found.

use crate::contender::Contender;
use crate::lab::GuestSize;
use crate::model_disk::ModelDisk;
use crate::names::short_hash;
use crate::provenance::Provenance;
use crate::result::StopReason;
use crate::shard::Shard;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// An exploration with its programs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Exploration {
    /// The version of this structure, as JSON carries it.
    #[schemars(extend("const" = Exploration::SCHEMA))]
    pub schema: u32,
    /// Its settings and its machine.
    pub info: ExplorationInfo,
    /// The explored programs, in order of execution.
    pub programs: Vec<ExploredProgram>,
}

/// An exploration without its programs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExplorationInfo {
    /// Its name, like that of a run.
    pub id: String,
    /// When it began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When it ended, if it did.
    pub ended_unix_ns: Option<u64>,
    /// The reason why it ended; none if it did not.
    pub stop: Option<StopReason>,
    /// The tested contenders, each with a label of its own.
    pub contenders: Vec<Contender>,
    /// The settings of the search.
    pub search: Search,
    /// How many programs the search has. Each contender executes all of them.
    pub programs_planned: u32,
    /// The time after which no further program begins; none if all programs are explored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Nanos>,
    /// The part of the programs that this exploration executes; none if all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The size of its guests.
    pub guest: GuestSize,
    /// The model disk, which records the requests.
    pub disk: ModelDisk,
    /// The directory of kept images.
    pub work_dir: PathBuf,
    /// The machine, its devices and programs.
    pub provenance: Provenance,
    /// The command line that began it.
    pub command_line: Vec<String>,
}

/// The settings of a search. Equal settings explore the same programs and states.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Search {
    /// The source of the programs.
    pub programs: ProgramSource,
    /// The strongest class of states.
    pub class: StateClass,
    /// The maximum number of states of one window that are recovered.
    pub states: u64,
    /// Whether the power is also cut during the recovery, its checker and repairs.
    pub nested: bool,
    /// The seed of samples.
    pub seed: u64,
    /// The promises beyond POSIX that the documentation of each contender makes, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<DeclaredPromise>>,
}

/// A promise about power cuts beyond POSIX, which some file systems make.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraPromise {
    /// Operations on names survive in their order.
    OrderedMetadata,
    /// `fsync` of a file also makes durable the operations on which its names depend.
    DependentMetadata,
    /// `fsync` of a file makes all its names durable.
    AllLinkNames,
    /// A new file that replaces another by rename has its data, without `fsync`.
    ReplaceByRename,
}

/// An extra promise of a contender.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DeclaredPromise {
    /// The promise.
    pub promise: ExtraPromise,
    /// The document that makes it, with its version or date.
    pub source: String,
}

/// The source of programs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramSource {
    /// All sequences of one and two operations, then a sample of those with three.
    Generated {
        /// The maximum number of operations of a program.
        operations: u32,
        /// How many programs of three operations.
        sampled: u32,
    },
    /// These programs, in their text form.
    Given {
        /// The programs.
        programs: Vec<String>,
    },
    /// One long program. Its windows are explored in parts, each as a program.
    Long {
        /// The program, in its text form.
        program: String,
        /// A description of the program.
        about: String,
        /// The maximum number of windows that are explored.
        windows: u32,
    },
    /// An application, with a command that checks its data.
    Application {
        /// Its name and settings; none of a command of the user.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// A command whose result is durable before the application begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prepare: Option<String>,
        /// The command of the application, run in the file system.
        command: String,
        /// The command that checks the recovered files.
        check: String,
    },
}

/// A class of crash states, from the weakest to the strongest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum StateClass {
    /// The first writes in the order of submission are on the medium.
    C0,
    /// Whole epochs between two flushes are on the medium.
    C1,
    /// Any subset of the writes that no flush made durable.
    C2,
    /// Any subset of the sectors of these writes.
    C3,
    /// As C2, and one sector of a write in flight cannot be read.
    C4,
    /// A flush was acknowledged and did nothing: a fault of the device, never of a file system.
    C5,
}

impl StateClass {
    /// All classes.
    pub const ALL: [Self; 6] = [Self::C0, Self::C1, Self::C2, Self::C3, Self::C4, Self::C5];

    /// The displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::C0 => "C0",
            Self::C1 => "C1",
            Self::C2 => "C2",
            Self::C3 => "C3",
            Self::C4 => "C4",
            Self::C5 => "C5",
        }
    }
}

/// One program on one contender: the states that a power cut can leave, and the findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ExploredProgram {
    /// The contender, by its label.
    pub contender: String,
    /// Its number among the programs, from 0.
    pub number: u32,
    /// The program, in its text form.
    pub program: String,
    /// The kinds of its operations under test (`rename`, `fsync`), each once, sorted. Setup does not
    /// count.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The description of the guest, its kernel first; empty if it did not start.
    #[serde(default)]
    pub guest: String,
    /// The reason why it could not be explored; none if it was.
    pub failed: Option<String>,
    /// The number of states.
    pub states: StateCounts,
    /// The cost of its promises.
    pub cost: ProgramCost,
    /// The findings, one for each signature.
    pub findings: Vec<Finding>,
}

/// How many states a program has, and how many were checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StateCounts {
    /// Explored windows: times between two moments at which data becomes durable.
    pub windows: u64,
    /// Windows of a long program that were not explored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped_windows: u64,
    /// By class.
    pub classes: BTreeMap<StateClass, ClassCount>,
    /// States with an image of their own; each was mounted or equals a mounted one in all that its
    /// recovery reads.
    pub distinct: u64,
    /// States that were mounted, and whose tree was read and judged.
    pub recovered: u64,
    /// States that equal a mounted one in all sectors that its recovery and check read.
    pub equivalent: u64,
    /// States of a power cut during the recovery that were mounted.
    pub nested: u64,
    /// States of a power cut during a checker or a repair program that were mounted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nested_checks: u64,
    /// Distinct recovered trees; the checker ran on each.
    pub trees: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The states of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ClassCount {
    /// Legal states over all windows; none if they are more than 2^63.
    pub legal: Option<u64>,
    /// Checked states.
    pub checked: u64,
    /// Distinct states that show a finding and are of no weaker class, by its score. A state counts
    /// once for each score. Empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<Score, u64>,
}

impl ClassCount {
    /// Whether all legal states were checked.
    pub fn is_complete(&self) -> bool {
        self.legal == Some(self.checked)
    }
}

/// The cost of the promises of a program, from its recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ProgramCost {
    /// Acknowledged operations, syncs included.
    pub operations: u64,
    /// From the first operation until the last had returned, virtual time.
    pub took_ns: Nanos,
    /// Flushes, and writes with FUA.
    pub flushes: u64,
    /// Bytes that were written to the disk.
    pub bytes_written: u64,
    /// Bytes that the program wrote.
    pub bytes_requested: u64,
}

/// The kind of promise that was broken.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Violation {
    /// It could not be mounted.
    Mount,
    /// The kernel crashed or hung on it.
    Kernel,
    /// An acknowledged file or name is gone.
    Missing,
    /// A removed file or an old name is back.
    Returned,
    /// Acknowledged content is not what was written.
    Content,
    /// A file shows bytes that were never written to it.
    Foreign,
    /// Attributes, links or sizes are wrong.
    Metadata,
    /// An atomic operation is half done.
    Atomic,
    /// The checker found errors after the recovery.
    Checker,
    /// A second mount changed something.
    Unstable,
    /// A file could not be deleted, or its name could not be used again.
    Unusable,
    /// The check of an application failed.
    Application,
    /// An extra promise, beyond POSIX, which is scored separately.
    Extra,
}

/// A finding in a program: violations with the same signature. Reports join those of several
/// programs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Finding {
    /// The signature of the violations.
    pub signature: String,
    /// The promise.
    pub violation: Violation,
    /// The weakest class that shows it.
    pub class: StateClass,
    /// The description of the violation.
    pub message: String,
    /// The first state that shows it, for `--again`.
    pub state: String,
    /// How many distinct states show it.
    pub count: u64,
    /// The minimal program and state that show it; none if it was not minimised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<Minimal>,
    /// The messages of the kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<String>,
    /// The messages of the checker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
}

/// The minimal program and state that show a finding.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Minimal {
    /// The signature that findings of one cause share: the broken promise and the pattern of the
    /// minimal program. Empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// The program, in its text form.
    pub program: String,
    /// The number of its operations.
    pub operations: u64,
    /// The state.
    pub state: String,
    /// The requests from the last durable moment on, one line each, with `: kept`, `: dropped` or
    /// `: torn` and the reason. They prove the state legal.
    pub requests: Vec<String>,
    /// The kept image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
    /// The script that shows the finding on the kept image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,
}

/// Merges findings by contender: those whose minimal programs have the same signature are one. Of
/// equal signatures the finding of the first program is minimised, and its signature is used for
/// all. Minimised forms of other programs, from another shard or a parallel job, are ignored.
#[derive(Debug, Clone, Default)]
pub struct Signatures(BTreeMap<(String, String), (u32, Minimal)>);

/// A program on a contender: what is executed, recorded and resumed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExplorationUnit {
    /// The number of the program, from 0.
    pub number: u32,
    /// The contender, by its index.
    pub contender: usize,
}

/// How a finding is scored.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// The file system broke a promise of POSIX or its own documents.
    Violation,
    /// The check of an application failed: with its settings, the application loses data.
    Application,
    /// It does not keep an extra promise.
    Extra,
    /// It is seen only if the disk acknowledges flushes without performing them: a fault of the
    /// disk.
    Disk,
}

impl Signatures {
    /// Adds the findings of a program.
    pub fn add(&mut self, program: &ExploredProgram) {
        for finding in &program.findings {
            let minimal = finding.minimal.as_ref();
            let Some(minimal) = minimal.filter(|minimal| !minimal.signature.is_empty()) else {
                continue;
            };
            let key = (program.contender.clone(), finding.signature.clone());
            let known = self.0.get(&key);
            if known.is_none_or(|(number, _)| program.number < *number) {
                self.0.insert(key, (program.number, minimal.clone()));
            }
        }
    }

    /// Whether the minimised form of a finding of this program is the one used for its signature.
    pub fn counts(&self, program: &ExploredProgram, finding: &Finding) -> bool {
        let key = (program.contender.clone(), finding.signature.clone());
        let known = self.0.get(&key);
        known.is_none_or(|(number, _)| *number == program.number)
    }

    /// The signature that counts for a finding of an added program, by that of the finding.
    pub fn of<'a>(&'a self, contender: &str, signature: &'a str) -> &'a str {
        let known = self.0.get(&(contender.to_owned(), signature.to_owned()));
        known.map_or(signature, |(_, least)| &least.signature)
    }

    /// The minimal forms that are used, as text, without the paths of kept images.
    fn text(&self) -> String {
        let all = self.0.iter().map(|(key, (number, minimal))| {
            let minimal = Minimal {
                image: None,
                script: None,
                ..minimal.clone()
            };
            (key, number, minimal)
        });
        // Plain data: serialisation cannot fail.
        serde_json::to_string(&all.collect::<Vec<_>>()).unwrap_or_default()
    }
}

impl ExplorationInfo {
    /// The name of what its shards have in common.
    pub fn hash(&self) -> String {
        let Self {
            contenders,
            search,
            programs_planned,
            guest,
            disk,
            ..
        } = self;
        let text = serde_json::to_string(&(contenders, search, programs_planned, guest, disk));
        // Plain data: serialisation cannot fail.
        short_hash(&text.unwrap_or_default())
    }

    /// The units that it executes, in order: each program on all contenders, then the next program.
    /// Of a shard, only its own.
    pub fn units(&self) -> impl Iterator<Item = ExplorationUnit> {
        let contenders = self.contenders.len();
        let all = (0..self.programs_planned)
            .flat_map(move |number| (0..contenders).map(move |at| (number, at)));
        let units = all.map(|(number, contender)| ExplorationUnit { number, contender });
        units.filter(|unit| {
            self.shard
                .is_none_or(|shard| self.shard_of(*unit, shard.of) == shard)
        })
    }

    /// The shard of this number that executes a unit. Each shard has all contenders about as often
    /// as the others: they do not take the same time.
    pub fn shard_of(&self, unit: ExplorationUnit, of: NonZeroU32) -> Shard {
        let of_contenders = self.contenders.len() as u64;
        let (shards, contenders) = (u64::from(of.get()), of_contenders.max(1));
        let place = self.place_of(unit);
        // Without the shift, three shards of three contenders would have one contender each.
        let turn = place / least_common_multiple(contenders, shards);
        let dealt = (place + turn) % shards;
        Shard::with(u32::try_from(dealt).unwrap_or_default(), of)
    }

    /// How many units it executes.
    pub fn programs(&self) -> u64 {
        let contenders = self.contenders.len() as u64;
        let all = u64::from(self.programs_planned) * contenders;
        let Some(shard) = self.shard else {
            return all;
        };
        let of = u64::from(shard.of.get());
        // Of each whole turn, all shards have the same number.
        let turn = least_common_multiple(contenders.max(1), of);
        let (turns, rest) = (all / turn, all % turn);
        let number = u64::from(shard.number.get()) - 1;
        let first = (number + of - (turns * turn + turns) % of) % of;
        turns * (turn / of) + rest.saturating_sub(first).div_ceil(of)
    }

    /// The place of a program in the order of execution, in an exploration that is no shard; none if
    /// it is not part of the exploration.
    pub fn place(&self, program: &ExploredProgram) -> Option<u64> {
        self.unit(program).map(|unit| self.place_of(unit))
    }

    fn place_of(&self, unit: ExplorationUnit) -> u64 {
        let contenders = self.contenders.len() as u64;
        u64::from(unit.number) * contenders.max(1) + unit.contender as u64
    }

    /// The unit of a program; none if it is not part of the exploration.
    pub fn unit(&self, program: &ExploredProgram) -> Option<ExplorationUnit> {
        let mut contenders = self.contenders.iter();
        let contender = contenders.position(|one| one.label == program.contender)?;
        let number = program.number;
        (number < self.programs_planned).then_some(ExplorationUnit { number, contender })
    }
}

fn least_common_multiple(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    one / a * other
}

impl ExploredProgram {
    /// A digest of what was explored and found. It is the same on every machine, in every shard.
    /// It does not cover the minimal form of findings: which of them are minimised depends on the
    /// shard.
    pub fn digest(&self) -> String {
        let findings = self.findings.iter().map(|finding| Finding {
            minimal: None,
            ..finding.clone()
        });
        let program = Self {
            guest: String::new(),
            findings: findings.collect(),
            ..self.clone()
        };
        // Plain data: serialisation cannot fail.
        short_hash(&serde_json::to_string(&program).unwrap_or_default())
    }
}

impl Finding {
    /// How it is scored.
    pub fn score(&self) -> Score {
        match (self.class, self.violation) {
            (StateClass::C5, _) => Score::Disk,
            (_, Violation::Extra) => Score::Extra,
            (_, Violation::Application) => Score::Application,
            _ => Score::Violation,
        }
    }
}

impl Score {
    /// All scores.
    pub const ALL: [Self; 4] = [Self::Violation, Self::Application, Self::Extra, Self::Disk];

    /// Whether a search with such a finding fails: of a file system, or of an application.
    pub fn fails(self) -> bool {
        matches!(self, Self::Violation | Self::Application)
    }
}

impl ProgramSource {
    /// Whether the programs are those of fsdyno or of the user, which only file systems can fail.
    pub fn tests_file_systems(&self) -> bool {
        !matches!(self, Self::Application { .. })
    }
}

impl ExtraPromise {
    /// The displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::OrderedMetadata => "ordered metadata",
            Self::DependentMetadata => "dependent metadata",
            Self::AllLinkNames => "all link names",
            Self::ReplaceByRename => "replace by rename",
        }
    }
}

impl Violation {
    /// The displayed name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mount => "mount",
            Self::Kernel => "kernel",
            Self::Missing => "missing",
            Self::Returned => "returned",
            Self::Content => "content",
            Self::Foreign => "foreign",
            Self::Metadata => "metadata",
            Self::Atomic => "atomic",
            Self::Checker => "checker",
            Self::Unstable => "unstable",
            Self::Unusable => "unusable",
            Self::Application => "application",
            Self::Extra => "extra",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for StateClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Exploration {
    /// The version of the structure this program writes.
    pub const SCHEMA: u32 = 1;

    /// The name of an exploration in its id, where a run has its suite.
    pub const NAME: &'static str = "explore";

    /// The signatures of the findings of all its programs.
    pub fn signatures(&self) -> Signatures {
        let mut signatures = Signatures::default();
        for program in &self.programs {
            signatures.add(program);
        }
        signatures
    }

    /// A digest of all explored programs, in the order of the search, and of the minimal forms of
    /// the findings. It does not depend on the split into shards.
    pub fn digest(&self) -> String {
        let explored = self.programs.iter();
        let mut programs: Vec<_> = explored
            .map(|program| (self.info.unit(program), program.digest()))
            .collect();
        programs.sort();
        let digests = programs.into_iter().map(|(_, digest)| digest);
        let digests: Vec<String> = digests.chain([self.signatures().text()]).collect();
        short_hash(&digests.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Contender;

    fn info(contenders: usize, programs: u32) -> ExplorationInfo {
        ExplorationInfo {
            id: String::new(),
            started_unix_ns: 0,
            ended_unix_ns: None,
            stop: None,
            contenders: vec![Contender::plain("ext4"); contenders],
            search: Search {
                programs: ProgramSource::Given {
                    programs: Vec::new(),
                },
                class: StateClass::C2,
                states: 10,
                nested: false,
                seed: 1,
                extra: BTreeMap::new(),
            },
            programs_planned: programs,
            budget: None,
            shard: None,
            guest: GuestSize::default(),
            disk: ModelDisk {
                profile: String::new(),
                text: String::new(),
                faults: None,
                time: crate::model_disk::DiskTime::Virtual,
            },
            work_dir: PathBuf::new(),
            provenance: Provenance::default(),
            command_line: Vec::new(),
        }
    }

    #[test]
    fn any_number_of_shards_has_each_unit_once_and_equal_shares_of_contenders() {
        for (contenders, of) in [
            (1, 1),
            (1, 4),
            (2, 2),
            (3, 3),
            (3, 2),
            (3, 6),
            (5, 4),
            (2, 7),
        ] {
            let mut all = info(contenders, 84);
            let whole: Vec<_> = all.units().collect();
            assert_eq!(whole.len(), contenders * 84);
            let mut dealt = Vec::new();
            for shard in Shard::all(NonZeroU32::new(of).unwrap()) {
                all.shard = Some(shard);
                let own: Vec<_> = all.units().collect();
                assert_eq!(own.len() as u64, all.programs());
                let share = 84 / of as usize;
                for contender in 0..contenders {
                    let of_contender = own.iter().filter(|unit| unit.contender == contender);
                    let count = of_contender.count();
                    assert!(
                        count.abs_diff(share) <= contenders,
                        "{count} of {share} in {shard}"
                    );
                }
                dealt.extend(own);
            }
            dealt.sort();
            assert_eq!(dealt, whole);
        }
    }

    #[test]
    fn the_share_of_a_shard_is_that_of_its_units_in_any_exploration() {
        for programs in 0..14 {
            for (contenders, of) in [(1, 3), (2, 4), (3, 4), (3, 5), (4, 6)] {
                let mut one = info(contenders, programs);
                for shard in Shard::all(NonZeroU32::new(of).unwrap()) {
                    one.shard = Some(shard);
                    assert_eq!(one.programs(), one.units().count() as u64, "{shard}");
                }
            }
        }
    }

    #[test]
    fn a_finding_of_a_lying_disk_or_of_an_application_is_none_of_the_file_system() {
        let scored = |violation, class| {
            let finding = Finding {
                signature: String::new(),
                violation,
                class,
                message: String::new(),
                state: String::new(),
                count: 1,
                minimal: None,
                kernel: Vec::new(),
                checker: None,
            };
            finding.score()
        };
        assert_eq!(scored(Violation::Missing, StateClass::C5), Score::Disk);
        assert_eq!(scored(Violation::Extra, StateClass::C2), Score::Extra);
        assert_eq!(scored(Violation::Missing, StateClass::C3), Score::Violation);
        let application = scored(Violation::Application, StateClass::C0);
        assert_eq!(application, Score::Application);
    }
}
