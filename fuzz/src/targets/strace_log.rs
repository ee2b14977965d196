//! Logs of strace that were made elsewhere: what is imported is a valid recording.

use fsdyno_recorder::strace::log::{Log, import};
use fsdyno_trace::Reader;
use std::fs;

pub fn check(input: &[u8]) {
    let name = format!("fsdyno-fuzz-log-{}.7", std::process::id());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, input).expect("a file");
    let log = Log {
        files: vec![file.clone()],
        root: None,
        anonymous: false,
    };
    if let Ok((recording, ending)) = import(&log, Vec::new()) {
        let reader = Reader::new(&recording[..]).expect("as written");
        let items = reader.map(|item| item.expect("as written"));
        assert!(items.count() as u64 > ending.operations);
    }
    let _ = fs::remove_file(file);
}
