//! Plan files and suites: one format, one parser. What is wrong is told with its place.
//!
//! ```toml
//! name = "mine"                 # all keys are optional but those of workloads and phases
//! device = "loop:8G"            # as after --on
//! repeats = 5
//! contenders = ["ext4", "btrfs:compress=zstd",
//!               { filesystem = "ext4", label = "young", mkfs = ["-O", "^dir_index"] }]
//!
//! [[workload]]
//! name = "sources"
//! dataset = "tree:linux"        # relative to the directory of this file
//! phases = ["copy", "grep cold", "grep warm", { kind = "grep", pattern = "panic", label = "panics" }]
//! ```

use super::catalogue::{Catalogue, DatasetForm};
use super::config_error::ConfigError;
use super::contenders::{Judge, absolute, told_apart};
use super::counting::Counting;
use super::disks;
use super::entry::{PhaseTable, PlanText, ShortOr, WorkloadTable};
use super::error::{PlanFileError, ResolveError};
use super::labs;
use super::length;
use super::parameters;
use super::phases::{self, Draft};
use super::place::Place;
use super::states;
use fsdyno_model::units::percent;
use fsdyno_model::{
    Bytes, ContenderSpec, CopyMethod, DatasetChoice, DiskTime, Fill, KernelChoice, LabChoice,
    ModelDisk, Nanos, Vary, Workload, former_names,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A plan file that was understood: what it says, and nothing that it leaves open.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanFile {
    /// What it is called.
    pub name: Option<String>,
    /// What it is, in one line.
    pub title: Option<String>,
    /// What it is for and how it is done.
    pub about: Option<String>,
    /// The published comparison it repeats.
    pub source: Option<String>,
    /// How many blocks.
    pub repeats: Option<u32>,
    /// How many blocks at most.
    pub max_repeats: Option<u32>,
    /// How narrow intervals need be.
    pub precision: Option<f64>,
    /// The difference that matters.
    pub margin: Option<f64>,
    /// No block begins after this time.
    pub budget: Option<Nanos>,
    /// A cell that takes longer is ended.
    pub cell_budget: Option<Nanos>,
    /// The seed of datasets and order.
    pub seed: Option<u64>,
    /// What is another one in every block.
    pub vary: Option<Vary>,
    /// The scale of generated datasets.
    pub scale: Option<f64>,
    /// The engine.
    pub engine: Option<String>,
    /// How a copy moves data.
    pub copy_method: Option<CopyMethod>,
    /// Where contenders live.
    pub(super) place: Option<Place>,
    /// Whether trees are compared.
    pub verify: Option<bool>,
    /// Whether the checker runs.
    pub check: Option<bool>,
    /// Of which files fragments are counted.
    pub fragments: Option<Counting>,
    /// Whether tracepoints are listened to.
    pub trace: Option<bool>,
    /// Where cells run.
    pub lab: Option<LabChoice>,
    /// The model disk under all contenders.
    pub disk: Option<ModelDisk>,
    /// Where every request to it is recorded.
    pub disk_trace: Option<PathBuf>,
    /// Whether what is written is in the record.
    pub disk_payloads: Option<bool>,
    /// The faults it is told to have, as their file says.
    pub disk_faults: Option<String>,
    /// Which time passes on it.
    pub time: Option<DiskTime>,
    /// The memory of a guest.
    pub guest_memory: Option<Bytes>,
    /// The processors of a guest.
    pub guest_processors: Option<u32>,
    /// The kernel of a guest.
    pub guest_kernel: Option<KernelChoice>,
    /// How full file systems are before a workload.
    pub fills: Vec<Fill>,
    /// How aged they are.
    pub ages: Vec<u32>,
    /// With how many workers.
    pub workers: Vec<u32>,
    /// Who competes, and where, as far as that is said of each.
    pub contenders: Vec<ContenderSpec>,
    /// What they do.
    pub workloads: Vec<Workload>,
}

impl PlanFile {
    /// Reads a plan file from disk.
    pub fn read(
        path: &Path,
        catalogue: &Catalogue,
        unchecked_options: bool,
    ) -> Result<Self, ResolveError> {
        let unread = |source| ResolveError::Read {
            path: path.to_owned(),
            source,
        };
        let text = fsdyno_files::input::read_text(path).map_err(unread)?;
        let whole = std::path::absolute(path).map_err(unread)?;
        let judge = Judge {
            base: whole.parent().unwrap_or(Path::new("/")),
            unchecked_options,
        };
        let plan = Self::parse(&path.display().to_string(), &text, judge, catalogue)?;
        Ok(plan)
    }

    /// Understands the text of a plan file.
    pub(crate) fn parse(
        path: &str,
        text: &str,
        judge: Judge<'_>,
        catalogue: &Catalogue,
    ) -> Result<Self, PlanFileError> {
        let reader = Reader {
            path,
            text,
            judge,
            catalogue,
        };
        let written: PlanText = toml::from_str(text).map_err(|error| {
            reader.error(
                error.span().unwrap_or(0..0),
                error.message().replace('\n', ", "),
                None,
            )
        })?;
        reader.plan(written)
    }
}

/// A text being understood.
struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    judge: Judge<'a>,
    catalogue: &'a Catalogue,
}

type Understood<T> = Result<T, PlanFileError>;

impl Reader<'_> {
    fn plan(&self, written: PlanText) -> Understood<PlanFile> {
        let (contenders, places) = self.contenders(written.contenders)?;
        told_apart(&contenders).map_err(|(n, c)| self.config_error(places[n].clone(), &c))?;
        let device = written.device.as_ref();
        let place = self.each(device, |text| Place::parse(text))?;
        if let (Some(device), Some(Place::Directories(_)), false) =
            (device, &place, contenders.is_empty())
        {
            let config_error = ConfigError::wrong(
                "directories are contenders themselves, so no others may stand beside them",
                "leave out `contenders`, or name the directories there as dir:PATH",
            );
            return Err(self.config_error(device.span(), &config_error));
        }
        Ok(PlanFile {
            name: self.each(written.name.as_ref(), |name| named("plan", name))?,
            title: written.title,
            about: written.about,
            source: written.source,
            repeats: self.each(written.repeats.as_ref(), |n| repeats(*n))?,
            max_repeats: self.each(written.max_repeats.as_ref(), |n| repeats(*n))?,
            precision: self.each(written.precision.as_ref(), |text| precision(percent(text)?))?,
            margin: self.each(written.margin.as_ref(), |text| margin(percent(text)?))?,
            budget: self.each(written.budget.as_ref(), |text| budget(text.parse()?))?,
            cell_budget: self.each(written.cell_budget.as_ref(), |text| {
                length::cell_budget(text.parse()?)
            })?,
            seed: written.seed,
            vary: self.each(written.vary.as_ref(), |name| length::vary(name))?,
            scale: self.each(written.scale.as_ref(), |n| scale(*n))?,
            engine: self.each(written.engine.as_ref(), |name| self.catalogue.engine(name))?,
            copy_method: self.each(written.copy_method.as_ref(), |name| copy_method(name))?,
            place: place.map(|place| place.seen_from(self.judge.base)),
            verify: written.verify,
            check: written.check,
            fragments: self.each(written.fragments.as_ref(), Counting::written)?,
            trace: written.trace,
            lab: self.each(written.lab.as_ref(), |name| labs::lab(name))?,
            disk: self.each(written.disk.as_ref(), |name| {
                disks::model_disk(Path::new(name), self.judge.base)
            })?,
            disk_faults: self.each(written.disk_faults.as_ref(), |name| {
                disks::faults(Path::new(name), self.judge.base)
            })?,
            disk_trace: written.disk_trace.map(|path| self.judge.base.join(path)),
            disk_payloads: written.disk_payloads,
            time: self.each(written.time.as_ref(), |name| disks::time(name))?,
            guest_memory: self.each(written.guest_memory.as_ref(), |text| {
                labs::memory(text.parse()?)
            })?,
            guest_processors: self
                .each(written.guest_processors.as_ref(), |n| labs::processors(*n))?,
            guest_kernel: self.each(written.guest_kernel.as_ref(), |text| {
                labs::kernel(text, self.judge.base)
            })?,
            fills: self.fills(&written.fill)?,
            ages: written.age,
            workers: written.workers,
            contenders,
            workloads: self.workloads(written.workload)?,
        })
    }

    fn fills(&self, written: &[Spanned<String>]) -> Understood<Vec<Fill>> {
        let fills = written.iter();
        fills
            .map(|text| self.at(text, |text| states::fill(text)))
            .collect()
    }

    /// The contenders, and the place of each.
    fn contenders(
        &self,
        written: Vec<Spanned<ShortOr<super::entry::ContenderTable>>>,
    ) -> Understood<(Vec<ContenderSpec>, Vec<Range<usize>>)> {
        let (mut contenders, mut places) = (Vec::new(), Vec::new());
        for entry in written {
            let span = entry.span();
            let mut at = span.clone();
            let read = match entry.into_inner() {
                ShortOr::Short(text) => self.judge.list(&text),
                ShortOr::Long(table) => {
                    if fsdyno_recipes::find(table.filesystem.get_ref()).is_none() {
                        at = table.filesystem.span();
                    } else if let Some(lab) = &table.lab
                        && labs::lab(lab.get_ref()).is_err()
                    {
                        at = lab.span();
                    }
                    self.judge.table(table).map(|contender| vec![contender])
                }
            };
            for contender in read.map_err(|c| self.config_error(at, &c))? {
                contenders.push(contender);
                places.push(span.clone());
            }
        }
        Ok((contenders, places))
    }

    fn workloads(&self, written: Vec<Spanned<WorkloadTable>>) -> Understood<Vec<Workload>> {
        let mut workloads: Vec<Workload> = Vec::new();
        for entry in written {
            let table = entry.into_inner();
            let name = self.at(&table.name, |name| named("workload", name))?;
            if workloads.iter().any(|before| before.name == name) {
                let config_error = ConfigError::wrong(
                    format!("two workloads are named `{name}`"),
                    "names tell workloads apart: give one another name",
                );
                return Err(self.config_error(table.name.span(), &config_error));
            }
            let said = self.each(table.dataset.as_ref(), |text| {
                let dataset = dataset(text, self.judge.base)?;
                let form = self.catalogue.form(&dataset)?;
                Ok((dataset, form))
            })?;
            let (dataset, form) = match (said, self.catalogue.no_files()) {
                (Some(said), _) => said,
                (None, Some(none)) => (none, DatasetForm::Nothing),
                (None, None) => {
                    let config_error = ConfigError::wrong("there is no dataset", "name one");
                    return Err(self.config_error(table.name.span(), &config_error));
                }
            };
            let places: Vec<_> = table.phases.get_ref().iter().map(Spanned::span).collect();
            let whole = table.phases.span();
            let mut drafts = Vec::new();
            for phase in table.phases.into_inner() {
                drafts.push(self.phase(phase)?);
            }
            if drafts.is_empty() {
                let config_error = ConfigError::wrong(
                    format!("workload `{name}` has no phases"),
                    "name at least one, for example \"copy\"",
                );
                return Err(self.config_error(whole, &config_error));
            }
            let at_phase = |(n, c): (usize, ConfigError)| self.config_error(places[n].clone(), &c);
            phases::find_their_ground(&drafts, form, self.catalogue).map_err(at_phase)?;
            workloads.push(Workload {
                name,
                dataset,
                phases: phases::labelled(drafts).map_err(at_phase)?,
            });
        }
        Ok(workloads)
    }

    fn phase(&self, entry: Spanned<ShortOr<PhaseTable>>) -> Understood<Draft> {
        let span = entry.span();
        let table = match entry.into_inner() {
            ShortOr::Short(text) => {
                return Draft::parse(&text, self.catalogue)
                    .map_err(|c| self.config_error(span, &c));
            }
            ShortOr::Long(table) => table,
        };
        self.at(&table.kind, |kind| self.catalogue.kind(kind).map(drop))?;
        let cache = self.each(table.cache.as_ref(), |name| phases::cache_state(name))?;
        let label = match table.label {
            Some(label) => {
                Some(named("phase", &label).map_err(|c| self.config_error(span.clone(), &c))?)
            }
            None => None,
        };
        let kind = table.kind.get_ref();
        let mut given = BTreeMap::new();
        for (key, value) in table.parameters {
            let at = value.span();
            let written = parameters::text_of(value.into_inner())
                .map_err(|c| self.config_error(at.clone(), &c))?;
            let (name, text) = former_names::parameter(key.get_ref(), &written);
            parameters::known(name, self.catalogue.kind(kind))
                .map_err(|c| self.config_error(key.span(), &c))?;
            let text = parameters::read(kind, name, text, self.judge.base, self.catalogue)
                .map_err(|c| self.config_error(at, &c))?;
            given.insert(name.to_owned(), text);
        }
        Draft::new(
            kind,
            cache.unwrap_or_default(),
            label,
            table.pattern,
            given,
            self.catalogue,
        )
        .map_err(|c| self.config_error(span, &c))
    }

    /// Reads a value at its place.
    fn at<T, U>(
        &self,
        value: &Spanned<T>,
        read: impl FnOnce(&T) -> Result<U, ConfigError>,
    ) -> Understood<U> {
        read(value.get_ref()).map_err(|c| self.config_error(value.span(), &c))
    }

    /// Reads a value at its place, where there is one.
    fn each<T, U>(
        &self,
        value: Option<&Spanned<T>>,
        read: impl FnOnce(&T) -> Result<U, ConfigError>,
    ) -> Understood<Option<U>> {
        value.map(|value| self.at(value, read)).transpose()
    }

    fn config_error(&self, span: Range<usize>, config_error: &ConfigError) -> PlanFileError {
        self.error(span, config_error.to_string(), config_error.help())
    }

    fn error(&self, span: Range<usize>, message: String, help: Option<String>) -> PlanFileError {
        PlanFileError {
            path: self.path.to_owned(),
            text: self.text.to_owned(),
            span,
            message,
            help,
        }
    }
}

/// A name that shows.
pub fn named(what: &str, name: &str) -> Result<String, ConfigError> {
    if name.trim().is_empty() || name.contains(char::is_control) {
        let message = format!("the name of a {what} is empty or holds control characters");
        return Err(ConfigError::wrong(
            message,
            "write a short name in one line",
        ));
    }
    Ok(name.to_owned())
}

/// How many blocks.
pub fn repeats(n: u32) -> Result<u32, ConfigError> {
    if (1..=10_000).contains(&n) {
        return Ok(n);
    }
    Err(ConfigError::wrong(
        format!("{n} repeats cannot be made"),
        "write 1 to 10000; three is the least that shows a spread",
    ))
}

/// How narrow intervals need be.
pub fn precision(part: f64) -> Result<f64, ConfigError> {
    if part > 0.0 && part < 1.0 {
        return Ok(part);
    }
    Err(ConfigError::wrong(
        format!(
            "intervals cannot be asked to be as narrow as {} %",
            part * 100.0
        ),
        "write more than 0 % and less than 100 %, as 0.5%",
    ))
}

/// The difference that matters.
pub fn margin(part: f64) -> Result<f64, ConfigError> {
    if (0.0..1.0).contains(&part) {
        return Ok(part);
    }
    Err(ConfigError::wrong(
        format!("{} % is no margin", part * 100.0),
        "write 0 % or more, and less than 100 %, as 2%",
    ))
}

/// The time after which no block begins.
pub fn budget(time: Nanos) -> Result<Nanos, ConfigError> {
    if time > Nanos(0) {
        return Ok(time);
    }
    Err(ConfigError::wrong(
        "a budget of no time lets nothing begin",
        "write for example 20m, or leave it out",
    ))
}

/// The scale of generated datasets.
pub fn scale(scale: f64) -> Result<f64, ConfigError> {
    if scale > 0.0 && scale <= 1000.0 {
        return Ok(scale);
    }
    Err(ConfigError::wrong(
        format!("datasets cannot be scaled by {scale}"),
        "write a number above 0 and up to 1000; 1 is the published size",
    ))
}

/// The way of copying of that name.
pub fn copy_method(name: &str) -> Result<CopyMethod, ConfigError> {
    CopyMethod::from_name(name).ok_or_else(|| {
        let names = CopyMethod::ALL.map(CopyMethod::name);
        ConfigError::unknown("way of copying", name, names.into_iter())
    })
}

/// The dataset of that name, its path seen from `base`.
pub fn dataset(text: &str, base: &Path) -> Result<DatasetChoice, ConfigError> {
    let mut choice = DatasetChoice::parse(text);
    match &mut choice {
        DatasetChoice::Generated(_) => {}
        DatasetChoice::Tree(path) | DatasetChoice::Tar(path) | DatasetChoice::File(path) => {
            if path.as_os_str().is_empty() {
                return Err(ConfigError::wrong(
                    format!("dataset `{text}` names no path"),
                    "write for example tree:/usr/src/linux",
                ));
            }
            *path = absolute(base, path);
        }
    }
    Ok(choice)
}
