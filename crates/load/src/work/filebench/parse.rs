//! The language of Filebench (WML, versions 1.4 and 1.5): words, variables, and the parts that make
//! a workload.

use crate::work::WorkError;
use fsdyno_model::units::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// A word of the text with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    span: Range<usize>,
    quoted: bool,
}

/// A personality.
#[derive(Debug, Default)]
pub(super) struct Personality {
    pub filesets: Vec<Attributes>,
    pub threads: Vec<Thread>,
    /// The time of `run`, seconds.
    pub run: Option<u64>,
    /// Whether it ends when threads have no more files: `set mode quit firstdone` or `alldone`.
    pub until_done: bool,
    /// Commands that have no meaning here.
    pub left_out: Vec<String>,
}

/// A thread with the number of its instances in all processes.
#[derive(Debug)]
pub(super) struct Thread {
    pub name: String,
    pub instances: u64,
    pub flowops: Vec<(String, Attributes)>,
}

/// The attributes of a part, by name, with the place of the part.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes {
    values: BTreeMap<String, Value>,
    pub span: Range<usize>,
}

/// The value of an attribute or a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    text: String,
    /// Whether it is a distribution, in the notation of workloads.
    drawn: bool,
}

impl Value {
    fn fixed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            drawn: false,
        }
    }

    fn drawn(text: String) -> Self {
        Self { text, drawn: true }
    }
}

impl Attributes {
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.text.as_str())
    }

    /// Whether an attribute is set, and not to nothing.
    pub fn is_set(&self, name: &str) -> bool {
        self.text(name)
            .is_some_and(|text| !matches!(text, "0" | "false"))
    }

    /// A number, with units of 1024.
    pub fn number(&self, name: &str) -> Result<Option<u64>, WorkError> {
        self.text(name)
            .map(|text| number(text, &self.span))
            .transpose()
    }

    /// A size, or a distribution of sizes.
    pub fn size(&self, name: &str) -> Result<Option<String>, WorkError> {
        match self.values.get(name) {
            Some(value) if value.drawn => Ok(Some(value.text.clone())),
            Some(value) => Ok(Some(number(&value.text, &self.span)?.to_string())),
            None => Ok(None),
        }
    }

    pub fn is_drawn(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| value.drawn)
    }
}

fn number(text: &str, span: &Range<usize>) -> Result<u64, WorkError> {
    let bytes: Result<Bytes, _> = text.parse();
    bytes
        .map(|bytes| bytes.0)
        .map_err(|_| WorkError::new(span.clone(), format!("`{text}` is no number"), ""))
}

/// Splits a text into words. Comments begin with `#`; a line that begins with it is one.
fn words(text: &str) -> Result<Vec<Word>, WorkError> {
    let mut words: Vec<Word> = Vec::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let mut push = |text: String, end: usize, quoted| {
            words.push(Word {
                text,
                span: at..end,
                quoted,
            });
        };
        match c {
            '#' => while letters.next_if(|(_, c)| *c != '\n').is_some() {},
            c if c.is_whitespace() => {}
            '"' => {
                let mut inside = String::new();
                loop {
                    match letters.next() {
                        Some((end, '"')) => break push(inside, end + 1, true),
                        Some((_, '\\')) => inside.extend(letters.next().map(|(_, c)| c)),
                        Some((_, c)) => inside.push(c),
                        None => {
                            let message = "a text has no closing `\"`";
                            return Err(WorkError::new(at..text.len(), message, ""));
                        }
                    }
                }
            }
            '=' | ',' | '{' | '}' | '(' | ')' | ':' | ';' => push(c.to_string(), at + 1, false),
            _ => {
                let ends = |c: &char| c.is_whitespace() || "\"=,{}():;#".contains(*c);
                let mut end = at + c.len_utf8();
                while let Some((at, c)) = letters.next_if(|(_, c)| !ends(c)) {
                    end = at + c.len_utf8();
                }
                push(text[at..end].to_owned(), end, false);
            }
        }
    }
    Ok(words)
}

/// Reads a personality.
pub(super) fn parse(text: &str) -> Result<Personality, WorkError> {
    let mut parser = Parser {
        words: words(text)?,
        at: 0,
        variables: BTreeMap::new(),
        composites: BTreeMap::new(),
        expanded: 0,
        read: Personality::default(),
        end: text.len(),
    };
    while parser.at < parser.words.len() {
        parser.command()?;
    }
    Ok(parser.read)
}

struct Parser {
    words: Vec<Word>,
    at: usize,
    variables: BTreeMap<String, Value>,
    /// Flowops that are defined of others: the defaults of their variables, and the place of their
    /// braces.
    composites: BTreeMap<String, (Attributes, usize)>,
    /// The composites that were used so far.
    expanded: usize,
    read: Personality,
    end: usize,
}

/// Commands without a part in the work.
const SILENT: [&str; 14] = [
    "debug",
    "usage",
    "echo",
    "create",
    "stats",
    "version",
    "list",
    "quit",
    "shutdown",
    "log",
    "enable",
    "disable",
    "help",
    "nousestats",
];
/// The maximum number of flowops of a thread.
const MOST_FLOWOPS: u64 = 1000;
/// The maximum number of composites in all threads, which also bounds their depth.
const MOST_COMPOSITES: usize = 200;
/// All other words that begin a command.
const COMMANDS: [&str; 12] = [
    "set",
    "define",
    "run",
    "psrun",
    "eventgen",
    "system",
    "sleep",
    "multisync",
    "warmup",
    "foreach",
    "load",
    "abort",
];

impl Parser {
    fn peek(&self) -> &str {
        match self.words.get(self.at) {
            Some(word) if !word.quoted => &word.text,
            _ => "",
        }
    }

    fn span(&self) -> Range<usize> {
        let word = self.words.get(self.at);
        word.map_or(self.end..self.end, |word| word.span.clone())
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, WorkError> {
        Err(WorkError::new(self.span(), message, ""))
    }

    fn next(&mut self) -> Result<Word, WorkError> {
        let Some(word) = self.words.get(self.at).cloned() else {
            return self.wrong("the text ends within a command");
        };
        self.at += 1;
        Ok(word)
    }

    fn take(&mut self, text: &str) -> bool {
        let is_next = self.peek() == text;
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, text: &str) -> Result<(), WorkError> {
        if self.take(text) {
            return Ok(());
        }
        let found = self.words.get(self.at).map_or("the end", |word| &word.text);
        self.wrong(format!("expected `{text}`, found `{found}`"))
    }

    fn command(&mut self) -> Result<(), WorkError> {
        let word = self.next()?;
        match word.text.as_str() {
            "set" => self.set(),
            "define" => self.define(),
            "run" | "psrun" => {
                let mut time = None;
                while self
                    .peek()
                    .trim_start_matches('-')
                    .starts_with(|c: char| c.is_ascii_digit())
                    || self.peek().starts_with('$')
                {
                    let span = self.span();
                    let value = self.value()?;
                    if !value.text.starts_with('-') {
                        time = Some(number(&value.text, &span)?);
                    }
                }
                self.read.run = Some(time.unwrap_or(60));
                Ok(())
            }
            name if SILENT.contains(&name) => {
                self.skip();
                Ok(())
            }
            name if COMMANDS.contains(&name) => {
                let begin = self.at - 1;
                self.skip();
                let words = self.words[begin..self.at]
                    .iter()
                    .map(|word| word.text.as_str());
                let line = words.collect::<Vec<_>>().join(" ");
                self.read.left_out.push(line);
                Ok(())
            }
            other => {
                self.at -= 1;
                self.wrong(format!("`{other}` begins no command of Filebench"))
            }
        }
    }

    /// Passes over the words of a command.
    fn skip(&mut self) {
        while let Some(word) = self.words.get(self.at) {
            let begins = SILENT.contains(&&*word.text) || COMMANDS.contains(&&*word.text);
            if begins && !word.quoted {
                return;
            }
            self.at += 1;
        }
    }

    fn set(&mut self) -> Result<(), WorkError> {
        if self.take("mode") {
            let (what, how) = (self.next()?.text, self.next()?.text);
            if what == "quit" {
                self.read.until_done = how != "timeout";
            }
            return Ok(());
        }
        let name = self.next()?;
        if !name.text.starts_with('$') {
            self.at -= 1;
            return self.wrong("expected a variable, such as `$dir`");
        }
        self.expect("=")?;
        let mut value = self.value()?;
        let operators = ["*", "/", "+", "-"];
        while let Some(operator) = operators.into_iter().find(|one| self.peek() == *one) {
            let span = self.span();
            self.at += 1;
            let (left, right) = (number(&value.text, &span)?, self.value()?);
            let right = number(&right.text, &span)?;
            let result = match operator {
                "*" => left.checked_mul(right),
                "/" => left.checked_div(right),
                "+" => left.checked_add(right),
                _ => left.checked_sub(right),
            };
            let result = result.ok_or_else(|| {
                WorkError::new(
                    span,
                    format!("`{left} {operator} {right}` has no value"),
                    "",
                )
            })?;
            value = Value::fixed(result.to_string());
        }
        self.variables.insert(name.text, value);
        Ok(())
    }

    /// A value: a text, a variable, or a random variable.
    fn value(&mut self) -> Result<Value, WorkError> {
        let span = self.span();
        let word = self.next()?;
        if ["cvar", "randvar"].contains(&&*word.text) && self.peek() == "(" {
            return self.cvar(span);
        }
        if !word.quoted && word.text.starts_with('$') {
            let known = self.variables.get(&word.text).cloned();
            return known.ok_or_else(|| {
                let message = format!("`{}` has no value", word.text);
                WorkError::new(span, message, "set it before")
            });
        }
        let text = if word.quoted {
            self.substituted(&word.text)
        } else {
            word.text
        };
        Ok(Value::fixed(text))
    }

    /// A quoted text with the values of its variables.
    fn substituted(&self, text: &str) -> String {
        let variables = self.variables.iter().rev();
        variables.fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, &value.text)
        })
    }

    /// A custom variable of version 1.5: `cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)`.
    fn cvar(&mut self, span: Range<usize>) -> Result<Value, WorkError> {
        self.expect("(")?;
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        loop {
            let name = self.next()?.text;
            self.expect("=")?;
            if name == "parameters" {
                loop {
                    let parameter = self.next()?.text;
                    self.expect(":")?;
                    given.insert(parameter, self.value()?.text);
                    if !self.take(";") {
                        break;
                    }
                }
            } else if self.peek() == "{" {
                given.insert(name, self.table()?.text);
            } else {
                given.insert(name, self.value()?.text);
            }
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        if let Some(table) = given.get("randtable") {
            return Ok(Value::drawn(table.clone()));
        }
        let kind = given.get("type").cloned().unwrap_or_default();
        drawn(kind.trim_start_matches("cvar-"), &given, &span)
    }

    /// Attributes, separated by commas: `name=mail,size=$size,prealloc`.
    fn attributes(&mut self) -> Result<Attributes, WorkError> {
        let mut attributes = Attributes {
            values: BTreeMap::new(),
            span: self.span(),
        };
        loop {
            let name = self.next()?;
            attributes.span.end = name.span.end;
            let value = if self.take("=") {
                if self.peek() == "{" {
                    self.table()?
                } else {
                    self.value()?
                }
            } else {
                Value::fixed("true")
            };
            attributes.values.insert(name.text, value);
            if !self.take(",") {
                return Ok(attributes);
            }
        }
    }

    /// A table of a random variable: `{{ 50, 1k, 2k }, { 50, 4k, 8k }}`, as a choice of the middles.
    fn table(&mut self) -> Result<Value, WorkError> {
        self.expect("{")?;
        let mut choices = Vec::new();
        while self.take("{") {
            let mut row = Vec::new();
            while !self.take("}") {
                let span = self.span();
                row.push(number(&self.value()?.text, &span)?);
                self.take(",");
            }
            if let [weight, least, most] = row[..] {
                choices.push(format!("{}*{}", least.midpoint(most), weight.max(1)));
            }
            self.take(",");
        }
        self.expect("}")?;
        Ok(Value::drawn(format!("choice({})", choices.join(", "))))
    }

    fn define(&mut self) -> Result<(), WorkError> {
        let what = self.next()?;
        match what.text.as_str() {
            "fileset" | "file" => {
                let mut attributes = self.attributes()?;
                if what.text == "file" {
                    attributes
                        .values
                        .insert("entries".to_owned(), Value::fixed("1"));
                }
                self.read.filesets.push(attributes);
            }
            "randvar" => {
                // Its name is a variable without a value.
                if let [_, equals, name] = &self.words[self.at..self.words.len().min(self.at + 3)]
                    && equals.text == "="
                {
                    let unset = Value::fixed(name.text.clone());
                    self.variables.insert(name.text.clone(), unset);
                }
                let attributes = self.attributes()?;
                let values = attributes.values.iter();
                let texts = values.map(|(name, value)| (name.clone(), value.text.clone()));
                let given: BTreeMap<String, String> = texts.collect();
                let kind = given.get("type").map_or("gamma", |kind| kind);
                let value = match given.get("randtable") {
                    Some(table) => Value::drawn(table.clone()),
                    None => drawn(kind, &given, &attributes.span)?,
                };
                let name = given.get("name").cloned().unwrap_or_default();
                self.variables.insert(name, value);
            }
            "flowop" => {
                let attributes = self.attributes()?;
                let name = attributes.text("name").unwrap_or_default().to_owned();
                self.composites.insert(name, (attributes, self.at));
                self.expect("{")?;
                let mut depth = 1;
                while depth > 0 {
                    match self.next()?.text.as_str() {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        _ => {}
                    }
                }
            }
            "process" => {
                let process = self.attributes()?;
                let processes = process.number("instances")?.unwrap_or(1);
                self.expect("{")?;
                while self.take("thread") {
                    let thread = self.attributes()?;
                    let instances = thread.number("instances")?.unwrap_or(1);
                    let flowops = self.flowops()?;
                    self.read.threads.push(Thread {
                        name: thread.text("name").unwrap_or_default().to_owned(),
                        instances: instances.saturating_mul(processes),
                        flowops,
                    });
                }
                self.expect("}")?;
            }
            other => {
                self.at -= 1;
                return self.wrong(format!("`define {other}` is unknown"));
            }
        }
        Ok(())
    }

    /// The flowops in braces.
    fn flowops(&mut self) -> Result<Vec<(String, Attributes)>, WorkError> {
        let mut flowops = Vec::new();
        self.expect("{")?;
        while self.take("flowop") {
            let kind = self.next()?.text;
            let attributes = self.attributes()?;
            match self.composites.get(&kind).cloned() {
                Some((defaults, place)) => {
                    let parts = self.composite(&defaults, &attributes, place)?;
                    let times = attributes.number("iters")?.unwrap_or(1);
                    let all = times.saturating_mul(parts.len() as u64);
                    if all.saturating_add(flowops.len() as u64) > MOST_FLOWOPS {
                        let message = format!("more than {MOST_FLOWOPS} flowops");
                        return Err(WorkError::new(attributes.span, message, ""));
                    }
                    for _ in 0..times {
                        flowops.extend(parts.iter().cloned());
                    }
                }
                None => flowops.push((kind, attributes)),
            }
        }
        self.expect("}")?;
        Ok(flowops)
    }

    /// The flowops of a composite, with the values of its variables.
    fn composite(
        &mut self,
        defaults: &Attributes,
        given: &Attributes,
        place: usize,
    ) -> Result<Vec<(String, Attributes)>, WorkError> {
        self.expanded += 1;
        if self.expanded > MOST_COMPOSITES {
            let message = "flowops are defined by themselves, or too deeply";
            return Err(WorkError::new(given.span.clone(), message, ""));
        }
        let values = defaults.values.iter().chain(&given.values);
        let variables = values.filter(|(name, _)| name.starts_with('$'));
        for (name, value) in variables {
            self.variables.insert(name.clone(), value.clone());
        }
        let after = std::mem::replace(&mut self.at, place);
        let flowops = self.flowops();
        self.at = after;
        flowops
    }
}

/// A random variable as a distribution of sizes.
fn drawn(
    kind: &str,
    given: &BTreeMap<String, String>,
    span: &Range<usize>,
) -> Result<Value, WorkError> {
    let get = |name: &str, usual: Option<f64>| {
        let text = given.get(name);
        let read = text.and_then(|text| {
            let number: Option<f64> = text.parse().ok();
            let bytes = || text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64);
            number.or_else(bytes)
        });
        read.or(usual.filter(|_| text.is_none())).ok_or_else(|| {
            let message = format!("the random variable has no valid `{name}`");
            WorkError::new(span.clone(), message, "")
        })
    };
    let size = |name: &str, usual: Option<f64>| get(name, usual).map(|size| format!("{size:.0}"));
    Ok(Value::drawn(match kind {
        "gamma" => {
            // Version 1.4 gives the shape in thousandths.
            let shape = get("gamma", Some(1500.0))?;
            let shape = if shape >= 50.0 { shape / 1000.0 } else { shape };
            format!("gamma({}, {shape})", size("mean", Some(0.0))?)
        }
        "uniform" if given.contains_key("upper") => {
            format!(
                "uniform({}, {})",
                size("lower", Some(0.0))?,
                size("upper", None)?
            )
        }
        "uniform" => {
            let (min, mean) = (get("min", Some(0.0))?, get("mean", None)?);
            format!("uniform({min:.0}, {:.0})", (2.0 * mean - min).max(min))
        }
        "exponential" => format!("exponential({})", size("mean", None)?),
        "normal" => format!("normal({}, {})", size("mean", None)?, size("sigma", None)?),
        "lognormal" => format!(
            "lognormal({}, {})",
            size("scale", None)?,
            get("shape", None)?
        ),
        "erlang" => {
            let shape = get("shape", None)?;
            format!("gamma({:.0}, {shape})", shape / get("rate", None)?)
        }
        "triangular" => format!(
            "uniform({}, {})",
            size("lower", None)?,
            size("upper", None)?
        ),
        other => {
            let message = format!("random variables of type `{other}` have no equivalent");
            let help = "use gamma, uniform, exponential, normal or lognormal";
            return Err(WorkError::new(span.clone(), message, help));
        }
    }))
}
