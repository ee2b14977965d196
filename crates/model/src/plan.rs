//! A plan: contenders x workloads x repeats, resolved, with a seed and an order.

use crate::capability::SkippedPhase;
use crate::cell::Cell;
use crate::contender::{Contender, ContenderKernel};
use crate::content::DatasetContent;
use crate::evidence::CacheState;
use crate::figures::FigureName;
use crate::kernel_work::ModelCpu;
use crate::lab::{GuestSize, LabChoice};
use crate::model_disk::{DiskRecord, ModelDisk};
use crate::names::short_hash;
use crate::random::Random;
use crate::shard::Shard;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Everything that determines a run, except for the machine.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing done or not, in any combination"
)]
pub struct Plan {
    /// The version of this structure.
    pub schema: u32,
    /// The suite it came from, or the user's name for it.
    pub name: String,
    /// The seed of datasets and order.
    pub seed: u64,
    /// What varied between blocks in a plan of version 0.2, which had one property; `varies` is
    /// empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vary: Option<FormerVary>,
    /// What varies between blocks; empty if all blocks are equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub varies: Vec<Vary>,
    /// The scale of generated datasets; 1 is full size.
    pub scale: f64,
    /// The contenders; the first is the baseline.
    pub contenders: Vec<Contender>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The phases that contenders do not run, because their file systems cannot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedPhase>,
    /// The number of blocks. With `adaptive`, the minimum.
    pub repeats: u32,
    /// The rule for adding blocks while comparisons are inconclusive; none if the number of blocks
    /// is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// The figure whose comparisons decide whether blocks are added; none if the times of all
    /// phases decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decides: Option<DecidingFigure>,
    /// The error rate of verdicts; none in plans of a version with one family-wise rate over all
    /// lines, spent in proportion to the blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorRate>,
    /// The numbers of blocks at which the run had ended before it was extended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<u32>,
    /// The part of the plan that this run executes; none if it executes all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The difference between contenders that matters: 0.02 is 2 %.
    #[serde(default = "usual_margin", skip_serializing_if = "is_usual_margin")]
    pub margin: f64,
    /// No block begins after this time.
    pub budget: Option<Nanos>,
    /// The time limit of a cell, which fails when it reaches it; none without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell_budget: Option<Nanos>,
    /// The devices of the contenders.
    pub device: DeviceChoice,
    /// The directory of mount points if there are no image files; none for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<PathBuf>,
    /// The engine that does the work.
    pub engine: String,
    /// How a copy moves data.
    pub copy_method: CopyMethod,
    /// Whether trees are compared, untimed, after phases that make one.
    pub verify: bool,
    /// Whether the file system's checker runs after each cell.
    pub check: bool,
    /// Whether extents are counted, untimed, after phases that write.
    #[serde(
        rename = "fragments",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub count_extents: bool,
    /// Whether tracepoints count metadata and forced writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// Whether the kernel is sampled during phases, on the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub profile: bool,
    /// Files smaller than this are left out where extents are counted, bytes.
    #[serde(default, skip_serializing_if = "Bytes::is_zero")]
    pub extent_floor: Bytes,
    /// The size of the guests in which contenders run; none if all run on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestSize>,
    /// The model disk of the contenders; none if they use image files or devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<ModelDisk>,
    /// The model processor in virtual time; none if computing is free, and in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ModelCpu>,
    /// Whether the comparison is repeated with variants of the model disk and processor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub robust: bool,
    /// Whether the user code of programs in virtual time is measured on the host; none for that of
    /// applications only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<bool>,
    /// The run that this one varies; none if it is no variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<VariantOf>,
    /// The advice that this run belongs to; none if it is a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<AdviceOf>,
    /// The directory of the block traces of the model disks; none if no trace is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_trace: Option<DiskRecord>,
    /// The content of the user's inputs when the plan was made, by their text: `tar:FILE`,
    /// `tree:DIR`, `file:FILE`, `trace:FILE`, and `kernel:FILE` for a guest's kernel. A plan
    /// recorded by a version without this has none, and their content is unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, DatasetContent>,
}

/// The advice that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AdviceOf {
    /// The name of the first run of the advice, which is the name of the advice; none in that run.
    pub first: Option<String>,
    /// The stage of the advice: `defaults`, `size 4`.
    pub stage: String,
    /// The question as JSON, from which the advice resumes; none in later runs.
    pub question: Option<String>,
}

/// A run that belongs to another one: its model disk or model processor is changed by its known error,
/// or it measures the user code of programs in real time.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VariantOf {
    /// The name of the run without the change.
    pub run: String,
    /// The change: `flushes 2.5 times slower`.
    pub change: String,
    /// The number of variants of that run with a change of the same kind.
    pub all: u32,
}

/// A figure of one phase.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DecidingFigure {
    /// The label of the phase.
    pub phase: String,
    /// The figure.
    #[serde(rename = "counter")]
    pub figure: FigureName,
}

/// The rule for adding blocks while comparisons are inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Adaptive {
    /// The precision at which a comparison needs no more blocks: half the width of the interval of
    /// its ratio. 0.01 is 1 % on each side.
    pub precision: f64,
    /// The maximum number of blocks.
    pub most: u32,
    /// The number of blocks that run even after the time limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fewest: u32,
}

/// The error rate that the verdicts of a table share. It is 5 % in both cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorRate {
    /// The false discovery rate: the expected share of wrong verdicts among those given.
    #[default]
    Fdr,
    /// The family-wise error rate: the probability of any wrong verdict.
    Fwer,
}

impl ErrorRate {
    /// All values.
    pub const ALL: [Self; 2] = [Self::Fdr, Self::Fwer];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fdr => "fdr",
            Self::Fwer => "fwer",
        }
    }

    /// The value with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rate| rate.name() == name)
    }
}

/// A property that can vary between blocks. All contenders of a block have the same draw of it, and
/// the first block has the same values as without variation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Vary {
    /// The seed of datasets: names, sizes, contents and order of files.
    Dataset,
    /// The random numbers of a guest: UUIDs, hash seeds of directories, and with them the readdir
    /// order, the choice of block groups and the places of inodes. In virtual time only.
    Names,
    /// The offset of a file system on its model disk, and the rotational position at its start. In
    /// virtual time only.
    Placement,
    /// The time since the mount at the start of a phase: the moment within commit and flush
    /// intervals. In virtual time only.
    Moment,
}

/// The property that could vary in version 0.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormerVary {
    /// The seed of datasets: each block had the next one.
    DatasetSeed,
}

impl Vary {
    /// All values, in their order in a plan.
    pub const ALL: [Self; 4] = [Self::Dataset, Self::Names, Self::Placement, Self::Moment];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dataset => "dataset",
            Self::Names => "names",
            Self::Placement => "placement",
            Self::Moment => "moment",
        }
    }

    /// The value with that name, or with the former name of one.
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "dataset-seed" {
            return Some(Self::Dataset);
        }
        Self::ALL.into_iter().find(|vary| vary.name() == name)
    }

    /// Whether it can vary in virtual time only. In real time nature varies it.
    pub fn is_virtual(self) -> bool {
        self != Self::Dataset
    }
}

impl fmt::Display for Vary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn usual_margin() -> f64 {
    Plan::MARGIN
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_usual_margin(margin: &f64) -> bool {
    margin.to_bits() == Plan::MARGIN.to_bits()
}

impl Plan {
    /// The default margin.
    pub const MARGIN: f64 = 0.02;

    /// A plan with the defaults of all settings.
    pub fn new(contenders: Vec<Contender>, workloads: Vec<Workload>) -> Self {
        Self {
            schema: Self::SCHEMA,
            name: String::new(),
            seed: 1,
            vary: None,
            varies: Vec::new(),
            scale: 1.0,
            contenders,
            workloads,
            skipped: Vec::new(),
            repeats: 1,
            adaptive: None,
            decides: None,
            errors: None,
            ends: Vec::new(),
            shard: None,
            margin: Self::MARGIN,
            budget: None,
            cell_budget: None,
            device: DeviceChoice::None,
            work_dir: None,
            engine: "sync".to_owned(),
            copy_method: CopyMethod::default(),
            verify: false,
            check: true,
            count_extents: false,
            trace: false,
            profile: false,
            extent_floor: Bytes(0),
            guest: None,
            disk: None,
            cpu: None,
            robust: false,
            user_code: None,
            variant: None,
            advice: None,
            disk_trace: None,
            contents: BTreeMap::new(),
        }
    }

    /// The maximum number of blocks.
    pub fn most_repeats(&self) -> u32 {
        self.adaptive.map_or(self.repeats, |adaptive| adaptive.most)
    }

    /// The shard that has a cell, if the plan has this number of shards.
    ///
    /// In virtual time the cells are assigned in turn, in the order of the plan, which its seed
    /// determines. In real time whole blocks are, because cells of different machines are not
    /// compared.
    pub fn shard_of(&self, cell: &Cell, of: NonZeroU32) -> Shard {
        let cells = self.in_virtual_time();
        Shard::with(if cells { cell.index } else { cell.block }, of)
    }

    /// The maximum number of cells: every contender runs every workload in every block. Of a shard,
    /// only its own.
    pub fn cells(&self) -> u64 {
        let block = (self.contenders.len() as u64).saturating_mul(self.workloads.len() as u64);
        let blocks = u64::from(self.most_repeats());
        let all = block.saturating_mul(blocks);
        match self.shard {
            None => all,
            Some(shard) if self.in_virtual_time() => shard.share(all),
            Some(shard) => block.saturating_mul(shard.share(blocks)),
        }
    }

    /// The seed of the datasets of a block.
    pub fn dataset_seed(&self, block: u32) -> u64 {
        match self.vary {
            Some(FormerVary::DatasetSeed) => self.seed.wrapping_add(block.into()),
            None => self.draw(Vary::Dataset, block).unwrap_or(self.seed),
        }
    }

    /// Whether a property varies.
    pub fn has_varying(&self, vary: Vary) -> bool {
        self.varies.contains(&vary) || vary == Vary::Dataset && self.vary.is_some()
    }

    /// The random number of a block for a property; none if the property does not vary, and in the
    /// first block. It depends on nothing but the seed of the plan, the property and the block.
    pub fn draw(&self, vary: Vary, block: u32) -> Option<u64> {
        if block == 0 || !self.varies.contains(&vary) {
            return None;
        }
        let parts = [self.seed, vary as u64 + 1, block.into()];
        Some(
            parts
                .into_iter()
                .fold(0, |state, part| Random::new(state ^ part).next_u64()),
        )
    }

    /// What varies between blocks, as text: `dataset, names`; none if nothing does.
    pub fn variation(&self) -> Option<String> {
        let all = Vary::ALL.into_iter().filter(|vary| self.has_varying(*vary));
        let names: Vec<&str> = all.map(Vary::name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Whether all blocks are equal: time is virtual and nothing varies, or there is only one block.
    /// However many they are, they are one draw: their figures are exact, and decide nothing about a
    /// difference. Each block has its own ageing seed.
    pub fn is_one_draw(&self) -> bool {
        let aged = self.contenders.iter().any(|c| c.state.fill().is_some());
        let fixed = self.varies.is_empty() && self.vary.is_none() && !aged;
        self.in_virtual_time() && (fixed || self.most_repeats() == 1)
    }

    /// Whether figures are exact: the same cell takes the same time to the nanosecond.
    pub fn in_virtual_time(&self) -> bool {
        self.disk_in_virtual_time().is_some()
    }

    /// Whether this run measures the user code of the run that it belongs to. All other variants are
    /// in virtual time.
    pub fn measures_user_code(&self) -> bool {
        self.variant.is_some() && !self.in_virtual_time()
    }

    /// A description of the processor of virtual time.
    pub fn processor(&self) -> String {
        match &self.cpu {
            Some(cpu) => format!("the processor {}", cpu.profile),
            None => "infinitely fast processors".to_owned(),
        }
    }

    /// The version of the plan structure this program writes.
    pub const SCHEMA: u32 = 2;

    /// The model disk, if it runs in virtual time.
    pub fn disk_in_virtual_time(&self) -> Option<&ModelDisk> {
        self.disk.as_ref().filter(|disk| disk.time.is_virtual())
    }

    /// The model disk, if it runs in real time.
    pub fn disk_in_real_time(&self) -> Option<&ModelDisk> {
        self.disk.as_ref().filter(|disk| !disk.time.is_virtual())
    }

    /// Whether image files are in memory.
    pub fn images_in_memory(&self) -> bool {
        matches!(self.device, DeviceChoice::Loop { memory, .. } if memory)
    }

    /// Whether any contender runs in that lab.
    pub fn uses(&self, lab: &LabChoice) -> bool {
        self.labs().contains(&lab)
    }

    /// The labs that contenders run in, each once, in the order they are first named.
    pub fn labs(&self) -> Vec<&LabChoice> {
        let mut labs: Vec<&LabChoice> = Vec::new();
        for contender in &self.contenders {
            if !labs.contains(&&contender.lab) {
                labs.push(&contender.lab);
            }
        }
        labs
    }

    /// The labs that contenders run in, each once with each of its kernels; none for the kernel of
    /// the plan.
    pub fn labs_and_kernels(&self) -> Vec<(&LabChoice, Option<&ContenderKernel>)> {
        let mut all = Vec::new();
        for contender in &self.contenders {
            let one = (&contender.lab, contender.kernel.as_ref());
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// The plan with each contender of User-mode Linux on each of these kernels, in their order.
    #[must_use]
    pub fn on_kernels(mut self, kernels: &[ContenderKernel]) -> Self {
        let (mut contenders, mut skipped) = (Vec::new(), Vec::new());
        for contender in self.contenders {
            let skips = self.skipped.iter();
            let skips: Vec<_> = skips
                .filter(|one| one.contender == contender.label)
                .collect();
            let all = if contender.lab == LabChoice::Uml {
                let on = |kernel: &ContenderKernel| contender.clone().on_kernel(kernel.clone());
                kernels.iter().map(on).collect()
            } else {
                vec![contender]
            };
            for one in all {
                skipped.extend(skips.iter().map(|skip| SkippedPhase {
                    contender: one.label.clone(),
                    ..(*skip).clone()
                }));
                contenders.push(one);
            }
        }
        (self.contenders, self.skipped) = (contenders, skipped);
        if let Some(guest) = &mut self.guest {
            guest.kernel = None;
        }
        self
    }

    /// The phases of a workload that a contender does not run.
    pub fn skipped_by<'a>(
        &'a self,
        contender: &'a Contender,
        workload: &'a Workload,
    ) -> impl Iterator<Item = &'a SkippedPhase> {
        let of_cell = move |one: &&SkippedPhase| {
            one.contender == contender.label && one.workload == workload.name
        };
        self.skipped.iter().filter(of_cell)
    }

    /// The reason why a contender skips all phases of a workload; none if it runs any.
    pub fn skips_all<'a>(
        &'a self,
        contender: &'a Contender,
        workload: &'a Workload,
    ) -> Option<&'a SkippedPhase> {
        let mut skipped = self.skipped_by(contender, workload);
        let first = skipped.next()?;
        (1 + skipped.count() == workload.phases.len()).then_some(first)
    }

    /// The hash that names this plan: plans that measure the same have equal hashes. The number of
    /// repeats is not part of it, so that a run keeps its hash when it is extended. All shards of a
    /// plan have the same hash.
    pub fn hash(&self) -> String {
        let plan = Self {
            repeats: 1,
            adaptive: None,
            decides: None,
            ends: Vec::new(),
            budget: None,
            shard: None,
            robust: false,
            user_code: None,
            variant: None,
            advice: None,
            ..self.clone()
        };
        // A plan is plain data: serialisation cannot fail.
        short_hash(&serde_json::to_string(&plan).unwrap_or_default())
    }
}

/// An ordered list of phases over a dataset.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Workload {
    /// Unique in its plan.
    pub name: String,
    /// The files it works on.
    pub dataset: DatasetChoice,
    /// Its phases, in order.
    pub phases: Vec<PhasePlan>,
}

/// One phase to be measured.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PhasePlan {
    /// Its label, unique in its workload.
    pub label: String,
    /// The kind of phase: `copy`, `delete`, `untar`, `read`, `stat-walk`, `grep`.
    pub kind: String,
    /// The state of the caches at its start.
    pub cache: CacheState,
    /// The regular expression of a search; none for the default of the kind.
    pub pattern: Option<String>,
    /// Further parameters of the kind, by name: the command of `exec`, the size of a file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The figure that contenders are judged by; none for the time until durable, or until return
    /// if nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<FigureName>,
}

/// The files a workload works on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "name")]
pub enum DatasetChoice {
    /// Generated from the seed: `portage`, `music`, `iso` ...
    Generated(String),
    /// A directory of the user, copied as `cp -a` does.
    Tree(PathBuf),
    /// A tar archive of the user, plain or compressed with gz, xz or zst.
    Tar(PathBuf),
    /// A file of the user.
    File(PathBuf),
    /// The tree at the start of a recording of `fsdyno record`.
    Trace(PathBuf),
}

impl DatasetChoice {
    /// How a user makes the work on it larger. `--scale` applies to generated datasets only.
    pub fn larger(&self) -> &'static str {
        match self {
            Self::Generated(name) if name == Self::NONE => "let the phase do more work (--set)",
            Self::Generated(_) => "raise --scale",
            Self::Tree(_) | Self::Tar(_) | Self::File(_) => "choose a larger dataset",
            Self::Trace(_) => "record more work",
        }
    }

    /// How a user makes the work on it smaller.
    pub fn smaller(&self) -> &'static str {
        match self {
            Self::Generated(name) if name == Self::NONE => "let the phase do less work (--set)",
            Self::Generated(_) => "choose a smaller --scale",
            Self::Tree(_) | Self::Tar(_) | Self::File(_) => "choose a smaller dataset",
            Self::Trace(_) => "record less work",
        }
    }

    /// The name of the dataset without files, for phases that create their own files.
    pub const NONE: &str = "none";

    /// Whether it is a user's dataset, whose contents may change between runs.
    pub fn is_users(&self) -> bool {
        !matches!(self, Self::Generated(_))
    }

    /// Whether it has no files.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::Generated(name) if name == Self::NONE)
    }

    /// Parses `portage`, `tree:DIR`, `tar:FILE`, `file:FILE` or `trace:FILE`.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("tree", path)) => Self::Tree(path.into()),
            Some(("tar", path)) => Self::Tar(path.into()),
            Some(("file", path)) => Self::File(path.into()),
            Some(("trace", path)) => Self::Trace(path.into()),
            _ => Self::Generated(text.to_owned()),
        }
    }
}

impl fmt::Display for DatasetChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(name) => f.write_str(name),
            Self::Tree(path) => write!(f, "tree:{}", path.display()),
            Self::Tar(path) => write!(f, "tar:{}", path.display()),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Trace(path) => write!(f, "trace:{}", path.display()),
        }
    }
}

/// The kind of device that stores the data of contenders.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "on")]
pub enum DeviceChoice {
    /// Sparse image files that fsdyno makes: on loop devices with direct I/O, or, in a guest, as
    /// its disks.
    Loop {
        /// The size of each image; none: chosen by the datasets.
        size: Option<Bytes>,
        /// The directory of the images.
        directory: PathBuf,
        /// Whether the images are in memory: on a tmpfs that is mounted in that directory.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        memory: bool,
    },
    /// Block devices that the user named and released.
    Block {
        /// The devices.
        paths: Vec<PathBuf>,
    },
    /// No device: all contenders are directories or memory.
    None,
}

/// How a copy moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyMethod {
    /// `read` into memory, `write` from it.
    #[default]
    ReadWrite,
    /// `copy_file_range(2)`: the kernel may share, offload or copy.
    CopyFileRange,
    /// `FICLONE`: the copy shares the blocks of its source, or fails.
    Reflink,
}

impl CopyMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::ReadWrite, Self::CopyFileRange, Self::Reflink];

    /// The name, as typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::CopyFileRange => "copy-file-range",
            Self::Reflink => "reflink",
        }
    }

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

impl fmt::Display for CopyMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_the_seed_the_property_and_the_block_alone() {
        let plan = |seed| Plan {
            seed,
            varies: Vary::ALL.to_vec(),
            ..Plan::new(vec![Contender::plain("one")], Vec::new())
        };
        let mut seen = std::collections::BTreeSet::new();
        for seed in 1..=20 {
            for block in 1..=20 {
                for vary in Vary::ALL {
                    let draw = plan(seed).draw(vary, block);
                    let mut other = plan(seed);
                    (other.contenders, other.repeats) = (Vec::new(), 90);
                    assert_eq!(other.draw(vary, block), draw);
                    seen.insert(draw);
                }
            }
        }
        assert_eq!(seen.len(), 20 * 20 * Vary::ALL.len());
        // The first block is that of a plan without variation.
        let first = Vary::ALL.map(|vary| plan(7).draw(vary, 0));
        assert_eq!((first, plan(7).dataset_seed(0)), ([None; 4], 7));
        let mut fixed = plan(7);
        fixed.varies = vec![Vary::Names];
        assert_eq!(
            (fixed.draw(Vary::Moment, 3), fixed.dataset_seed(3)),
            (None, 7)
        );
    }
}
