//! Steps as values: a recipe returns steps, the host executes them, and a dry run prints them in
//! their shell form.

use crate::pool::{Daemon, Pool};
pub use crate::shell::shell_line;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One action outside the measured load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "step")]
pub enum Step {
    /// Run a program, without a shell.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Mount a file system (by system call; the shell form is `mount`).
    Mount {
        /// The kernel's name of the file system.
        fstype: String,
        /// The device, or its placeholder.
        source: String,
        /// The mount point.
        target: PathBuf,
        /// Mount options, one per entry.
        options: Vec<String>,
    },
    /// Unmount (by system call).
    Unmount {
        /// The mount point.
        target: PathBuf,
    },
    /// Run a program that creates or imports a pool, which is held from then on.
    TakePool {
        /// The program and its arguments.
        argv: Vec<String>,
        /// The pool.
        pool: Pool,
    },
    /// Unmount a pool and release its devices.
    ReleasePool {
        /// The pool.
        pool: Pool,
    },
    /// Start a daemon, unless one responds already. The shell form does not detect other users of
    /// the daemon.
    StartDaemon {
        /// The daemon.
        daemon: Daemon,
    },
    /// End a daemon that fsdyno started.
    StopDaemon {
        /// The daemon.
        daemon: Daemon,
    },
    /// Create a sparse image file; it must not exist.
    CreateImage {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// Create a model disk that is a file: fsdyno mounts it there by FUSE, and serves it from a
    /// separate process.
    ServeDisk {
        /// The name of its profile.
        profile: String,
        /// The file.
        file: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// Attach an image file to a free loop device, direct I/O on.
    AttachLoop {
        /// The image file.
        image: PathBuf,
        /// The shell variable that names the device in later steps of a dry run.
        variable: String,
    },
    /// Detach the loop device of an image file.
    DetachLoop {
        /// The device, or `$VARIABLE`.
        device: String,
    },
    /// Stop an array of devices (by system call).
    StopArray {
        /// The array.
        device: String,
    },
    /// Create a directory and its parents.
    MakeDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// Remove a file or a tree that fsdyno created.
    Remove {
        /// The file or tree.
        path: PathBuf,
    },
    /// Write back all dirty data of the file system mounted there.
    SyncFilesystem {
        /// A path on it.
        path: PathBuf,
    },
    /// Drop page cache, dentries and inodes of the whole machine.
    DropCaches,
    /// Count the extents of all regular files below a directory by system call. The shell form is
    /// `filefrag`, which counts the same.
    CountExtents {
        /// The directory.
        path: PathBuf,
        /// Smaller files are not counted.
        floor: Bytes,
    },
    /// List the free space of a file system in a separate tree by system call. The shell form is
    /// the closest that its programs provide.
    ListFreeSpace {
        /// The mount point.
        path: PathBuf,
        /// The words of the shell form.
        shown_by: Vec<String>,
    },
    /// Wait until the counters of the devices stop changing.
    Quiesce {
        /// The devices.
        devices: Vec<String>,
    },
}

/// The program name of commands that fsdyno runs itself (`fsdyno ufs make`). It resolves to the
/// running fsdyno, also as the first process of a guest.
pub const OURSELVES: &str = "fsdyno";

impl Step {
    /// A command from its words.
    pub fn command<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        Self::Command {
            argv: argv.into_iter().map(Into::into).collect(),
        }
    }

    /// The step that undoes it; none if it leaves nothing mounted, held or running.
    pub fn undone_by(&self) -> Option<Self> {
        match self {
            Self::Mount { target, .. } => Some(Self::Unmount {
                target: target.clone(),
            }),
            Self::TakePool { pool, .. } => Some(Self::ReleasePool { pool: pool.clone() }),
            Self::StartDaemon { daemon } => Some(Self::StopDaemon {
                daemon: daemon.clone(),
            }),
            _ => None,
        }
    }

    /// The words of the equivalent command, before quoting.
    pub fn argv(&self) -> Vec<String> {
        let path = |p: &PathBuf| p.display().to_string();
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        match self {
            Self::Command { argv } | Self::TakePool { argv, .. } => argv.clone(),
            Self::ReleasePool { pool } => pool.release.clone(),
            Self::StartDaemon { daemon } => words(&["sh", "-c", &daemon.start_line()]),
            Self::StopDaemon { daemon } => words(&["sh", "-c", &daemon.stop_line()]),
            Self::Mount {
                fstype,
                source,
                target,
                options,
            } => {
                let mut argv = words(&["mount", "-i", "-t", fstype]);
                if !options.is_empty() {
                    argv.extend(["-o".to_owned(), options.join(",")]);
                }
                argv.extend([source.clone(), path(target)]);
                argv
            }
            Self::Unmount { target } => words(&["umount", &path(target)]),
            Self::CreateImage { path: file, size } => {
                words(&["truncate", "-s", &size.0.to_string(), &path(file)])
            }
            Self::ServeDisk { file, .. } => words(&["fsdyno", "disk", "fuse-server", &path(file)]),
            Self::AttachLoop { image, .. } => words(&[
                "losetup",
                "--find",
                "--show",
                "--direct-io=on",
                &path(image),
            ]),
            Self::DetachLoop { device } => words(&["losetup", "--detach", device]),
            Self::StopArray { device } => words(&["mdadm", "--stop", device]),
            Self::MakeDirectory { path: dir } => words(&["mkdir", "-p", &path(dir)]),
            Self::Remove { path: what } => words(&["rm", "-rf", "--one-file-system", &path(what)]),
            Self::SyncFilesystem { path: at } => words(&["sync", "-f", &path(at)]),
            Self::DropCaches => words(&["sysctl", "-qw", "vm.drop_caches=3"]),
            Self::CountExtents { path: below, floor } => {
                let mut argv = words(&["find", &path(below), "-xdev", "-type", "f"]);
                if let Some(most_left_out) = floor.0.checked_sub(1) {
                    argv.extend(["-size".to_owned(), format!("+{most_left_out}c")]);
                }
                // Not `+`: find would then fail if filefrag prints nothing.
                argv.extend(words(&["-exec", "filefrag", "{}", ";"]));
                argv
            }
            Self::ListFreeSpace { shown_by, .. } => shown_by.clone(),
            Self::Quiesce { .. } => words(&["sleep", "1"]),
        }
    }

    /// The line to paste into a shell.
    pub fn shell(&self) -> String {
        let line = shell_line(&self.argv());
        match self {
            Self::AttachLoop { variable, .. } => format!("{variable}=$({line})"),
            Self::ServeDisk { profile, size, .. } => {
                format!("{line}  # {profile}, {size}; fsdyno does this itself, and mounts it there")
            }
            Self::Quiesce { devices } => {
                format!(
                    "{line}  # until the counters of {} stand still",
                    devices.join(", ")
                )
            }
            _ => line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_prints_as_the_command_that_does_it() {
        let mount = Step::Mount {
            fstype: "ext4".into(),
            source: "$LOOP0".into(),
            target: "/tmp/a b".into(),
            options: vec!["noatime".into(), "data=writeback".into()],
        };
        assert_eq!(
            mount.shell(),
            r#"mount -i -t ext4 -o noatime,data=writeback "$LOOP0" '/tmp/a b'"#
        );
        let attach = Step::AttachLoop {
            image: "/i".into(),
            variable: "LOOP0".into(),
        };
        assert_eq!(
            attach.shell(),
            "LOOP0=$(losetup --find --show --direct-io=on /i)"
        );
    }

    #[test]
    fn counting_prints_as_a_command_of_every_system() {
        let count = |floor| Step::CountExtents {
            path: "/mnt/ground".into(),
            floor: Bytes(floor),
        };
        assert_eq!(
            count(0).shell(),
            "find /mnt/ground -xdev -type f -exec filefrag '{}' ';'"
        );
        assert_eq!(
            count(16_385).shell(),
            "find /mnt/ground -xdev -type f -size +16384c -exec filefrag '{}' ';'"
        );
    }

    #[test]
    fn a_loop_variable_is_expanded_inside_a_word() {
        let line = shell_line(&[
            "printf".into(),
            "%s".into(),
            "a `b` $HOME \"c\" \\ $LOOP1,".into(),
        ]);
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .env("LOOP1", "/dev/loop7")
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            r#"a `b` $HOME "c" \ /dev/loop7,"#
        );
    }
}
