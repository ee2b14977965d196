//! A small cell in virtual time has the digest that `digests.json` records, on any machine. An
//! unintended change of the digest fails the test.
//!
//! A digest is valid for one build of the lab kernel (its `identity.json`) and one version of mkfs.
//! `./x digests` records the digests of the kernel that is built here (CONTRIBUTING.md).

use crate::support::{Home, have, lab_kernel};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The recorded digests: a list of objects of [`KEYS`] and `digest`.
const RECORDED: &str = include_str!("../digests.json");

/// The treatment of a missing digest: `record` writes it, `require` makes it a failure.
const MODE: &str = "FSDYNO_DIGESTS";

/// The inputs of a digest, in addition to the cell and the disk.
const KEYS: [&str; 5] = ["source", "fragment", "compiler", "program", "filesystem"];

/// File systems and their mkfs programs. Their digests do not depend on the build of fsdyno.
const CELLS: [(&str, &str); 2] = [("xfs", "mkfs.xfs"), ("reiserfs", "mkfs.reiserfs")];

/// The digest of a cell on the disk of 2004.
///
/// Computing is free: with the charge, another build of fsdyno can differ by a few blocks of the
/// kernel.
fn digest(kernel: &Path, fs: &str) -> String {
    let home = Home::new();
    let load =
        "--seed 1 --scale 0.003 --phases copy,grep,delete --cpu free --guest-memory 256M --json";
    let words = home.on_model_disks(kernel, fs, load);
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let result: Value = serde_json::from_str(&printed.out).unwrap();
    let effective = result["cells"][0]["effective"].as_array().unwrap();
    let disk = effective
        .iter()
        .find(|one| one["source"] == "disk")
        .unwrap();
    let text = disk["text"].as_str().unwrap();
    let (_, digest) = text.rsplit_once("digest ").unwrap();
    digest.to_owned()
}

/// The inputs of the kernel build; `None` if the kernel was not built here.
fn identity(kernel: &Path) -> Option<Value> {
    let text = fs::read(kernel.parent()?.join("identity.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Whether digests of this kernel and of the first mkfs are recorded: figures are those of the
/// documents.
pub fn is_recorded(kernel: &Path) -> bool {
    let Some(key) = identity(kernel) else {
        return false;
    };
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let kernel = ["source", "fragment", "compiler"];
    let program = version(CELLS[0].1);
    recorded
        .iter()
        .any(|one| one["program"] == program && kernel.iter().all(|name| one[name] == key[name]))
}

/// The first line of a program's version output.
fn version(program: &str) -> String {
    let printed = Command::new(program).arg("-V").output().unwrap();
    let all = [printed.stdout, printed.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    all.lines().next().unwrap_or_default().to_owned()
}

/// Replaces the digests of the same file system with those of this build. Digests of other kernel
/// config fragments are dropped, because no kernel built from these sources has them.
fn record(recorded: &[Value], seen: &[Value]) {
    let same = |one: &Value, other: &Value| KEYS.iter().all(|key| one[key] == other[key]);
    let kept = recorded.iter().filter(|one| {
        let replaced = seen.iter().any(|new| same(new, one));
        !replaced && seen.iter().any(|new| new["fragment"] == one["fragment"])
    });
    let all: Vec<Value> = kept.cloned().chain(seen.iter().cloned()).collect();
    let mut text = serde_json::to_string_pretty(&all).unwrap();
    text.push('\n');
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/digests.json");
    fs::write(file, text).unwrap();
}

#[test]
fn a_small_cell_has_the_recorded_digest_of_its_kernel() {
    let test = "a_small_cell_has_the_recorded_digest_of_its_kernel";
    let programs = CELLS.map(|(_, program)| program);
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let Some(key) = identity(&kernel) else {
        println!("SKIP lab kernel with its identity.json: {test}");
        return;
    };
    let mode = std::env::var(MODE).unwrap_or_default();
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let mut seen = Vec::new();
    for (fs, program) in CELLS {
        let mut line = serde_json::Map::new();
        for name in KEYS {
            line.insert(name.to_owned(), key[name].clone());
        }
        line.insert("program".to_owned(), version(program).into());
        line.insert("filesystem".to_owned(), fs.into());
        line.insert("digest".to_owned(), digest(&kernel, fs).into());
        let line = Value::Object(line);
        seen.push(line.clone());
        if mode == "record" {
            continue;
        }
        let same = |one: &&Value| KEYS.iter().all(|name| one[name] == line[name]);
        let of_fragment = |one: &Value| one["fragment"] == line["fragment"];
        match recorded.iter().find(same) {
            Some(one) => assert_eq!(
                one["digest"], line["digest"],
                "{fs}: the same kernel has another digest. Where that is intended (the disk, the cell \
                 or the guest's environment has changed), record it: ./x digests"
            ),
            // The kernel config fragment changed. The test fails, so that the digests are recorded
            // again.
            None if mode == "require" || !recorded.iter().any(of_fragment) => panic!(
                "{fs}: no digest is recorded for this kernel; record it: ./x digests: {line}"
            ),
            None => println!("SKIP digest recorded for {fs} on this kernel: {test}: {line}"),
        }
    }
    if mode == "record" {
        record(&recorded, &seen);
    }
}
