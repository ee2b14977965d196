//! The data model of fsdyno.
//!
//! All other crates use these types: [`Contender`], [`Workload`], [`Plan`], [`Cell`], [`Sample`],
//! [`Event`], [`ResultSet`]. They are plain values: no I/O, no clock, and [random numbers](random)
//! only of a seed. Stored data and messages to labs are serialised values of these types.

#![warn(missing_docs)]

pub mod block_role;
pub mod cancel;
pub mod capability;
pub mod cell;
pub mod contender;
pub mod content;
pub mod disk_fault;
pub mod disk_use;
pub mod event;
pub mod evidence;
pub mod exploration;
pub mod figure_lines;
pub mod figure_unit;
pub mod figures;
pub mod full_disk;
pub mod guest_kernel_time;
pub mod hardware;
pub mod kernel_work;
pub mod lab;
pub mod model_disk;
pub mod names;
pub mod observed;
pub mod own_table;
pub mod parameter;
mod parts;
pub mod plan;
pub mod pool;
pub mod power_cut;
mod priced_kind;
pub mod printable;
pub mod profile;
pub mod provenance;
pub mod random;
pub mod requirement;
pub mod result;
pub mod sample;
pub mod scaling;
pub mod search_path;
pub mod series;
pub mod shard;
mod shell;
mod short_or;
pub mod state;
pub mod step;
mod suggestion;
pub mod timeline;
pub mod typed;
pub mod units;
pub mod waits;
pub mod warning;

pub use block_role::BlockRole;
pub use cancel::{CancelToken, Cancelled};
pub use capability::{
    Capabilities, Consistency, EntryKind, LeftOut, NameRule, Required, SkippedPhase,
};
pub use cell::{
    Cell, CellRecord, CommandRecord, Effective, Failure, Outcome, Stage, kernel_of_guest,
};
pub use contender::{Contender, ContenderKernel, FilesystemKind, GrammarError, LayoutChoice};
pub use content::DatasetContent;
pub use disk_fault::{
    DiskFault, DiskWork, FaultOutcome, FaultTest, FaultTests, FaultTestsInfo, Filling,
    InjectedFault, SlowWork,
};
pub use disk_use::{DiskFigures, DiskUse, Mark, Point};
pub use event::Event;
pub use evidence::{CacheEvidence, CacheState};
pub use exploration::{
    ClassCount, DeclaredPromise, Exploration, ExplorationInfo, ExplorationUnit, ExploredProgram,
    ExtraPromise, Finding, Minimal, ProgramCost, ProgramSource, Score, Search, Signatures,
    StateClass, StateCounts, Violation,
};
pub use figure_lines::FigureLine;
pub use figures::{FigureDefinition, FigureName, NoFigure, Reading, Source};
pub use full_disk::{
    Accounting, ActionOutcome, FillLevel, FillSpeed, FullAction, FullDisk, QuotaUse,
};
pub use hardware::HardwareEvent;
pub use kernel_work::{KernelWork, ModelCpu, ThreadWork};
pub use lab::{GuestSize, KernelChoice, LabChoice, NoLab};
pub use model_disk::{DiskRecord, DiskTime, ModelDisk, NoTime};
pub use observed::{Frequency, Observed, OtherIo, Pressure, Traced};
pub use own_table::{OwnFigure, OwnPhase, OwnTable};
pub use parameter::{Form, Given, Needs, Parameter};
pub use plan::{
    Adaptive, AdviceOf, CopyMethod, DatasetChoice, DecidingFigure, DeviceChoice, ErrorRate,
    FormerVary, PhasePlan, Plan, VariantOf, Vary, Workload,
};
pub use pool::{Daemon, Pool};
pub use power_cut::{CacheLoss, Judgement, Loss, PowerCut, Recovery, WorkLoss};
pub use priced_kind::PricedKind;
pub use printable::{printable, printable_lines};
pub use provenance::Provenance;
pub use requirement::{Availability, Need, Requirement};
pub use result::{BlockFigures, LabShare, ResultSet, RunInfo, StopReason};
pub use sample::{Better, CpuUse, DeviceUse, Figure, Fragmentation, Probe, Sample, Tally};
pub use series::{Series, SeriesInfo};
pub use shard::Shard;
pub use shell::shell_line;
pub use short_or::ShortOr;
pub use state::{Fill, FillError, InitialState};
pub use step::Step;
pub use suggestion::{closest_name, suggestion};
pub use timeline::{LatencyDistribution, Progress, Slice};
pub use typed::ContenderSpec;
pub use units::{Bytes, Nanos};
pub use waits::Waits;
pub use warning::{Warning, WarningKind};
