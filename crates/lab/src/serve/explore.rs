//! A guest that explores crash states: it makes a file system, performs programs, and recovers the
//! states that the host puts on its disk. It serves thousands of commands.
//!
//! The host replaces the contents of the disk between two commands. The kernel then has nothing of
//! it in memory: the last close of a block device drops its pages, and a recipe makes the kernel
//! forget what it remembers of a device.

use super::crash::{MountedFilesystem, TestedFilesystem};
use super::{disk, disks, release};
use crate::explorer_messages::{Answer, ApplicationCheck, Command, RecoveryReport, Trial};
use fsdyno_crash::attributes::difference;
use fsdyno_crash::{Operation, Program, Tree};
use fsdyno_disk::mailbox::Client;
use fsdyno_host::freezing::Frozen;
use fsdyno_host::kernel_log::KernelLog;
use fsdyno_load::crash::{self, Point};
use fsdyno_model::{Bytes, Contender, Nanos};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a new file system stays mounted, so that it finishes its work in the background: the
/// kernel clears inode tables after the first mount of an ext4.
const SETTLING: Duration = Duration::from_secs(120);

/// The interval in which the kernel limits equal messages is 5 s (`DEFAULT_RATELIMIT_INTERVAL`).
const RATE_LIMIT: Duration = Duration::from_secs(6);

/// How often and at which interval an unmounted disk is examined until nothing holds it.
const HELD_TRIES: u32 = 2000;
const HELD_POLL: Duration = Duration::from_millis(5);

/// How often a file is written where that is timed.
const TIMED_FILES: u32 = 32;

/// The maximum number of warnings of the kernel that are reported.
const MAX_WARNINGS: usize = 100;

/// Settings of the kernel: an oops ends the guest, and only errors reach its console.
const SETTINGS: [(&str, &str); 2] = [
    ("/proc/sys/kernel/panic_on_oops", "1"),
    ("/proc/sys/kernel/printk", "4"),
];

/// Performs commands until the host ends the guest.
pub(super) fn serve(contender: &Contender, place: &Path) -> io::Result<()> {
    for (file, value) in SETTINGS {
        fs::write(file, value)?;
    }
    // The disk that brings commands follows those under test.
    let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
    let mut options = File::options();
    let mailbox = options.read(true).write(true).custom_flags(direct);
    let mailbox = Client::new(mailbox.open(disk(contender.layout.devices as usize))?);
    let mut line = Line {
        mailbox,
        log: KernelLog::from_now(),
    };
    let name = rustix::system::uname();
    let parts = [name.sysname(), name.release(), name.version()];
    let about = parts.map(|part| part.to_string_lossy()).join(" ");
    line.send(&Answer::Ready { about })?;
    // Nothing may keep the disk open: its last close drops what the kernel has of it in memory.
    let released = release(&disks(contender), Bytes(0)).map(drop);
    let tested = released.and_then(|()| TestedFilesystem::of(contender, place, true));
    loop {
        let command = serde_json::from_slice(&line.mailbox.receive()?)?;
        let answer = match &tested {
            Ok(tested) => line.perform(tested, command)?,
            Err(reason) => refused(reason.clone()),
        };
        line.send(&answer)?;
    }
}

fn refused(reason: String) -> Answer {
    Answer::Refused { reason }
}

/// The connection to the host, and the log of the kernel.
struct Line {
    mailbox: Client<File>,
    log: KernelLog,
}

impl Line {
    fn send(&mut self, answer: &Answer) -> io::Result<()> {
        self.mailbox.send(&serde_json::to_vec(answer)?)
    }

    /// The first warnings of the kernel since the command.
    fn warnings(&self) -> Vec<String> {
        let mut lines = self.log.warnings();
        lines.truncate(MAX_WARNINGS);
        lines
    }

    /// Performs a command. The error is that of the mailbox.
    fn perform(&mut self, tested: &TestedFilesystem<'_>, command: Command) -> io::Result<Answer> {
        drop(self.log.warnings());
        match command {
            Command::Prepare => Ok(match prepare(tested) {
                Ok(tree) => Answer::Prepared { tree },
                Err(reason) => refused(reason),
            }),
            Command::Perform { program } => self.perform_program(tested, &program),
            Command::Continue { first, operations } => {
                self.continue_program(tested, first, &operations)
            }
            Command::Execute {
                prepare,
                shell,
                frozen,
            } => self.execute(tested, prepare.as_deref(), &shell, frozen),
            Command::Recover {
                repair,
                without,
                thorough,
                trial,
                kept,
                check,
                exact,
            } => {
                if trial.is_some() {
                    // Messages of the former command do not suppress those of this one.
                    thread::sleep(RATE_LIMIT);
                    drop(self.log.warnings());
                }
                let mut report = RecoveryReport::default();
                let kept = thorough.then_some(&kept);
                let done = match check {
                    None => {
                        let way = (repair, without, exact);
                        self.recover(tested, way, trial, kept, &mut report)?
                    }
                    Some(check) => check_application(tested, &check, &mut report)?,
                };
                report.stuck = done.and_then(|()| tested.forget()).err();
                report.kernel = self.warnings();
                let report = Box::new(report);
                Ok(Answer::Recovered { report })
            }
        }
    }

    fn perform_program(
        &mut self,
        tested: &TestedFilesystem<'_>,
        program: &Program,
    ) -> io::Result<Answer> {
        let mounted = match tested.mount(tested.contender) {
            Ok(mounted) => mounted,
            Err(reason) => return Ok(refused(reason)),
        };
        let performed = crash::perform(&tested.target, program, &mut |point| self.reached(point))?;
        Ok(self.performed(performed, unmount_recorded(tested, mounted)))
    }

    /// Recovers the file system, and performs the rest of a program whose power was cut.
    fn continue_program(
        &mut self,
        tested: &TestedFilesystem<'_>,
        first: u32,
        operations: &[Operation],
    ) -> io::Result<Answer> {
        let ready = self.before_mount(tested, false)?;
        let mounted = match ready.and_then(|_| tested.mount(tested.contender)) {
            Ok(mounted) => mounted,
            Err(reason) => return Ok(refused(reason)),
        };
        let mut reached = |point| self.reached(point);
        let performed = crash::perform_from(&tested.target, first, operations, &mut reached)?;
        Ok(self.performed(performed, unmount_recorded(tested, mounted)))
    }

    fn reached(&mut self, point: Point) -> io::Result<()> {
        self.send(&match point {
            Point::SetUp => Answer::SetUp,
            Point::Begins(operation) => Answer::Began { operation },
            Point::Returned(operation) => Answer::Returned { operation },
        })
    }

    fn performed(&self, performed: crash::Performed, unmounted: Result<(), String>) -> Answer {
        match unmounted {
            Ok(()) => Answer::Performed {
                failed: performed.failed,
                lines: Vec::new(),
                elapsed: Nanos::from(performed.elapsed),
                kernel: self.warnings(),
            },
            Err(reason) => refused(reason),
        }
    }

    /// Runs an application. A line that it prints acknowledges what it did before; with `frozen`,
    /// all of this is on the disk when the line is reported.
    fn execute(
        &mut self,
        tested: &TestedFilesystem<'_>,
        prepare: Option<&str>,
        command: &str,
        frozen: bool,
    ) -> io::Result<Answer> {
        let mounted = match tested.mount(tested.contender) {
            Ok(mounted) => mounted,
            Err(reason) => return Ok(refused(reason)),
        };
        let root = &tested.target;
        if let Some(prepare) = prepare {
            let prepared = crash::execute(root, prepare, false, &mut |_| Ok(()))?;
            if let Some(failed) = prepared.failed {
                return Ok(refused(format!("its preparation {failed}")));
            }
        }
        rustix::fs::sync();
        self.send(&Answer::SetUp)?;
        let mut returned = |operation| {
            let _frozen = frozen.then(|| Frozen::freeze(root)).transpose()?;
            self.send(&Answer::Returned { operation })
        };
        let executed = crash::execute(root, command, frozen, &mut returned)?;
        let left = unmount_unused(mounted).and_then(|()| flush_and_forget(tested));
        Ok(match (left, executed.failed) {
            (Ok(()), None) => Answer::Performed {
                failed: None,
                lines: executed.lines,
                elapsed: Nanos::from(executed.elapsed),
                kernel: self.warnings(),
            },
            (_, Some(failed)) => refused(format!("its command {failed}")),
            (Err(reason), None) => refused(reason),
        })
    }

    /// Runs the programs that recover or repair a file system before it is mounted. Marks enclose
    /// them, so that the requests of a recording are known as theirs. The outer error is that of the
    /// mailbox.
    fn before_mount(
        &mut self,
        tested: &TestedFilesystem<'_>,
        repair: bool,
    ) -> io::Result<Result<Option<String>, String>> {
        if !repair && !tested.has_checks_at_boot() {
            return Ok(Ok(None));
        }
        self.send(&Answer::Began { operation: 0 })?;
        let ended = if repair {
            tested.repair()
        } else {
            tested.boot()
        };
        self.send(&Answer::Returned { operation: 0 })?;
        Ok(ended)
    }

    /// Recovers the file system; with the paths of a new one, also mounts it again and uses it. The
    /// outer error is that of the mailbox, the inner one that the file system cannot be unmounted.
    fn recover(
        &mut self,
        tested: &TestedFilesystem<'_>,
        (repair, without, exact): (bool, Option<usize>, bool),
        trial: Option<Trial>,
        kept: Option<&BTreeSet<String>>,
        report: &mut RecoveryReport,
    ) -> io::Result<Result<(), String>> {
        let audits = trial == Some(Trial::Audit);
        if audits {
            report.audit = tested.check().and_then(Result::err);
        }
        let ready = self.before_mount(tested, repair)?;
        let mounted = ready.and_then(|corrected_by| {
            report.corrected_by = corrected_by;
            match without {
                Some(disk) => tested.mount_without(disk),
                None => tested.mount(tested.contender),
            }
        });
        let mounted = match mounted {
            Ok(mounted) => mounted,
            Err(reason) => {
                report.refused = Some(reason);
                return Ok(Ok(()));
            }
        };
        if audits {
            report.audit = report.audit.take().or_else(|| tested.scrub());
        }
        if let Some(Trial::Rebuild(disk)) = trial {
            let began = Instant::now();
            let failed = tested.rebuild(disk, without.is_some()).err();
            report.rebuilt = Some((began.elapsed().into(), failed));
        }
        let began = Instant::now();
        let tree = crash::dump(&tested.target, exact);
        let read = began.elapsed();
        let files = match trial {
            None | Some(Trial::Rebuild(_)) => 0,
            Some(Trial::Use | Trial::Audit) => 1,
            Some(Trial::Timed) => TIMED_FILES,
        };
        let began = Instant::now();
        report.no_new_file = (0..files).find_map(|_| crash::make_file(&tested.target));
        if trial == Some(Trial::Timed) {
            report.took = Some((read.into(), began.elapsed().into()));
        }
        if let Err(reason) = mounted.unmount() {
            return Ok(Err(reason));
        }
        self.send(&Answer::Unmounted)?;
        let stuck = match kept {
            Some(kept) => try_again(tested, &tree, (kept, exact), report),
            None => Ok(()),
        };
        report.tree = Some(tree);
        Ok(stuck)
    }
}

/// Unmounts the file system after the work that was recorded.
fn unmount_recorded(
    tested: &TestedFilesystem<'_>,
    mounted: MountedFilesystem,
) -> Result<(), String> {
    mounted.unmount()?;
    flush_and_forget(tested)
}

fn flush_and_forget(tested: &TestedFilesystem<'_>) -> Result<(), String> {
    flush(tested)?;
    tested.forget()
}

/// Unmounts the file system after commands of the user. A process may hold it in another mount
/// namespace, and the next mount would get the files of this one: such processes are killed. The disk
/// can be opened exclusively when the kernel has ended them.
fn unmount_unused(mounted: MountedFilesystem) -> Result<(), String> {
    mounted.unmount()?;
    let flags = i32::try_from(OFlags::EXCL.bits()).unwrap_or_default();
    let path = disk(0);
    let mut tries = 0;
    loop {
        let opened = File::options().read(true).custom_flags(flags).open(&path);
        match opened {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < HELD_TRIES => {
                tries += 1;
                kill_other_namespaces()?;
                thread::sleep(HELD_POLL);
            }
            Err(error) => return Err(format!("{} after unmount: {error}", path.display())),
        }
    }
}

/// Kills the processes of other mount namespaces.
fn kill_other_namespaces() -> Result<(), String> {
    let failed = |error: io::Error| format!("/proc: {error}");
    let own = fs::read_link("/proc/self/ns/mnt").map_err(failed)?;
    for process in fs::read_dir("/proc").map_err(failed)? {
        let process = process.map_err(failed)?;
        let number = process.file_name();
        let number = number.to_str().and_then(|number| number.parse().ok());
        let other = fs::read_link(process.path().join("ns/mnt"));
        if let Some(pid) = number.and_then(Pid::from_raw)
            && other.is_ok_and(|other| other != own)
        {
            // It may have ended.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    Ok(())
}

/// Runs the check of an application on a file system whose recovery was judged before. The outer
/// error is that the check cannot be run, the inner one that the file system cannot be unmounted.
fn check_application(
    tested: &TestedFilesystem<'_>,
    check: &ApplicationCheck,
    report: &mut RecoveryReport,
) -> io::Result<Result<(), String>> {
    let mounted = tested.boot().and_then(|_| tested.mount(tested.contender));
    let mounted = match mounted {
        Ok(mounted) => mounted,
        Err(reason) => {
            report.refused = Some(reason);
            return Ok(Ok(()));
        }
    };
    report.application = crash::check(&tested.target, &check.command, &check.acknowledged)?;
    Ok(unmount_unused(mounted))
}

/// Mounts a recovered file system a second time, compares its files, and uses it.
fn try_again(
    tested: &TestedFilesystem<'_>,
    tree: &Tree,
    (kept, exact): (&BTreeSet<String>, bool),
    report: &mut RecoveryReport,
) -> Result<(), String> {
    let mounted = match tested.mount(tested.contender) {
        Ok(mounted) => mounted,
        Err(reason) => {
            report.unstable = Some(reason);
            return Ok(());
        }
    };
    report.unstable = difference(tree, &crash::dump(&tested.target, exact));
    report.unusable = crash::try_use(&tested.target, tree, kept);
    mounted.unmount()
}

/// Makes the file system and lets it settle; returns its files.
fn prepare(tested: &TestedFilesystem<'_>) -> Result<Tree, String> {
    tested.make()?;
    let mounted = tested.mount(tested.contender)?;
    thread::sleep(SETTLING);
    let tree = crash::dump(&tested.target, false);
    mounted.unmount()?;
    flush(tested)?;
    tested.forget()?;
    Ok(tree)
}

/// Flushes the caches of the disks under test.
fn flush(tested: &TestedFilesystem<'_>) -> Result<(), String> {
    for path in &tested.disks {
        let flushed = File::open(path).and_then(|disk| disk.sync_all());
        flushed.map_err(|error| format!("flush {path}: {error}"))?;
    }
    Ok(())
}
