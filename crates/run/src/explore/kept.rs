//! The image and the script of a finding, for a developer of the file system.

use super::{Case, Long};
use fsdyno_crash::script::{Shown, Work, render};
use fsdyno_files::Untrusted;
use fsdyno_files::kept::KeptDir;
use fsdyno_lab::explorer::Base;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Bytes, Contender, Finding, Step};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file that cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// It cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The directory of kept files cannot be used.
    #[error(transparent)]
    Directory(#[from] Untrusted),
}

pub(super) struct Kept {
    pub image: PathBuf,
    pub script: PathBuf,
}

/// Writes both under a name of the contender that no file has. None if the budget of kept files does
/// not allow it.
pub(super) fn keep(
    kept_dir: &KeptDir<'_>,
    contender: &Contender,
    kernel: &str,
    (case, finding): (&Case, &Finding),
    image: &Base,
) -> Result<Option<Kept>, KeepError> {
    let need = image.written().map(|(_, page)| page.len() as u64).sum();
    let what = format!("the image of a finding of {}", contender.label);
    let Some(room) = kept_dir.room(Bytes(need), &what)? else {
        return Ok(None);
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let label: String = contender.label.chars().map(plain).collect();
    let (mut file, path) = created(&room.path, &format!("fsdyno-crash-{label}"), "img")?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| KeepError::Write { path, cause }
    };
    let mut write = || -> io::Result<()> {
        file.set_len(image.bytes())?;
        for (at, page) in image.written() {
            file.write_all_at(page, at)?;
        }
        file.flush()
    };
    if let Err(cause) = write() {
        // A part of an image shows nothing, and the disk may be full.
        let _ = std::fs::remove_file(&path);
        return Err(failed(&path)(cause));
    }
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let device = ["DEVICE".to_owned()];
    let target = Path::new("/mnt");
    let made = recipe.map_or_else(Vec::new, |recipe| {
        recipe.make_for(contender, &device, target)
    });
    let made: Vec<String> = made.iter().map(|step| shell_line(&step.argv())).collect();
    let mount = recipe.map_or_else(Vec::new, |recipe| recipe.mount(contender, &device, target));
    let mount = mount.iter().find_map(|step| match step {
        Step::Mount {
            fstype, options, ..
        } => Some((fstype.clone(), options.clone())),
        _ => None,
    });
    let (fstype, options) = mount.unwrap_or_default();
    let text = render(&Shown {
        kernel: release(kernel),
        mkfs: &made.join("; "),
        filesystem: &fstype,
        options: &options.join(","),
        image: &path.display().to_string(),
        wrong: std::slice::from_ref(&finding.message),
        work: match case {
            Case::Program(program) | Case::Long(Long { program, .. }) => Work::Program(program),
            Case::Application(application) => Work::Application {
                prepare: application.prepare.as_deref(),
                command: &application.command,
                check: &application.check,
            },
        },
    });
    let (mut file, script) = created(&room.path, &format!("fsdyno-crash-{label}"), "sh")?;
    file.write_all(text.as_bytes()).map_err(failed(&script))?;
    Ok(Some(Kept {
        image: path,
        script,
    }))
}

/// The release in the words of a guest: `Linux 6.12.117 #1 ...`.
fn release(about: &str) -> &str {
    about.split_whitespace().nth(1).unwrap_or(about)
}

/// A new file, which follows no link and replaces nothing.
fn created(folder: &Path, stem: &str, extension: &str) -> Result<(File, PathBuf), KeepError> {
    let mut number = 1;
    loop {
        let path = folder.join(format!("{stem}-{number}.{extension}"));
        match File::create_new(&path) {
            Ok(file) => return Ok((file, path)),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(cause) => return Err(KeepError::Write { path, cause }),
        }
    }
}
