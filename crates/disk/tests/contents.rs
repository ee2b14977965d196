//! Compares the contents of every kind of disk with a reference disk in memory. Reads return the
//! newest bytes. After a power cut each sector has one of its permitted versions.

use fsdyno_disk::profiles::ALL;
use fsdyno_disk::{
    Completion, Disk, FaultPlan, Faults, Kind, Memory, Profile, Remains, Request, SECTOR,
};
use fsdyno_model::{Bytes, Nanos};
use proptest::prelude::*;

/// Sectors that the test writes. The disk is larger.
const SECTORS: u64 = 96;

/// Steps of a test run.
#[derive(Debug, Clone)]
enum Step {
    Ask(Kind, bool, u64, u64),
    /// Time passes, in microseconds, and completions are taken.
    Wait(u64),
    /// All requests in flight complete.
    Settle,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let extent = (0..SECTORS).prop_flat_map(|at| (Just(at), 1..=(SECTORS - at).min(24)));
    let kind = prop_oneof![
        6 => Just(Kind::Write),
        1 => Just(Kind::WriteZeroes),
        1 => Just(Kind::Discard),
        2 => Just(Kind::Read),
    ];
    let ask = (kind, prop::bool::weighted(0.15), extent)
        .prop_map(|(kind, fua, (at, count))| Step::Ask(kind, fua, at, count));
    let step = prop_oneof![
        6 => ask,
        1 => Just(Step::Ask(Kind::Flush, false, 0, 0)),
        3 => (0..20_000_u64).prop_map(Step::Wait),
        1 => Just(Step::Settle),
    ];
    prop::collection::vec(step, 1..60)
}

/// A write of the reference disk. Times count events, not nanoseconds.
#[derive(Debug, Clone)]
struct Version {
    order: u64,
    sector: u64,
    sectors: u64,
    fill: u8,
    fua: bool,
    submitted: usize,
    completed: Option<usize>,
}

/// A reference disk that stores every version of every sector.
#[derive(Debug, Default)]
struct Simple {
    versions: Vec<Version>,
    /// Submission of each flush, and whether it has completed.
    flushes: Vec<(u64, usize, bool)>,
    events: usize,
}

impl Simple {
    fn submitted(&mut self, order: u64, request: &Request, fill: u8) {
        self.events += 1;
        if request.kind == Kind::Flush {
            self.flushes.push((order, self.events, false));
        } else if request.kind != Kind::Read {
            self.versions.push(Version {
                order,
                sector: request.sector,
                sectors: request.sectors,
                fill,
                fua: request.fua,
                submitted: self.events,
                completed: None,
            });
        }
    }

    fn completed(&mut self, completion: &Completion) {
        assert_eq!(completion.result, Ok(()));
        assert_eq!(completion.causes.total(), completion.latency().0);
        self.events += 1;
        let order = completion.order;
        if let Some(flush) = self.flushes.iter_mut().find(|flush| flush.0 == order) {
            flush.2 = true;
        }
        if let Some(version) = self.versions.iter_mut().find(|v| v.order == order) {
            version.completed = Some(self.events);
        }
    }

    /// Versions of a sector, oldest submission first.
    fn of(&self, sector: u64) -> Vec<&Version> {
        let holds = |v: &&Version| (v.sector..v.sector + v.sectors).contains(&sector);
        self.versions.iter().filter(holds).collect()
    }

    fn newest(&self, sector: u64) -> u8 {
        self.of(sector).last().map_or(0, |version| version.fill)
    }

    fn durable(&self, version: &Version) -> bool {
        let Some(completed) = version.completed else {
            return false;
        };
        let covers = |flush: &(u64, usize, bool)| flush.2 && completed < flush.1;
        version.fua || self.flushes.iter().any(covers)
    }

    /// Permitted contents of a sector after a power cut. A version is excluded if it completed
    /// before the submission of a durable version. The empty sector is permitted if no version is
    /// durable.
    fn allowed(&self, sector: u64) -> Vec<u8> {
        let versions = self.of(sector);
        let durable: Vec<&&Version> = versions.iter().filter(|v| self.durable(v)).collect();
        let buried = |v: &Version| {
            let after = |d: &&&Version| v.completed.is_some_and(|done| done < d.submitted);
            durable.iter().any(after)
        };
        let mut allowed: Vec<u8> = versions
            .iter()
            .filter(|v| !buried(v))
            .map(|v| v.fill)
            .collect();
        if durable.is_empty() {
            allowed.push(0);
        }
        allowed
    }
}

/// The tested disk with its reference disk.
struct Pair {
    disk: Disk,
    simple: Simple,
    now: u64,
    next_fill: u8,
}

impl Pair {
    fn new(profile: &Profile, faults: Faults) -> Self {
        Self {
            disk: Disk::new(profile, None, Box::new(Memory::new()), faults),
            simple: Simple::default(),
            now: 0,
            next_fill: 0,
        }
    }

    fn take(&mut self) {
        while let Some(completion) = self.disk.complete(Nanos(self.now)).unwrap() {
            self.simple.completed(&completion);
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Ask(kind, fua, sector, sectors) => {
                // Completions up to now precede this request.
                self.take();
                let mut fill = 0;
                if *kind == Kind::Write {
                    self.next_fill = self.next_fill % 250 + 1;
                    fill = self.next_fill;
                }
                let request = Request {
                    fua: *fua && *kind == Kind::Write,
                    ..Request::new(7, *kind, *sector, *sectors)
                };
                let order = self
                    .disk
                    .submit(Nanos(self.now), request, |bytes| bytes.fill(fill))
                    .unwrap();
                self.simple.submitted(order, &request, fill);
                // A disk without delays completes a request at its submission.
                self.take();
            }
            Step::Wait(us) => {
                self.now += us * 1000;
                self.take();
            }
            Step::Settle => self.settle(),
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn settle(&mut self) {
        while let Some(at) = self.disk.next_completion() {
            self.now = self.now.max(at.0);
            self.take();
        }
    }

    fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(SECTORS * SECTOR).unwrap()];
        self.disk.read(0, &mut bytes).unwrap();
        let sectors = bytes.chunks(usize::try_from(SECTOR).unwrap());
        sectors
            .map(|sector| {
                assert!(sector.iter().all(|byte| *byte == sector[0]));
                sector[0]
            })
            .collect()
    }

    fn assert_newest(&mut self) {
        let expected: Vec<u8> = (0..SECTORS).map(|at| self.simple.newest(at)).collect();
        assert_eq!(self.read(), expected);
    }
}

/// Runs steps, cuts the power at the end, and compares the contents with the permitted ones.
fn contents_after_power_cut(
    profile: &Profile,
    faults: Faults,
    steps: &[Step],
    seed: u64,
    remains: Remains,
) -> Vec<u8> {
    let mut pair = Pair::new(profile, faults);
    for step in steps {
        pair.step(step);
        pair.assert_newest();
    }
    let report = pair.disk.power_cut(Nanos(pair.now), seed, remains).unwrap();
    let left = pair.read();
    assert!(pair.disk.next_completion().is_none());
    for (sector, fill) in (0..).zip(&left) {
        let allowed = pair.simple.allowed(sector);
        assert!(
            allowed.contains(fill),
            "{}: sector {sector} holds {fill}, not one of {allowed:?}; {report:?}",
            profile.name
        );
    }
    // The remaining contents are durable: a second power cut loses nothing.
    pair.disk.power_cut(Nanos(pair.now), 1, remains).unwrap();
    assert_eq!(pair.read(), left);
    left
}

/// All kinds of disk, small enough that arms move and flash collects garbage.
fn profiles() -> Vec<Profile> {
    let small = |profile: Profile| {
        let line = profile.text.lines().find(|l| l.starts_with("capacity ="));
        let text = profile.text.replace(line.unwrap(), "capacity = \"8M\"");
        Profile::parse(&profile.name, &text).unwrap()
    };
    let shipped = ALL.iter().map(|one| Profile::try_from(one).unwrap());
    // A disk whose cache is smaller than many of the writes.
    let text = ALL[0].text;
    let text = text.replace("cache = \"128K\"", "cache = \"16K\"");
    let text = text.replace("write_room = \"64K\"", "write_room = \"8K\"");
    let forgetful = Profile::parse("forgetful", &text).unwrap();
    shipped.chain([forgetful]).map(small).collect()
}

#[test]
fn a_smaller_capacity_gives_the_first_part_of_the_disk() {
    let profile = Profile::named("laptop-4200-2004".as_ref()).unwrap();
    let seeks = |size: Option<Bytes>| {
        let mut disk = Disk::new(&profile, size, Box::new(Memory::new()), Faults::none());
        let mut far = Vec::new();
        for sector in [0, 4_000_000, 0] {
            let request = Request::new(0, Kind::Read, sector, 8);
            let now = far
                .last()
                .map_or(Nanos(0), |done: &Completion| done.completed);
            disk.ask(now, request).unwrap();
            let at = std::iter::from_fn(|| disk.next_completion().map(|at| disk.complete(at)));
            far.extend(at.filter_map(Result::unwrap));
        }
        far
    };
    let part = seeks(Some(Bytes(4 << 30)));
    assert_eq!(part, seeks(None));
    assert!(part[2].causes.seek < 9_000_000, "{:?}", part[2]);
}

/// The usual number of random cases, or as many times more as `FSDYNO_CASES` says.
fn cases(usual: u32) -> u32 {
    let times = std::env::var("FSDYNO_CASES").ok();
    usual * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(20),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_power_cut_leaves_permitted_contents_and_is_reproducible(
        steps in steps(),
        seed in any::<u64>(),
        any_remains in any::<bool>(),
    ) {
        let remains = if any_remains { Remains::Any } else { Remains::Destaged };
        for profile in profiles() {
            let left = contents_after_power_cut(&profile, Faults::none(), &steps, seed, remains);
            let again = contents_after_power_cut(&profile, Faults::none(), &steps, seed, remains);
            prop_assert_eq!(left, again);
        }
    }

    #[test]
    fn flushed_writes_and_protected_caches_survive_a_power_cut(
        steps in steps(),
        seed in any::<u64>(),
        rest in 0..40_000_u64,
    ) {
        let text = "[power_cut]\ncache_survives = true";
        for profile in profiles() {
            let mut flushed = steps.clone();
            // A flush may overlap with background destaging.
            flushed.extend([
                Step::Settle,
                Step::Wait(rest),
                Step::Ask(Kind::Flush, false, 0, 0),
                Step::Settle,
            ]);
            let mut pair = Pair::new(&profile, Faults::none());
            pair.steps(&flushed);
            pair.disk.power_cut(Nanos(pair.now), seed, Remains::Any).unwrap();
            pair.assert_newest();
            let faults = Faults::new(FaultPlan::parse(text).unwrap());
            let mut pair = Pair::new(&profile, faults);
            pair.steps(&steps);
            pair.settle();
            pair.disk.power_cut(Nanos(pair.now), seed, Remains::Any).unwrap();
            pair.assert_newest();
        }
    }

    #[test]
    fn times_do_not_depend_on_the_polling_interval(steps in steps()) {
        for profile in profiles() {
            let run = |often: bool| {
                let mut disk = Disk::new(&profile, None, Box::new(Memory::new()), Faults::none());
                let (mut now, mut all) = (0, Vec::new());
                for step in &steps {
                    match step {
                        Step::Ask(kind, _, sector, sectors) => {
                            let request = Request::new(0, *kind, *sector, *sectors);
                            disk.submit(Nanos(now), request, |bytes| bytes.fill(1)).unwrap();
                        }
                        Step::Wait(us) => {
                            for part in 1..=7 {
                                if often {
                                    let at = now + us * 1000 * part / 7;
                                    disk.advance_to(Nanos(at)).unwrap();
                                }
                            }
                            now += us * 1000;
                        }
                        Step::Settle => now += 50_000_000,
                    }
                }
                disk.advance_to(Nanos(now)).unwrap();
                let work = disk.work();
                while let Some(at) = disk.next_completion() {
                    all.extend(disk.complete(at).unwrap());
                }
                (all, work)
            };
            prop_assert_eq!(run(true), run(false));
        }
    }
}

#[test]
fn a_disk_that_ignores_flushes_loses_flushed_writes() {
    let profile = Profile::named("laptop-4200-2004".as_ref()).unwrap();
    let steps = [
        Step::Ask(Kind::Write, false, 8, 8),
        Step::Settle,
        Step::Ask(Kind::Flush, false, 0, 0),
        Step::Settle,
    ];
    let left = |faults: &str| {
        let mut pair = Pair::new(&profile, Faults::new(FaultPlan::parse(faults).unwrap()));
        pair.steps(&steps);
        let report = pair.disk.power_cut(Nanos(pair.now), 1, Remains::Destaged);
        (pair.read()[8], report.unwrap().lost)
    };
    assert_eq!(left(""), (1, 0));
    let any = FaultPlan::parse("[power_cut]\nremains = \"any\"").unwrap();
    let disk = Pair::new(&profile, Faults::new(any)).disk;
    assert!(disk.is_volatile() && disk.remains() == Remains::Any);
    assert_eq!(left("[flush]\nignored = 1.0"), (0, 1));
}

#[test]
fn faults_affect_only_their_extents_and_times() {
    let profile = Profile::named("null".as_ref()).unwrap();
    let plan = FaultPlan::parse(
        "[[error]]\nat = \"4K\"\nlength = \"1K\"\non = [\"write\"]\ntakes_ms = 30\n\
         [[latent]]\nat = \"8K\"\nlength = \"4K\"\ntakes_ms = 200\n\
         [[slow]]\nfrom_s = 1\nfor_s = 1\nadds_ms = 5\n",
    );
    let mut disk = Disk::new(
        &profile,
        None,
        Box::new(Memory::new()),
        Faults::new(plan.unwrap()),
    );
    let mut ask = |ms: u64, kind, sector| {
        let now = Nanos(ms * 1_000_000);
        let request = Request::new(0, kind, sector, 4);
        disk.submit(now, request, |bytes| bytes.fill(3)).unwrap();
        let at = disk.next_completion().unwrap();
        let done = disk.complete(at).unwrap().unwrap();
        (done.result.is_ok(), done.latency().0 / 1_000_000)
    };
    assert_eq!(ask(0, Kind::Write, 0), (true, 0));
    assert_eq!(ask(1, Kind::Write, 6), (false, 30));
    assert_eq!(ask(100, Kind::Read, 6), (true, 0));
    assert_eq!(ask(200, Kind::Read, 18), (false, 200));
    assert_eq!(ask(500, Kind::Write, 18), (true, 0));
    assert_eq!(ask(600, Kind::Read, 18), (true, 0));
    assert_eq!(ask(700, Kind::Read, 20), (false, 200));
    assert_eq!(ask(1500, Kind::Read, 0), (true, 5));
    assert_eq!(ask(2500, Kind::Read, 0), (true, 0));
    let mut bytes = [9; 512];
    disk.read(6 * SECTOR, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 512]);
}

#[test]
fn invalid_requests_are_rejected() {
    let profile = Profile::named("null".as_ref()).unwrap();
    let size = Some(Bytes(1 << 20));
    let mut disk = Disk::new(&profile, size, Box::new(Memory::new()), Faults::none());
    for (sector, sectors, words) in [
        (2047, 2, "the disk ends at sector 2048"),
        (u64::MAX, 2, "the disk ends at sector 2048"),
        (0, 0, "no sectors"),
    ] {
        let request = Request::new(0, Kind::Read, sector, sectors);
        let message = disk.ask(Nanos(0), request).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(disk.next_completion(), None);
}
