//! What the explorations of crash states and the tests with faulty disks of a store found about a
//! contender.

use super::Application;
use crate::power_losses::PowerLosses;
use crate::terms;
use fsdyno_model::{
    Contender, DiskFault, Exploration, FaultOutcome, FaultTest, FaultTests, FullAction, FullDisk,
    InjectedFault, ProgramSource, Series, StateClass,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::slice;

/// The results of crash tests of a contender.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CrashTests {
    /// Whether the tests had the same options. If not, they had the defaults of the file system.
    pub same_options: bool,
    /// Distinct violations.
    pub violations: usize,
    /// The weakest class of states that shows a violation; null without violations.
    pub weakest: Option<StateClass>,
    /// The strongest class that was checked; null if no class was checked.
    pub strongest: Option<StateClass>,
    /// Distinct states.
    pub states: u64,
    /// What the violations of the weakest class took: `f` kept its old name.
    pub losses: Vec<String>,
}

/// The largest number of losses that a sentence names.
const NAMED: usize = 2;

impl CrashTests {
    /// The results of a contender with a kernel, by its name from uname(2); if it was not tested,
    /// those of its file system with defaults. They are those of programs that test file systems, or of
    /// this crash test of an application: what an application loses is its own.
    pub(super) fn of(
        contender: &Contender,
        kernel: Option<&str>,
        explorations: &[Exploration],
        application: Option<&Application<'_>>,
    ) -> Option<Self> {
        let kernel = release(kernel?)?;
        let tests = |programs: &ProgramSource| match application {
            None => programs.tests_file_systems(),
            Some(application) => {
                let mut tests = application.crash_test.into_iter();
                tests.any(|test| is_same_test(test, programs))
            }
        };
        let explorations = explorations.iter();
        let explorations = explorations.filter(|one| tests(&one.info.search.programs));
        let explorations: Vec<&Exploration> = explorations.collect();
        let same = |one: &Contender| has_same_options(one, contender);
        let plain = |one: &Contender| one.mkfs.is_empty() && one.mount.is_empty();
        let tested = Self::among((contender, kernel), &explorations, true, same);
        tested.or_else(|| Self::among((contender, kernel), &explorations, false, plain))
    }

    /// The sums of some explorations.
    fn among(
        (contender, kernel): (&Contender, &str),
        explorations: &[&Exploration],
        same_options: bool,
        is_it: impl Fn(&Contender) -> bool,
    ) -> Option<Self> {
        let (mut found, mut states) = (BTreeSet::new(), 0_u64);
        let (mut weakest, mut strongest) = (None, None);
        let mut losses: BTreeSet<(StateClass, String)> = BTreeSet::new();
        let mut explored = false;
        for exploration in explorations {
            let signatures = exploration.signatures();
            let contenders = exploration.info.contenders.iter();
            let labels: Vec<&str> = contenders
                .filter(|one| is_same_system(one, contender) && is_it(one))
                .map(|one| one.label.as_str())
                .collect();
            let programs = exploration.programs.iter();
            let programs = programs.filter(|program| {
                program.failed.is_none()
                    && labels.contains(&program.contender.as_str())
                    && release(&program.guest) == Some(kernel)
            });
            for program in programs {
                explored = true;
                states = states.saturating_add(program.states.distinct);
                let classes = program.states.classes.iter();
                let checked = classes.filter(|(_, count)| count.checked > 0);
                strongest = strongest.max(checked.map(|(class, _)| *class).max());
                let findings = program.findings.iter();
                for finding in findings.filter(|one| one.score().fails()) {
                    let signature = signatures.of(&program.contender, &finding.signature);
                    if found.insert(signature.to_owned()) {
                        losses.insert((finding.class, loss(&finding.message)));
                    }
                    let weaker = weakest.is_none_or(|class| finding.class < class);
                    weakest = if weaker { Some(finding.class) } else { weakest };
                }
            }
        }
        explored.then_some(Self {
            same_options,
            violations: found.len(),
            weakest,
            strongest,
            states,
            losses: losses
                .into_iter()
                .filter(|(class, _)| Some(*class) == weakest)
                .map(|(_, loss)| loss)
                .collect(),
        })
    }

    /// The reason why it does not meet a required class; `None` if no violation of it is known.
    /// Tests with other options do not count.
    pub(super) fn fails(&self, class: StateClass) -> Option<String> {
        if !self.same_options {
            return None;
        }
        let weakest = self.weakest.filter(|weakest| *weakest <= class)?;
        let violations = terms::count(self.violations, "violation");
        Some(format!("{violations} in crash states of class {weakest}"))
    }

    /// Whether these options were tested up to a class, and no violation was found.
    pub(super) fn passes(&self, class: StateClass) -> bool {
        self.same_options && self.weakest.is_none() && self.strongest >= Some(class)
    }

    /// Whether these options were tested, and no violation was found.
    pub(super) fn is_clean(&self) -> bool {
        self.same_options && self.weakest.is_none()
    }

    /// What is known to be lost: `` `f` kept its old name (class C1)``. None without violations.
    pub(super) fn known(&self) -> Option<String> {
        let class = self.weakest?;
        let named: Vec<&str> = self.losses.iter().take(NAMED).map(String::as_str).collect();
        let more = match self.violations.saturating_sub(named.len()) {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        Some(format!(
            "{}{more} (from class {class} on)",
            named.join("; ")
        ))
    }

    /// The results in a few words: `none up to C2`, `2 from C1 on`.
    pub fn brief(&self) -> String {
        let violations = terms::count(self.violations, "violation");
        let found = match (self.weakest, self.strongest) {
            (Some(class), _) => format!("{violations} from {class} on"),
            (None, Some(class)) => format!("no violation up to {class}"),
            (None, None) => "no violation".to_owned(),
        };
        if self.same_options {
            found
        } else {
            format!("{found} (defaults)")
        }
    }

    /// The results as text: `no violation in 1,200 crash states up to class C2`.
    pub fn describe(&self) -> String {
        let violations = terms::count(self.violations, "violation");
        let states = terms::grouped(self.states);
        let found = match (self.weakest, self.strongest) {
            (Some(class), _) => {
                format!("{violations} in {states} crash states, from class {class} on")
            }
            (None, Some(class)) => {
                format!("no violation in {states} crash states up to class {class}")
            }
            (None, None) => format!("no violation in {states} crash states"),
        };
        if self.same_options {
            found
        } else {
            format!("not tested with these options; its defaults have {found}")
        }
    }
}

/// The results of flipped bits on the disks of a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FlippedBits {
    /// How many bits were flipped, one in each test.
    pub flipped: usize,
    /// After how many of them data or names were wrong.
    pub wrong: usize,
    /// Of these, how many left neither an error nor a message of the kernel.
    pub silent: usize,
}

impl FlippedBits {
    /// The results of a contender, with its options and its layout, on a kernel by its name from
    /// uname(2); none if it was not tested.
    pub(super) fn of(
        contender: &Contender,
        kernel: Option<&str>,
        tests: &[FaultTests],
    ) -> Option<Self> {
        let is_flip = |one: &&InjectedFault| one.fault == DiskFault::BitFlip;
        let flips = distinct(faults_of(contender, kernel, tests).filter(is_flip));
        let count = |wanted: &[FaultOutcome]| {
            let found = flips.iter().filter(|one| wanted.contains(&one.outcome));
            found.count()
        };
        (!flips.is_empty()).then(|| Self {
            flipped: flips.len(),
            wrong: count(&[FaultOutcome::WrongData, FaultOutcome::WrongDataLogged]),
            silent: count(&[FaultOutcome::WrongData]),
        })
    }

    /// `wrong data after 10 of 130 flipped bits, silently`.
    pub(super) fn describe(self) -> String {
        let flipped = terms::count(self.flipped, "flipped bit");
        if self.wrong == 0 {
            return format!("no wrong data after {flipped}");
        }
        let wrong = format!("wrong data after {} of {flipped}", self.wrong);
        match self.silent {
            0 => format!("{wrong}, never silently"),
            all if all == self.wrong => format!("{wrong}, silently"),
            some => format!("{wrong}, after {some} of them silently"),
        }
    }
}

/// The results of disks of a contender that died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DeadDisks {
    /// How many disks died, one in each test.
    pub died: usize,
    /// After how many of them a file was wrong, gone or out of reach, no file could be made, or the
    /// kernel stopped.
    pub failed: usize,
    /// After how many of them it worked only once it was mounted as degraded.
    pub mounted_degraded: usize,
}

impl DeadDisks {
    /// The results of a contender, as those of flipped bits.
    pub(super) fn of(
        contender: &Contender,
        kernel: Option<&str>,
        tests: &[FaultTests],
    ) -> Option<Self> {
        Self::among(faults_of(contender, kernel, tests))
    }

    /// The results among all faults of a contender; none if none of its disks died.
    pub(crate) fn among<'f>(faults: impl Iterator<Item = &'f InjectedFault>) -> Option<Self> {
        let died = distinct(faults.filter(|one| one.fault.is_loss_of_disk()));
        let count = |wanted: &dyn Fn(FaultOutcome) -> bool| {
            died.iter().filter(|one| wanted(one.outcome)).count()
        };
        (!died.is_empty()).then(|| Self {
            died: died.len(),
            failed: count(&|one| one <= FaultOutcome::Error),
            mounted_degraded: count(&|one| one == FaultOutcome::MountedDegraded),
        })
    }

    /// `worked without one of its disks (20 of 20 tests, 10 of them once mounted as degraded)`.
    pub(crate) fn describe(self) -> String {
        let Self {
            died,
            failed,
            mounted_degraded,
        } = self;
        if failed > 0 {
            return format!("failed without one of its disks ({failed} of {died} tests)");
        }
        let by_hand = match mounted_degraded {
            0 => String::new(),
            n => format!(", {n} of them once mounted as degraded"),
        };
        format!("worked without one of its disks ({died} of {died} tests{by_hand})")
    }
}

/// Faults without those of a test with the same seed again, which is no other test. The atlas has no
/// details.
fn distinct<'f>(faults: impl Iterator<Item = &'f InjectedFault>) -> Vec<&'f InjectedFault> {
    let key = |one: &InjectedFault| (one.fault, one.role, one.disk, one.sector, one.outcome);
    let mut all: Vec<&InjectedFault> = Vec::new();
    for fault in faults {
        if all.iter().all(|one| key(one) != key(fault)) {
            all.push(fault);
        }
    }
    all
}

impl PowerLosses {
    /// Those of a contender, as those of flipped bits.
    pub(super) fn of_contender(
        contender: &Contender,
        kernel: Option<&str>,
        series: &[Series],
    ) -> Option<Self> {
        let kernel = release(kernel?)?;
        Self::of(
            series,
            |one| is_same_system(one, contender) && has_same_options(one, contender),
            |cut| release(&cut.guest) == Some(kernel),
        )
    }
}

/// The results of full disks of a contender.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct FullDisks {
    /// The number of lives on full disks.
    pub lives: usize,
    /// In how many of them data were lost or out of reach, nothing could be deleted, or the kernel stopped.
    pub lost: usize,
    /// What failed in one of them at least.
    pub failed: Vec<FullAction>,
}

impl FullDisks {
    /// The results of a contender, as those of flipped bits, without those of quotas.
    pub(super) fn of(
        contender: &Contender,
        kernel: Option<&str>,
        tests: &[FaultTests],
    ) -> Option<Self> {
        let mut lives: Vec<&FullDisk> = Vec::new();
        let all = tests.iter().filter(|tests| !tests.info.fills_quotas());
        let all = all.flat_map(|one| tests_of(contender, kernel, slice::from_ref(one)));
        for life in all.flat_map(|test| &test.full) {
            if !lives.contains(&life) {
                lives.push(life);
            }
        }
        let fails = |action: &FullAction| {
            let mut outcomes = lives.iter().filter_map(|life| life.outcome(*action));
            outcomes.any(|one| one.error.is_some())
        };
        (!lives.is_empty()).then(|| Self {
            lives: lives.len(),
            lost: lives.iter().filter(|life| life.is_loss()).count(),
            failed: FullAction::ALL.into_iter().filter(fails).collect(),
        })
    }

    /// `no loss in 3 lives; failed: overwrite in place, save by rename`.
    pub(super) fn describe(&self) -> String {
        let lives = match self.lives {
            1 => "1 life".to_owned(),
            lives => format!("{lives} lives"),
        };
        let lost = match self.lost {
            0 => format!("no loss in {lives}"),
            lost => format!("loss in {lost} of {lives}"),
        };
        let failed: Vec<&str> = self.failed.iter().map(|one| one.name()).collect();
        match failed.len() {
            0 => lost,
            _ => format!("{lost}; failed: {}", failed.join(", ")),
        }
    }
}

/// The faults of those tests.
fn faults_of<'a>(
    contender: &'a Contender,
    kernel: Option<&str>,
    tests: &'a [FaultTests],
) -> impl Iterator<Item = &'a InjectedFault> {
    tests_of(contender, kernel, tests).flat_map(|test| &test.faults)
}

/// The tests of a contender, with its options and its layout, on a kernel by its name from uname(2).
fn tests_of<'a>(
    contender: &'a Contender,
    kernel: Option<&str>,
    tests: &'a [FaultTests],
) -> impl Iterator<Item = &'a FaultTest> {
    let kernel = kernel.and_then(release).map(str::to_owned);
    tests.iter().flat_map(move |tests| {
        let contenders = tests.info.contenders.iter();
        let is_it =
            |one: &&Contender| is_same_system(one, contender) && has_same_options(one, contender);
        let labels: Vec<&str> = contenders.filter(is_it).map(|one| &*one.label).collect();
        let kernel = kernel.clone();
        tests.tests.iter().filter(move |test| {
            let of_kernel = kernel.is_some() && release(&test.guest) == kernel.as_deref();
            of_kernel && labels.contains(&&*test.contender)
        })
    })
}

/// Whether two crash tests of applications run the same commands.
fn is_same_test(one: &ProgramSource, other: &ProgramSource) -> bool {
    let commands = |source: &ProgramSource| match source {
        ProgramSource::Application {
            prepare,
            command,
            check,
            ..
        } => Some((prepare.clone(), command.clone(), check.clone())),
        _ => None,
    };
    commands(one).is_some() && commands(one) == commands(other)
}

fn is_same_system(one: &Contender, other: &Contender) -> bool {
    one.filesystem == other.filesystem && one.layout == other.layout
}

fn has_same_options(one: &Contender, other: &Contender) -> bool {
    one.mkfs == other.mkfs && one.mount == other.mount
}

/// The first clause of a description, which states the loss; the rest is its evidence.
fn loss(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let clause = line.split_once(": ").map_or(line, |(loss, _)| loss);
    terms::printable(clause)
}

/// The release in the name of a kernel: `Linux 6.12.117 #1 ...`.
pub(super) fn release(kernel: &str) -> Option<&str> {
    kernel.split_whitespace().nth(1)
}
