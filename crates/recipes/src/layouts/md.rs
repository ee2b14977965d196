//! What the layouts below a file system share: devices joined by the kernel's md driver, through
//! mdadm.

use super::Layout;
use fsdyno_model::{Need, Requirement, Step};

/// Devices joined to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// What they are joined to.
    pub device: String,
    /// Joining them.
    pub join: Vec<Step>,
    /// Parting them, and forgetting that they were joined.
    pub part: Vec<Step>,
}

/// What a layout below the file system needs.
pub(super) fn requirements(layout: &Layout) -> Vec<Requirement> {
    let program = Need::Program {
        name: "mdadm".to_owned(),
        package: "mdadm".to_owned(),
    };
    let module = Need::KernelModule(layout.name.to_owned());
    let unlocks = || format!("the layout {}", layout.name);
    vec![
        Requirement::new(program, unlocks()),
        Requirement::new(module, unlocks()),
    ]
}

/// Joins devices under a name that nothing else has.
pub(super) fn joined(layout: &Layout, devices: &[String], name: &str) -> Joined {
    let device = format!("/dev/md/{name}");
    let count = format!("--raid-devices={}", devices.len());
    let level = format!("--level={}", layout.name);
    // `--run`: it must not ask. `--assume-clean`: new mirrors are the same without being copied,
    // which else went on in the background of what is measured.
    let words = [
        "mdadm",
        "--create",
        &device,
        "--run",
        "--quiet",
        "--metadata=1.2",
    ];
    let words = words.into_iter().chain(["--assume-clean", &level, &count]);
    let join = Step::command(words.chain(devices.iter().map(String::as_str)));
    let forget = ["mdadm", "--zero-superblock", "--quiet"];
    let forget = Step::command(forget.into_iter().chain(devices.iter().map(String::as_str)));
    let stop = Step::StopArray {
        device: device.clone(),
    };
    Joined {
        device,
        join: vec![join],
        part: vec![stop, forget],
    }
}
