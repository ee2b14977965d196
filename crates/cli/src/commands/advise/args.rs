//! The arguments of `advise`.

use crate::args::{multiple, report_format, unknown};
use crate::commands::atlas::SHIPPED;
use clap::{ArgAction, Args};
use fsdyno_load::programs::apps;
use fsdyno_model::{KernelChoice, Nanos, StateClass};
use fsdyno_report::Format;
use fsdyno_run::advise::Feature;
use fsdyno_run::options;
use fsdyno_run::resolve::suite;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// The headings of the flags.
const WORKLOAD: &str = "Workload";
const PLACE: &str = "Where it is measured";
const CHOICE: &str = "Choice";

/// The default time limit of all measurements: 5 minutes, and 15 for an application, whose data are made
/// for each cell.
const BUDGET: Nanos = Nanos(300_000_000_000);
const BUDGET_OF_APPLICATION: Nanos = Nanos(900_000_000_000);

/// The settings that an advice that resumes does not take: they are those of its question.
const OF_QUESTION: [&str; 19] = [
    "suite",
    "app",
    "phases",
    "work",
    "dataset",
    "workload_trace",
    "scale",
    "set",
    "disk",
    "fit",
    "guest_kernel",
    "work_dir",
    "fs",
    "needs",
    "survive",
    "no_robust",
    "validate",
    "measure",
    "atlas",
];

#[derive(Debug, Clone, Args, Deserialize, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub struct AdviseArgs {
    /// Suite (`fsdyno list suites`), or application of another name [default: quick]
    #[arg(value_name = "SUITE", conflicts_with = "workload_trace")]
    pub suite: Option<String>,
    /// Phases in order, instead of the suite's
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "workload_trace",
          help_heading = WORKLOAD)]
    pub phases: Vec<String>,
    /// Workload file (`fsdyno work`), instead of a suite; repeatable
    #[arg(long, value_name = "FILE", action = ArgAction::Append,
          conflicts_with_all = ["suite", "phases", "dataset", "workload_trace"],
          help_heading = WORKLOAD)]
    #[serde(default)]
    pub work: Vec<PathBuf>,
    /// Application (`fsdyno list apps`) or its file, instead of a suite
    ///
    /// NAME[SETTING=VALUE,...] changes its settings. It is judged by its own figures, and measured with 4
    /// and 16 times the data too.
    #[arg(long, value_name = "APP",
          conflicts_with_all = ["suite", "phases", "work", "dataset", "workload_trace", "scale"],
          help_heading = WORKLOAD)]
    #[serde(default)]
    pub app: Option<String>,
    /// Dataset instead of the suite's: a name, tree:DIR, {tar,file,trace}:FILE
    #[arg(long, value_name = "DATASET", conflicts_with = "workload_trace",
          help_heading = WORKLOAD)]
    pub dataset: Option<String>,
    /// Recording to replay (`fsdyno record`), instead of a suite
    #[arg(long, value_name = "FILE", help_heading = WORKLOAD)]
    pub workload_trace: Option<PathBuf>,
    /// Size of generated datasets as a multiple of full size
    ///
    /// The default is 0.1 in virtual time (with --work 1), and that of the suite in real time. In
    /// virtual time the contenders are measured also with 4 and 16 times the work, of which the most
    /// decides.
    #[arg(long, value_name = "X", value_parser = multiple, help_heading = WORKLOAD)]
    pub scale: Option<f64>,
    /// Parameter of a kind of phase: mail.messages=20000; may be repeated
    #[arg(long, value_name = "SETTING", help_heading = WORKLOAD)]
    pub set: Vec<String>,
    /// Model disk: a profile (`fsdyno disk list`) or its file [default: sata-ssd]
    ///
    /// fsdyno disk fit writes a profile of your disk. It needs the lab kernel.
    #[arg(long, value_name = "PROFILE", help_heading = PLACE)]
    pub disk: Option<PathBuf>,
    /// Model disk fitted to this device or file, which is opened for reading only
    ///
    /// The device is measured as by `fsdyno disk fit`, which takes about a minute for a hard disk and 20
    /// seconds for other disks.
    #[arg(long, value_name = "DEVICE", conflicts_with = "disk", help_heading = PLACE)]
    pub fit: Option<PathBuf>,
    /// Kernel of the guests instead of the lab kernel: packaged, or its path
    #[arg(long, value_name = "KERNEL", value_parser = options::kernel(), help_heading = PLACE)]
    pub guest_kernel: Option<KernelChoice>,
    /// Directory of image files and mount points [default: /var/tmp]
    #[arg(long, value_name = "DIR", help_heading = PLACE)]
    pub work_dir: Option<PathBuf>,
    /// Time limit of all measurements: 90s, 1h [default: 5m, applications 15m]
    ///
    /// Sizes and options that do not fit into it are left out, and named. No measurement starts after
    /// it.
    #[arg(long, value_name = "TIME", help_heading = PLACE)]
    pub budget: Option<Nanos>,
    /// Contenders, separated by commas [default: all that are safe to choose]
    ///
    /// By default a contender survives power cuts without a repair, the kernel maintains its driver,
    /// and its programs are installed.
    #[arg(long, value_name = "LIST", help_heading = CHOICE)]
    pub fs: Option<String>,
    /// Features that the file system must have
    ///
    /// snapshots, checksums (of data), compression, shrink, grow, reflink, quotas, encryption,
    /// journal (or copy on write: a power cut needs no repair).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature,
          help_heading = CHOICE)]
    pub needs: Vec<Feature>,
    /// Only contenders that survive this: power, power=CLASS, bitrot, disk
    ///
    /// power: crash tests (`fsdyno crash`) up to class C2, or CLASS (C0 to C4), without a finding, and
    /// power cuts (`fsdyno lose power`) without a loss of synced data or a repair by a person. bitrot: no
    /// wrong data after a flipped bit on a disk (`fsdyno lose`). disk: mirrors and parity that work
    /// without a disk (`fsdyno lose`); by default file systems on two mirrored disks. The tests are those
    /// in the store with this kernel and these options; an answer of the atlas also has its own. If no
    /// contender was tested, none is dropped.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = CHOICE)]
    #[serde(default)]
    pub survive: Vec<Survival>,
    /// Do not vary the model disk and the model processor by their errors
    #[arg(long, help_heading = CHOICE)]
    pub no_robust: bool,
    /// Compare the prediction with image files in real time, pair by pair
    ///
    /// The file systems are measured again, with their defaults and at the same scale. Use --disk
    /// with a profile of the disk below the image files.
    #[arg(long, help_heading = CHOICE)]
    pub validate: bool,
    /// Measure here, even if the atlas has an answer
    #[arg(long, conflicts_with = "atlas", help_heading = PLACE)]
    #[serde(skip)]
    pub measure: bool,
    /// Answer from the atlas only, and measure nothing
    ///
    /// The file is that of `fsdyno atlas build`; without it, the atlas is the shipped one.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
          default_missing_value = SHIPPED, help_heading = PLACE)]
    #[serde(skip)]
    pub atlas: Option<PathBuf>,
    /// Continue an interrupted advice by its name [default: the last one]
    ///
    /// The name is that of its first run (`fsdyno runs`). Finished runs are not repeated. With
    /// --budget, the time from now on, runs that the time limit ended continue too.
    #[arg(long, value_name = "ADVICE", num_args = 0..=1, default_missing_value = "last",
          conflicts_with_all = OF_QUESTION, help_heading = PLACE)]
    #[serde(skip)]
    pub resume: Option<String>,
    /// Format of standard output: terminal, html, csv, json or markdown
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    #[serde(skip)]
    pub format: Format,
    /// Write the advice to a file too: .html, .md, .txt, .json or .csv
    #[arg(long, short, value_name = "FILE")]
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    #[serde(skip)]
    pub force: bool,
}

impl AdviseArgs {
    /// The strongest class of crash states that it must survive.
    pub fn safety(&self) -> Option<StateClass> {
        let classes = self.survive.iter().filter_map(|one| match one {
            Survival::Power(class) => Some(*class),
            Survival::Bitrot | Survival::Disk => None,
        });
        classes.max()
    }

    /// The application that is asked about: that of `--app`, or of the first argument if it names no suite.
    pub fn application(&self) -> Option<&str> {
        let is_app = |name: &str| apps::find(name.split('[').next().unwrap_or(name)).is_some();
        let named = |name: &&str| suite::find(name).is_none() && is_app(name);
        let first = self.suite.as_deref().filter(named);
        self.app.as_deref().or(first)
    }

    pub fn budget(&self) -> Nanos {
        self.budget.unwrap_or(match self.application() {
            Some(_) => BUDGET_OF_APPLICATION,
            None => BUDGET,
        })
    }
}

fn feature(text: &str) -> Result<Feature, String> {
    let mut all = Feature::ALL.into_iter();
    all.find(|feature| feature.name() == text)
        .ok_or_else(|| unknown("feature", text, Feature::ALL.map(Feature::name)))
}

/// The classes of crash states in which a file system can break a promise. C5 is a fault of the disk.
const CLASSES: [StateClass; 5] = [
    StateClass::C0,
    StateClass::C1,
    StateClass::C2,
    StateClass::C3,
    StateClass::C4,
];

/// What a file system must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Survival {
    /// A power cut, with the crash states up to this class.
    Power(StateClass),
    /// A flipped bit on a disk.
    Bitrot,
    /// The loss of a disk.
    Disk,
}

impl Survival {
    /// The words for it.
    pub const WORDS: [&str; 3] = ["power", "bitrot", "disk"];
}

impl FromStr for Survival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "power" => Ok(Self::Power(StateClass::C2)),
            None if text == "bitrot" => Ok(Self::Bitrot),
            None if text == "disk" => Ok(Self::Disk),
            Some(("power", class)) => {
                let mut all = CLASSES.into_iter();
                let known = all.find(|one| one.name().eq_ignore_ascii_case(class));
                known.map(Self::Power).ok_or_else(|| {
                    unknown(
                        "class of crash states",
                        class,
                        CLASSES.map(StateClass::name),
                    )
                })
            }
            _ => Err(unknown("danger", text, Self::WORDS)),
        }
    }
}
