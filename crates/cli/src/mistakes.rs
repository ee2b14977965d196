//! Command lines that are nearly right: a list of contenders without its flag, with blanks after its
//! commas, or with brackets that the shell split; a path without the prefix of its kind. The error of
//! such a command line ends with the corrected one.

use crate::command_line;
use clap::{Arg, ArgAction, Command};
use fsdyno_model::{ContenderSpec, shell_line};
use fsdyno_recipes as recipes;
use fsdyno_run::resolve::suite;
use std::path::Path;

/// The flag of the contenders.
const FS: &str = "--fs";

/// The line that proposes the corrected command line of this process; none if it is not clear what
/// was meant.
pub fn proposal() -> Option<String> {
    let words: Option<Vec<String>> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string().ok())
        .collect();
    let mut argv = vec!["fsdyno".to_owned()];
    argv.extend(corrected(&words?)?);
    Some(format!("did you mean: {}", shell_line(&argv)))
}

/// The corrected words of a command line, without the name of the program.
fn corrected(words: &[String]) -> Option<Vec<String>> {
    let root = command_line::command();
    let mut reader = Reader {
        command: &root,
        rest: words.iter(),
        kept: Vec::new(),
        contenders: Vec::new(),
        place: None,
    };
    reader.read();
    let fixed = reader.words();
    let parses = || {
        let argv = std::iter::once("fsdyno").chain(fixed.iter().map(String::as_str));
        root.clone().try_get_matches_from(argv).is_ok()
    };
    (fixed != words && parses()).then_some(fixed)
}

/// Reads a command line word by word.
struct Reader<'a> {
    /// The command of the words so far.
    command: &'a Command,
    rest: std::slice::Iter<'a, String>,
    kept: Vec<String>,
    /// The lists of contenders, in order.
    contenders: Vec<String>,
    /// Their place among the kept words.
    place: Option<usize>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(word) = self.rest.next() {
            if word == "--" {
                self.kept.push(word.clone());
                self.kept.extend(self.rest.by_ref().cloned());
            } else if let Some(value) = word.strip_prefix("--fs=") {
                self.add(value);
            } else if word == FS {
                if let Some(value) = self.rest.next() {
                    self.add(value);
                }
            } else if word.starts_with('-') {
                self.flag(word);
            } else if let Some(command) = self.command.find_subcommand(word) {
                self.command = command;
                self.kept.push(word.clone());
            } else if self.has_contenders() && is_list(word) {
                self.add(word);
            } else {
                self.kept.push(word.clone());
            }
        }
    }

    /// Adds a list of contenders, and the words that the shell split from it.
    fn add(&mut self, value: &str) {
        let mut list = value.to_owned();
        loop {
            let next = self.rest.as_slice().first();
            let is_open = list.matches('[').count() > list.matches(']').count();
            let joint = match next {
                Some(_) if is_open => " ",
                Some(next) if list.ends_with(',') && !next.starts_with('-') => "",
                Some(next) if next.starts_with(',') => "",
                _ => break,
            };
            list.push_str(joint);
            list.extend(self.rest.next().map(String::as_str));
        }
        self.place.get_or_insert(self.kept.len());
        self.contenders.push(list);
    }

    /// Keeps a flag with its value.
    fn flag(&mut self, word: &str) {
        self.kept.push(word.to_owned());
        let takes_value =
            |arg: &Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let is_this = |arg: &&Arg| {
            let mut names = arg.get_long_and_visible_aliases().into_iter().flatten();
            let long = names.any(|name| word.strip_prefix("--") == Some(name));
            let short = arg
                .get_short()
                .is_some_and(|short| word == format!("-{short}"));
            long || short
        };
        let found = self.command.get_arguments().find(is_this);
        if !found.is_some_and(takes_value) {
            return;
        }
        let value = self.rest.next().cloned();
        let value = value.map(|value| match word {
            "--dataset" => with_kind(value),
            _ => value,
        });
        self.kept.extend(value);
    }

    fn has_contenders(&self) -> bool {
        let mut arguments = self.command.get_arguments();
        arguments.any(|arg| arg.get_long() == Some("fs"))
    }

    /// All words, with the contenders in one list.
    fn words(&self) -> Vec<String> {
        let mut words = self.kept.clone();
        if let Some(place) = self.place {
            let list = self.contenders.join(",");
            words.splice(place..place, [FS.to_owned(), list]);
        }
        words
    }
}

/// Whether the word is a list of contenders and no suite.
fn is_list(word: &str) -> bool {
    suite::find(word).is_none() && ContenderSpec::parse_list(word, &recipes::kind_of).is_ok()
}

/// A dataset that is a path, with the prefix of its kind.
fn with_kind(value: String) -> String {
    let path = Path::new(&value);
    let is_path = value.contains('/') || path.exists();
    if value.contains(':') || !is_path {
        return value;
    }
    let is_archive = path.extension().is_some_and(|end| end == "tar") || value.contains(".tar.");
    if path.is_dir() {
        format!("tree:{value}")
    } else if is_archive {
        format!("tar:{value}")
    } else if path.is_file() {
        format!("file:{value}")
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_that_is_nearly_right_is_corrected() {
        let check = |typed: &str, expected: Option<&[&str]>| {
            let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
            let found = corrected(&words);
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(found, expected, "{typed}");
        };
        let two: &[&str] = &["run", "--fs", "ext4,xfs"];
        check("run ext4 xfs", Some(two));
        check("run --fs ext4, xfs", Some(two));
        check("run --fs ext4 xfs", Some(two));
        check("run --fs ext4 , xfs", Some(two));
        check("run ext4", Some(&["run", "--fs", "ext4"]));
        check("run mail ext4", Some(&["run", "mail", "--fs", "ext4"]));
        check(
            "run --fs ext4[-O ^dir_index],xfs --repeats 3",
            Some(&["run", "--fs", "ext4[-O ^dir_index],xfs", "--repeats", "3"]),
        );
        check(
            "run --dataset / --repeats 2",
            Some(&["run", "--dataset", "tree:/", "--repeats", "2"]),
        );
        check("crash ext4", Some(&["crash", "--fs", "ext4"]));
        for right in [
            "run mail --fs ext4,xfs",
            "run",
            "why last ext4 xfs",
            "run nothing",
        ] {
            check(right, None);
        }
    }
}
