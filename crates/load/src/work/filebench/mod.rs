//! Personalities of Filebench as workloads.

mod parse;

use super::{LEFT_OUT, Work, WorkError};
use parse::{Attributes, Personality, Thread};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Whether a file is named like a personality: `varmail.f`.
pub fn is_named_so(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "f")
}

/// Translates a personality to the text of a workload, which is valid. What has no meaning there is
/// named in its comments. The error has its place in the personality.
pub fn translate(text: &str) -> Result<String, WorkError> {
    let read = parse::parse(text)?;
    let whole = 0..0;
    if read.threads.is_empty() {
        return Err(WorkError::new(
            whole,
            "it defines no process with threads",
            "",
        ));
    }
    let translated = Translation::of(&read)?;
    let work: Result<Work, _> = translated.parse();
    match work {
        Ok(_) => Ok(translated),
        Err(error) => {
            let line = translated[..error.span.start]
                .lines()
                .next_back()
                .unwrap_or_default();
            let message = format!(
                "its translation is not valid: {} (after `{line}`)",
                error.message
            );
            Err(WorkError::new(
                whole,
                message,
                error.help.unwrap_or_default(),
            ))
        }
    }
}

#[derive(Default)]
struct Translation {
    text: String,
    /// The names of filesets as they are written here.
    sets: BTreeMap<String, String>,
    left_out: BTreeSet<String>,
}

/// A step with the keys of its table.
#[derive(PartialEq, Eq)]
struct Entry {
    line: String,
    keys: Vec<(&'static str, String)>,
}

impl Entry {
    fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            keys: Vec::new(),
        }
    }

    /// A step that opens a file, with the flags of its flowop.
    fn opening(line: String, attributes: &Attributes) -> Self {
        let flags = [("directio", "direct"), ("dsync", "dsync")].into_iter();
        let flags = flags.filter(|(name, _)| attributes.is_set(name));
        Self {
            line,
            keys: flags.map(|(_, key)| (key, "true".to_owned())).collect(),
        }
    }

    fn render(&self) -> String {
        if self.keys.is_empty() {
            return format!("\"{}\"", self.line);
        }
        let keys = self
            .keys
            .iter()
            .map(|(key, value)| format!(", {key} = {value}"));
        format!("{{ do = \"{}\"{} }}", self.line, keys.collect::<String>())
    }
}

/// The steps of a thread.
#[derive(Default)]
struct Steps {
    begin: Vec<Entry>,
    list: Vec<Entry>,
    /// Descriptors that are open: the fileset of each, and whether a step has created the file.
    open: BTreeMap<u64, (String, bool)>,
    /// The descriptors that were opened without a step.
    opened: BTreeMap<u64, String>,
    operations: Option<u64>,
    loops: Option<u64>,
    bytes: Option<u64>,
    think: Option<u64>,
}

impl Translation {
    fn of(read: &Personality) -> Result<String, WorkError> {
        let mut translation = Self::default();
        for set in &read.filesets {
            translation.fileset(set)?;
        }
        for thread in &read.threads {
            translation.thread(thread, read)?;
        }
        translation.left_out.extend(read.left_out.iter().cloned());
        let mut text = "# Translated from a personality of Filebench.\n".to_owned();
        for line in &translation.left_out {
            let line = line.replace(char::is_control, " ");
            let _ = writeln!(text, "{LEFT_OUT}{line}");
        }
        Ok(text + &translation.text)
    }

    fn fileset(&mut self, set: &Attributes) -> Result<(), WorkError> {
        let name = set.text("name").unwrap_or_default();
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        };
        let mut here: String = name.chars().map(plain).take(30).collect();
        while here.is_empty() || self.sets.values().any(|known| *known == here) {
            here.push('x');
        }
        self.sets.insert(name.to_owned(), here.clone());
        let dirs = set.number("leafdirs")?.unwrap_or(0);
        let entries = set.number("entries")?.unwrap_or(u64::from(dirs == 0));
        let text = &mut self.text;
        let _ = writeln!(text, "\n[[files]]\nname = \"{here}\"\ncount = {entries}");
        if let Some(size) = set.size("size")? {
            let gamma = set.number("filesizegamma")?.filter(|gamma| *gamma > 0);
            let size = match gamma {
                Some(gamma) if !set.is_drawn("size") => {
                    format!("gamma({size}, {})", gamma as f64 / 1000.0)
                }
                _ => size,
            };
            let _ = writeln!(text, "size = \"{size}\"");
        }
        match set.text("prealloc") {
            None | Some("0" | "false") => text.push_str("present = \"0%\"\n"),
            Some("100" | "true") => {}
            Some(part) => {
                let _ = writeln!(text, "present = \"{part}%\"");
            }
        }
        let width = set
            .number("dirwidth")
            .ok()
            .flatten()
            .filter(|width| *width < entries);
        if let Some(width) = width.filter(|width| *width > 0) {
            // Filebench makes a tree whose directories all have this width.
            let leaves = entries.div_ceil(width);
            let levels = (1..16).find(|depth| width.max(2).saturating_pow(*depth) >= leaves);
            let _ = writeln!(text, "width = {width}\ndepth = {}", levels.unwrap_or(16));
        }
        if dirs > 0 {
            self.left_out.insert(format!(
                "leafdirs={dirs} of {name}: directories are made by steps"
            ));
        }
        Ok(())
    }

    fn thread(&mut self, thread: &Thread, read: &Personality) -> Result<(), WorkError> {
        let mut steps = Steps::default();
        for (kind, attributes) in &thread.flowops {
            self.flowop(kind, attributes, thread, &mut steps)?;
        }
        if let (Some(seconds), Some(first)) = (steps.think.take(), steps.list.first_mut()) {
            // The wait after the last step is one before the first.
            first.keys.push(("think", format!("\"{seconds}s\"")));
        }
        if steps.list.is_empty() {
            self.left_out.insert(format!(
                "thread {}: none of its flowops works on files",
                thread.name
            ));
            return Ok(());
        }
        let text = &mut self.text;
        let name = thread.name.replace(char::is_control, " ");
        let _ = writeln!(
            text,
            "\n# {name}\n[[workers]]\ncount = {}",
            thread.instances
        );
        let has_end = steps.operations.or(steps.loops).or(steps.bytes).is_some();
        for (key, end) in [("operations", steps.operations), ("loops", steps.loops)] {
            if let Some(end) = end {
                let _ = writeln!(text, "{key} = {end}");
            }
        }
        if let Some(bytes) = steps.bytes {
            let _ = writeln!(text, "bytes = \"{bytes}\"");
        }
        if !(has_end || read.until_done && uses_up(thread, read)) {
            let _ = writeln!(text, "time = \"{}s\"", read.run.unwrap_or(60));
        }
        if !steps.begin.is_empty() {
            let begin: Vec<String> = steps.begin.iter().map(Entry::render).collect();
            let _ = writeln!(text, "begin = [{}]", begin.join(", "));
        }
        text.push_str("steps = [\n");
        for step in &steps.list {
            let _ = writeln!(text, "  {},", step.render());
        }
        text.push_str("]\n");
        Ok(())
    }

    /// The name of a fileset here.
    fn set(&self, attributes: &Attributes) -> Result<Option<String>, WorkError> {
        let named = attributes
            .text("filesetname")
            .or_else(|| attributes.text("filename"));
        let Some(name) = named.or_else(|| attributes.text("file")) else {
            return Ok(None);
        };
        let here = self.sets.get(name).cloned();
        let here = here.ok_or_else(|| {
            let message = format!("no fileset is named `{name}`");
            WorkError::new(attributes.span.clone(), message, "define it before")
        });
        here.map(Some)
    }

    fn flowop(
        &mut self,
        kind: &str,
        attributes: &Attributes,
        thread: &Thread,
        steps: &mut Steps,
    ) -> Result<(), WorkError> {
        if steps.end(kind, attributes, thread)? {
            return Ok(());
        }
        let set = self.set(attributes)?;
        let line = match steps.line_of_names(kind, attributes, set.as_ref())? {
            Some(line) => Some(line),
            None => steps.line_of_data(kind, attributes, set)?,
        };
        let Some(line) = line else {
            let about = match kind {
                "aiowait" => "writes have returned when they end",
                "semblock" | "sempost" | "block" | "wakeup" => "workers do not wait for others",
                "hog" | "think" => "it computes, and no file operation",
                "eventlimit" | "iopslimit" | "bwlimit" | "opslimit" => "there are no rates",
                _ => "it has no meaning here",
            };
            self.left_out.insert(format!("flowop {kind}: {about}"));
            return Ok(());
        };
        if kind == "aiowrite" {
            let about = "asynchronous writes: they are performed one by one";
            self.left_out.insert(about.to_owned());
        }
        if attributes.is_set("workingset") || attributes.is_set("wss") {
            let about = "working sets: whole files are used";
            self.left_out.insert(about.to_owned());
        }
        let moves_data = kind.contains("whole") || kind.contains("append");
        let block = size_of_call(attributes, moves_data)?;
        steps.push(line, attributes, block)
    }
}

/// The length of one call, if the attribute is that of calls and not of the whole transfer.
fn size_of_call(attributes: &Attributes, whole: bool) -> Result<Option<u64>, WorkError> {
    if !whole || attributes.is_drawn("iosize") {
        return Ok(None);
    }
    let block = attributes.number("iosize")?;
    Ok(block.filter(|block| (4096..=64 << 20).contains(block)))
}

/// Which file of a set a flowop takes.
fn pick(attributes: &Attributes) -> &'static str {
    if attributes.is_set("opennext") {
        ":in-order"
    } else {
        ""
    }
}

impl Steps {
    /// Sets the end or the wait of a flowop that has no step; returns whether it is one.
    fn end(
        &mut self,
        kind: &str,
        attributes: &Attributes,
        thread: &Thread,
    ) -> Result<bool, WorkError> {
        let value = match kind {
            "finishoncount" | "opslimit" | "finishonbytes" | "delay" => {
                attributes.number("value")?
            }
            _ => None,
        };
        let Some(value) = value else {
            return Ok(false);
        };
        match kind {
            "finishonbytes" => self.bytes = Some(value),
            "delay" => self.think = Some(value),
            _ if attributes.text("target").is_some() => {
                self.loops = Some(value.div_ceil(thread.instances.max(1)).max(1));
            }
            _ => self.operations = Some(value),
        }
        Ok(true)
    }

    /// The step of a flowop on names; none if it is another one.
    fn line_of_names(
        &mut self,
        kind: &str,
        attributes: &Attributes,
        set: Option<&String>,
    ) -> Result<Option<String>, WorkError> {
        let fd = attributes.number("fd")?.unwrap_or(0);
        let needed = || {
            set.cloned().ok_or_else(|| {
                let message = format!("`{kind}` names no fileset");
                WorkError::new(attributes.span.clone(), message, "add filesetname=NAME")
            })
        };
        let pick = pick(attributes);
        Ok(Some(match kind {
            "createfile" => {
                let set = needed()?;
                let line = format!("create {set} as fd{fd}");
                self.open.insert(fd, (set, true));
                line
            }
            "openfile" => {
                let set = needed()?;
                let line = format!("open {set}{pick} as fd{fd}");
                self.open.insert(fd, (set, false));
                line
            }
            "closefile" => {
                self.open.remove(&fd);
                format!("close fd{fd}")
            }
            "deletefile" => match (set, self.open.get(&fd)) {
                (None, Some((set, _))) => format!("unlink {set}:same"),
                _ => format!("unlink {}{pick}", needed()?),
            },
            "statfile" => match set {
                Some(set) => format!("stat {set}{pick}"),
                None => format!("stat @{}", self.descriptor(fd, None, "", attributes)?),
            },
            "makedir" => format!("mkdir {}/", needed()?),
            "removedir" => format!("rmdir {}/", needed()?),
            "listdir" => format!("list {}/", needed()?),
            "fsyncset" => "syncfs".to_owned(),
            _ => return Ok(None),
        }))
    }

    /// The step of a flowop on data; none if it is another one.
    fn line_of_data(
        &mut self,
        kind: &str,
        attributes: &Attributes,
        set: Option<String>,
    ) -> Result<Option<String>, WorkError> {
        let fd = attributes.number("fd")?.unwrap_or(0);
        let pick = pick(attributes);
        let size = attributes.size("iosize")?;
        let size = size.unwrap_or_else(|| "4096".to_owned());
        let is_random = attributes.is_set("random");
        let at = if is_random { "random" } else { "next" };
        Ok(Some(match kind {
            "fsync" => format!("fsync @{}", self.descriptor(fd, set, "", attributes)?),
            "readwholefile" => {
                self.reopen_created(fd);
                format!("read @{}", self.descriptor(fd, set, pick, attributes)?)
            }
            "read" => {
                self.reopen_created(fd);
                let name = self.descriptor(fd, set, pick, attributes)?;
                format!("read @{name} {at} {size}")
            }
            "writewholefile" => {
                let name = self.descriptor(fd, set, pick, attributes)?;
                format!("write @{name} 0 all")
            }
            "write" | "aiowrite" => {
                let name = self.descriptor(fd, set, pick, attributes)?;
                format!("write @{name} {at} {size}")
            }
            "appendfile" | "appendfilerand" => {
                let is_open = self.open.contains_key(&fd);
                let suffix = if is_open { "" } else { "-append" };
                let name = self.named(fd, suffix, set, pick, attributes)?;
                if attributes.is_drawn("iosize") || kind == "appendfile" {
                    format!("append @{name} {size}")
                } else {
                    format!("append @{name} uniform(1, {size})")
                }
            }
            _ => return Ok(None),
        }))
    }

    fn descriptor(
        &mut self,
        fd: u64,
        set: Option<String>,
        pick: &str,
        attributes: &Attributes,
    ) -> Result<String, WorkError> {
        self.named(fd, "", set, pick, attributes)
    }

    /// The descriptor of a flowop. Filebench opens a file by itself if none is open, once.
    fn named(
        &mut self,
        fd: u64,
        suffix: &str,
        set: Option<String>,
        pick: &str,
        attributes: &Attributes,
    ) -> Result<String, WorkError> {
        match (self.open.get(&fd), set) {
            (Some(_), None) => Ok(format!("fd{fd}")),
            (Some((open, _)), Some(set)) if *open == set => Ok(format!("fd{fd}")),
            (_, Some(set)) => {
                let name = format!("{set}-fd{fd}{suffix}");
                self.opened.insert(fd, name.clone());
                let entry = Entry::opening(format!("open {set}{pick} as {name}"), attributes);
                if !self.begin.iter().any(|other| other.line == entry.line) {
                    self.begin.push(entry);
                }
                Ok(name)
            }
            (None, None) if self.opened.contains_key(&fd) => Ok(self.opened[&fd].clone()),
            (None, None) => Err(WorkError::new(
                attributes.span.clone(),
                format!("no file is open as fd {fd}"),
                "open one with openfile or createfile, or add filesetname=NAME",
            )),
        }
    }

    /// A new file is open for writing: it is opened again to read it.
    fn reopen_created(&mut self, fd: u64) {
        if let Some((set, created)) = self.open.get_mut(&fd)
            && *created
        {
            *created = false;
            self.list.push(Entry::new(format!("close fd{fd}")));
            self.list
                .push(Entry::new(format!("open {set}:newest as fd{fd}")));
        }
    }

    fn push(
        &mut self,
        line: String,
        attributes: &Attributes,
        block: Option<u64>,
    ) -> Result<(), WorkError> {
        let opens = line.starts_with("create ") || line.starts_with("open ");
        let mut entry = if opens {
            Entry::opening(line, attributes)
        } else {
            Entry::new(line)
        };
        if let Some(times) = attributes.number("iters")?.filter(|times| *times > 1) {
            entry.keys.push(("repeat", times.to_string()));
        }
        if let Some(block) = block {
            entry.keys.push(("block", format!("\"{block}\"")));
        }
        if let Some(seconds) = self.think.take() {
            entry.keys.push(("think", format!("\"{seconds}s\"")));
        }
        self.list.push(entry);
        Ok(())
    }
}

/// Whether a thread ends because it removes files of a set in which no thread creates any.
fn uses_up(thread: &Thread, read: &Personality) -> bool {
    let set = |flowop: &(String, Attributes)| flowop.1.text("filesetname").map(str::to_owned);
    let all = || read.threads.iter().flat_map(|thread| &thread.flowops);
    let removed = thread
        .flowops
        .iter()
        .filter(|(kind, _)| kind == "deletefile");
    removed.into_iter().any(|removing| {
        let creates =
            |other: &&(String, Attributes)| other.0 == "createfile" && set(other) == set(removing);
        !all().any(|other| creates(&other))
    })
}

#[cfg(test)]
mod tests;
