//! Generates programs: all sequences of one change, of two that have a file or a name in common,
//! and a sample of those with three, on a small tree. Each change is followed by operations that
//! can make it durable.
//!
//! The bounds follow the observation that most crash bugs need at most three operations on a new
//! file system, each followed by fsync or sync (Mohan et al., OSDI 2018). Programs that differ only
//! in names are generated once. All programs can succeed.

use crate::operation::{Operation, Program, Target};
use crate::signature::Pattern;
use crate::simulation::{InodeId, Kind, Simulation};
use fsdyno_model::random::index;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use twox_hash::XxHash3_128;

/// The files that the setup can create. A program has only the lines that its operations need.
const TREE: [&str; 12] = [
    "mkdir A",
    "mkdir B",
    "mkdir C",
    "create A/foo",
    "write A/foo 0 16384",
    "create B/bar",
    "write B/bar 0 8192",
    "symlink foo A/sym",
    "create A/baz",
    "setxattr A/baz user.old 64",
    "link A/baz B/lnk",
    "create A/other",
];

/// A file that is only made durable, to test the effect on its directory.
const OTHER: &str = "A/other";

/// The rank of changes that have neither a file nor a name in common. Such programs have three
/// changes, of which some are sampled.
const UNCOUPLED: u32 = 16;

/// The number of programs with changed names for each program of another stratum.
const NAME_TURNS: usize = 4;

/// Bounds of the generated programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The maximum number of changes of a program, without those that make them durable: 1 to 3.
    pub changes: u32,
    /// The number of programs with three changes.
    pub sampled: u32,
    /// The seed of the order and of the sample.
    pub seed: u64,
}

/// Generated programs. Short ones come first, and any prefix covers the kinds of operations evenly.
/// The same bounds give the same programs in the same order.
///
/// There may be hundreds of thousands: they are kept as texts, and parsed when they are needed.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The operations of each.
    programs: Vec<Box<str>>,
    next: usize,
}

/// A program with the data that determine its position in the order.
#[derive(Debug, Clone)]
struct Draft {
    operations: Vec<Operation>,
    /// The family of each change.
    kinds: Vec<&'static str>,
    /// Programs with a lower rank come first.
    rank: u32,
    files: Simulation,
    /// The inodes and names that the changes have touched.
    touched: BTreeSet<SharedPart>,
    pattern: Pattern,
}

/// The property that two changes must share, so that a bug can depend on both.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SharedPart {
    Inode(InodeId),
    Name(String),
}

impl Generated {
    /// Generates the programs of these bounds.
    pub fn new(bounds: Bounds) -> Self {
        let mut seen = HashSet::new();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(bounds.seed);
        let mut programs = Vec::new();
        let start = Draft::start();
        let one = start.changed().into_iter().flat_map(|draft| draft.ended());
        let one = strata(one, &mut random, &mut seen);
        // One of each pattern of one change, before all others.
        let first = |(kinds, stratum): &Stratum| {
            let first = stratum.iter().filter(|one| !one.repeats).cloned();
            (kinds.clone(), first.collect())
        };
        programs.extend(rounds(one.iter().map(first).collect()));
        let others = |(kinds, mut stratum): Stratum| {
            stratum.retain(|one| one.repeats);
            (kinds, stratum)
        };
        let mut others: Vec<Stratum> = one.into_iter().map(others).collect();
        if bounds.changes >= 2 {
            let first = start.changed().into_iter();
            let two = first.flat_map(|draft| draft.continued());
            let two = two.flat_map(|draft| draft.changed());
            let two = two.filter(|draft| draft.rank < UNCOUPLED);
            let two = two.flat_map(|draft| draft.ended());
            others.extend(strata(two, &mut random, &mut seen));
        }
        programs.extend(rounds(others));
        if bounds.changes >= 3 {
            programs.extend(sample(&start, bounds.sampled, &mut random, &mut seen));
        }
        Self { programs, next: 0 }
    }

    /// The number of programs.
    pub fn total(&self) -> usize {
        self.programs.len()
    }

    /// The program of this number, from 0.
    pub fn program(&self, number: usize) -> Option<Program> {
        let text = self.programs.get(number)?;
        // The text of operations can be parsed.
        let mut program: Program = text.parse().ok()?;
        program.setup = setup(&program.operations);
        Some(program)
    }
}

impl Iterator for Generated {
    type Item = Program;

    fn next(&mut self) -> Option<Program> {
        let program = self.program(self.next)?;
        self.next += 1;
        Some(program)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.total() - self.next;
        (left, Some(left))
    }
}

impl Draft {
    /// How many inodes have a name.
    fn inodes(&self) -> usize {
        self.files
            .names
            .iter()
            .filter(|names| !names.is_empty())
            .count()
    }

    fn start() -> Self {
        let mut files = Simulation::default();
        for (number, operation) in (0..).zip(tree()) {
            // The tree is constant: its operations succeed.
            drop(files.perform(number, &operation));
        }
        Self {
            operations: Vec::new(),
            kinds: Vec::new(),
            rank: 0,
            files,
            touched: BTreeSet::new(),
            pattern: Pattern::default(),
        }
    }

    fn text(&self) -> Box<str> {
        let lines = self.operations.iter().map(Operation::to_string);
        lines.collect::<Vec<_>>().join("\n").into()
    }

    /// This program with one more operation; none if that cannot succeed.
    fn with(&self, operation: Operation) -> Option<Self> {
        let mut next = self.clone();
        let number = u32::try_from(TREE.len() + self.operations.len()).unwrap_or(u32::MAX);
        next.files.perform(number, &operation).ok()?;
        next.pattern.add(&operation, &self.files, &next.files);
        next.operations.push(operation);
        Some(next)
    }

    /// This program with each possible further change.
    fn changed(&self) -> Vec<Self> {
        let lines = changes(&self.files, &self.operations);
        let drafts = lines.iter().filter_map(|line| {
            let mut next = self.clone();
            let mut touched = BTreeSet::new();
            for line in line.split("; ") {
                let operation: Operation = line.parse().ok()?;
                touched.extend(shared_parts(&next.files, &operation));
                next = next.with(operation)?;
                touched.extend(shared_parts(&next.files, next.operations.last()?));
            }
            next.kinds.push(family(next.operations.last()?));
            if line.starts_with("rename") && next.inodes() < self.inodes() {
                next.rank += 1;
            }
            // Changes of different files rarely have a bug in common.
            if !self.touched.is_empty() && self.touched.is_disjoint(&touched) {
                next.rank += UNCOUPLED;
            }
            next.touched.extend(touched);
            Some(next)
        });
        drafts.collect()
    }

    /// This program before another change: unchanged, or with something made durable.
    fn continued(&self) -> Vec<Self> {
        let mut drafts = vec![self.clone()];
        drafts.extend(self.durable(&["fsync"]));
        drafts
    }

    /// This program with a final operation that makes something durable. A synchronous write needs
    /// none.
    fn ended(&self) -> Vec<Self> {
        let mut drafts = self.durable(&["fsync", "fdatasync"]);
        let last = self.operations.last();
        if last.is_some_and(Operation::is_persistence) {
            drafts.push(self.clone());
        }
        for line in ["sync", "syncfs"] {
            drafts.extend(
                line.parse()
                    .ok()
                    .and_then(|sync| self.with(sync))
                    .map(|next| Self {
                        rank: next.rank + 4,
                        ..next
                    }),
            );
        }
        drafts
    }

    /// This program with each file and directory made durable that the last change has touched, or
    /// a descriptor of it.
    fn durable(&self, how: &[&str]) -> Vec<Self> {
        let last = self.operations.iter().rev().take_while(|last| {
            !matches!(last, Operation::Fsync { .. } | Operation::Fdatasync { .. })
        });
        let mut targets: BTreeMap<Target, u32> = BTreeMap::new();
        for path in last.flat_map(Operation::paths) {
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            targets.entry(Target::Path(parent.to_owned())).or_insert(0);
            targets.insert(Target::Path(path.to_owned()), 0);
        }
        for name in self.files.descriptors.keys() {
            targets.insert(Target::Descriptor(name.clone()), 0);
        }
        targets.entry(Target::Path(OTHER.to_owned())).or_insert(2);
        let mut drafts = Vec::new();
        for how in how {
            for (target, rank) in &targets {
                let directory =
                    self.files.target(target).ok().filter(|inode| {
                        matches!(self.files.inodes[*inode].kind, Kind::Directory(_))
                    });
                if *how == "fdatasync" && directory.is_some() {
                    continue;
                }
                let next = format!("{how} {target}").parse().ok();
                drafts.extend(next.and_then(|next| self.with(next)).map(|next| Self {
                    rank: next.rank + rank + u32::from(*how == "fdatasync"),
                    ..next
                }));
            }
        }
        drafts
    }
}

/// Kinds of changes that are likely to have bugs in common.
fn family(operation: &Operation) -> &'static str {
    match operation {
        Operation::Write { offset: None, .. } => "append",
        Operation::Write { .. } => "write",
        Operation::Allocate { .. } | Operation::Zero { .. } | Operation::Punch { .. } => "allocate",
        Operation::SetXattr { .. } | Operation::RemoveXattr { .. } | Operation::Chmod { .. } => {
            "attributes"
        }
        _ => operation.word(),
    }
}

fn tree() -> Vec<Operation> {
    TREE.iter().filter_map(|line| line.parse().ok()).collect()
}

/// The names that an operation has, and the inodes that these have now.
fn shared_parts(files: &Simulation, operation: &Operation) -> BTreeSet<SharedPart> {
    let mut things = BTreeSet::new();
    for path in operation.paths() {
        things.insert(SharedPart::Name(path.to_owned()));
        things.extend(files.find(path).map(SharedPart::Inode));
    }
    if let Operation::Write { target, .. } | Operation::Truncate { target, .. } = operation {
        things.extend(files.target(target).ok().map(SharedPart::Inode));
    }
    things
}

/// Every possible change of these files: lines, or several with `; ` between them. New names are
/// one of each directory and those that former operations have removed.
fn changes(files: &Simulation, operations: &[Operation]) -> Vec<String> {
    let all = files.paths();
    let kind = |inode: InodeId| &files.inodes[inode].kind;
    let mut lines = Vec::new();
    let is_free = |name: &str| !all.contains_key(name);
    let mut new: BTreeSet<String> = operations
        .iter()
        .flat_map(Operation::paths)
        .map(str::to_owned)
        .collect();
    for directory in ["A", "B"] {
        let fresh = ["new", "new2", "new3"].map(|name| format!("{directory}/{name}"));
        new.extend(fresh.into_iter().find(|name| is_free(name)));
    }
    new.retain(|name| is_free(name) && !name.is_empty());
    let (mut regular, mut directories, mut movable) = (Vec::new(), Vec::new(), Vec::new());
    for (path, inode) in all
        .iter()
        .filter(|(path, _)| !path.is_empty() && *path != OTHER)
    {
        match kind(*inode) {
            Kind::File(_) => regular.push(path),
            Kind::Directory(_) => directories.push(path),
            Kind::Symlink(_) | Kind::Special(_) => {}
        }
        movable.push((path, matches!(kind(*inode), Kind::Directory(_))));
    }
    for name in &new {
        lines.extend(["create", "mkdir", "symlink foo"].map(|what| format!("{what} {name}")));
        lines.extend(regular.iter().map(|path| format!("link {path} {name}")));
        lines.extend(
            movable
                .iter()
                .map(|(path, _)| format!("rename {path} {name}")),
        );
        let directory = name
            .rsplit_once('/')
            .map_or("/", |(directory, _)| directory);
        lines.push(format!("temporary {directory} as t; link @t {name}"));
        lines.push(format!(
            "temporary {directory} as t; write @t 0 8192; link @t {name}"
        ));
    }
    lines.push("mkdir D".to_owned());
    for (path, is_directory) in &movable {
        if *is_directory {
            lines.push(format!("rmdir {path}"));
            continue;
        }
        lines.push(format!("unlink {path}"));
        let others = movable
            .iter()
            .filter(|(other, directory)| other != path && !directory);
        for (other, _) in others {
            lines.push(format!("rename {path} {other}"));
            if path < other {
                lines.push(format!("exchange {path} {other}"));
            }
        }
    }
    lines.push("rename C A/new".to_owned());
    lines.push("exchange A B".to_owned());
    for path in &regular {
        if !files.descriptors.contains_key("h") {
            lines.push(format!("open {path} as h; unlink {path}"));
            lines.extend(
                new.iter()
                    .next()
                    .map(|to| format!("open {path} as h; rename {path} {to}")),
            );
        }
        lines.extend(data(path));
        lines.push(format!("chmod {path} 600"));
        lines.push(format!("setxattr {path} user.new 64"));
        lines.push(format!("removexattr {path} user.old"));
    }
    lines.extend(directories.iter().map(|path| format!("chmod {path} 700")));
    for name in files.descriptors.keys() {
        lines.push(format!("write @{name} 0 4096"));
        lines.push(format!("append @{name} 4096"));
        lines.push(format!("truncate @{name} 0"));
    }
    lines
}

/// The changes of the data of a file.
fn data(path: &str) -> [String; 13] {
    [
        "write PATH 0 4096",
        "write PATH 4096 32",
        "append PATH 8192",
        "write-mapped PATH 0 4096",
        "write-dsync PATH 0 4096",
        "append-dsync PATH 4096",
        "write-direct PATH 0 4096",
        "allocate PATH 16384 8192",
        "allocate PATH 16384 8192 keep-size",
        "punch PATH 4096 4096",
        "zero PATH 2048 4096",
        "truncate PATH 4096",
        "truncate PATH 20480",
    ]
    .map(|line| line.replace("PATH", path))
}

/// The lines of the tree that these operations need.
fn setup(operations: &[Operation]) -> Vec<Operation> {
    let program = Program {
        setup: tree(),
        operations: operations.to_vec(),
    };
    program.with_needed_setup().setup
}

/// A number for a program with this setup: equal for programs that differ in names only.
fn canonical(setup: &[Operation], operations: &[Operation]) -> u128 {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut rename = |operation: &Operation| {
        let text = operation.to_string();
        let mut words = text.split(' ').map(|word| {
            let ours = operation.paths().contains(&word);
            if !ours {
                return word.to_owned();
            }
            let parts = word.split('/').map(|part| {
                let next = names.len();
                names.entry(part.to_owned()).or_insert(next).to_string()
            });
            parts.collect::<Vec<_>>().join("/")
        });
        words.by_ref().collect::<Vec<_>>().join(" ")
    };
    let tested: Vec<String> = operations.iter().map(&mut rename).collect();
    let mut setup: Vec<String> = setup.iter().map(rename).collect();
    setup.sort();
    let text = format!("{}\n---\n{}", setup.join("\n"), tested.join("\n"));
    XxHash3_128::oneshot(text.as_bytes())
}

/// A program of a stratum, with its sort keys.
#[derive(Clone)]
struct Ranked {
    /// Whether an earlier one has its pattern, and differs in ways that rarely matter.
    repeats: bool,
    rank: u32,
    setup: usize,
    /// A random number.
    chance: u64,
    /// A number for its pattern.
    pattern: u128,
    text: Box<str>,
}

/// The programs of the same kinds of changes, the promising ones first, and those that repeat a
/// pattern last.
type Stratum = (Vec<&'static str>, Vec<Ranked>);

/// Divides programs by their kinds of changes. Those that differ from former ones in names only are
/// left out.
fn strata(
    drafts: impl Iterator<Item = Draft>,
    random: &mut impl Rng,
    seen: &mut HashSet<u128>,
) -> Vec<Stratum> {
    let mut strata: BTreeMap<Vec<&str>, Vec<Ranked>> = BTreeMap::new();
    for draft in drafts {
        let setup = setup(&draft.operations);
        if seen.insert(canonical(&setup, &draft.operations)) {
            let stratum = strata.entry(draft.kinds.clone()).or_default();
            stratum.push(Ranked {
                repeats: false,
                rank: draft.rank,
                setup: setup.len(),
                chance: random.next_u64(),
                pattern: XxHash3_128::oneshot(draft.pattern.text().as_bytes()),
                text: draft.text(),
            });
        }
    }
    for stratum in strata.values_mut() {
        stratum.sort_by_key(|one| (one.rank, one.setup, one.chance));
        let mut patterns = HashSet::new();
        for one in &mut *stratum {
            one.repeats = !patterns.insert(one.pattern);
        }
        stratum.sort_by_key(|one| one.repeats);
    }
    strata.into_iter().collect()
}

/// Orders programs so that any prefix has all kinds of changes evenly, except that changes of names
/// come first and more often.
fn rounds(mut strata: Vec<Stratum>) -> Vec<Box<str>> {
    strata.sort_by_key(|(kinds, stratum)| {
        let chance = stratum.first().map(|one| one.chance);
        (Reverse(programs_per_round(kinds)), chance)
    });
    let strata = strata.into_iter();
    let mut strata: VecDeque<_> = strata
        .map(|(kinds, stratum)| (programs_per_round(&kinds), stratum.into_iter()))
        .collect();
    let mut programs = Vec::new();
    while let Some((turns, mut stratum)) = strata.pop_front() {
        programs.extend(stratum.by_ref().take(turns).map(|one| one.text));
        if stratum.len() > 0 {
            strata.push_back((turns, stratum));
        }
    }
    programs
}

/// How many programs with these kinds of changes come in each round. Most of the bugs that such
/// searches have found are of changed names (Mohan et al., OSDI 2018).
fn programs_per_round(kinds: &[&str]) -> usize {
    let of_names = |kind: &&str| {
        [
            "create", "mkdir", "symlink", "link", "rename", "exchange", "unlink", "rmdir",
        ]
        .contains(kind)
    };
    if kinds.iter().all(of_names) {
        NAME_TURNS
    } else {
        1
    }
}

/// Random programs of three changes.
fn sample(
    start: &Draft,
    count: u32,
    random: &mut impl Rng,
    seen: &mut HashSet<u128>,
) -> Vec<Box<str>> {
    let mut programs = Vec::new();
    // There are far more programs than are sampled: few attempts fail.
    for _ in 0..u64::from(count) * 4 {
        if programs.len() == count as usize {
            break;
        }
        let mut drafts = vec![start.clone()];
        for change in 0..3 {
            let picked = pick(drafts, random).map_or(Vec::new(), |draft| draft.changed());
            let Some(picked) = pick(picked, random) else {
                drafts = Vec::new();
                break;
            };
            drafts = if change == 2 {
                picked.ended()
            } else {
                picked.continued()
            };
        }
        if let Some(draft) = pick(drafts, random)
            && seen.insert(canonical(&setup(&draft.operations), &draft.operations))
        {
            programs.push(draft.text());
        }
    }
    programs
}

/// A random draft; early ones are more likely.
fn pick(mut drafts: Vec<Draft>, random: &mut impl Rng) -> Option<Draft> {
    let least = drafts.iter().map(|draft| draft.rank).min()?;
    // Three of four picks are from the earliest.
    if !random.next_u64().is_multiple_of(4) {
        drafts.retain(|draft| draft.rank == least);
    }
    let at = index(random.next_u64(), drafts.len());
    Some(drafts.swap_remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    const BOUNDS: Bounds = Bounds {
        changes: 3,
        sampled: 30,
        seed: 1,
    };

    static GENERATED: LazyLock<Generated> = LazyLock::new(|| Generated::new(BOUNDS));

    /// The place of the program that differs from this one in names at most.
    fn place(operations: &str) -> Option<usize> {
        let program: Program = operations.replace("; ", "\n").parse().unwrap();
        let of = |operations: &[Operation]| canonical(&setup(operations), operations);
        let wanted = of(&program.operations);
        GENERATED
            .clone()
            .position(|program| of(&program.operations) == wanted)
    }

    #[test]
    fn all_programs_can_succeed_and_make_something_durable() {
        let mut texts = BTreeSet::new();
        // A part of them, so that the test is fast.
        for program in GENERATED.clone().step_by(11) {
            assert_eq!(program.check(), Ok(()), "{program}");
            assert!(program.operations.iter().any(Operation::is_persistence));
            assert!(texts.insert(program.to_string()), "{program}");
        }
        let total = GENERATED.total();
        assert!(total > 5000, "{total}");
        assert_eq!(GENERATED.program(total), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_programs_and_another_seed_another_order() {
        let bounds = Bounds {
            changes: 1,
            ..BOUNDS
        };
        let first = Generated::new(bounds);
        assert!(first.clone().eq(Generated::new(bounds)));
        let other = Generated::new(Bounds { seed: 2, ..bounds });
        assert_eq!(first.total(), other.total());
        assert!(!first.eq(other));
    }

    #[test]
    fn situations_of_known_bugs_are_generated() {
        let situations = [
            // fstests generic/764 and generic/779, which must come early.
            "open A/foo as h; unlink A/foo; fsync @h",
            "symlink foo A/new; fsync A; rename A/new A/new2; fsync A",
            "rename A/foo B/bar; fsync B",
            "rename A/sym A/new; fsync A",
            "rename A/sym A/new; fsync A/other",
            "link A/foo A/new; fsync A/foo",
            "rename A/foo A/new; create A/foo; fsync A/foo",
            "unlink A/foo; create A/foo; fsync A/foo",
            "rename A B/new; fsync B",
            "punch A/foo 4096 4096; fsync A/foo",
            "append A/foo 8192; fdatasync A/foo",
            "temporary A as t; link @t A/new; fsync @t",
        ];
        for (number, situation) in situations.into_iter().enumerate() {
            let place = place(situation);
            let limit = if number < 2 { 400 } else { usize::MAX };
            assert!(
                place.is_some_and(|place| place < limit),
                "{place:?} {situation}"
            );
            assert!(situation.split("; ").count() <= 6);
        }
    }

    #[test]
    fn a_setup_has_what_the_operations_need() {
        let program: Program = "rename A/foo B/new\nfsync B".parse().unwrap();
        let setup: Vec<String> = setup(&program.operations)
            .iter()
            .map(Operation::to_string)
            .collect();
        let expected = ["mkdir A", "mkdir B", "create A/foo", "write A/foo 0 16384"];
        assert_eq!(setup, expected);
    }
}
