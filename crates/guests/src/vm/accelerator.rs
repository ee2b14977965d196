//! The accelerator of a virtual machine: KVM if a processor of it executes the firmware, otherwise
//! emulation (TCG).

use crate::console::Console;
use crate::ended;
use crate::qemu::Accelerator;
use fsdyno_files::programs;
use fsdyno_host::command::die_with_parent;
use fsdyno_host::signals;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Timeout for the start of the firmware with KVM, which takes less than a second.
const KVM_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn accelerator(program: &Path) -> Accelerator {
    match try_kvm(program) {
        Ok(()) => Accelerator::Kvm,
        Err(why) => Accelerator::Tcg { why },
    }
}

/// The accelerator and the processor, as QEMU names them.
pub(super) fn words(accelerator: &Accelerator) -> (&'static str, &'static str) {
    match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        // Five-level page tables only cost time in emulation.
        Accelerator::Tcg { .. } => ("tcg", "max,la57=off"),
    }
}

/// Starts the firmware with KVM and without a disk. It names itself on its debug port (0x402), and
/// then has nothing to boot.
fn try_kvm(program: &Path) -> Result<(), String> {
    const DEVICE: &str = "/dev/kvm";
    let device = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    device.map_err(|error| format!("{DEVICE}: {error}"))?;
    let failed = |error: io::Error| format!("{}: {error}", program.display());
    let (received, written) = io::pipe().map_err(failed)?;
    let (accelerator, processor) = words(&Accelerator::Kvm);
    let mut command = programs::at(program);
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35", "-m", "64M"])
        .args(["-accel", accelerator, "-cpu", processor])
        .args(["-chardev", "stdio,id=log"])
        .args(["-device", "isa-debugcon,iobase=0x402,chardev=log"])
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
        let boots = console.contains("SeaBIOS");
        if status.is_some() || boots || Instant::now() >= deadline || stop.requested() {
            break status.filter(|_| !boots);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let boots = console.contains("SeaBIOS");
    let _ = child.kill();
    let _ = child.wait();
    match status {
        _ if boots => Ok(()),
        Some(status) => {
            let last = console.last(1).concat();
            Err(format!("on KVM a guest {} ({last})", ended(status)))
        }
        None => Err(format!(
            "on KVM no firmware starts within {} s",
            KVM_TIMEOUT.as_secs()
        )),
    }
}
