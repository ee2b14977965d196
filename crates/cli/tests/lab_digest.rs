//! The digest of a small cell in virtual time, kept for the kernels it is known for: what changes it
//! unmeant is seen, on whatever machine. `digests.json` beside this file names the build of the lab
//! kernel (what `identity.json` beside it says) and the program that made the file system; another
//! of either has another digest, and is skipped by name with the digest it had, to be added.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use support::{Home, have, lab_kernel};

/// What is known: a list of objects of [`KEYS`] and `digest`.
const KNOWN: &str = include_str!("digests.json");

/// What a digest depends on beside the cell and the disk.
const KEYS: [&str; 5] = ["source", "fragment", "compiler", "program", "filesystem"];

/// The file systems, and what makes them: such as had the same digest by other builds of fsdyno. Those
/// that draw random numbers had not: likely for a kernel mixes in where interrupts find the program.
const CELLS: [(&str, &str); 2] = [
    ("xfs", "mkfs.xfs"),           // example
    ("reiserfs", "mkfs.reiserfs"), // example
];

/// The digest of a cell on the disk of 2004.
fn digest(kernel: &Path, fs: &str) -> String {
    let home = Home::new();
    let load = "--seed 1 --scale 0.003 --phases copy,grep,delete --guest-memory 256M --json";
    let words = home.on_model_disks(kernel, fs, load);
    let said = home.fsdyno(&words);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let result: Value = serde_json::from_str(&said.out).unwrap();
    let told = result["cells"][0]["effective"].as_array().unwrap();
    let disk = told.iter().find(|one| one["source"] == "disk").unwrap();
    let text = disk["text"].as_str().unwrap();
    let (_, digest) = text.rsplit_once("digest ").unwrap();
    digest.to_owned()
}

/// What the kernel was built from; nothing where it was not built here.
fn identity(kernel: &Path) -> Option<Value> {
    let text = fs::read(kernel.parent()?.join("identity.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The first line that a program says of its version, on either output.
fn version(program: &str) -> String {
    let said = Command::new(program).arg("-V").output().unwrap();
    let all = [said.stdout, said.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    all.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_small_cell_has_the_digest_that_is_kept_for_its_kernel() {
    let test = "a_small_cell_has_the_digest_that_is_kept_for_its_kernel";
    let programs = CELLS.map(|(_, program)| program);
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let Some(mut key) = identity(&kernel) else {
        println!("SKIP lab kernel with its identity.json: {test}");
        return;
    };
    let known: Vec<Value> = serde_json::from_str(KNOWN).unwrap();
    for (fs, program) in CELLS {
        key["program"] = version(program).into();
        key["filesystem"] = fs.into();
        let digest = digest(&kernel, fs);
        let same = |one: &&Value| KEYS.iter().all(|name| one[name] == key[name]);
        let kept = known.iter().find(same);
        let mut line = serde_json::Map::new();
        for name in KEYS {
            line.insert(name.to_owned(), key[name].clone());
        }
        line.insert("digest".to_owned(), digest.clone().into());
        let line = Value::Object(line);
        match kept {
            Some(kept) => assert_eq!(
                kept["digest"], digest,
                "{fs}: the same kernel has another digest; if that was meant (the disk, the cell or \
                 what a guest is told has changed), this is its line in digests.json: {line}"
            ),
            None => println!("SKIP digest kept for {fs} on this kernel: {test}, which saw {line}"),
        }
    }
}
