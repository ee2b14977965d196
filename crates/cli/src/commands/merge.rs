//! `merge`: the runs of another store, taken over into this one.

use crate::exit::{Code, Trouble};
use fsdyno_store::Store;
use std::path::Path;

pub fn merge(other: &Path, store: &Path) -> Result<Code, Trouble> {
    let merged = Store::open(store)?.merge(other)?;
    for id in &merged.taken {
        println!("taken over: {id}");
    }
    for id in &merged.known {
        println!("here already, exactly alike: {id}");
    }
    for id in &merged.differing {
        println!("left alone, for a run of that name is here and differs: {id}");
    }
    let empty = merged.taken.is_empty() && merged.known.is_empty() && merged.differing.is_empty();
    if empty {
        println!("no runs in {}", other.display());
    }
    Ok(Code::Ok)
}
