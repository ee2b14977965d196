//! A virtual machine that boots a system image of the user, with the system's own kernel and
//! programs. fsdyno logs in by ssh, over a forward of the loopback interface.
//!
//! The image is opened for reading only. All files of the machine are in a scratch directory: an
//! overlay that takes the writes, the disk of the first configuration, the keys, and the disks under
//! test. The machine has no other network than the way in.

mod accelerator;
mod cidata;
mod console;
mod image;
mod login;
mod overlay;
mod qmp;

pub use image::{ImageFileError, SystemImage};
pub use qmp::used_between;

use crate::ended;
use crate::process::GuestProcess;
use crate::qemu::{Accelerator, escaped};
use crate::start::inherit;
use console::SerialConsole;
use fsdyno_files::programs;
use fsdyno_host::guest_processes::pid_file;
use fsdyno_host::journal::{Journal, JournalError};
use fsdyno_host::last_lines::LastLines;
use fsdyno_host::ssh::{GuestLogin, Ssh, SshError};
use fsdyno_model::{Bytes, CancelToken, DeviceUse};
use login::ConsoleLogin;
use qmp::Monitor;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "qemu-system-x86_64";

/// How long a system may take until root can log in. An emulated one takes minutes, and makes its
/// host keys first.
const BOOT_TIMEOUT: Duration = Duration::from_secs(300);
const SLOWNESS: u32 = 8;
/// The time between two attempts to log in.
const PAUSE: Duration = Duration::from_secs(2);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(90);
/// How long the system may ask for a name on its console until fsdyno logs in there.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time between two messages of the progress.
const PROGRESS: Duration = Duration::from_secs(60);
/// What an image of a virtual machine has room for when its system grows to the size of its disk.
const MORE_ROOM: Bytes = Bytes(16 << 30);
/// How many last lines of its console are reported.
const LAST_LINES: usize = 6;

/// The reason why a virtual machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    #[error("no program `{PROGRAM}`; {}", crate::qemu::need().remedy())]
    NoProgram,
    #[error(
        "virtual machines are for machines of x86-64, and this is {}",
        std::env::consts::ARCH
    )]
    OtherProcessor,
    #[error(transparent)]
    Image(#[from] ImageFileError),
    #[error("cannot {act} for a virtual machine: {cause}")]
    Host {
        act: String,
        #[source]
        cause: io::Error,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// It ended before root could log in, or nobody could.
    #[error("the system of {} {what}", image.display())]
    NoLogin { image: PathBuf, what: String },
    #[error("stopped on request")]
    Stopped,
}

impl VmError {
    fn host(act: &str) -> impl FnOnce(io::Error) -> Self {
        let act = act.to_owned();
        |cause| Self::Host { act, cause }
    }
}

/// What a virtual machine is made of.
#[derive(Debug)]
pub struct VmSetting {
    pub image: SystemImage,
    pub memory: Bytes,
    pub processors: u32,
    /// The number and the size of the disks under test.
    pub disks: (u32, Bytes),
    /// The directory of all files of the machine.
    pub scratch: PathBuf,
}

/// QEMU with the image, from which machines are started.
#[derive(Debug)]
pub struct VmHost {
    program: PathBuf,
    accelerator: Accelerator,
    setting: VmSetting,
    /// The image without compression.
    system: File,
    /// The public key of this run.
    key: String,
}

/// A running virtual machine. Dropping it ends it.
#[derive(Debug)]
pub struct Vm {
    process: Process,
    console: SerialConsole,
    monitor: Monitor,
    disks: Vec<String>,
    ssh: Ssh,
}

/// The serial number of a disk under test, by which the system finds it.
pub fn disk_serial(number: u32) -> String {
    format!("fsdyno{number}")
}

impl VmHost {
    /// Finds QEMU and the accelerator, and prepares the image and the keys in the scratch directory.
    pub fn new(setting: VmSetting, stop: &CancelToken) -> Result<Self, VmError> {
        let program = program()?;
        let system = setting
            .image
            .uncompressed(&setting.scratch.join("system.image"), stop)
            .map_err(|error| match error {
                ImageFileError::Stopped => VmError::Stopped,
                error => error.into(),
            })?;
        let key = make_key(&setting.scratch)?;
        Ok(Self {
            accelerator: accelerator::accelerator(&program),
            program,
            setting,
            system,
            key,
        })
    }

    pub fn accelerator(&self) -> &Accelerator {
        &self.accelerator
    }

    /// The image that it boots.
    pub fn image(&self) -> &Path {
        self.setting.image.path()
    }

    /// Starts a machine on new disks, and waits until root can log in. `progress` receives the time
    /// since the start.
    pub fn start(
        &self,
        journal: &Journal,
        stop: &CancelToken,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<Vm, VmError> {
        self.make_files().map_err(VmError::host("make the disks"))?;
        let pair = || UnixStream::pair().map_err(VmError::host("make a line"));
        let ((console, its_console), (monitor, its_monitor)) = (pair()?, pair()?);
        let mut command = programs::at(&self.program);
        let inherited: [OwnedFd; 3] = [
            its_console.into(),
            its_monitor.into(),
            (self.system.try_clone())
                .map_err(VmError::host("open the image"))?
                .into(),
        ];
        self.write_overlay(&inherited[2])
            .map_err(VmError::host("write an overlay"))?;
        command
            .args(self.words(&inherited[0], &inherited[1]))
            .current_dir("/");
        for descriptor in &inherited {
            inherit(&mut command, descriptor);
        }
        let mut process = self.spawn(command, journal)?;
        drop(inherited);
        let console = SerialConsole::new(console).map_err(VmError::host("open the console"))?;
        let monitor = Monitor::new(monitor).and_then(|mut monitor| {
            let port = monitor.forwarded_port()?;
            Ok((monitor, port))
        });
        let (monitor, port) = monitor.map_err(|cause| self.died(&mut process, &console, &cause))?;
        let ssh = Ssh::to_guest(&GuestLogin {
            port,
            key: self.at("key"),
            known_hosts: self.at("known_hosts"),
        })?;
        let count = self.setting.disks.0;
        let mut vm = Vm {
            process,
            console,
            monitor,
            disks: (0..count).map(disk_name).collect(),
            ssh,
        };
        self.wait(&mut vm, stop, progress)?;
        Ok(vm)
    }

    /// The failure of QEMU at its start.
    fn died(&self, process: &mut Process, console: &SerialConsole, cause: &io::Error) -> VmError {
        process.guest.kill();
        let mut lines = process.printed.last(LAST_LINES);
        lines.extend(console.last(LAST_LINES));
        let lines = if lines.is_empty() {
            cause.to_string()
        } else {
            lines.join("; ")
        };
        self.no_login(format!("does not start: {lines}"))
    }

    fn no_login(&self, what: String) -> VmError {
        VmError::NoLogin {
            image: self.image().to_owned(),
            what,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.setting.scratch.join(name)
    }

    /// Makes all disks but that of the system anew, and forgets the key of the host.
    fn make_files(&self) -> io::Result<()> {
        let configuration = cidata::disk(&[
            ("meta-data", "instance-id: fsdyno\nlocal-hostname: fsdyno\n"),
            ("user-data", &login::script(&self.key)),
        ]);
        fs::write(self.at("cidata.image"), configuration)?;
        fs::write(self.at("known_hosts"), "")?;
        let (count, size) = self.setting.disks;
        for number in 0..count {
            // A shorter file has no blocks of an earlier machine.
            let disk = File::create(self.at(&disk_name(number)))?;
            disk.set_len(size.0)?;
        }
        Ok(())
    }

    fn write_overlay(&self, system: &OwnedFd) -> io::Result<()> {
        let image = &self.setting.image;
        let backing = format!("/proc/self/fd/{}", system.as_raw_fd());
        let size = Bytes(image.size().0.saturating_add(MORE_ROOM.0));
        let bytes = overlay::overlay(&backing, image.format(), size);
        fs::write(self.at("overlay.qcow2"), bytes)
    }

    fn spawn(&self, mut command: Command, journal: &Journal) -> Result<Process, VmError> {
        let (received, written) = io::pipe().map_err(VmError::host("make a pipe"))?;
        let errors = written.try_clone().map_err(VmError::host("make a pipe"))?;
        command.stdin(Stdio::null()).stdout(written).stderr(errors);
        let failed = |_: &Command, cause| VmError::host("start QEMU")(cause);
        let guest = GuestProcess::spawn(&mut command, &self.setting.scratch, journal, failed)?;
        // Closes the end of the pipe that only QEMU may hold.
        drop(command);
        Ok(Process {
            guest,
            printed: LastLines::of(received),
        })
    }

    /// The arguments of QEMU.
    fn words(&self, console: &OwnedFd, monitor: &OwnedFd) -> Vec<OsString> {
        let fixed = ["-nodefaults", "-no-user-config", "-no-reboot"];
        let mut words = fixed.map(OsString::from).to_vec();
        let mut arg = |option: &str, value: OsString| words.extend([option.into(), value]);
        // Identifies the process for clean-up; see `guest_processes`.
        arg("-pidfile", pid_file(&self.setting.scratch).into_os_string());
        let denied = "elevateprivileges=deny,spawn=deny,resourcecontrol=deny,obsolete=deny";
        arg("-sandbox", format!("on,{denied}").into());
        arg("-display", "none".into());
        // Boot loaders print on a screen, too.
        arg("-vga", "std".into());
        arg("-machine", "q35".into());
        let (accelerator, processor) = accelerator::words(&self.accelerator);
        arg("-accel", accelerator.into());
        arg("-cpu", processor.into());
        arg(
            "-m",
            format!("{}K", self.setting.memory.0.div_ceil(1 << 10)).into(),
        );
        arg("-smp", self.setting.processors.to_string().into());
        let socket = |id: &str, line: &OwnedFd| {
            OsString::from(format!("socket,id={id},fd={}", line.as_raw_fd()))
        };
        arg("-chardev", socket("console", console));
        arg("-serial", "chardev:console".into());
        arg("-chardev", socket("monitor", monitor));
        arg("-mon", "chardev=monitor,mode=control".into());
        // The only way in or out. Port 0 is any free one, which the monitor names.
        let net = "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22";
        arg("-netdev", net.into());
        arg("-device", "virtio-net-pci,netdev=net,romfile=".into());
        // Its first boot makes keys.
        arg("-device", "virtio-rng-pci".into());
        let mut disk = |id: &str, format: &str, file: PathBuf, more: &str| {
            let options =
                format!("if=none,id={id},format={format},cache=writeback,discard=unmap,file=");
            let mut options = OsString::from(options);
            options.push(escaped(&file));
            arg("-drive", options);
            // A full disk of this machine is an I/O error there; by default QEMU would stop it.
            let errors = "werror=report,rerror=report";
            arg(
                "-device",
                format!("virtio-blk-pci,drive={id},{errors},{more}").into(),
            );
        };
        disk("system", "qcow2", self.at("overlay.qcow2"), "bootindex=0");
        for number in 0..self.setting.disks.0 {
            let serial = format!("serial={}", disk_serial(number));
            let name = disk_name(number);
            disk(&name, "raw", self.at(&name), &serial);
        }
        disk("cidata", "raw", self.at("cidata.image"), "serial=cidata");
        words
    }

    /// Waits until root can log in.
    fn wait(
        &self,
        vm: &mut Vm,
        stop: &CancelToken,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<(), VmError> {
        let slowness = match self.accelerator {
            Accelerator::Kvm => 1,
            Accelerator::Tcg { .. } => SLOWNESS,
        };
        let (limit, patience) = (BOOT_TIMEOUT * slowness, PATIENCE * slowness);
        let (start, mut login, mut reported) = (Instant::now(), ConsoleLogin::new(), PROGRESS);
        loop {
            let attempt = self.attempt(&vm.ssh, stop)?;
            let last = match attempt {
                Attempt::In => return Ok(()),
                Attempt::Failed(last) => last,
            };
            login.advance(&mut vm.console, &self.key, patience);
            let status = vm
                .process
                .guest
                .try_wait()
                .map_err(VmError::host("wait for QEMU"))?;
            let elapsed = start.elapsed();
            let what = match status {
                Some(status) => Some(ended(status)),
                None if elapsed > limit => Some(format!(
                    "lets nobody in within {} minutes ({last}{})",
                    limit.as_secs() / 60,
                    if login.is_refused() {
                        "; on its console root has a password"
                    } else {
                        ""
                    }
                )),
                None => None,
            };
            if let Some(what) = what {
                let mut lines = vm.console.last(LAST_LINES);
                if status.is_some() {
                    lines.extend(vm.process.printed.last(LAST_LINES));
                }
                let lines = lines.join("; ");
                return Err(self.no_login(format!("{what}; its console: {lines}")));
            }
            if elapsed >= reported {
                progress(elapsed);
                reported += PROGRESS;
            }
            sleep(PAUSE, stop)?;
        }
    }

    /// Tries to log in. A system that lets root in without the key gets the key, and lets root in by
    /// it only from then on.
    fn attempt(&self, ssh: &Ssh, stop: &CancelToken) -> Result<Attempt, VmError> {
        let key = self.key.split(' ').nth(1).unwrap_or_default();
        let known = format!("grep -qsF '{key}' /root/.ssh/authorized_keys");
        let (status, printed) = run(ssh.first_command(&known), None, stop)?;
        match status {
            Some(0) => {}
            Some(1) => {
                let script = self.at("login.sh");
                let input = fs::write(&script, login::script(&self.key))
                    .and_then(|()| File::open(&script))
                    .map_err(VmError::host("write a script"))?;
                run(ssh.first_command("exec /bin/sh -s"), Some(input), stop)?;
                return Ok(Attempt::Failed(
                    "the key of this run was not installed".to_owned(),
                ));
            }
            _ => return Ok(Attempt::Failed(printed)),
        }
        Ok(Attempt::In)
    }
}

enum Attempt {
    In,
    /// The last line of ssh.
    Failed(String),
}

/// Runs an ssh command for a while; its status, and its last line.
fn run(
    mut command: Command,
    input: Option<File>,
    stop: &CancelToken,
) -> Result<(Option<i32>, String), VmError> {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0);
    if let Some(input) = input {
        command.stdin(input);
    }
    let mut child = command.spawn().map_err(VmError::host("start ssh"))?;
    let mut printed = match child.stderr.take() {
        Some(stderr) => LastLines::of(stderr),
        None => LastLines::of(io::empty()),
    };
    let deadline = Instant::now() + ATTEMPT;
    let status = loop {
        let status = child.try_wait().map_err(VmError::host("wait for ssh"))?;
        if status.is_some() || stop.requested() || Instant::now() > deadline {
            break status;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let _ = child.kill();
    let _ = child.wait();
    if stop.requested() {
        return Err(VmError::Stopped);
    }
    let last = printed.last(1).concat();
    Ok((status.and_then(|status| status.code()), last))
}

fn sleep(time: Duration, stop: &CancelToken) -> Result<(), VmError> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if stop.requested() {
            return Err(VmError::Stopped);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn disk_name(number: u32) -> String {
    format!("disk{number}")
}

/// Whether virtual machines can be started here. KVM is not probed.
pub fn program() -> Result<PathBuf, VmError> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(VmError::OtherProcessor);
    }
    programs::find(PROGRAM).ok_or(VmError::NoProgram)
}

/// Makes the key of this run; returns its public part.
fn make_key(scratch: &Path) -> Result<String, VmError> {
    let failed = VmError::host;
    let mut command =
        programs::command("ssh-keygen").map_err(failed("make a key with ssh-keygen"))?;
    let path = scratch.join("key");
    command
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "fsdyno", "-f"])
        .arg(&path)
        .stdin(Stdio::null());
    let ran = command
        .output()
        .map_err(failed("make a key with ssh-keygen"))?;
    if !ran.status.success() {
        let printed = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        return Err(failed("make a key with ssh-keygen")(io::Error::other(
            printed,
        )));
    }
    let key = fs::read_to_string(path.with_extension("pub")).map_err(failed("read a key"))?;
    Ok(key.trim().to_owned())
}

/// The process of QEMU, and its own messages.
#[derive(Debug)]
struct Process {
    guest: GuestProcess,
    printed: LastLines,
}

impl Vm {
    /// The way into it.
    pub fn ssh(&self) -> &Ssh {
        &self.ssh
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.guest.try_wait(), Ok(None))
    }

    /// The last lines of its console.
    pub fn last_lines(&self) -> Vec<String> {
        self.console.last(LAST_LINES)
    }

    /// The counters of its first disks under test since they were made.
    pub fn counters(&mut self, disks: u32) -> io::Result<DeviceUse> {
        let count = self.disks.len().min(disks as usize);
        self.monitor.counters(&self.disks[..count])
    }
}
