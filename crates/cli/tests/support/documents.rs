//! The commands in README.md and docs, and what the pages show of their output.

use std::fs;
use std::path::{Path, PathBuf};

/// Words after the fences of code blocks: commands that a test runs, commands that need what a test
/// does not have, and files.
pub const FENCES: [&str; 4] = ["console", "sh", "text", "toml"];

/// Pages whose blocks `console` are run: `lab/documents.rs` has a test of each.
pub const RUN: [&str; 6] = [
    "README.md",
    "docs/crash-tests.md",
    "docs/labs.md",
    "docs/model-disks.md",
    "docs/model-processors.md",
    "docs/why.md",
];

#[derive(Debug)]
pub struct Block {
    /// The word after the fence.
    pub fence: String,
    /// The line of its first line in the page, from 0.
    pub line: usize,
    pub text: Vec<String>,
}

/// A command of a block `console`, and its output below. A line `...` stands for any lines.
#[derive(Debug, Default)]
pub struct Shown {
    pub command: String,
    /// The line of the first line of output in the page, from 0.
    pub line: usize,
    pub output: Vec<String>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and the pages of docs, by their paths below the root.
pub fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let names = docs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| Path::new(name).extension().is_some_and(|of| of == "md"));
    let mut pages: Vec<String> = names.map(|name| format!("docs/{name}")).collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

pub fn blocks(page: &str) -> Vec<Block> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(fence) => {
                open = true;
                blocks.push(Block {
                    fence: fence.to_owned(),
                    line: at + 1,
                    text: Vec::new(),
                });
            }
            None if open => blocks.last_mut().unwrap().text.push(line.to_owned()),
            None => {}
        }
    }
    blocks
}

impl Block {
    /// The commands of a block `console`, each with its output.
    pub fn shown(&self) -> Vec<Shown> {
        let mut all: Vec<Shown> = Vec::new();
        let mut continued = false;
        for (at, line) in self.text.iter().enumerate() {
            let start = line.strip_prefix("$ ");
            if let Some(command) = start {
                all.push(Shown {
                    command: command.to_owned(),
                    ..Shown::default()
                });
            }
            let last = all.last_mut().expect("a command before its output");
            if continued {
                last.command += line.trim_start();
            }
            if continued || start.is_some() {
                continued = last.command.ends_with('\\');
                last.command
                    .truncate(last.command.trim_end_matches('\\').len());
                last.line = self.line + at + 1;
            } else {
                last.output.push(line.clone());
            }
        }
        all
    }

    /// The commands of a block `sh` that start fsdyno, without comments.
    pub fn commands(&self) -> Vec<String> {
        let text = self.text.join("\n").replace("\\\n", " ");
        let lines = text.lines().filter(|line| line.starts_with("fsdyno "));
        lines.map(str::to_owned).collect()
    }
}

/// The words of a command line, without a comment.
pub fn words(command: &str) -> Vec<String> {
    shlex::split(command).unwrap_or_else(|| panic!("no command line: {command}"))
}
