//! In virtual time a cell is a function of its contender, workload, draw, disk, processor and kernel:
//! its figures are the same alone, with other contenders in any order, with any number of jobs, in
//! another directory, and with the program at another path. Without the lab kernel, the test is skipped
//! by name.

use crate::support::{Home, Printed, have, lab_kernel, printed, with_arguments_of};
use fsdyno_datasets::seed::Seed;
use fsdyno_guests::kernels;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How many random runs there are, if it is not the default.
const ROUNDS: &str = "FSDYNO_SUBSETS";

/// Their seed, if it is not the default.
const SEED: &str = "FSDYNO_SEED";

/// One disk, two disks below a file system, and two disks of one file system.
const CONTENDERS: [&str; 4] = ["ext4", "btrfs", "xfs@raid0x2", "btrfs@pool2"];

/// A contender that no guest runs: its cells are skipped.
const SKIPPED: &str = "ffs";

const PAGE: u64 = 4096;

/// The figures of each measured contender: its samples, and the requests with the digest.
fn figures(printed: &str) -> BTreeMap<String, (Value, Value)> {
    let mut result: Value = serde_json::from_str(printed).unwrap();
    let contenders = result["run"]["plan"]["contenders"].take();
    let mut all = BTreeMap::new();
    for cell in result["cells"].as_array().unwrap() {
        if cell["outcome"]["outcome"] == "skipped" {
            continue;
        }
        assert_eq!(cell["outcome"]["outcome"], "measured", "{cell}");
        let place = |key: &str| usize::try_from(cell["cell"][key].as_u64().unwrap()).unwrap();
        let label = contenders[place("contender")]["label"].as_str().unwrap();
        let effective = cell["effective"].as_array().unwrap();
        let disk = effective.iter().find(|one| one["source"] == "disk");
        let figures = (cell["samples"].clone(), disk.unwrap().clone());
        all.insert(format!("{label}, draw {}", place("block")), figures);
    }
    all
}

/// The figures of a run of these contenders by that program.
fn run(
    home: &Home,
    program: &Path,
    kernel: &Path,
    (contenders, jobs): (&[&str], u64),
) -> BTreeMap<String, (Value, Value)> {
    let load = format!("--scale 0.005 --phases copy,grep,delete --jobs {jobs} --json");
    let mut words = home.on_model_disks(kernel, &contenders.join(","), &load);
    let repeats = words.iter().position(|word| word == "--repeats").unwrap();
    "2".clone_into(&mut words[repeats + 1]);
    let printed = executed(home, program, &words);
    // The exit code of skipped cells is 4.
    let expected = if contenders.contains(&SKIPPED) { 4 } else { 0 };
    assert_eq!(
        printed.code,
        Some(expected),
        "{contenders:?}: {}",
        printed.err
    );
    figures(&printed.out)
}

/// What that program prints, instead of the one under test.
fn executed(home: &Home, program: &Path, words: &[String]) -> Printed {
    let mut command = with_arguments_of(Command::new(program), &home.command(words));
    printed(&command.output().unwrap())
}

/// The program with that many more bytes of variables, as another build of it would have: the last segment
/// that is loaded, with zeros, is at the end of the file (elf(5)).
fn larger(program: &Path, more: u64) -> Vec<u8> {
    let mut file = std::fs::read(program).unwrap();
    let last = last_segment(&file);
    let place = |field: usize| last + field..last + field + 8;
    let [offset, address, stored] = [8, 16, 32].map(|field| number(&file, last + field));
    let size = number(&file, last + 40) + more;
    let begin = usize::try_from(offset).unwrap();
    let content = file[begin..begin + usize::try_from(stored).unwrap()].to_vec();
    let moved = (file.len() as u64).next_multiple_of(PAGE) + address % PAGE;
    file.resize(usize::try_from(moved).unwrap(), 0);
    file.extend(content);
    file.resize(usize::try_from(moved + size).unwrap(), 0);
    for (field, value) in [(8, moved), (32, size), (40, size)] {
        file[place(field)].copy_from_slice(&value.to_le_bytes());
    }
    file
}

/// Where the header of the last segment that is loaded begins.
fn last_segment(file: &[u8]) -> usize {
    let short = |at: usize| usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
    let first = usize::try_from(number(file, 32)).unwrap();
    let headers = (0..short(56)).map(|at| first + at * short(54));
    let loaded = headers.filter(|at| file[*at..at + 4] == 1_u32.to_le_bytes());
    loaded.max_by_key(|at| number(file, at + 16)).unwrap()
}

fn number(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

/// Where two documents differ, with both values.
fn differences(place: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) if ones.keys().eq(others.keys()) => {
            for (key, value) in ones {
                differences(&format!("{place}.{key}"), value, &others[key], found);
            }
        }
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
            for (at, pair) in ones.iter().zip(others).enumerate() {
                differences(&format!("{place}.{at}"), pair.0, pair.1, found);
            }
        }
        _ if one != other => found.push(format!("{place}: {one} != {other}")),
        _ => {}
    }
}

/// A random order of some contenders, sometimes with one that is skipped, and a number of jobs.
fn subset(seed: Seed) -> (Vec<&'static str>, u64) {
    let mut rest = CONTENDERS.to_vec();
    let mut chosen = Vec::new();
    for place in 0..=seed.part("size").below(2) {
        let at = seed.at(place).below(rest.len() as u64);
        chosen.push(rest.swap_remove(usize::try_from(at).unwrap()));
    }
    if seed.part("skipped").below(2) == 0 {
        chosen.insert(0, SKIPPED);
    }
    (chosen, 1 + seed.part("jobs").below(3))
}

/// The lab kernel, if it is of this version and the programs are here: kernels of other versions execute
/// other blocks in another directory.
fn current_kernel(programs: &[&str], test: &str) -> Option<PathBuf> {
    let kernel = lab_kernel(test).filter(|_| have(programs, test))?;
    if kernels::lab().is_ok_and(|one| one.program == kernel && !one.is_current()) {
        println!("SKIP lab kernel of this version: {test}");
        return None;
    }
    Some(kernel)
}

#[test]
fn a_cell_is_the_same_among_any_other_contenders() {
    let test = "a_cell_is_the_same_among_any_other_contenders";
    let programs = ["mkfs.ext4", "mkfs.btrfs", "mkfs.xfs", "mdadm"];
    let Some(kernel) = current_kernel(&programs, test) else {
        return;
    };
    let program = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
    let expected = run(&Home::new(), program, &kernel, (&CONTENDERS, 2));
    assert_eq!(expected.len(), 2 * CONTENDERS.len());
    // Draws differ in the requests to their disks.
    for label in CONTENDERS {
        let [one, other] = [0, 1].map(|draw| &expected[&format!("{label}, draw {draw}")].1);
        assert_ne!(one, other, "{label}");
    }
    let home = Home::new();
    let deeper = home.path("a/longer/path/than/that/of/the/other/program");
    std::fs::create_dir_all(&deeper).unwrap();
    let copy = deeper.join("copy-of-the-program");
    std::fs::copy(program, &copy).unwrap();
    let set = |name, otherwise| std::env::var(name).map_or(otherwise, |set| set.parse().unwrap());
    let (rounds, seed) = (set(ROUNDS, 2), set(SEED, 1));
    for round in 0..rounds {
        let (contenders, jobs) = subset(Seed::new(seed).at(round));
        let found = run(&home, &copy, &kernel, (&contenders, jobs));
        assert!(!found.is_empty(), "{contenders:?}");
        for (label, figures) in found {
            let (samples, disk) = &expected[&label];
            let mut found = Vec::new();
            differences("samples", samples, &figures.0, &mut found);
            differences("disk", disk, &figures.1, &mut found);
            assert!(
                found.is_empty(),
                "{label} in {contenders:?}, {jobs} jobs: {found:#?}"
            );
        }
        assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
    }
}

/// Asserts that this run has the same cells, or what is taken of them, in the program and in one that is that
/// many bytes larger.
fn in_a_larger_program<T: PartialEq + Debug>(
    kernel: &Path,
    words: &[&str],
    more: u64,
    of: fn(BTreeMap<String, (Value, Value)>) -> T,
) {
    let home = Home::new();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let places = ["--json", "--guest-kernel", &kernel, "--work-dir", &work];
    let words: Vec<String> = [words, &places]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let program = Path::new(env!("CARGO_BIN_EXE_fsdyno"));
    let copy = home.path("larger");
    std::fs::write(&copy, larger(program, more)).unwrap();
    std::fs::set_permissions(&copy, PermissionsExt::from_mode(0o700)).unwrap();
    let [expected, found] = [program, &copy].map(|program| {
        let printed = executed(&home, program, &words);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        of(figures(&printed.out))
    });
    assert_eq!(expected, found);
}

/// The times of each sample, and the amount of its work.
fn times(figures: BTreeMap<String, (Value, Value)>) -> Vec<[Value; 3]> {
    let samples = figures.into_values().flat_map(|(samples, _)| {
        let samples = samples.as_array().cloned();
        samples.unwrap_or_default()
    });
    let times: Vec<_> = samples
        .map(|sample| ["return_ns", "durable_ns", "tally"].map(|name| sample[name].clone()))
        .collect();
    assert!(!times.is_empty());
    times
}

/// Single blocks of the kernel can differ while it looks for free memory, but no time of a phase.
#[test]
fn a_cell_that_fills_the_memory_takes_as_long_in_a_larger_program() {
    let test = "a_cell_that_fills_the_memory_takes_as_long_in_a_larger_program";
    let Some(kernel) = current_kernel(&["mkfs.btrfs"], test) else {
        return;
    };
    let line = "run --disk nvme --fs btrfs --repeats 1 --guest-memory 192M --exec";
    let work = "dd if=/dev/zero of=f bs=1M count=200 conv=fsync; cat f >g; sync";
    let words: Vec<&str> = line.split(' ').chain([work]).collect();
    in_a_larger_program(&kernel, &words, 6_000_000, times);
}

/// The C library has other functions for other processors, in other pages of its file.
#[test]
fn a_program_in_virtual_time_executes_the_functions_of_every_processor() {
    let test = "a_program_in_virtual_time_executes_the_functions_of_every_processor";
    let Some(kernel) = current_kernel(&["mkfs.ext4"], test) else {
        return;
    };
    let work = "/lib64/ld-linux-x86-64.so.2 --list-diagnostics | grep -q 'xsave_state_size=0x0$'";
    let line = "run --disk nvme --fs ext4 --repeats 1 --exec";
    let home = Home::new();
    let (kernel, directory) = (
        kernel.display().to_string(),
        home.work().display().to_string(),
    );
    let places = ["--guest-kernel", &kernel, "--work-dir", &directory];
    let words: Vec<&str> = line.split(' ').chain([work]).chain(places).collect();
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
}

#[test]
fn the_program_has_no_page_of_variables_that_its_file_does_not_have() {
    let file = std::fs::read(env!("CARGO_BIN_EXE_fsdyno")).unwrap();
    let last = last_segment(&file);
    let address = number(&file, last + 16);
    let [stored, all] = [32, 40].map(|field| address + number(&file, last + field));
    assert_eq!(stored.div_ceil(PAGE), all.div_ceil(PAGE));
}

/// The kernel maps stacks of threads, and notes the most memory of the process, where it is counted.
#[test]
fn cells_with_threads_are_the_same_in_a_larger_program() {
    let test = "cells_with_threads_are_the_same_in_a_larger_program";
    let Some(kernel) = current_kernel(&["mkfs.xfs"], test) else {
        return;
    };
    let line = "run containers --scale 0.1 --disk nvme --fs xfs --repeats 6";
    let words: Vec<&str> = line.split(' ').collect();
    in_a_larger_program(&kernel, &words, 16_000_000, |figures| figures);
}
