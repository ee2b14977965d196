//! One step: a line like those of crash programs, in which a file may be any of a set, and a size
//! any of a distribution.

use super::FileSet;
use super::names::NamedPath;
use fsdyno_datasets::distribution::Distribution;
use fsdyno_model::closest_name;
use fsdyno_model::units::Bytes;

/// The default length of one system call that transfers data.
const BLOCK: usize = 128 << 10;

/// The forms of all steps, for messages and help.
pub(super) const FORMS: [(&str, Call, &str); 19] = [
    ("create", Call::Create, "create FILES [SIZE] [as NAME]"),
    ("open", Call::Open, "open FILES as NAME"),
    ("close", Call::Close, "close NAME"),
    ("read", Call::Read, "read TARGET [OFFSET SIZE]"),
    ("write", Call::Write, "write TARGET OFFSET SIZE"),
    ("append", Call::Append, "append TARGET SIZE"),
    ("truncate", Call::Truncate, "truncate TARGET SIZE"),
    ("stat", Call::Stat, "stat TARGET"),
    ("fsync", Call::Fsync, "fsync TARGET"),
    ("fdatasync", Call::Fdatasync, "fdatasync TARGET"),
    ("rename", Call::Rename, "rename FILES FILES"),
    ("link", Call::Link, "link FILES FILES"),
    ("unlink", Call::Unlink, "unlink FILES"),
    ("mkdir", Call::Mkdir, "mkdir FILES/"),
    ("rmdir", Call::Rmdir, "rmdir FILES/"),
    ("list", Call::List, "list FILES/"),
    ("syncfs", Call::Syncfs, "syncfs"),
    ("lookup", Call::Lookup, "lookup FILES"),
    ("mknod", Call::Mknod, "mknod FILES"),
];

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Create,
    Open,
    Close,
    Read,
    Write,
    Append,
    Truncate,
    Stat,
    Fsync,
    Fdatasync,
    Rename,
    Link,
    Unlink,
    Mkdir,
    Rmdir,
    List,
    Syncfs,
    /// A `stat` of a name that may not exist.
    Lookup,
    /// A character device with the number 0:0, which hides a file of a lower layer (overlayfs.rst).
    Mknod,
}

impl Call {
    /// The number of calls.
    pub const COUNT: usize = FORMS.len();

    /// Its name, as typed.
    pub fn name(self) -> &'static str {
        FORMS[self as usize].0
    }

    /// Whether it makes or removes names, or shortens files.
    pub fn changes_names(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Truncate | Self::Rename | Self::Link | Self::Unlink | Self::Mknod
        )
    }

    /// Whether it changes the file system.
    pub fn writes(self) -> bool {
        let also = matches!(self, Self::Write | Self::Append | Self::Mkdir | Self::Rmdir);
        also || self.changes_names()
    }
}

/// The object of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file of a set, or the directory that contains it.
    Files {
        set: usize,
        pick: Pick,
        directory: bool,
    },
    /// A name of the file that a loop has selected, or its directory.
    Named { name: usize, directory: bool },
    /// The descriptor of this number.
    Descriptor(usize),
    /// The whole file system.
    Everything,
}

/// Which file of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Any, each as likely.
    Random,
    /// One after the other, from the first to the last and again.
    InOrder,
    /// By popularity: the second is picked half as often as the first, and so on.
    Zipf,
    /// The newest.
    Newest,
    /// The file of the step before; of another set, the one with the same number.
    Same,
    /// One that does not exist yet.
    New,
}

const PICKS: [(&str, Pick); 6] = [
    ("random", Pick::Random),
    ("in-order", Pick::InOrder),
    ("zipf", Pick::Zipf),
    ("newest", Pick::Newest),
    ("same", Pick::Same),
    ("new", Pick::New),
];

/// Where a transfer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offset {
    At(u64),
    /// At a multiple of its length within the file.
    Random,
    /// Where the one before it ended; at the end of the file, at its start.
    Next,
    /// So many lengths from the start as this variable says.
    Variable(usize),
}

/// The length of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Length {
    /// The size that the set draws for the file, times this.
    All(u64),
    Drawn(Distribution),
}

/// How a file is used that a step opens, until it is closed.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties, from which the flags of open(2) follow"
)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub reads: bool,
    pub writes: bool,
    /// Several workers append to the same files (`O_APPEND`).
    pub appends: bool,
    /// Transfers are at offsets, or the file shrinks; else all are appends.
    pub positioned: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub call: Call,
    pub place: Place,
    /// The new name of `rename` and `link`: a set and the choice in it.
    pub to: Option<(usize, Pick)>,
    /// The same, a name of the file that a loop has selected.
    pub to_name: Option<usize>,
    /// Whether the steps that follow a lookup are done if it finds a file; none if nothing follows.
    pub expects: Option<bool>,
    pub offset: Option<Offset>,
    pub length: Option<Length>,
    /// The descriptor that stays open.
    pub keep: Option<usize>,
    /// How a file that it opens is used.
    pub access: Access,
    pub direct: bool,
    pub dsync: bool,
    /// The bytes of one system call.
    pub block: usize,
    /// The wait before it, nanoseconds.
    pub think: u64,
    /// The interval between its starts, nanoseconds; 0 if it starts after the step before.
    pub every: u64,
    /// The line.
    pub text: String,
}

/// Reads steps: the names of sets, of their files, of variables, and of descriptors.
pub(super) struct StepReader<'a> {
    pub sets: &'a [FileSet],
    pub names: &'a [NamedPath],
    pub variables: &'a [String],
    pub descriptors: &'a mut Vec<String>,
}

/// Splits a line at blanks outside of brackets.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0_u32;
    for c in line.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() && depth == 0 {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

impl StepReader<'_> {
    /// Reads one line; the error says what is allowed.
    pub fn read(&mut self, line: &str) -> Result<Step, String> {
        let words = words(line);
        let (first, rest) = match words.split_first() {
            Some((first, rest)) => (first.as_str(), rest),
            None => ("", &words[..]),
        };
        let Some((_, call, form)) = FORMS.iter().find(|(name, ..)| *name == first) else {
            let names = FORMS.iter().map(|(name, ..)| *name);
            let near = closest_name(first, names.clone());
            let help = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("allowed: {}", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("unknown operation `{first}`: {help}"));
        };
        let call = *call;
        let mut line = Line { words: rest, form };
        let mut step = Step {
            call,
            place: Place::Everything,
            to: None,
            to_name: None,
            expects: None,
            offset: None,
            length: None,
            keep: None,
            access: Access::default(),
            direct: false,
            dsync: false,
            block: BLOCK,
            think: 0,
            every: 0,
            text: words.join(" "),
        };
        step.place = self.place(call, &mut line)?;
        match call {
            Call::Rename | Call::Link => match self.files(line.word("FILES")?, Pick::New)? {
                Place::Files {
                    set,
                    pick: pick @ (Pick::New | Pick::Same),
                    directory: false,
                } if matches!(step.place, Place::Files { .. }) => step.to = Some((set, pick)),
                Place::Named {
                    name,
                    directory: false,
                } if matches!(step.place, Place::Named { .. }) => step.to_name = Some(name),
                _ => {
                    return Err(line.wrong(
                        "the new name is `FILES:new`, `FILES:same` or a name of the same loop",
                    ));
                }
            },
            Call::Create => {
                step.length = match line.peek() {
                    None | Some("as") => None,
                    Some(_) => Some(length(line.word("SIZE")?)?),
                };
                step.keep = self.named(&mut line)?;
            }
            Call::Open => {
                step.keep = self.named(&mut line)?;
                if step.keep.is_none() {
                    return Err(line.wrong("no `as NAME`"));
                }
            }
            Call::Read if line.peek().is_none() => {}
            Call::Read | Call::Write => {
                step.offset = Some(self.offset(line.word("OFFSET")?)?);
                step.length = Some(length(line.word("SIZE")?)?);
            }
            Call::Append | Call::Truncate => step.length = Some(length(line.word("SIZE")?)?),
            _ => {}
        }
        match line.next() {
            Some(word) => Err(line.wrong(&format!("`{word}` is too much"))),
            None => Ok(step),
        }
        .and_then(check)
    }

    /// The object of a step.
    fn place(&self, call: Call, line: &mut Line<'_>) -> Result<Place, String> {
        let usual = if matches!(call, Call::Create | Call::Mkdir) {
            Pick::New
        } else {
            Pick::Random
        };
        match call {
            Call::Syncfs => Ok(Place::Everything),
            Call::Close => self.descriptor(line.word("NAME")?).map(Place::Descriptor),
            Call::Create
            | Call::Open
            | Call::Unlink
            | Call::Rename
            | Call::Link
            | Call::Lookup
            | Call::Mknod => self.files(line.word("FILES")?, usual),
            Call::Mkdir | Call::Rmdir | Call::List => {
                Ok(match self.files(line.word("FILES/")?, usual)? {
                    Place::Files { set, pick, .. } => Place::Files {
                        set,
                        pick,
                        directory: true,
                    },
                    place => place,
                })
            }
            _ => self.target(line.word("TARGET")?),
        }
    }

    /// A set of files and the choice in it: `mail`, `mail:newest`, `mail:same/`.
    fn files(&self, word: &str, usual: Pick) -> Result<Place, String> {
        let directory = word.ends_with('/');
        let word = word.trim_end_matches('/');
        let (name, pick) = word
            .split_once(':')
            .map_or((word, None), |(name, pick)| (name, Some(pick)));
        if let (Some(name), None) = (self.names.iter().position(|one| one.name == name), pick) {
            return Ok(Place::Named { name, directory });
        }
        let is_picked = |set: &&FileSet| !set.looped;
        let set = self
            .sets
            .iter()
            .position(|set| !set.looped && set.name == name);
        let set = set.ok_or_else(|| {
            let sets = self.sets.iter().filter(is_picked);
            let names = sets.map(|set| set.name.as_str());
            let names = names.chain(self.names.iter().map(|one| one.name.as_str()));
            let near = closest_name(name, names.clone());
            let known: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            match near.first() {
                Some(near) => format!("no files are named `{name}`: did you mean `{near}`?"),
                None => format!(
                    "no files are named `{name}`: there are {}",
                    known.join(", ")
                ),
            }
        })?;
        let pick = match pick {
            None => usual,
            Some(pick) => {
                let found = PICKS.iter().find(|(name, _)| *name == pick);
                let found = found.ok_or_else(|| {
                    let names: Vec<&str> = PICKS.iter().map(|(name, _)| *name).collect();
                    format!("`{pick}` picks no file: write {}", names.join(", "))
                });
                found?.1
            }
        };
        Ok(Place::Files {
            set,
            pick,
            directory,
        })
    }

    fn offset(&self, word: &str) -> Result<Offset, String> {
        let variable = self.variables.iter().position(|name| name == word);
        match (word, variable) {
            ("random", _) => Ok(Offset::Random),
            ("next", _) => Ok(Offset::Next),
            (_, Some(variable)) => Ok(Offset::Variable(variable)),
            (number, None) => {
                let bytes: Result<Bytes, _> = number.parse();
                let bytes = bytes.map_err(|_| {
                    format!(
                        "`{number}` is no offset: write a size, `random`, `next` or the set of a loop"
                    )
                })?;
                Ok(Offset::At(bytes.0))
            }
        }
    }

    fn target(&self, word: &str) -> Result<Place, String> {
        match word.strip_prefix('@') {
            Some(name) => self.descriptor(name).map(Place::Descriptor),
            None => self.files(word, Pick::Random),
        }
    }

    /// A descriptor that a step before has named.
    fn descriptor(&self, name: &str) -> Result<usize, String> {
        let name = name.trim_start_matches('@');
        let place = self.descriptors.iter().position(|known| known == name);
        place.ok_or_else(|| {
            format!("no step before it has opened `{name}`: write `open FILES as {name}` first")
        })
    }

    /// The descriptor of `as NAME`, if the line goes on with it.
    fn named(&mut self, line: &mut Line<'_>) -> Result<Option<usize>, String> {
        match line.next() {
            None => return Ok(None),
            Some("as") => {}
            Some(word) => return Err(line.wrong(&format!("`{word}` is not `as`"))),
        }
        let name = line.word("NAME")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.chars().all(is_name) {
            return Err(line.wrong(&format!("`{name}` is no name of letters and digits")));
        }
        let known = self.descriptors.iter().position(|known| known == name);
        Ok(Some(known.unwrap_or_else(|| {
            self.descriptors.push(name.to_owned());
            self.descriptors.len() - 1
        })))
    }
}

/// Refuses choices that a step cannot make.
fn check(step: Step) -> Result<Step, String> {
    let picked = match step.place {
        Place::Files {
            pick, directory, ..
        } => Some((pick, directory)),
        _ => None,
    };
    let call = step.call;
    match picked {
        Some((pick, _)) if (pick == Pick::New) != matches!(call, Call::Create | Call::Mkdir) => {
            let name = call.name();
            Err(if pick == Pick::New {
                format!("`{name}` needs a file that exists, and `new` has none")
            } else {
                format!("`{name}` makes a new file: write `new`, or leave the choice out")
            })
        }
        Some((_, true)) if !takes_directory(call) => Err(no_directory(call)),
        _ => match step.place {
            Place::Named {
                directory: true, ..
            } if !takes_directory(call) => Err(no_directory(call)),
            _ => Ok(step),
        },
    }
}

fn takes_directory(call: Call) -> bool {
    matches!(
        call,
        Call::Stat | Call::Fsync | Call::Mkdir | Call::Rmdir | Call::List
    )
}

fn no_directory(call: Call) -> String {
    format!("`{}` takes no directory: leave the `/` out", call.name())
}

/// The words of a line that are left, and its form.
struct Line<'a> {
    words: &'a [String],
    form: &'a str,
}

impl<'a> Line<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.first().map(String::as_str)
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn word(&mut self, what: &str) -> Result<&'a str, String> {
        self.next().ok_or_else(|| self.wrong(&format!("no {what}")))
    }

    fn wrong(&self, what: &str) -> String {
        format!("{what}: the form is `{}`", self.form)
    }
}

fn length(word: &str) -> Result<Length, String> {
    if let Some(factor) = word.strip_prefix("all") {
        let factor = match factor.strip_prefix('*') {
            None if factor.is_empty() => Some(1),
            factor => factor.and_then(|factor| factor.parse().ok()),
        };
        let factor = factor.filter(|factor| (1..=1000).contains(factor));
        return factor
            .map(Length::All)
            .ok_or_else(|| format!("`{word}` is no size: write `all`, or as `all*3`"));
    }
    word.parse().map(Length::Drawn).map_err(|error: String| {
        error.replace("write SIZE", "write `all` (the size of the file), SIZE")
    })
}
