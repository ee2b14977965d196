//! The accelerator of QEMU: KVM if a kernel starts with it, otherwise emulation (TCG).

use super::kernels::Kernel;
use super::{CONSOLE, machine};
use crate::console::Console;
use crate::ended;
use fsdyno_files::programs;
use fsdyno_host::command::die_with_parent;
use fsdyno_host::signals;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

/// Timeout for the start of a kernel with KVM, which takes about a second.
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
    match try_kvm(program, kernel) {
        Ok(()) => Accelerator::Kvm,
        Err(why) => Accelerator::Tcg { why },
    }
}

/// Starts the kernel with KVM and without a root file system. If KVM works, the kernel reports the
/// missing root and ends.
fn try_kvm(program: &Path, kernel: &Kernel) -> Result<(), String> {
    const DEVICE: &str = "/dev/kvm";
    let device = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    device.map_err(|error| format!("{DEVICE}: {error}"))?;
    let failed = |error: io::Error| format!("{}: {error}", program.display());
    let (received, written) = io::pipe().map_err(failed)?;
    let mut command = programs::at(program);
    command
        .args(machine(&kernel.image, &Accelerator::Kvm))
        .args(["-m", "256M", "-serial", "stdio", "-append"])
        .arg(format!("{CONSOLE} panic=-1"))
        .stdin(Stdio::null())
        .stdout(written.try_clone().map_err(failed)?)
        .stderr(written);
    die_with_parent(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    drop(command);
    let mut console = Console::of(received);
    let (deadline, stop) = (Instant::now() + KVM_TIMEOUT, signals::of_process());
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break Some(status),
            None if Instant::now() >= deadline || stop.requested() => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let _ = child.kill();
    let _ = child.wait();
    let last = console.last(1).concat();
    match status {
        Some(status) if status.success() && last.contains("Kernel panic") => Ok(()),
        Some(status) => Err(format!("on KVM a guest {} ({last})", ended(status))),
        None => Err(format!(
            "on KVM no guest starts within {} s",
            KVM_TIMEOUT.as_secs()
        )),
    }
}
