//! QEMU: a virtual machine that runs the kernel of a distribution, with KVM if that works,
//! otherwise emulated (TCG). Its disks are files. Its root is the file system of the host,
//! read-only over 9p. It needs no privileges.

mod accelerator;
mod elf;
mod initramfs;
mod kernels;
mod newc;
mod unpacked;

use super::inside::entry::TAG;
use super::start::{Attachment, MACHINE, Setting, Start};
use super::{LINE_NAME, PLACE};
pub use accelerator::Accelerator;
use accelerator::accelerator;
use fsdyno_files::programs;
use fsdyno_host::guest_processes::pid_file;
use fsdyno_host::probe::{self, MODULES};
use fsdyno_model::{Availability, Need};
use initramfs::{FirstProcess, InitramfsError};
pub use kernels::cache;
use kernels::{Kernel, NoKernel};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The program and its Debian package.
const PROGRAM: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";

/// Kernel parameters of every guest: its console; no time stamps; and no check of the timer, since
/// interrupts of an emulated timer are late on a busy host.
const CONSOLE: &str = "console=ttyS0 printk.time=0 loglevel=4 no_timer_check";

/// Kernel parameters of an emulated guest: the clock source. The kernel would calibrate its
/// processor's counter at boot, which fails on a busy host; this one needs no calibration.
const CLOCK: &str = "tsc=unstable clocksource=hpet";

/// The error if guests of QEMU cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    #[error("no program `{PROGRAM}`; {}", need().remedy())]
    NoProgram,
    /// QEMU starts kernels of this machine's architecture, and only one architecture is supported.
    #[error(
        "guests of QEMU are for machines of x86-64, and this is {}",
        std::env::consts::ARCH
    )]
    OtherProcessor,
    #[error(transparent)]
    NoKernel(#[from] NoKernel),
    /// The initramfs could not be built.
    #[error("what a guest starts in: {0}")]
    Initramfs(#[from] InitramfsError),
    /// The memory file for a kernel or an initramfs could not be created.
    #[error("cannot hand a guest what it starts in: {0}")]
    Memory(#[source] io::Error),
}

/// The requirement of this lab on the host.
pub fn need() -> Need {
    Need::Program {
        name: PROGRAM.to_owned(),
        package: PACKAGE.to_owned(),
    }
}

/// QEMU with a kernel and an accelerator.
#[derive(Debug, Clone)]
pub struct Qemu {
    program: PathBuf,
    kernel: Kernel,
    /// The uncompressed kernel in memory; none if QEMU starts the compressed image.
    unpacked: Option<Arc<OwnedFd>>,
    accelerator: Accelerator,
}

impl Qemu {
    /// Finds QEMU and a kernel. It starts the kernel to find out whether KVM works, which takes
    /// about a second.
    pub fn find() -> Result<Self, QemuError> {
        let (program, kernel) = parts()?;
        let accelerator = accelerator(&program, &kernel);
        let unpacked = match accelerator {
            // With KVM the kernel uncompresses itself fast.
            Accelerator::Kvm => None,
            Accelerator::Tcg { .. } => unpacked::kernel(&read(&kernel.image)?),
        };
        let unpacked = unpacked.map(|kernel| in_memory(&kernel)).transpose()?;
        Ok(Self {
            accelerator,
            unpacked: unpacked.map(Arc::new),
            program,
            kernel,
        })
    }

    pub fn accelerator(&self) -> &Accelerator {
        &self.accelerator
    }

    /// The reason why it is emulated; none with KVM.
    pub(super) fn remark(&self) -> Option<String> {
        match &self.accelerator {
            Accelerator::Kvm => None,
            Accelerator::Tcg { why } => Some(format!(
                "guests of QEMU are emulated here (TCG), and their processor is many times slower \
                 than this one: {why}"
            )),
        }
    }

    pub(super) fn slowness(&self) -> u32 {
        match self.accelerator {
            Accelerator::Kvm => 1,
            Accelerator::Tcg { .. } => 5,
        }
    }

    /// The program with its arguments and its inherited descriptors. One is the initramfs, a file
    /// in memory.
    pub(super) fn start(
        &self,
        setting: &Setting<'_>,
        attachment: Attachment<'_>,
    ) -> Result<Start, QemuError> {
        let first_process = FirstProcess {
            init: setting.init,
            environment: self.environment(setting),
        };
        let initramfs = in_memory(&initramfs::build(&self.kernel, &first_process)?)?;
        let mut open = Vec::new();
        if let Some(kernel) = &self.unpacked {
            open.push(kernel.try_clone().map_err(QemuError::Memory)?);
        }
        let line = match attachment {
            Attachment::Terminal => None,
            Attachment::Line(line) => Some(line.as_raw_fd()),
        };
        let mut command = programs::at(&self.program);
        let kernel = open.first().map_or(self.kernel.image.clone(), file_of);
        let words = self.words(setting, &kernel, &file_of(&initramfs), line);
        command.args(words).current_dir("/");
        open.push(initramfs);
        Ok(Start { command, open })
    }

    /// The environment of the first process.
    fn environment(&self, setting: &Setting<'_>) -> Vec<OsString> {
        let variable = |name: &str, value: &OsStr| {
            let mut variable = OsString::from(name);
            variable.push("=");
            variable.push(value);
            variable
        };
        let mut variables = vec![
            variable(MACHINE, OsStr::new("qemu")),
            variable(MODULES, self.kernel.modules.as_os_str()),
            // For kernels with loadable virtio modules.
            variable("MODPROBE_OPTIONS", OsStr::new(&format!("-d{PLACE}"))),
            // A guest has no udev, so mdadm(8) must create the device nodes itself.
            variable("MDADM_NO_UDEV", OsStr::new("1")),
            variable("PATH", programs::path_variable()),
            variable("TMPDIR", Path::new(PLACE).join("tmp").as_os_str()),
            variable("HOME", OsStr::new("/")),
            variable("TERM", OsStr::new("linux")),
        ];
        variables.extend(setting.disk_kind().map(OsString::from));
        variables
    }

    /// The arguments of the program.
    fn words(
        &self,
        setting: &Setting<'_>,
        kernel: &Path,
        initramfs: &Path,
        line: Option<i32>,
    ) -> Vec<OsString> {
        let mut words = machine(kernel, &self.accelerator);
        let mut arg = |option: &str, value: OsString| words.extend([option.into(), value]);
        // Identifies the process for clean-up; see `guest_processes`.
        arg("-pidfile", pid_file(setting.scratch).into_os_string());
        let memory = setting.memory.0.div_ceil(1 << 10);
        arg("-m", format!("{memory}K").into());
        if setting.model.is_some() {
            // The server of its disks accesses its memory.
            let shared = format!("memory-backend-memfd,id=ram,share=on,size={memory}K");
            arg("-object", shared.into());
            arg("-machine", "memory-backend=ram".into());
        }
        arg("-smp", setting.processors.to_string().into());
        arg("-initrd", initramfs.into());
        let clock = match self.accelerator {
            Accelerator::Kvm => "",
            Accelerator::Tcg { .. } => CLOCK,
        };
        let append = format!(
            "{CONSOLE} {clock} panic=-1 BOOT_IMAGE=vmlinuz-{} rdinit=/init -- guest",
            self.kernel.release
        );
        arg("-append", append.into());
        // Ctrl-C goes to the guest.
        arg("-chardev", "stdio,id=console,signal=off".into());
        arg("-serial", "chardev:console".into());
        let root = "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap";
        arg("-fsdev", root.into());
        let root = format!("virtio-9p-pci,fsdev=root,mount_tag={TAG}");
        arg("-device", root.into());
        if let Some(line) = line {
            arg("-chardev", format!("socket,id=line,fd={line}").into());
            arg("-device", "virtio-serial-pci".into());
            let port = format!("virtserialport,chardev=line,name={LINE_NAME}");
            arg("-device", port.into());
        }
        for (number, disk) in setting.disks.iter().enumerate() {
            if setting.model.is_some() {
                let mut socket = OsString::from(format!("socket,id=disk{number},path="));
                socket.push(escaped(disk));
                arg("-chardev", socket);
                let device = format!("vhost-user-blk-pci,chardev=disk{number},num-queues=1");
                arg("-device", device.into());
                continue;
            }
            // A flush of the guest is a flush of the host's disk. Other writes may stay in the
            // host's cache.
            let options =
                format!("if=none,id=disk{number},format=raw,cache=writeback,discard=unmap,file=");
            let mut options = OsString::from(options);
            options.push(escaped(disk));
            arg("-drive", options);
            // A full disk of the host is an I/O error in the guest; by default QEMU would stop the
            // guest.
            let device = format!("virtio-blk-pci,drive=disk{number},werror=report,rerror=report");
            arg("-device", device.into());
        }
        words
    }
}

/// A path as a value in a list of options: a comma is doubled.
pub(crate) fn escaped(path: &Path) -> OsString {
    let mut bytes = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b',' {
            bytes.push(b',');
        }
    }
    OsString::from_vec(bytes)
}

/// Whether guests can be started. KVM is not probed.
pub fn availability() -> Availability {
    let Err(error) = parts() else {
        return Availability::Available;
    };
    let (reason, remedy) = match &error {
        QemuError::NoProgram => return probe::probe(&need()),
        QemuError::NoKernel(error) => (error.reason(), error.remedy()),
        error => (error.to_string(), "use another lab".to_owned()),
    };
    Availability::Missing { reason, remedy }
}

fn parts() -> Result<(PathBuf, Kernel), QemuError> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(QemuError::OtherProcessor);
    }
    let program = programs::find(PROGRAM).ok_or(QemuError::NoProgram)?;
    let running = rustix::system::uname();
    let running = running.release().to_string_lossy();
    let kernel = kernels::find(&running, Path::new("/"), kernels::cache().as_deref())?;
    Ok((program, kernel))
}

/// The arguments for the machine, which the test of KVM and a guest share.
fn machine(kernel: &Path, accelerator: &Accelerator) -> Vec<OsString> {
    let mut words = ["-nodefaults", "-no-user-config", "-no-reboot"]
        .map(OsString::from)
        .to_vec();
    let mut arg = |option: &str, value: &OsStr| words.extend([option.into(), value.to_owned()]);
    arg("-display", OsStr::new("none"));
    arg("-machine", OsStr::new("q35"));
    let (accelerator, processor) = match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        // Five-level page tables only cost time in emulation.
        Accelerator::Tcg { .. } => ("tcg", "max,la57=off"),
    };
    arg("-accel", OsStr::new(accelerator));
    arg("-cpu", OsStr::new(processor));
    arg("-kernel", kernel.as_os_str());
    words
}

/// The path of an inherited descriptor in the program.
fn file_of(descriptor: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}

fn read(path: &Path) -> Result<Vec<u8>, QemuError> {
    let content = fs::read(path).map_err(|cause| InitramfsError::Part {
        path: path.to_owned(),
        cause,
    });
    Ok(content?)
}

fn in_memory(content: &[u8]) -> Result<OwnedFd, QemuError> {
    let memory = memfd_create("fsdyno", MemfdFlags::CLOEXEC);
    let mut file = File::from(memory.map_err(|error| QemuError::Memory(error.into()))?);
    file.write_all(content).map_err(QemuError::Memory)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start::DiskKind;
    use fsdyno_model::Bytes;

    fn words(accelerator: Accelerator, disks: &[PathBuf], line: Option<i32>) -> Vec<String> {
        identifying_args(accelerator, disks, false, line)
    }

    fn identifying_args(
        accelerator: Accelerator,
        disks: &[PathBuf],
        served: bool,
        line: Option<i32>,
    ) -> Vec<String> {
        let qemu = Qemu {
            program: "/usr/bin/qemu".into(),
            kernel: Kernel {
                image: "/boot/vmlinuz-6.1".into(),
                release: "6.1".into(),
                modules: "/lib/modules/6.1".into(),
            },
            unpacked: None,
            accelerator,
        };
        let setting = Setting {
            memory: Bytes(256 << 20),
            processors: 2,
            disks,
            model: served.then_some(DiskKind::Rotating),
            scratch: Path::new("/s"),
            init: &[],
        };
        let words = qemu
            .words(
                &setting,
                &qemu.kernel.image,
                Path::new("/proc/self/fd/7"),
                line,
            )
            .into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn the_arguments_of_qemu_name_disks_root_and_port_and_paths_are_escaped() {
        let disks = ["/s/a.img", "/my, disks/b.img"].map(PathBuf::from);
        let tcg = Accelerator::Tcg { why: String::new() };
        let reported = words(tcg, &disks, Some(5));
        let options = "format=raw,cache=writeback,discard=unmap,file=";
        for (option, value) in [
            ("-drive", format!("if=none,id=disk0,{options}/s/a.img")),
            (
                "-drive",
                format!("if=none,id=disk1,{options}/my,, disks/b.img"),
            ),
            (
                "-device",
                "virtio-blk-pci,drive=disk1,werror=report,rerror=report".to_owned(),
            ),
            ("-chardev", "socket,id=line,fd=5".to_owned()),
            ("-initrd", "/proc/self/fd/7".to_owned()),
            ("-kernel", "/boot/vmlinuz-6.1".to_owned()),
            ("-m", "262144K".to_owned()),
            ("-smp", "2".to_owned()),
            ("-accel", "tcg".to_owned()),
            ("-pidfile", "/s/guest.pid".to_owned()),
        ] {
            let pair = [option.to_owned(), value];
            assert!(
                reported.windows(2).any(|two| two == pair),
                "{pair:?}: {reported:?}"
            );
        }
        let root = reported
            .iter()
            .find(|word| word.starts_with("local,"))
            .unwrap();
        assert!(root.contains("readonly=on"), "{root}");
        let shell = words(Accelerator::Kvm, &[], None);
        assert!(!shell.iter().any(|word| word.contains("line")), "{shell:?}");
        assert!(
            shell.windows(2).any(|two| two == ["-cpu", "host"]),
            "{shell:?}"
        );
    }

    #[test]
    fn a_guest_on_model_disks_shares_its_memory_with_those_who_serve_them() {
        let sockets = ["/s/disk0", "/my, disks/disk1"].map(PathBuf::from);
        let reported = identifying_args(Accelerator::Kvm, &sockets, true, None);
        for (option, value) in [
            ("-machine", "memory-backend=ram"),
            (
                "-object",
                "memory-backend-memfd,id=ram,share=on,size=262144K",
            ),
            ("-chardev", "socket,id=disk1,path=/my,, disks/disk1"),
            ("-device", "vhost-user-blk-pci,chardev=disk1,num-queues=1"),
        ] {
            let pair = [option, value];
            assert!(
                reported.windows(2).any(|two| two == pair),
                "{pair:?}: {reported:?}"
            );
        }
        assert!(
            !reported
                .iter()
                .any(|word| word.contains("virtio-blk-pci,drive"))
        );
    }
}
