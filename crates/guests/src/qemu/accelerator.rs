//! The accelerator of QEMU: KVM if a kernel starts with it, otherwise emulation (TCG).

use super::kernels::Kernel;
use super::{CONSOLE, machine};
use crate::console::Console;
use crate::ended;
use fsdyno_files::programs;
use fsdyno_files::programs::die_with_parent;
use fsdyno_host::signals;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

/// Timeout for the start of a kernel or the firmware with KVM, which takes about a second.
const KVM_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor executes the instructions of the guest.
    Kvm,
    /// QEMU emulates the processor.
    Tcg {
        /// The reason why KVM is not used.
        why: String,
    },
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kvm => "KVM",
            Self::Tcg { .. } => "TCG",
        })
    }
}

/// Selects KVM if the kernel starts with it.
pub(super) fn accelerator(program: &Path, kernel: &Kernel) -> Accelerator {
    // Without a root file system. If KVM works, the kernel reports the missing root and ends.
    let mut command = programs::at(program);
    command
        .args(machine(&kernel.image, &Accelerator::Kvm))
        .args(["-m", "256M", "-serial", "stdio", "-append"])
        .arg(format!("{CONSOLE} panic=-1"));
    Accelerator::tried(command, "guest", |status, console| {
        status.is_some_and(|status| status.success())
            && console.last(1).concat().contains("Kernel panic")
    })
}

impl Accelerator {
    /// KVM if this command of QEMU works with it. `works` judges how it ended, if it did, and its console.
    pub(crate) fn tried(
        command: Command,
        what: &str,
        works: impl Fn(Option<ExitStatus>, &mut Console) -> bool,
    ) -> Self {
        match try_kvm(command, what, works) {
            Ok(()) => Self::Kvm,
            Err(why) => Self::Tcg { why },
        }
    }
}

fn try_kvm(
    mut command: Command,
    what: &str,
    works: impl Fn(Option<ExitStatus>, &mut Console) -> bool,
) -> Result<(), String> {
    const DEVICE: &str = "/dev/kvm";
    let device = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    device.map_err(|error| format!("{DEVICE}: {error}"))?;
    let program = Path::new(command.get_program()).display().to_string();
    let failed = |error: io::Error| format!("{program}: {error}");
    let (received, written) = io::pipe().map_err(failed)?;
    command
        .stdin(Stdio::null())
        .stdout(written.try_clone().map_err(failed)?)
        .stderr(written);
    die_with_parent(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    drop(command);
    let mut console = Console::of(received);
    let (deadline, stop) = (Instant::now() + KVM_TIMEOUT, signals::of_process());
    let status = loop {
        let status = child.try_wait().map_err(failed)?;
        let is_over = status.is_some() || Instant::now() >= deadline || stop.requested();
        if is_over || works(status, &mut console) {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let _ = child.kill();
    let _ = child.wait();
    let last = console.last(1).concat();
    match status {
        _ if works(status, &mut console) => Ok(()),
        Some(status) => Err(format!("on KVM a guest {} ({last})", ended(status))),
        None => Err(format!(
            "on KVM no {what} starts within {} s",
            KVM_TIMEOUT.as_secs()
        )),
    }
}
