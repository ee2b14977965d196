//! Shared code of the layouts below a file system: arrays of the kernel's md driver, set up with
//! mdadm.

use super::Layout;
use fsdyno_model::{Need, Requirement, Step};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    pub device: String,
    pub join: Vec<Step>,
    /// A step that starts an array that was stopped, also if one of its devices is missing.
    pub start: Step,
    /// Steps that stop the array and erase its metadata.
    pub part: Vec<Step>,
    /// Steps after which the array works without its last device.
    pub lose: Vec<Step>,
    /// Steps that replace that device by an empty one, and end when its data are restored.
    pub rebuild: Vec<Step>,
    /// Steps that read the array and compare its copies, and end when that is done.
    pub scrub: Vec<Step>,
    /// Steps that make its copies equal, and end when that is done.
    pub resync: Vec<Step>,
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

/// Where the superblock of version 1.2 is on a device, bytes, and its first word
/// (`include/uapi/linux/raid/md_p.h`).
const SUPERBLOCK: u64 = 4096;
const MAGIC: u32 = 0xa92b_4efc;

/// The level of mirrors in it.
const MIRROR: u32 = 1;

/// The first byte of a device of an array whose devices are copies of each other.
pub(super) fn copy_start(read: &mut dyn FnMut(u64, &mut [u8])) -> Option<u64> {
    let mut bytes = [0; 136];
    read(SUPERBLOCK, &mut bytes);
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let sectors = u64::from_le_bytes(bytes.get(128..136)?.try_into().ok()?);
    (word(0)? == MAGIC && word(72)? == MIRROR).then_some(sectors.checked_mul(512)?)
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
    let action = |name: &str| {
        let action = format!("--action={name}");
        Step::command(["mdadm", "--quiet", &*action, &*device])
    };
    // All devices are examined: one that cannot be read is left out.
    let start = [
        "mdadm",
        "--assemble",
        "--quiet",
        "--run",
        "--config=partitions",
    ];
    let of_name = format!("--name={name}");
    let start = Step::command(start.into_iter().chain([&*device, &*of_name]));
    Array {
        join: vec![join],
        start,
        part: vec![stop, forget],
        lose: vec![manage(&["--quiet", "--fail", last, "--remove", last])],
        rebuild: vec![
            Step::command(["mdadm", "--zero-superblock", "--quiet", last]),
            manage(&["--quiet", "--add", last]),
            wait.clone(),
        ],
        scrub: vec![action("check"), wait.clone()],
        resync: vec![action("repair"), wait],
        device,
    }
}
