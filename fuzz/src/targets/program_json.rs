//! JSON that programs print: figures are finite, and every signature that `wipefs` lists is kept.

use super::program_output::own_table;
use fsdyno_host::fuzz::read_wipefs;
use fsdyno_load::fuzz::read_program;
use serde_json::Value;

pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Some(Ok(figures)) = read_program("fio", &text) {
        assert!(!figures.is_empty());
        for figure in figures {
            assert!(
                figure.value.is_finite() && figure.value >= 0.0,
                "{figure:?}"
            );
        }
    }
    own_table(&text);
    // What the reader passes over may still be no value: a number that is too large.
    let listed = serde_json::from_str(&text).ok();
    let listed = listed.and_then(|all: Value| all["signatures"].as_array().map(Vec::len));
    if let (Ok(found), Some(listed)) = (read_wipefs(&text), listed) {
        assert_eq!(found.len(), listed);
    }
}
