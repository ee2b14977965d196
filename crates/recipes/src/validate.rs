//! Validates a contender: its layout, its options, and that they affect only its devices.

use crate::error::RecipeError;
use crate::fs::{ALL, Filesystem, find, names};
use crate::layouts;
use crate::options::{self, GENERIC, OTHER_ACTS};
use fsdyno_model::closest_name;
use fsdyno_model::{Contender, FilesystemKind};

/// Checks the file system's name, its layout and the number of devices. Also checks that the
/// options affect only these devices.
pub fn validate(contender: &Contender) -> Result<(), RecipeError> {
    let fs = recipe(contender)?;
    layout(contender, fs)?;
    directory(contender, fs)?;
    mkfs_words(contender, fs)?;
    mount_words(contender, fs)
}

/// Checks a mount option for a typing error: unknown, and similar to a known one.
///
/// An unknown option without a similar name passes: the kernel decides. An option of another recipe
/// passes too, because the kernel's error is better than a guess.
pub fn check_options(contender: &Contender) -> Result<(), RecipeError> {
    let fs = recipe(contender)?;
    let known: Vec<&str> = GENERIC.iter().chain(fs.mount_options()).copied().collect();
    for option in &contender.mount {
        let key = options::key(option);
        let known_to_other = ALL.iter().any(|other| {
            other.mount_options().contains(&key) || other.foreign_mount_options().contains(&key)
        });
        // A word with a known opposite is a kernel option, perhaps of another kernel version.
        let opposite = known.iter().any(|word| options::is_negation(word, key));
        if known.contains(&key) || known_to_other || opposite {
            continue;
        }
        let near = closest_name(key, known.iter().copied());
        let filesystems = closest_name(option, names().into_iter());
        if near.is_empty() && !filesystems.is_empty() {
            return Err(RecipeError::FilesystemTypo {
                contender: contender.label.clone(),
                filesystem: fs.name(),
                option: option.clone(),
                nearest: filesystems,
            });
        }
        if !near.is_empty() {
            return Err(RecipeError::OptionTypo {
                contender: contender.label.clone(),
                filesystem: fs.name(),
                option: key.to_owned(),
                nearest: near,
            });
        }
    }
    Ok(())
}

fn recipe(contender: &Contender) -> Result<&'static dyn Filesystem, RecipeError> {
    find(&contender.filesystem).ok_or_else(|| RecipeError::UnknownFilesystem {
        name: contender.filesystem.clone(),
        nearest: closest_name(&contender.filesystem, names().into_iter()),
    })
}

fn layout(contender: &Contender, fs: &dyn Filesystem) -> Result<(), RecipeError> {
    let choice = &contender.layout;
    let layout = layouts::find(&choice.name).ok_or_else(|| RecipeError::UnknownLayout {
        contender: contender.label.clone(),
        layout: choice.name.clone(),
        known: layouts::ALL.iter().map(|one| one.name.to_owned()).collect(),
    })?;
    if layouts::of(fs).all(|one| one.name != layout.name) {
        return Err(RecipeError::UnsupportedLayout {
            contender: contender.label.clone(),
            filesystem: fs.name(),
            layout: choice.name.clone(),
            supported: layouts::of(fs).map(|one| one.name.to_owned()).collect(),
        });
    }
    if !layout.devices.contains(&choice.devices) {
        return Err(RecipeError::DeviceCount {
            contender: contender.label.clone(),
            layout: layout.name,
            devices: choice.devices,
            range: layout.devices.clone(),
        });
    }
    Ok(())
}

fn directory(contender: &Contender, fs: &dyn Filesystem) -> Result<(), RecipeError> {
    let why = match (fs.kind(), &contender.directory) {
        (FilesystemKind::Directory, None) => {
            format!("name the directory, for example {}:/mnt/data", fs.name())
        }
        (FilesystemKind::Block | FilesystemKind::Memory, Some(_)) => format!(
            "{} is mounted where fsdyno chooses and takes no directory",
            fs.name()
        ),
        _ => return Ok(()),
    };
    Err(RecipeError::Directory {
        contender: contender.label.clone(),
        why,
    })
}

fn mkfs_words(contender: &Contender, fs: &dyn Filesystem) -> Result<(), RecipeError> {
    if contender.mkfs.is_empty() {
        return Ok(());
    }
    let grammar = fs.mkfs_grammar().ok_or_else(|| RecipeError::NoSuchStage {
        contender: contender.label.clone(),
        filesystem: fs.name(),
        what: "mkfs",
        done: "made",
    })?;
    grammar
        .judge(&contender.mkfs)
        .map_err(|refusal| RecipeError::MkfsWord {
            contender: contender.label.clone(),
            word: refusal.word,
            why: refusal.why,
        })
}

fn mount_words(contender: &Contender, fs: &dyn Filesystem) -> Result<(), RecipeError> {
    if fs.kind() == FilesystemKind::Directory && !contender.mount.is_empty() {
        return Err(RecipeError::NoSuchStage {
            contender: contender.label.clone(),
            filesystem: fs.name(),
            what: "mount",
            done: "mounted",
        });
    }
    for option in &contender.mount {
        let key = options::key(option);
        let why = if option.contains(',') {
            "write one option each: the comma separates them".to_owned()
        } else if key.is_empty() {
            "it has no name".to_owned()
        } else if fs.foreign_mount_options().contains(&key) {
            "only the devices of the contender may be named to the kernel".to_owned()
        } else if OTHER_ACTS.contains(&key) {
            "it does something else than to mount the file system on its device".to_owned()
        } else if let Some(why) = fs.refuses(option) {
            why
        } else {
            continue;
        };
        return Err(RecipeError::MountWord {
            contender: contender.label.clone(),
            option: option.clone(),
            why,
        });
    }
    Ok(())
}
