//! fsdyno beside the floor in C and beside the programs that a user would take instead: the same work
//! by both, in alternating pairs, on file systems made for it. Writes `BENCHMARKS.md`.
//!
//! What is done is said in `works`, how it is taken in `contest`, where in `ground`, and what becomes
//! of it in `told`. Started by `./x bench`.

mod contest;
mod ground;
mod told;
mod works;

use contest::{Duel, Figures};
use fsdyno_model::Stop;
use ground::Ground;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use works::{Other, Work};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Alternating pairs of each comparison.
    pub pairs: u32,
    /// Files of the works on many.
    pub files: u64,
    /// The size of large files.
    pub megabytes: u64,
    /// Operations all over one.
    pub operations: u64,
    /// Of the dataset of trees.
    pub tree: f64,
}

const FULL: Scale = Scale {
    pairs: 15,
    files: 100_000,
    megabytes: 1024,
    operations: 262_144,
    tree: 1.0,
};
const QUICK: Scale = Scale {
    pairs: 6,
    files: 50_000,
    megabytes: 128,
    operations: 65_536,
    tree: 0.4,
};

/// What was asked for.
struct Asked {
    scale: Scale,
    filesystems: Vec<String>,
    /// Parts of the names of works; all where none is named.
    only: Vec<String>,
    /// Where peers lie that cargo installed.
    peers: PathBuf,
    /// Where images lie.
    base: PathBuf,
    output: PathBuf,
}

const USAGE: &str =
    "usage: ./x bench [--quick] [--pairs N] [--fs LIST] [--only WORDS] [--in DIR] [--output FILE]
  --quick      less of everything: minutes, not hours
  --pairs N    alternating pairs of each comparison
  --fs LIST    file systems, separated by commas
  --only WORDS works whose names have one of these words in them, separated by commas
  --in DIR     where image files lie [default: /dev/shm, so that no device dominates]
  --output F   where the tables go [default: BENCHMARKS.md]";

fn main() -> ExitCode {
    let told = asked().and_then(|asked| bench(&asked));
    match told {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("bench: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_owned).collect()
}

/// Reads the arguments. `cargo bench` adds `--bench`.
fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        scale: FULL,
        filesystems: list("tmpfs,ext4,xfs,btrfs"),
        only: Vec::new(),
        peers: PathBuf::new(),
        base: PathBuf::from("/dev/shm"),
        output: PathBuf::from("BENCHMARKS.md"),
    };
    let mut pairs = None;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} what?\n{USAGE}"));
        match word.as_str() {
            "--bench" => {}
            "--quick" => asked.scale = QUICK,
            "--pairs" => {
                let text = value()?;
                let number = text.parse().map_err(|_| format!("`{text}` is no number"))?;
                pairs = Some(number);
            }
            "--fs" => asked.filesystems = list(&value()?),
            "--only" => asked.only = list(&value()?),
            "--peers" => asked.peers = value()?.into(),
            "--in" => asked.base = value()?.into(),
            "--output" => asked.output = value()?.into(),
            "--help" => return Err(USAGE.to_owned()),
            _ => return Err(format!("what is `{word}`?\n{USAGE}")),
        }
    }
    asked.scale.pairs = pairs.unwrap_or(asked.scale.pairs);
    Ok(asked)
}

fn bench(asked: &Asked) -> Result<(), String> {
    let stop = Stop::new();
    fsdyno_host::signals::install(&stop).map_err(|error| error.to_string())?;
    // Cargo starts a bench in its crate; paths are meant from where `x` lies.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::env::set_current_dir(root).map_err(|error| format!("{root}: {error}"))?;
    let home = tempfile::tempdir().map_err(|error| error.to_string())?;
    let floor = build_floor(home.path())?;
    let mut pages = told::Pages::begin(asked.scale);
    for filesystem in &asked.filesystems {
        let mut ground = Ground::make(filesystem, &asked.base, &stop)?;
        let names = Names {
            scale: asked.scale,
            ground: ground.path().to_owned(),
            floor: floor.clone(),
            peers: asked.peers.clone(),
        };
        for work in works::ALL {
            let wanted = |word: &String| work.name.contains(word.as_str());
            if !asked.only.is_empty() && !asked.only.iter().any(wanted) {
                continue;
            }
            let rows = compare(work, &names, &stop)?;
            pages.add(work, filesystem, rows);
            // What is done so far is kept, whatever comes.
            pages.write(&asked.output)?;
        }
        ground.give_back()?;
    }
    Ok(())
}

/// What stands for the words in braces of a command.
#[derive(Debug)]
pub struct Names {
    scale: Scale,
    ground: PathBuf,
    floor: PathBuf,
    peers: PathBuf,
}

impl Names {
    /// A command with all words in braces replaced.
    pub fn fill(&self, command: &str) -> String {
        let Scale {
            files,
            megabytes,
            operations,
            tree,
            ..
        } = self.scale;
        let shown = |path: &Path| path.display().to_string();
        [
            ("{fsdyno}", env!("CARGO_BIN_EXE_fsdyno").to_owned()),
            ("{floor}", shown(&self.floor)),
            ("{cpz}", shown(&self.peers.join("cpz"))),
            ("{rmz}", shown(&self.peers.join("rmz"))),
            ("{xcp}", shown(&self.peers.join("xcp"))),
            ("{d}", shown(&self.ground)),
            ("{n}", files.to_string()),
            ("{k}", (files / 1024).max(1).to_string()),
            ("{mib}", megabytes.to_string()),
            ("{ops}", operations.to_string()),
            ("{tree}", tree.to_string()),
        ]
        .iter()
        .fold(command.to_owned(), |text, (word, with)| {
            text.replace(word, with)
        })
    }
}

/// What came out of one comparison, or why nothing did.
type Row = (&'static Other, Result<Figures, String>);

/// All comparisons of one work on one file system. What cannot be compared is told with its reason.
fn compare(work: &'static Work, names: &Names, stop: &Stop) -> Result<Vec<Row>, String> {
    contest::shell(&names.fill(works::CLEAR), stop)?;
    contest::shell(&names.fill(work.lay), stop)?;
    let mut rows = Vec::new();
    for other in work.others {
        let theirs = names.fill(other.command);
        let figures = if contest::there(&theirs) {
            let duel = Duel {
                before: names.fill(work.before),
                ours: names.fill(other.ours.unwrap_or(work.ours)),
                theirs,
            };
            duel.fight(names.scale.pairs, stop)
        } else {
            Err("not there".to_owned())
        };
        if stop.requested() {
            return Err("stopped at the user's request".to_owned());
        }
        let line = figures.as_ref().map_or_else(String::clone, Figures::line);
        eprintln!("{:<26} {:<14} {line}", work.name, other.name);
        rows.push((other, figures));
    }
    Ok(rows)
}

/// Compiles the floor as a user would.
fn build_floor(into: &Path) -> Result<PathBuf, String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/floor.c");
    let floor = into.join("floor");
    let status = Command::new("cc")
        .args(["-O2", "-o"])
        .arg(&floor)
        .arg(source)
        .status()
        .map_err(|error| format!("cc {source}: {error}"))?;
    if !status.success() {
        return Err(format!("cc {source}: {status}"));
    }
    Ok(floor)
}
