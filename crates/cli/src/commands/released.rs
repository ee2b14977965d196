//! Opens the devices and files that fsdyno formats itself, after the device guard releases them.

use crate::args::Erase;
use crate::exit::{CliError, Code};
use crate::{output, places};
use fsdyno_host::command::is_step_of_fsdyno;
use fsdyno_host::formatting::{OpenError, Purpose, open_unused};
use fsdyno_host::guard;
use fsdyno_model::Bytes;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Opens devices and files, with their sizes in bytes. `is_possible` refuses sizes before anything
/// is written.
///
/// For devices that a run formats, the guard of the run has released them and holds their locks.
pub fn open_released(
    paths: &[PathBuf],
    erase: &Erase,
    is_possible: impl Fn(&[u64]) -> Result<(), CliError>,
) -> Result<Vec<(File, u64)>, CliError> {
    let open = |path: &PathBuf| open_unused(path, Purpose::Format).map_err(not_opened);
    if is_step_of_fsdyno() {
        return paths.iter().map(open).collect();
    }
    let consents = erase.consents()?;
    let refused = |refusal| CliError::new(Code::Refused, refusal);
    let is_device = |path: &Path| {
        let what = path.metadata();
        what.is_ok_and(|about| about.file_type().is_block_device())
    };
    let (devices, files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        paths.iter().partition(|path| is_device(path));
    // The guard runs before the devices are opened for writing, because udev reacts to that.
    let mut released = match &devices[..] {
        [] => Vec::new(),
        devices => {
            let devices: Vec<PathBuf> = devices.iter().map(|path| (*path).clone()).collect();
            guard::release(&devices, &consents, Bytes(0)).map_err(refused)?
        }
    };
    let opened: Vec<(File, u64)> = paths.iter().map(open).collect::<Result<_, _>>()?;
    for (path, (file, _)) in paths.iter().zip(&opened) {
        if files.contains(&path) {
            let file = guard::release_file(file, path, &consents).map_err(refused)?;
            released.push(file);
        } else if !released.iter().any(|device| device.is(file)) {
            let device = path.display();
            let message =
                format!("cannot write {device}: the path changed to another device. Try again.");
            return Err(CliError::new(Code::Refused, message));
        }
    }
    let sizes: Vec<u64> = opened.iter().map(|(_, bytes)| *bytes).collect();
    is_possible(&sizes)?;
    for one in released.iter().filter(|one| one.holds()) {
        let line = places::state()?.save_signatures(one);
        let line = line.map_err(CliError::failure)?;
        output::note(format_args!("fsdyno: {line}"));
    }
    Ok(opened)
}

pub fn not_opened(error: OpenError) -> CliError {
    match error {
        OpenError::InUse { .. } => CliError::new(Code::Refused, error),
        OpenError::Kind { .. } => CliError::usage(error),
        OpenError::Refused { .. } => CliError::failure(error),
    }
}
