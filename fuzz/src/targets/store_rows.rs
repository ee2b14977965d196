//! Rows of a store that another program wrote: runs, series and explorations are read or refused,
//! and two readers of the same rows agree.

use super::changed_store::{Bench, Kinds, RUN, with_changes};
use std::collections::BTreeSet;

pub fn check(input: &[u8]) {
    with_changes(
        input,
        |bench,
         Kinds {
             run,
             series,
             exploration,
         }| {
            let read = (!run || read_run(bench), !series || read_series(bench));
            let read = (read.0, read.1, !exploration || read_exploration(bench));
            assert!(
                !input.is_empty() || read == (true, true, true),
                "unchanged rows cannot be read"
            );
        },
    );
}

/// Reads the run in every way; whether all of it can be read.
fn read_run(bench: &Bench) -> bool {
    let listed = bench.store.runs().is_ok();
    let (run, recorded) = (bench.store.load(RUN), bench.store.recorded(RUN));
    if let (Ok(run), Ok(recorded)) = (&run, &recorded) {
        let indices = run.cells.iter().map(|record| record.cell.index);
        assert_eq!(&indices.collect::<BTreeSet<_>>(), recorded);
    }
    listed && run.is_ok()
}

/// Reads the series in every way; whether all of it can be read.
fn read_series(bench: &Bench) -> bool {
    let listed = bench.store.series().is_ok();
    bench.store.load_series(&bench.series).is_ok() && listed
}

/// Reads the exploration in every way; whether all of it can be read.
fn read_exploration(bench: &Bench) -> bool {
    let listed = bench.store.explorations().is_ok();
    let whole = bench.store.exploration(&bench.exploration);
    let explored = bench.store.explored(&bench.exploration);
    if let (Ok(whole), Ok(explored)) = (&whole, &explored) {
        let programs = whole.programs.iter().filter(|one| one.failed.is_none());
        // A program that the search does not have can be read, and is no unit of it.
        let units = programs.filter_map(|one| whole.info.unit(one));
        assert!(units.collect::<BTreeSet<_>>().is_subset(explored));
    }
    listed && whole.is_ok()
}
