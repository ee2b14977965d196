//! User-mode Linux: the kernel is a program, its disks are files, its root is the file system of
//! the host. It needs no privileges.

use super::own_programs;
use super::start::{Attachment, Setting, Start};
use fsdyno_files::programs;
use fsdyno_host::command::{self, CommandError, Finished, Limits};
use fsdyno_host::guest_processes::NAME;
use fsdyno_host::probe::MODULES;
use fsdyno_host::signals;
use fsdyno_model::Need;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The program and its Debian package.
pub(crate) const PROGRAM: &str = "linux.uml";
const PACKAGE: &str = "user-mode-linux";

/// The directory of its modules in the package.
const MODULES_FOLDER: &str = "/usr/lib/uml/modules";

/// The preferred directory of guest memory: a file in a memory file system.
const SHARED_MEMORY: &str = "/dev/shm";

/// The error of a kernel that cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum UmlError {
    /// The program did not run.
    #[error("cannot run {} for a guest: {cause}", kernel.display())]
    Run {
        kernel: PathBuf,
        #[source]
        cause: CommandError,
    },
    /// The program did not print its version.
    #[error("{} is no kernel of User-mode Linux: `--version` {what}. Name a program `linux`, or the lab kernel (fsdyno lab setup, --guest-kernel lab)", kernel.display())]
    NoVersion { kernel: PathBuf, what: String },
    /// The kernel does not support model disks.
    #[error(
        "{kernel} cannot have model disks: {why}; the lab kernel can (fsdyno lab setup, --guest-kernel lab)"
    )]
    NoModelDisks { kernel: String, why: String },
    /// A path that a kernel command line cannot contain.
    #[error("{} holds a blank or a comma, which a guest's command line cannot carry; choose another directory with --work-dir", path.display())]
    Path { path: PathBuf },
}

/// The requirement of this lab on the host.
pub fn need() -> Need {
    Need::Program {
        name: PROGRAM.to_owned(),
        package: PACKAGE.to_owned(),
    }
}

/// A kernel of User-mode Linux.
#[derive(Debug, Clone)]
pub struct Uml {
    pub kernel: PathBuf,
    pub release: String,
    /// The directory of its modules, if there is one.
    pub modules: Option<PathBuf>,
    /// The open file that is executed; none if its content was not verified.
    pub(crate) verified: Option<Arc<File>>,
    /// The directory of programs that its guests find first, if it has one.
    pub(crate) programs: Option<PathBuf>,
}

impl Uml {
    pub(crate) fn packaged() -> Option<PathBuf> {
        programs::find(PROGRAM)
    }

    pub(crate) fn at(kernel: PathBuf, verified: Option<Arc<File>>) -> Result<Self, UmlError> {
        let reported = match queried(&kernel, verified.as_deref(), "--version") {
            Ok(reported) => reported,
            Err(cause) => return Err(UmlError::Run { kernel, cause }),
        };
        let release = reported.stdout.trim().to_owned();
        let is_release = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        if !reported.success() || !is_release(&release) || release.contains(char::is_whitespace) {
            let what = format!(
                "{} and printed `{}`",
                reported.ended(),
                release.lines().next().unwrap_or_default()
            );
            return Err(UmlError::NoVersion { kernel, what });
        }
        let modules = Path::new(MODULES_FOLDER).join(&release);
        Ok(Self {
            kernel,
            modules: modules.is_dir().then_some(modules),
            release,
            verified,
            programs: None,
        })
    }

    pub(crate) fn start(
        &self,
        setting: &Setting<'_>,
        attachment: Attachment<'_>,
    ) -> Result<Start, UmlError> {
        let words = match attachment {
            Attachment::Terminal => {
                let mut words = self.words(setting, "fd:0,fd:1")?;
                words.insert(0, "quiet".into());
                words
            }
            Attachment::Line(line) => {
                let mut words = self.words(setting, "null,fd:1")?;
                let place = words.iter().position(|word| word == "--").unwrap_or(0);
                words.insert(place, format!("ssl0=fd:{}", line.as_raw_fd()).into());
                words
            }
        };
        Ok(Start {
            command: self.command(setting, &words),
            open: Vec::new(),
        })
    }

    /// Checks that the kernel supports model disks.
    pub(crate) fn with_model_disks(&self) -> Result<(), UmlError> {
        let lacking = self.lacks(&["CONFIG_VIRTIO_UML=y", "CONFIG_VIRTIO_BLK=y"])?;
        if lacking.is_empty() {
            return Ok(());
        }
        Err(UmlError::NoModelDisks {
            kernel: self.kernel.display().to_string(),
            why: format!("it was built without {}", lacking.join(", ")),
        })
    }

    /// The options among these that a kernel lacks, by its own list. A kernel without a list counts
    /// as having none.
    pub(crate) fn lacks<'a>(&self, options: &[&'a str]) -> Result<Vec<&'a str>, UmlError> {
        let reported = queried(&self.kernel, self.verified.as_deref(), "--showconfig");
        let reported = reported.map_err(|cause| UmlError::Run {
            kernel: self.kernel.clone(),
            cause,
        })?;
        let has = |option: &str| reported.stdout.lines().any(|line| line.trim() == option);
        Ok(options.iter().copied().filter(|one| !has(one)).collect())
    }

    /// A command that executes it, without arguments.
    pub(crate) fn executes(&self) -> Command {
        executes(&self.kernel, self.verified.as_deref())
    }

    fn command(&self, setting: &Setting<'_>, words: &[OsString]) -> Command {
        let mut command = self.executes();
        command
            .args(words)
            .env_clear()
            .env("HOME", setting.scratch)
            .env("PATH", path())
            .env("TMPDIR", memory_place(setting))
            .current_dir("/");
        command
    }

    /// The arguments of the program, except for the channel. `console` is its input and output.
    fn words(&self, setting: &Setting<'_>, console: &str) -> Result<Vec<OsString>, UmlError> {
        let joined = |name: &str, path: &Path| {
            if path
                .as_os_str()
                .as_bytes()
                .iter()
                .any(|b| b" ,\t\n".contains(b))
            {
                return Err(UmlError::Path {
                    path: path.to_owned(),
                });
            }
            let mut word = OsString::from(name);
            word.push(path);
            Ok(word)
        };
        let mut words: Vec<OsString> = [
            format!("mem={}", setting.memory.0),
            "root=/dev/root".to_owned(),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "ro".to_owned(),
            // A guest that panics ends at once, and prints why.
            "panic=-1".to_owned(),
            "con=null".to_owned(),
            format!("con0={console}"),
            "ssl=null".to_owned(),
            format!("umid={NAME}"),
        ]
        .map(OsString::from)
        .into();
        let mut folder = joined("uml_dir=", setting.scratch)?;
        folder.push("/");
        words.push(folder);
        for (number, disk) in setting.disks.iter().enumerate() {
            if setting.model.is_some() {
                let mut word = joined("virtio_uml.device=", disk)?;
                word.push(":2"); // a disk
                words.push(word);
            } else {
                words.push(joined(&format!("ubd{number}="), disk)?);
            }
        }
        // Parameters unknown to the kernel become the environment of the first process.
        words.push(format!("TMPDIR={}/tmp", super::PLACE).into());
        words.push(joined("PATH=", &path())?);
        words.extend(setting.disk_kind().map(OsString::from));
        if let Some(programs) = &self.programs {
            let place = joined("", programs)?;
            let place = place.to_string_lossy();
            words.extend(own_programs::words(&place, setting.memory).map(OsString::from));
        }
        if let Some(modules) = &self.modules {
            words.push(joined(&format!("{MODULES}="), modules)?);
        }
        let mut init = setting.init.iter();
        if let Some(program) = init.next() {
            words.push(joined("init=", Path::new(program))?);
        }
        words.push("--".into());
        words.extend(init.cloned());
        Ok(words)
    }
}

/// A command that executes a kernel: the verified file, if there is one. The child opens it by its
/// descriptor, which stays open until exec.
fn executes(kernel: &Path, verified: Option<&File>) -> Command {
    let Some(file) = verified else {
        return programs::at(kernel);
    };
    let mut command = programs::at(format!("/proc/self/fd/{}", file.as_raw_fd()));
    command.arg0(kernel);
    command
}

fn queried(kernel: &Path, verified: Option<&File>, option: &str) -> Result<Finished, CommandError> {
    let line = format!("{} {option}", kernel.display());
    let mut command = executes(kernel, verified);
    command.arg(option);
    command::query_command(command, line, Limits::SHORT, &signals::of_process())
}

/// The search path of the guest: that of the host, without entries that a command line cannot
/// contain.
fn path() -> PathBuf {
    let carried = |directory: &&PathBuf| {
        let bytes = directory.as_os_str().as_bytes();
        !bytes.iter().any(|b| b" ,\t\n:".contains(b))
    };
    let directories = programs::search_path().iter().filter(carried);
    // The paths contain no colon.
    std::env::join_paths(directories).unwrap_or_default().into()
}

/// The directory for the file that backs a guest's memory: in memory, if all of it fits.
fn memory_place(setting: &Setting<'_>) -> PathBuf {
    let shared = PathBuf::from(SHARED_MEMORY);
    let room = fsdyno_host::space::free(&shared).unwrap_or_default();
    if room > setting.memory {
        shared
    } else {
        setting.scratch.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Bytes;

    fn uml() -> Uml {
        Uml {
            kernel: "/usr/bin/linux.uml".into(),
            release: "6.1.1".into(),
            modules: Some("/m/6.1.1".into()),
            verified: None,
            programs: None,
        }
    }

    fn words(disks: &[PathBuf], init: &[OsString]) -> Result<Vec<String>, UmlError> {
        let setting = Setting {
            memory: Bytes(64 << 20),
            processors: 1,
            disks,
            model: None,
            scratch: Path::new("/s"),
            init,
        };
        let words = uml().words(&setting, "null,fd:1")?;
        Ok(words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect())
    }

    #[test]
    fn the_arguments_of_user_mode_linux_name_disks_directory_and_first_process() {
        let disks = ["/s/a.img", "/s/b.img"].map(PathBuf::from);
        let reported = words(&disks, &["/bin/fsdyno".into(), "guest".into()]).unwrap();
        for word in [
            "ubd0=/s/a.img",
            "ubd1=/s/b.img",
            "uml_dir=/s/",
            "mem=67108864",
        ] {
            assert!(
                reported.iter().any(|reported| reported == word),
                "{word}: {reported:?}"
            );
        }
        assert!(reported.ends_with(&["init=/bin/fsdyno".into(), "--".into(), "guest".into()]));
    }

    #[test]
    fn a_path_that_the_command_line_cannot_carry_is_refused_by_name() {
        for disk in ["/my disks/a.img", "/a,b.img"] {
            let error = words(&[disk.into()], &[]).unwrap_err().to_string();
            assert!(
                error.contains(disk) && error.contains("--work-dir"),
                "{error}"
            );
        }
    }
}
