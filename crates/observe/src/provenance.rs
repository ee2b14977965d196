//! Provenance: the machine, its kernel, its programs and its devices, read from `/proc` and `/sys`
//! and from the version output of programs. Unknown facts are left out or named unknown, never
//! guessed.

use fsdyno_host::command::{self, CommandError};
use fsdyno_host::mounts::{Mount, mountinfo};
use fsdyno_host::probe;
use fsdyno_host::signals;
use fsdyno_host::sysfs::{Block, split};
use fsdyno_model::Effective;
use fsdyno_model::provenance::DeviceFacts;
use fsdyno_model::{Availability, Need, Provenance};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Describes this machine.
///
/// `programs` are names with the arguments that print a version (`["mkfs.ext4", "-V"]`); `devices`
/// are block devices, or directories on them, with their roles. A device that cannot be described
/// has only its name and role: provenance stops no run.
pub fn collect(programs: &[(String, Vec<String>)], devices: &[(PathBuf, &str)]) -> Provenance {
    let system = rustix::system::uname();
    Provenance {
        fsdyno: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: [system.sysname(), system.release(), system.machine()]
            .map(|part| part.to_string_lossy().into_owned())
            .join(" "),
        kernel_build: system.version().to_string_lossy().into_owned(),
        distribution: distribution(&read("/etc/os-release")),
        processor: processor(&read("/proc/cpuinfo")),
        processors: allowed_processors(),
        memory_bytes: memory_bytes(&read("/proc/meminfo")),
        virtualisation: virtualisation(),
        governor: attribute("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        devices: devices
            .iter()
            .map(|(path, role)| {
                device_facts(path, role).unwrap_or_else(|_| DeviceFacts {
                    name: path.display().to_string(),
                    role: (*role).to_owned(),
                    ..DeviceFacts::default()
                })
            })
            .collect(),
        programs: programs
            .iter()
            .map(|(name, argv)| (name.clone(), version(argv)))
            .collect(),
        root: probe::probe(&Need::Root) == Availability::Available,
        uid: Some(uid()),
    }
}

/// The name of this machine, its processor and its kernel.
pub fn machine() -> Effective {
    let system = rustix::system::uname();
    Effective {
        source: Effective::MACHINE.to_owned(),
        text: format!(
            "{}: {}, {}",
            system.nodename().to_string_lossy(),
            processor(&read("/proc/cpuinfo")),
            system.release().to_string_lossy()
        ),
    }
}

/// The effective user of this process.
pub fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Describes a block device, or the device under the file system that holds a directory.
///
/// A file system without a block device (memory, network) is described by its source and type.
pub fn device_facts(path: &Path, role: &str) -> io::Result<DeviceFacts> {
    if let Some(block) = Block::named_by(path)? {
        let mut facts = block_facts(&block, role);
        facts.host_filesystem = block
            .backing_file()
            .and_then(|file| mountinfo(&file).ok())
            .map(|mount| mount.fstype);
        return Ok(facts);
    }
    let mount = mountinfo(path)?;
    let mut facts = match block_under(&mount) {
        Some(block) => block_facts(&block, role),
        None => DeviceFacts {
            name: mount.source.display().to_string(),
            role: role.to_owned(),
            ..DeviceFacts::default()
        },
    };
    facts.host_filesystem = Some(mount.fstype);
    Ok(facts)
}

/// The description of a block device in `/sys`; a partition has the queue of its disk.
fn block_facts(block: &Block, role: &str) -> DeviceFacts {
    let queue = |name: &str| block.disk_attribute(&format!("queue/{name}"));
    DeviceFacts {
        name: block.name.clone(),
        role: role.to_owned(),
        model: model(block),
        size_bytes: block.size_bytes(),
        rotational: queue("rotational").map(|text| text == "1"),
        scheduler: queue("scheduler").map(|text| chosen(&text)),
        write_cache: queue("write_cache"),
        logical_block_bytes: queue("logical_block_size")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        host_filesystem: None,
    }
}

/// The model of a device or, for a composed device, of the first member that has one.
fn model(block: &Block) -> Option<String> {
    let vendor = block.disk_attribute("device/vendor");
    match (block.disk_attribute("device/model"), vendor) {
        (Some(model), Some(vendor)) if !vendor.starts_with("0x") && vendor != "ATA" => {
            Some(format!("{vendor} {model}"))
        }
        (Some(model), _) => Some(model),
        (None, _) => block.slaves().ok()?.iter().find_map(model),
    }
}

/// The scheduler in brackets (`none [mq-deadline]`), or the only one there is.
fn chosen(list: &str) -> String {
    list.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(list, |(name, _)| name)
        .to_owned()
}

/// The block device of a mount. Some file systems have an anonymous number (major 0): then the
/// source names a device.
fn block_under(mount: &Mount) -> Option<Block> {
    let number = if mount.number.0 != 0 {
        mount.number
    } else {
        let node = fs::metadata(&mount.source).ok()?;
        split(std::os::unix::fs::MetadataExt::rdev(&node))
    };
    Block::numbered(number).ok()
}

/// The first line a program prints about its version, on either stream.
fn version(argv: &[String]) -> String {
    if argv.is_empty() {
        return "unknown".to_owned();
    }
    match command::query(argv, &signals::of_process()) {
        Ok(ended) => first_line(&ended.stdout)
            .or_else(|| first_line(&ended.stderr))
            .unwrap_or_else(|| "unknown".to_owned()),
        Err(CommandError::NotFound { .. }) => "not found".to_owned(),
        Err(error) => format!("unknown ({error})"),
    }
}

fn first_line(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

/// The hypervisor and the container around it (`kvm, docker`); `none` on bare metal.
fn virtualisation() -> String {
    let layers: Vec<String> = [hypervisor(), container()].into_iter().flatten().collect();
    if layers.is_empty() {
        return "none".to_owned();
    }
    layers.join(", ")
}

/// The virtualisation that systemd detects, if it is installed and finds any.
fn detected(kind: &str) -> Option<String> {
    let argv = ["systemd-detect-virt".to_owned(), kind.to_owned()];
    Some(version(&argv)).filter(|name| !matches!(name.as_str(), "none" | "not found" | "unknown"))
}

fn hypervisor() -> Option<String> {
    detected("--vm")
        .or_else(|| attribute("/sys/hypervisor/type"))
        .or_else(|| {
            if !has_hypervisor_flag(&read("/proc/cpuinfo")) {
                return None;
            }
            let vendor = attribute("/sys/class/dmi/id/sys_vendor");
            let product = attribute("/sys/class/dmi/id/product_name");
            let reported: Vec<String> = [vendor, product].into_iter().flatten().collect();
            if reported.is_empty() {
                return Some("virtual machine of unknown kind".to_owned());
            }
            Some(reported.join(" "))
        })
}

fn container() -> Option<String> {
    detected("--container")
        .or_else(|| attribute("/run/systemd/container"))
        .or_else(|| {
            [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")]
                .into_iter()
                .find(|(trace, _)| Path::new(trace).exists())
                .map(|(_, name)| name.to_owned())
        })
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    field(cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
}

/// `PRETTY_NAME` of os-release.
fn distribution(os_release: &str) -> String {
    os_release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map_or("unknown", |name| name.trim_matches(['"', '\'']))
        .to_owned()
}

/// The processor's name; other architectures than x86 name it otherwise, or not at all.
fn processor(cpuinfo: &str) -> String {
    [
        "model name",
        "Model",
        "cpu model",
        "cpu",
        "uarch",
        "Processor",
    ]
    .into_iter()
    .find_map(|key| field(cpuinfo, key))
    .unwrap_or("unknown")
    .to_owned()
}

/// The first `key : value` of a text of `/proc`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

fn memory_bytes(meminfo: &str) -> u64 {
    field(meminfo, "MemTotal")
        .and_then(|text| text.strip_suffix("kB"))
        .and_then(|text| text.trim().parse::<u64>().ok())
        .map_or(0, |kibibytes| kibibytes * 1024)
}

/// Processors this process may run on.
fn allowed_processors() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count())
}

fn read(path: &str) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn attribute(path: &str) -> Option<String> {
    Some(read(path).trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_proc_are_read() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU @ 2.0: x\n\
            flags\t\t: fpu hypervisor lm\n";
        assert_eq!(processor(cpuinfo), "Some CPU @ 2.0: x");
        assert!(has_hypervisor_flag(cpuinfo));
        assert!(!has_hypervisor_flag("flags : fpu hypervisor_x\n"));
        assert_eq!(processor("processor : 0\n"), "unknown");
        assert_eq!(memory_bytes("MemTotal:       16384 kB\n"), 16 << 20);
        assert_eq!(
            distribution("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            "Debian GNU/Linux 12"
        );
        assert_eq!(distribution(""), "unknown");
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn a_version_is_the_first_line_on_either_stream() {
        let shell = |script: &str| version(&["sh".into(), "-c".into(), script.into()]);
        assert_eq!(shell("echo; echo one 1.2; echo two"), "one 1.2");
        assert_eq!(shell("echo on stderr >&2; exit 1"), "on stderr");
        assert_eq!(shell("true"), "unknown");
        assert_eq!(version(&["no-such-program-here".into()]), "not found");
    }

    #[test]
    fn a_file_system_without_a_device_is_described_by_its_type() {
        let facts = device_facts(Path::new("/proc"), "image files").unwrap();
        assert_eq!(facts.host_filesystem.as_deref(), Some("proc"));
        assert_eq!(facts.size_bytes, 0);
        assert_eq!(facts.role, "image files");
    }

    #[test]
    fn this_machine_is_described() {
        let provenance = collect(&[("sh".into(), vec!["sh".into()])], &[]);
        assert!(
            provenance.kernel.starts_with("Linux "),
            "{}",
            provenance.kernel
        );
        assert!(provenance.processors >= 1);
        assert!(provenance.memory_bytes > 0);
        assert!(!provenance.virtualisation.is_empty());
        assert_eq!(provenance.programs.len(), 1);
    }

    #[test]
    fn a_device_that_is_gone_keeps_its_place() {
        let gone = PathBuf::from("/dev/no-such-device");
        let provenance = collect(&[], &[(gone, "device under test")]);
        assert_eq!(provenance.devices[0].name, "/dev/no-such-device");
        assert_eq!(provenance.devices[0].role, "device under test");
    }
}
