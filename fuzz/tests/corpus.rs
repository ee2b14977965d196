//! Every input of the corpus passes its target, and every target has inputs and a driver.

use fsdyno_fuzz::{corpus, run, targets};
use std::fs;
use std::path::Path;

/// The names in a folder of `fuzz`, without their endings.
fn names(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path().with_extension(""));
    let mut names: Vec<String> = paths
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

// One test: the targets count the memory of the whole process.
#[test]
fn every_input_of_the_corpus_passes_its_target() {
    let mut known: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
    known.sort_unstable();
    assert_eq!(names("corpus"), known);
    assert_eq!(names("drivers/fuzz_targets"), known);
    for target in targets::ALL {
        let inputs = corpus(target);
        assert!(!inputs.is_empty(), "{}", target.name);
        for input in inputs {
            run(target, &input);
        }
    }
}
