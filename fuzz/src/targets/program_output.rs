//! What programs, guests, other machines and the kernel print, by every reader there is: figures
//! are finite, and nothing that a terminal would obey remains of a console.

use fsdyno_host::fuzz::{read_blkid, read_console, read_mounts, read_serial};
use fsdyno_lab::fuzz::parse_all;
use fsdyno_load::fuzz::read_program;
use fsdyno_load::own_tables;

pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for name in ["bonnie++", "dbench", "postmark", "sysbench-fileio"] {
        let read = read_program(name, &text).expect("fsdyno knows the program");
        for figure in read.unwrap_or_default() {
            assert!(
                figure.value.is_finite() && figure.value >= 0.0,
                "{figure:?}"
            );
        }
    }
    own_table(&text);
    assert!(read_blkid(&text) <= 2);
    let lines = input.split(|byte| *byte == b'\n').count();
    assert!(read_mounts(input) <= lines);
    assert!(parse_all(&text) <= text.len());
    let serial = read_serial(input).unwrap_or_default();
    assert!(serial.len() <= 3 * input.len());
    for line in read_console(input) {
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// A table of the user has figures, which are finite, or a line that is wrong.
pub fn own_table(text: &str) {
    if let Ok(table) = own_tables::read("ext4.csv", text) {
        assert!(!table.figures.is_empty());
        assert!(table.figures.iter().all(|one| one.value.is_finite()));
    }
}
