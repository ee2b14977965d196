//! Entry points for the fuzz targets. No other code uses them.

use crate::error::Unread;
use crate::phases::replay::{self, Pace, Replay};
use crate::programs;
use fsdyno_datasets::recorded::Recording;
use fsdyno_model::CancelToken;
use fsdyno_model::sample::Figure;
use std::path::{Path, PathBuf};

/// Parses the output of the program with that name; none if there is no such program.
pub fn read_program(name: &str, printed: &str) -> Option<Result<Vec<Figure>, Unread>> {
    let program = programs::find(name)?;
    Some(program.parse(printed).map(|report| report.figures))
}

/// The maximum size of a recorded tree that a fuzz target creates, bytes.
const MAX_TREE_BYTES: u64 = 8 << 20;

/// Plans the replay of a recording, and checks that each wait is for an operation that began earlier.
/// If the tree of the recording is small, `tree` makes it, and the operations are performed there.
pub fn replay(recording: Recording, tree: impl FnOnce() -> Option<PathBuf>) {
    let Ok(plan) = replay::plan(&recording, Path::new("recording")) else {
        return;
    };
    assert_eq!(plan.steps.len(), recording.operations.len());
    for (at, step) in plan.steps.iter().enumerate() {
        for wait in step.waits(&plan) {
            let before = plan.workers[wait.worker as usize][wait.completed as usize - 1];
            assert!((before as usize) < at, "{at} waits for {before}");
        }
    }
    if plan.peak > MAX_TREE_BYTES {
        return;
    }
    let Some(tree) = tree() else {
        return;
    };
    let done = Replay::new(recording, plan, Pace::Afap).run(&tree, &CancelToken::new());
    done.expect("a replay does not fail: results are compared");
}
