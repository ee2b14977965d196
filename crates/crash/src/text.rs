//! Programs as text, one operation a line.
//!
//! ```text
//! # The setup ends at the line `---`. Without that line there is no setup.
//! mkdir A
//! create A/f
//! ---
//! open A/f as h
//! unlink A/f
//! fsync @h
//! ```
//!
//! A word is separated by spaces. A word with spaces, quotes, `#` or a leading `@` is written in
//! double quotes, in which `\"` and `\\` are a quote and a backslash. `@h` is the descriptor `h`,
//! `/` is the root. Numbers may end with `k` or `m` (units of 1024 and 1024² bytes). Everything
//! after `#` and empty lines are ignored. A line `===` separates the programs of a file.

use crate::operation::{Operation, Program, SpecialKind, Target, WriteKind};
use std::fmt::{self, Display, Formatter, Write as _};
use std::str::FromStr;

/// The forms of all operations, for messages and help. A TARGET is a path or `@NAME`, the
/// descriptor that `open` or `temporary` has called NAME.
pub const FORMS: [&str; 46] = [
    "mkdir PATH",
    "create PATH",
    "write TARGET OFFSET LENGTH",
    "write-mapped TARGET OFFSET LENGTH",
    "write-dsync TARGET OFFSET LENGTH",
    "write-sync TARGET OFFSET LENGTH",
    "write-direct TARGET OFFSET LENGTH",
    "append TARGET LENGTH",
    "append-mapped TARGET LENGTH",
    "append-dsync TARGET LENGTH",
    "append-sync TARGET LENGTH",
    "append-direct TARGET LENGTH",
    "allocate TARGET OFFSET LENGTH [keep-size]",
    "punch TARGET OFFSET LENGTH",
    "zero TARGET OFFSET LENGTH",
    "collapse TARGET OFFSET LENGTH",
    "insert TARGET OFFSET LENGTH",
    "copy TARGET TARGET OFFSET LENGTH",
    "clone TARGET TARGET OFFSET LENGTH",
    "truncate TARGET LENGTH",
    "link TARGET PATH",
    "symlink TEXT PATH",
    "fifo PATH",
    "device PATH",
    "rename PATH PATH",
    "exchange PATH PATH",
    "unlink PATH",
    "rmdir PATH",
    "setxattr TARGET ATTRIBUTE LENGTH",
    "removexattr TARGET ATTRIBUTE",
    "chmod TARGET OCTAL",
    "open PATH as NAME",
    "temporary PATH as NAME",
    "close NAME",
    "fsync TARGET",
    "fdatasync TARGET",
    "msync TARGET OFFSET LENGTH",
    "sync-range TARGET OFFSET LENGTH",
    "drop-caches",
    "cut",
    "sync",
    "syncfs",
    "read TARGET [OFFSET LENGTH]",
    "stat TARGET",
    "list PATH",
    "---",
];

/// The line between the setup and the operations.
const END_OF_SETUP: &str = "---";

/// The line between two programs.
const END_OF_PROGRAM: &str = "===";

/// A line that is no operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what is allowed.
    pub reason: String,
}

/// Reads the programs of a file, which lines `===` separate.
pub fn parse_programs(text: &str) -> Result<Vec<Program>, TextError> {
    let mut programs = Vec::new();
    let mut section = Section::default();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim_end() == END_OF_PROGRAM {
            programs.extend(std::mem::take(&mut section).program());
        } else {
            section.read(line, text)?;
        }
    }
    programs.extend(section.program());
    Ok(programs)
}

/// The text of several programs, which [`parse_programs`] reads.
pub fn render_programs<'a>(programs: impl IntoIterator<Item = &'a Program>) -> String {
    let texts: Vec<String> = programs.into_iter().map(Program::to_string).collect();
    texts.join("===\n")
}

/// The lines of one program, as far as they are read.
#[derive(Default)]
struct Section {
    setup: Option<Vec<Operation>>,
    operations: Vec<Operation>,
}

impl Section {
    fn read(&mut self, line: usize, text: &str) -> Result<(), TextError> {
        let error = |reason| TextError { line, reason };
        if text.trim_end() == END_OF_SETUP {
            if self.setup.is_some() {
                return Err(error(
                    "the setup has ended at a line `---` before. A line `===` begins another \
                     program"
                        .to_owned(),
                ));
            }
            self.setup = Some(std::mem::take(&mut self.operations));
            return Ok(());
        }
        let words = split(text).map_err(error)?;
        if !words.is_empty() {
            self.operations
                .push(Line::new(&words).operation().map_err(error)?);
        }
        Ok(())
    }

    /// The program; none if there are no lines.
    fn program(self) -> Option<Program> {
        let empty = self.setup.is_none() && self.operations.is_empty();
        (!empty).then(|| Program {
            setup: self.setup.unwrap_or_default(),
            operations: self.operations,
        })
    }
}

impl FromStr for Program {
    type Err = TextError;

    /// Reads one program. Whether it can be performed is checked by [`Program::check`].
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut section = Section::default();
        for (line, text) in (1..).zip(text.lines()) {
            section.read(line, text)?;
        }
        Ok(section.program().unwrap_or_default())
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for operation in &self.setup {
            writeln!(f, "{operation}")?;
        }
        if !self.setup.is_empty() {
            writeln!(f, "{END_OF_SETUP}")?;
        }
        for operation in &self.operations {
            writeln!(f, "{operation}")?;
        }
        Ok(())
    }
}

impl FromStr for Operation {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let error = |reason| TextError { line: 1, reason };
        let words = split(text).map_err(error)?;
        Line::new(&words).operation().map_err(error)
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Mkdir { path }
            | Self::Create { path }
            | Self::MakeNode { path, .. }
            | Self::Unlink { path }
            | Self::Rmdir { path }
            | Self::List { path } => write!(f, " {}", Path(path)),
            Self::Write {
                target,
                offset,
                length,
                ..
            } => {
                write!(f, " {target}")?;
                if let Some(offset) = offset {
                    write!(f, " {offset}")?;
                }
                write!(f, " {length}")
            }
            Self::Allocate {
                target,
                offset,
                length,
                keep_size,
            } => {
                write!(f, " {target} {offset} {length}")?;
                f.write_str(if *keep_size { " keep-size" } else { "" })
            }
            Self::Punch {
                target,
                offset,
                length,
            }
            | Self::Zero {
                target,
                offset,
                length,
            }
            | Self::Collapse {
                target,
                offset,
                length,
            }
            | Self::Insert {
                target,
                offset,
                length,
            }
            | Self::Msync {
                target,
                offset,
                length,
            }
            | Self::SyncRange {
                target,
                offset,
                length,
            } => write!(f, " {target} {offset} {length}"),
            Self::Copy {
                from,
                to,
                offset,
                length,
                ..
            } => write!(f, " {from} {to} {offset} {length}"),
            Self::Truncate { target, length } => write!(f, " {target} {length}"),
            Self::Link { from, to } => write!(f, " {from} {}", Path(to)),
            Self::Symlink { text, path } => write!(f, " {} {}", Word(text), Path(path)),
            Self::Rename { from, to } => write!(f, " {} {}", Path(from), Path(to)),
            Self::Exchange { one, other } => write!(f, " {} {}", Path(one), Path(other)),
            Self::SetXattr {
                target,
                name,
                length,
            } => write!(f, " {target} {} {length}", Word(name)),
            Self::RemoveXattr { target, name } => write!(f, " {target} {}", Word(name)),
            Self::Chmod { target, mode } => write!(f, " {target} {mode:o}"),
            Self::Open { path, descriptor } => {
                write!(f, " {} as {}", Path(path), Word(descriptor))
            }
            Self::Temporary {
                directory,
                descriptor,
            } => write!(f, " {} as {}", Path(directory), Word(descriptor)),
            Self::Close { descriptor } => write!(f, " {}", Word(descriptor)),
            Self::Fsync { target } | Self::Fdatasync { target } | Self::Stat { target } => {
                write!(f, " {target}")
            }
            Self::Read { target, range } => {
                write!(f, " {target}")?;
                range.map_or(Ok(()), |(offset, length)| write!(f, " {offset} {length}"))
            }
            Self::DropCaches | Self::Cut | Self::Sync | Self::Syncfs => Ok(()),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", Path(path)),
            Self::Descriptor(name) => write!(f, "@{}", Word(name)),
        }
    }
}

/// A path as a word.
struct Path<'a>(&'a str);

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_char('/')
        } else {
            Word(self.0).fmt(f)
        }
    }
}

/// A word, in quotes where it needs them.
struct Word<'a>(&'a str);

impl Display for Word<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let special = |c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '#');
        let reserved = matches!(self.0, "" | "/") || self.0.starts_with('@');
        if !reserved && !self.0.contains(special) {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// A word as it was written.
struct Written {
    /// Without quotes.
    text: String,
    /// Whether it is a descriptor: an `@` outside of quotes is before it, and not in the text.
    descriptor: bool,
    quoted: bool,
}

/// Splits a line into words.
fn split(line: &str) -> Result<Vec<Written>, String> {
    let mut words = Vec::new();
    let mut rest = line.chars().peekable();
    loop {
        while rest.next_if(|c| c.is_whitespace()).is_some() {}
        if rest.peek().is_none_or(|c| *c == '#') {
            return Ok(words);
        }
        let descriptor = rest.next_if_eq(&'@').is_some();
        let quoted = rest.next_if_eq(&'"').is_some();
        let mut text = String::new();
        if quoted {
            loop {
                match (rest.next(), rest.peek()) {
                    (Some('"'), _) => break,
                    (Some('\\'), Some(_)) => text.extend(rest.next().map(|c| match c {
                        'n' => '\n',
                        'r' => '\r',
                        c => c,
                    })),
                    (Some(c), _) => text.push(c),
                    (None, _) => return Err("a quoted word has no closing `\"`".to_owned()),
                }
            }
            if rest.peek().is_some_and(|c| !c.is_whitespace() && *c != '#') {
                return Err("after a quoted word, a space is needed".to_owned());
            }
        } else {
            while let Some(c) = rest.next_if(|c| !c.is_whitespace() && *c != '#') {
                if matches!(c, '"' | '\\') {
                    return Err(format!(
                        "`{c}` is allowed in a quoted word only: \"a \\\"b\\\"\""
                    ));
                }
                text.push(c);
            }
        }
        words.push(Written {
            text,
            descriptor,
            quoted,
        });
    }
}

/// The words of a line, which are read one after another.
struct Line<'a> {
    first: &'a str,
    words: std::slice::Iter<'a, Written>,
}

impl<'a> Line<'a> {
    fn new(words: &'a [Written]) -> Self {
        let mut words = words.iter();
        Self {
            first: words.next().map_or("", |word| &word.text),
            words,
        }
    }

    fn operation(mut self) -> Result<Operation, String> {
        let operation = self.known()?;
        match self.words.next() {
            None => Ok(operation),
            Some(word) => Err(format!("`{}` is too much: {}", word.text, self.form())),
        }
    }

    /// Reads the operation that the first word names.
    fn known(&mut self) -> Result<Operation, String> {
        if let Some((kind, append)) = write_kind(self.first) {
            return Ok(Operation::Write {
                target: self.target()?,
                offset: if append { None } else { Some(self.number()?) },
                length: self.number()?,
                kind,
            });
        }
        Ok(match self.first {
            "mkdir" => Operation::Mkdir { path: self.path()? },
            "create" => Operation::Create { path: self.path()? },
            "unlink" => Operation::Unlink { path: self.path()? },
            "rmdir" => Operation::Rmdir { path: self.path()? },
            "fifo" | "device" => Operation::MakeNode {
                path: self.path()?,
                kind: match self.first {
                    "fifo" => SpecialKind::Fifo,
                    _ => SpecialKind::Device,
                },
            },
            "allocate" | "punch" | "zero" | "collapse" | "insert" | "msync" | "sync-range" => {
                self.range()?
            }
            "copy" | "clone" => Operation::Copy {
                from: self.target()?,
                to: self.target()?,
                offset: self.number()?,
                length: self.number()?,
                shared: self.first == "clone",
            },
            "truncate" => Operation::Truncate {
                target: self.target()?,
                length: self.number()?,
            },
            "link" => Operation::Link {
                from: self.target()?,
                to: self.path()?,
            },
            "symlink" => Operation::Symlink {
                text: self.word("TEXT")?.text.clone(),
                path: self.path()?,
            },
            "rename" => Operation::Rename {
                from: self.path()?,
                to: self.path()?,
            },
            "exchange" => Operation::Exchange {
                one: self.path()?,
                other: self.path()?,
            },
            "setxattr" | "removexattr" => self.attribute()?,
            "chmod" => Operation::Chmod {
                target: self.target()?,
                mode: self.mode()?,
            },
            "open" => Operation::Open {
                path: self.path()?,
                descriptor: self.named()?,
            },
            "temporary" => Operation::Temporary {
                directory: self.path()?,
                descriptor: self.named()?,
            },
            "close" => Operation::Close {
                descriptor: self.word("NAME")?.text.clone(),
            },
            "fsync" | "fdatasync" => {
                let target = self.target()?;
                match self.first {
                    "fsync" => Operation::Fsync { target },
                    _ => Operation::Fdatasync { target },
                }
            }
            "drop-caches" => Operation::DropCaches,
            "cut" => Operation::Cut,
            "sync" => Operation::Sync,
            "syncfs" => Operation::Syncfs,
            "read" => Operation::Read {
                target: self.target()?,
                range: match self.words.as_slice() {
                    [] => None,
                    _ => Some((self.number()?, self.number()?)),
                },
            },
            "stat" => Operation::Stat {
                target: self.target()?,
            },
            "list" => Operation::List { path: self.path()? },
            unknown => {
                let words = FORMS.iter().filter_map(|form| form.split(' ').next());
                let words: Vec<&str> = words.collect();
                let known = words.join(", ");
                return Err(format!("unknown operation `{unknown}`. Allowed: {known}"));
            }
        })
    }

    fn range(&mut self) -> Result<Operation, String> {
        let (target, offset, length) = (self.target()?, self.number()?, self.number()?);
        Ok(match self.first {
            "punch" => Operation::Punch {
                target,
                offset,
                length,
            },
            "zero" => Operation::Zero {
                target,
                offset,
                length,
            },
            "collapse" => Operation::Collapse {
                target,
                offset,
                length,
            },
            "insert" => Operation::Insert {
                target,
                offset,
                length,
            },
            "msync" => Operation::Msync {
                target,
                offset,
                length,
            },
            "sync-range" => Operation::SyncRange {
                target,
                offset,
                length,
            },
            _ => Operation::Allocate {
                target,
                offset,
                length,
                keep_size: match self.words.next() {
                    None => false,
                    Some(word) if word.text == "keep-size" => true,
                    Some(word) => return Err(format!("`{}`: {}", word.text, self.form())),
                },
            },
        })
    }

    fn attribute(&mut self) -> Result<Operation, String> {
        let target = self.target()?;
        let name = self.word("ATTRIBUTE")?.text.clone();
        Ok(match self.first {
            "setxattr" => Operation::SetXattr {
                target,
                name,
                length: self.number()?,
            },
            _ => Operation::RemoveXattr { target, name },
        })
    }

    fn word(&mut self, what: &str) -> Result<&'a Written, String> {
        self.words
            .next()
            .ok_or_else(|| format!("no {what}: {}", self.form()))
    }

    fn path(&mut self) -> Result<String, String> {
        let word = self.word("PATH")?;
        if word.descriptor {
            let form = self.form();
            return Err(format!("`@{}` is a descriptor: {form}", word.text));
        }
        Ok(path(word))
    }

    fn target(&mut self) -> Result<Target, String> {
        let word = self.word("TARGET")?;
        Ok(if word.descriptor {
            Target::Descriptor(word.text.clone())
        } else {
            Target::Path(path(word))
        })
    }

    fn named(&mut self) -> Result<String, String> {
        let word = self.word("`as`")?;
        if word.text != "as" {
            return Err(format!("`{}`: {}", word.text, self.form()));
        }
        Ok(self.word("NAME")?.text.clone())
    }

    fn number(&mut self) -> Result<u64, String> {
        let text = &self.word("number")?.text;
        let (digits, unit) = match text.strip_suffix(['k', 'K']) {
            Some(digits) => (digits, 1 << 10),
            None => match text.strip_suffix(['m', 'M']) {
                Some(digits) => (digits, 1 << 20),
                None => (text.as_str(), 1),
            },
        };
        let number = digits.parse().ok().and_then(|n: u64| n.checked_mul(unit));
        number.ok_or_else(|| format!("`{text}` is no number of bytes: {}", self.form()))
    }

    fn mode(&mut self) -> Result<u32, String> {
        let text = &self.word("OCTAL")?.text;
        u32::from_str_radix(text, 8).map_err(|_| {
            let form = self.form();
            format!("`{text}` is no octal number: {form}")
        })
    }

    /// The form of the operation, for messages.
    fn form(&self) -> String {
        let forms = FORMS.iter();
        let form = forms.filter(|form| form.split(' ').next() == Some(self.first));
        let form = form.copied().next().unwrap_or_default();
        format!("the form is `{form}`")
    }
}

/// How the data of a `write` or `append` is written, and whether it is appended.
fn write_kind(word: &str) -> Option<(WriteKind, bool)> {
    let (what, how) = match word.split_once('-') {
        Some((what, how)) => (what, Some(how)),
        None => (word, None),
    };
    let kind = match how {
        None => WriteKind::Plain,
        Some("mapped") => WriteKind::Mapped,
        Some("dsync") => WriteKind::DataSync,
        Some("sync") => WriteKind::Sync,
        Some("direct") => WriteKind::Direct,
        _ => return None,
    };
    matches!(what, "write" | "append").then_some((kind, what == "append"))
}

fn path(word: &Written) -> String {
    if word.text == "/" && !word.quoted {
        String::new()
    } else {
        word.text.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_is_read_and_printed_again() {
        let text = "mkdir A\ncreate \"A/a b\"\n---\nwrite A/f 0 4k # data\nappend-dsync @h 32\n\
                    allocate A/f 0 8192 keep-size\nsymlink \"#\" A/s\nopen A/f as h\nfsync /\n\
                    chmod @h 600\nsetxattr A/f user.x 32\n\nsyncfs\n";
        let program: Program = text.parse().unwrap();
        assert_eq!((program.setup.len(), program.operations.len()), (2, 9));
        let again = program.to_string();
        assert!(again.contains("write A/f 0 4096\n"), "{again}");
        assert_eq!(again.parse(), Ok(program.clone()));
        let both = render_programs([&program, &program]);
        assert_eq!(parse_programs(&both).unwrap(), [program.clone(), program]);
        for form in FORMS.iter().filter(|form| **form != "---") {
            let line = ["PATH", "TARGET", "TEXT", "ATTRIBUTE", "NAME"]
                .iter()
                .fold(form.replace(['[', ']'], ""), |line, word| {
                    line.replace(word, "x")
                })
                .replace("OFFSET", "0")
                .replace("LENGTH", "16")
                .replace("OCTAL", "755");
            let operation: Operation = line.parse().unwrap();
            assert_eq!(operation.to_string(), line);
        }
    }

    #[test]
    fn an_error_names_the_line_and_what_is_allowed() {
        let cases = [
            (
                "sync\nfoo A",
                "line 2: unknown operation `foo`. Allowed: mkdir, create",
            ),
            ("write- f 0 16", "line 1: unknown operation `write-`"),
            (
                "write A/f 0",
                "line 1: no number: the form is `write TARGET OFFSET LENGTH`",
            ),
            (
                "punch A/f x 1",
                "`x` is no number of bytes: the form is `punch",
            ),
            ("mkdir @h", "`@h` is a descriptor: the form is `mkdir PATH`"),
            ("sync now", "`now` is too much: the form is `sync`"),
            ("mkdir \"A", "a quoted word has no closing"),
            ("---\n---", "line 2: the setup has ended"),
            ("===", "line 1: unknown operation `===`"),
        ];
        for (text, message) in cases {
            let error = text.parse::<Program>().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    fn target() -> impl Strategy<Value = Target> {
        prop_oneof![
            ".*".prop_map(Target::Path),
            ".*".prop_map(Target::Descriptor)
        ]
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let name = || "\\PC*|[@#\" /\\\\\n\r]{0,3}";
        let range = (target(), any::<u64>(), any::<u64>(), any::<bool>());
        let path = name;
        prop_oneof![
            path().prop_map(|path| Operation::Mkdir { path }),
            (name(), path()).prop_map(|(text, path)| Operation::Symlink { text, path }),
            (path(), path()).prop_map(|(from, to)| Operation::Rename { from, to }),
            (path(), name()).prop_map(|(path, descriptor)| Operation::Open { path, descriptor }),
            range.prop_map(|(target, offset, length, keep_size)| Operation::Allocate {
                target,
                offset,
                length,
                keep_size
            }),
            (target(), any::<Option<u64>>()).prop_map(|(target, offset)| Operation::Write {
                target,
                offset,
                length: 16,
                kind: WriteKind::Sync
            }),
            (target(), 0..0o10000_u32).prop_map(|(target, mode)| Operation::Chmod { target, mode }),
            (target(), any::<Option<(u64, u64)>>())
                .prop_map(|(target, range)| Operation::Read { target, range }),
            target().prop_map(|target| Operation::Stat { target }),
            path().prop_map(|path| Operation::List { path }),
        ]
    }

    proptest! {
        #[test]
        fn the_text_of_a_program_is_that_program(
            setup in prop::collection::vec(operation(), 0..4),
            operations in prop::collection::vec(operation(), 1..4),
        ) {
            let program = Program { setup, operations };
            prop_assert_eq!(program.to_string().parse(), Ok(program));
        }
    }
}
