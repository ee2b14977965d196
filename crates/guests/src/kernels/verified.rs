//! The check of a lab kernel before it is executed: its content has the recorded SHA-256.
//!
//! The hashed file stays open and is executed by its descriptor. Each process hashes it once.

use super::identity::sha256;
use super::{LabKernel, PROGRAM};
use fsdyno_files::{Access, TrustedDir, Untrusted};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The reason why a lab kernel is not executed.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// Another user could have written it.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    #[error("cannot read {}: {cause}", program.display())]
    Read {
        program: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Its hash differs from the recorded one.
    #[error(
        "{} is not executed: its SHA-256 is {found}, and `{recorded}` is recorded; build it again \
         with fsdyno lab setup",
        program.display()
    )]
    Differs {
        program: PathBuf,
        found: String,
        /// The hash in its identity; empty if there is none.
        recorded: String,
    },
}

impl LabKernel {
    /// The program, open, after its content was compared with the recorded hash.
    pub fn verified(&self) -> Result<Arc<File>, NotVerified> {
        type Known = Vec<(PathBuf, String, Arc<File>)>;
        static KNOWN: Mutex<Known> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = &self.identity.sha256;
        let is_this = |(program, hash, _): &&(PathBuf, String, _)| {
            *program == self.program && hash == recorded
        };
        if let Some((_, _, file)) = known.iter().find(is_this) {
            return Ok(Arc::clone(file));
        }
        let folder = TrustedDir::open(self.program.parent().unwrap_or(Path::new("/")))?;
        let file = folder.file(OsStr::new(PROGRAM), Access::ReadSystem)?;
        let found = sha256(&file).map_err(|cause| NotVerified::Read {
            program: self.program.clone(),
            cause,
        })?;
        if found != *recorded {
            return Err(NotVerified::Differs {
                program: self.program.clone(),
                found,
                recorded: recorded.clone(),
            });
        }
        let file = Arc::new(file);
        known.push((self.program.clone(), found, Arc::clone(&file)));
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Identity;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_program_without_the_recorded_content_is_not_executed() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = work_dir.path().canonicalize().unwrap();
        let program = folder.join(PROGRAM);
        std::fs::write(&program, "abc").unwrap();
        let of = |sha256: &str| LabKernel {
            program: program.clone(),
            identity: Identity::of("s", "f", "c").built("6.12", sha256, &[]),
        };
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for other in ["", &abc.replace('b', "c")] {
            let why = of(other).verified().unwrap_err().to_string();
            assert!(
                why.contains(abc) && why.contains("fsdyno lab setup"),
                "{why}"
            );
        }
        of(abc).verified().unwrap();
        // The program that was verified is the one that stays open.
        std::fs::remove_file(&program).unwrap();
        std::fs::write(&program, "other").unwrap();
        let mut content = String::new();
        let mut file: &File = &of(abc).verified().unwrap();
        io::Seek::rewind(&mut file).unwrap();
        io::Read::read_to_string(&mut file, &mut content).unwrap();
        assert_eq!(content, "abc");
        let other = tempfile::tempdir().unwrap();
        symlink(&program, other.path().join(PROGRAM)).unwrap();
        let linked = LabKernel {
            program: other.path().join(PROGRAM),
            ..of(abc)
        };
        assert!(matches!(linked.verified(), Err(NotVerified::Untrusted(_))));
    }
}
