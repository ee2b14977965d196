//! The devices of a cell on another machine: image files attached by its programs, or devices that
//! the user named there and in `--erase`.

use super::dialects::Dialect;
use super::executor::{SshExecutor, word};
use crate::job::Job;
use crate::procedure::CellEnd;
use fsdyno_guests::vm::disk_serial;
use fsdyno_host::ssh::How;
use fsdyno_model::{DeviceChoice, FilesystemKind};
use fsdyno_recipes::layouts;
use std::path::{Path, PathBuf};

/// Provides the devices of a contender, by the names that its recipe uses.
pub(super) fn provide(
    executor: &mut SshExecutor<'_, '_>,
    job: &Job<'_>,
) -> Result<Vec<String>, CellEnd> {
    let kind = job.recipe.kind();
    if kind == FilesystemKind::Directory {
        return Ok(Vec::new());
    }
    let base = PathBuf::from(&executor.directory);
    let tag = executor.tag();
    let scratch = job.scratch(&base, &tag);
    executor.target = job.target(&base, &tag);
    executor.durable = job.recipe.make_durable(&executor.target);
    // A directory that is still mounted or in use is not removed.
    executor.remote.undo(&format!(
        "[ \"$R\" = 0 ] && rm -rf {} || R=1",
        word(&scratch)
    ));
    let directories = format!("mkdir {} {}", word(&scratch), word(&executor.target));
    executor.script(How::Here, &directories)?;
    let Some(dialect) = executor
        .machine
        .dialect
        .filter(|_| kind == FilesystemKind::Block)
    else {
        return Ok(Vec::new());
    };
    let count = job.contender.layout.devices;
    let mut devices = Vec::new();
    if executor.machine.disks_of_guest {
        for number in 0..count {
            devices.push(disk_of_guest(executor, dialect, number)?);
        }
    } else if let DeviceChoice::Block { paths } = &job.plan.device {
        for path in paths.iter().take(count as usize) {
            unused(executor, dialect, path)?;
            devices.push(path.display().to_string());
        }
    } else {
        for number in 0..count {
            devices.push(image(executor, dialect, job, &scratch, number)?);
        }
    }
    let Some(joined) = layouts::joined(job.contender, &devices, &job.name(&tag)) else {
        return Ok(devices);
    };
    // Separated in the order they are named: undo runs the last line first.
    for step in joined.part.iter().rev() {
        executor
            .remote
            .undo(&format!("[ \"$R\" = 0 ] && {} || R=1", step.shell()));
    }
    for step in &joined.join {
        executor.script(How::Here, &step.shell())?;
    }
    Ok(vec![joined.device])
}

/// The variable that names a disk which this machine gives its virtual machine.
fn disk_of_guest(
    executor: &mut SshExecutor<'_, '_>,
    dialect: &Dialect,
    number: u32,
) -> Result<String, CellEnd> {
    let variable = format!("LOOP{number}");
    let find = (dialect.find_disk)(&disk_serial(number), &variable);
    executor.script(
        How::Here,
        &format!("{variable}=; {find}; [ -n \"${variable}\" ]"),
    )?;
    Ok(format!("${variable}"))
}

/// Creates an image file and attaches it; returns the variable that names the device.
fn image(
    executor: &mut SshExecutor<'_, '_>,
    dialect: &Dialect,
    job: &Job<'_>,
    scratch: &Path,
    number: u32,
) -> Result<String, CellEnd> {
    let path = word(&scratch.join(format!("disk{number}.img")));
    let variable = format!("LOOP{number}");
    executor.script(
        How::Here,
        &format!("truncate -s {} {path}", job.image_bytes.0),
    )?;
    let detach = (dialect.detach)(&variable);
    executor.remote.undo(&format!(
        "[ -z \"${variable}\" ] || {{ [ \"$R\" = 0 ] && {{ {detach}; }}; }} || R=1; {variable}="
    ));
    executor.script(How::Here, &(dialect.attach)(&path, &variable))?;
    Ok(format!("${variable}"))
}

/// An error if the other machine uses the device, or does not have it.
fn unused(
    executor: &mut SshExecutor<'_, '_>,
    dialect: &Dialect,
    path: &Path,
) -> Result<(), CellEnd> {
    let device = word(path);
    let script = format!(
        "DEVICE={device}; [ -b \"$DEVICE\" ] || [ -c \"$DEVICE\" ] || exit 9\n\
         echo \"name $(readlink -f \"$DEVICE\" 2>/dev/null || echo \"$DEVICE\")\"\n{}",
        dialect.uses
    );
    let output = executor.run_remote(How::Job, &script)?;
    executor.note(&script, &output);
    if executor.remote.is_dry_run() {
        return Ok(());
    }
    if output.status == 9 {
        let message = format!("{device} is no device there");
        return Err(executor.notes.halt(message, None));
    }
    let (name, shown) = output.stdout.split_once('\n').unwrap_or_default();
    let name = name.strip_prefix("name ").unwrap_or_default();
    let given = path.display().to_string();
    let found = use_of(&given, shown).or_else(|| use_of(name, shown));
    if name.is_empty() || output.status != 0 {
        let message = format!(
            "cannot check whether {device} is in use there: {}",
            output.stderr.trim()
        );
        return Err(executor.notes.halt(message, None));
    }
    match found {
        None => Ok(()),
        Some(line) => {
            let message = format!(
                "{device} is in use there (`{}`): it is left alone; unmount it, or name another",
                line.trim()
            );
            Err(executor.notes.halt(message, None))
        }
    }
}

/// The line that shows use of a device, of a part of it, or of the device that contains it.
pub(super) fn use_of<'a>(device: &str, uses: &'a str) -> Option<&'a str> {
    uses.lines().find(|line| {
        let mut words = line.split_whitespace();
        words.any(|word| {
            let word = if word.starts_with('/') {
                word.to_owned()
            } else {
                // Pools name their devices without the directory.
                format!("/dev/{word}")
            };
            is_part(device, &word) || is_part(&word, device)
        })
    })
}

/// Whether a name is that of the device or of a part of it: `sda1`, `ada0p2`, `da0s1a` and
/// `nvme0n1p1`, but not `sdaa` or `ada01`.
fn is_part(device: &str, name: &str) -> bool {
    let Some(rest) = name.strip_prefix(device) else {
        return false;
    };
    let Some(last) = device
        .rsplit('/')
        .next()
        .and_then(|name| name.chars().last())
    else {
        return false;
    };
    match rest.chars().next() {
        None => true,
        Some(first) if last.is_ascii_digit() => "psabcdefgh".contains(first),
        Some(first) => first.is_ascii_digit(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_in_use_is_found_by_its_parts_and_its_parent() {
        let mounts = "/dev/ada0p2 on / (ufs, local)\n/dev/sdb1 on /data type x (rw)\n\
            devfs on /dev (devfs)\n";
        let pool = "  pool: tank\n\tNAME STATE\n\ttank ONLINE\n\t  ada2 ONLINE\n";
        for (device, uses, expected) in [
            ("/dev/ada0", mounts, true),
            ("/dev/ada0p2", mounts, true),
            ("/dev/ada0p3", mounts, false),
            ("/dev/ada", mounts, true),
            ("/dev/ada1", mounts, false),
            ("/dev/sdb", mounts, true),
            ("/dev/sdb1", mounts, true),
            ("/dev/sdb2", mounts, false),
            ("/dev/sdc", mounts, false),
            ("/dev/ada2", pool, true),
            ("/dev/ada2p1", pool, true),
            ("/dev/ada21", pool, false),
        ] {
            assert_eq!(use_of(device, uses).is_some(), expected, "{device}");
        }
    }
}
