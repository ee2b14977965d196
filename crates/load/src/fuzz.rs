//! Entry points for the fuzz targets. No other code uses them.

use crate::error::Unread;
use crate::programs::{self, Task};
use fsdyno_model::sample::Figure;
use std::collections::BTreeMap;
use std::path::Path;

/// Parses the output of the program with that name; none if there is no such program.
pub fn read_program(name: &str, printed: &str) -> Option<Result<Vec<Figure>, Unread>> {
    let program = programs::find(name)?;
    let parameters = BTreeMap::new();
    let task = Task {
        directory: Path::new("/"),
        tree: None,
        parameters: &parameters,
    };
    Some((program.read)(printed, &task).map(|report| report.figures))
}
