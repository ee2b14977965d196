//! The clean-up journal: paths are absolute, and open records are written and read back to the
//! same.

use fsdyno_host::fuzz::{journal_of, read_journal};
use fsdyno_host::journal::Kind;

pub fn check(input: &[u8]) {
    let mut things = read_journal(input);
    for (_, thing) in &things {
        assert!(thing.path.is_absolute(), "{thing}");
    }
    // A line that is not whole was being written.
    let whole = input.iter().rposition(|byte| *byte == b'\n');
    assert!(whole.is_some() || things.is_empty());
    // Commands are known as such in old journals, and never written.
    things.retain(|(_, thing)| thing.kind != Kind::Commands);
    assert_eq!(read_journal(journal_of(&things).as_bytes()), things);
}
