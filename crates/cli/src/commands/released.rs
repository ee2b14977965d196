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
    let devices: Vec<PathBuf> = paths
        .iter()
        .filter(|path| is_device(path))
        .cloned()
        .collect();
    if !(devices.is_empty() || devices.len() == paths.len()) {
        return Err(CliError::usage(
            "devices and files together: the kernel mounts devices only",
        ));
    }
    // The guard runs before devices are opened for writing, because udev reacts to that.
    let released = match &devices[..] {
        [] => None,
        devices => Some(guard::release(devices, &consents, Bytes(0)).map_err(refused)?),
    };
    let opened: Vec<(File, u64)> = paths.iter().map(open).collect::<Result<_, _>>()?;
    let released = if let Some(released) = released {
        released
    } else {
        let files = opened.iter().zip(paths);
        let files: Vec<(&File, &Path)> = files.map(|((file, _), path)| (file, &**path)).collect();
        guard::release_files(&files, &consents).map_err(refused)?
    };
    for (device, (file, _)) in devices.iter().zip(&opened) {
        if !released.iter().any(|released| released.is(file)) {
            let device = device.display();
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
