//! The accelerator of a virtual machine: KVM if a processor of it executes the firmware, otherwise
//! emulation (TCG).

use crate::qemu::Accelerator;
use fsdyno_files::programs;
use std::path::Path;

/// Starts the firmware with KVM and without a disk. It names itself on its debug port (0x402), and
/// then has nothing to boot.
pub(super) fn accelerator(program: &Path) -> Accelerator {
    let (accelerator, processor) = words(&Accelerator::Kvm);
    let mut command = programs::at(program);
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35", "-m", "64M"])
        .args(["-accel", accelerator, "-cpu", processor])
        .args(["-chardev", "stdio,id=log"])
        .args(["-device", "isa-debugcon,iobase=0x402,chardev=log"]);
    Accelerator::tried(command, "firmware", |_, console| {
        console.contains("SeaBIOS")
    })
}

/// The accelerator and the processor, as QEMU names them.
pub(super) fn words(accelerator: &Accelerator) -> (&'static str, &'static str) {
    match accelerator {
        Accelerator::Kvm => ("kvm", "host"),
        // Five-level page tables only cost time in emulation.
        Accelerator::Tcg { .. } => ("tcg", "max,la57=off"),
    }
}
