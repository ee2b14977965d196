//! Shared code of the layouts below a file system: arrays of the kernel's md driver, set up with
//! mdadm.

use super::Layout;
use fsdyno_model::{Need, Requirement, Step};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub device: String,
    pub join: Vec<Step>,
    /// Steps that stop the array and erase its metadata.
    pub part: Vec<Step>,
    /// Steps after which the array works without its last device.
    pub lose: Vec<Step>,
    /// Steps that replace that device by an empty one, and end when its data are restored.
    pub rebuild: Vec<Step>,
    /// Steps that read the array and compare its copies, and end when that is done.
    pub scrub: Vec<Step>,
}

/// Requirements of a layout below the file system.
pub(super) fn requirements(layout: &Layout, level: &str) -> Vec<Requirement> {
    let program = Need::Program {
        name: "mdadm".to_owned(),
        package: "mdadm".to_owned(),
    };
    let module = Need::KernelModule(level.to_owned());
    let unlocks = || format!("the layout {}", layout.name);
    vec![
        Requirement::new(program, unlocks()),
        Requirement::new(module, unlocks()),
    ]
}

/// Creates an array with a unique name.
pub(super) fn joined(level: &str, devices: &[String], name: &str) -> Array {
    let device = format!("/dev/md/{name}");
    let count = format!("--raid-devices={}", devices.len());
    let level = format!("--level={level}");
    // `--run`: no prompt. `--assume-clean`: new mirrors are equal without a resync, which would
    // otherwise run in the background of the measurement.
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
    let last = devices.last().map_or("", String::as_str);
    let manage = |words: &[&str]| Step::command(["mdadm", &device].iter().chain(words).copied());
    // It ends when the kernel has nothing more to copy or to compare.
    let wait = Step::command(["mdadm", "--wait", &device]);
    Array {
        join: vec![join],
        part: vec![stop, forget],
        lose: vec![manage(&["--quiet", "--fail", last, "--remove", last])],
        rebuild: vec![
            Step::command(["mdadm", "--zero-superblock", "--quiet", last]),
            manage(&["--quiet", "--add", last]),
            wait.clone(),
        ],
        scrub: vec![
            Step::command(["mdadm", "--quiet", "--action=check", &device]),
            wait,
        ],
        device,
    }
}
