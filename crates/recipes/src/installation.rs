//! The command lines that make, mount and keep a file system, as a person types them: without the
//! arguments that answer questions for a program.

use crate::fs::find;
use crate::layouts;
use crate::options::key;
use fsdyno_model::{Contender, Step};
use std::path::Path;

/// The name of an array or a pool.
const NAME: &str = "data";

/// The command lines for a contender on these devices, in order, to be run as root. It is then
/// mounted on the directory, also after the next boot.
pub fn commands(contender: &Contender, devices: &[String], directory: &Path) -> Vec<String> {
    let Some(fs) = find(&contender.filesystem) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut devices = devices.to_vec();
    if let Some(level) = layouts::below(contender).and_then(|layout| layout.array) {
        let array = format!("/dev/md/{NAME}");
        lines.push(format!(
            "mdadm --create {array} -l {level} -n {} {}",
            devices.len(),
            devices.join(" ")
        ));
        lines.push(format!(
            "mdadm --detail --brief {array} >> /etc/mdadm/mdadm.conf"
        ));
        lines.push("update-initramfs -u".to_owned());
        devices = vec![array];
    }
    let make = fs.make_by_hand(contender, &devices, directory, NAME);
    lines.extend(make.iter().map(Step::shell));
    let foreign = fs.foreign_mount_options();
    let mount = fs.mount(contender, &devices, directory);
    let mounted = mount.into_iter().find_map(|step| match step {
        Step::Mount {
            fstype,
            source,
            options,
            ..
        } => Some((fstype, source, options)),
        _ => None,
    });
    // The programs of a pool mount it themselves.
    if let Some((fstype, source, mut options)) = mounted {
        // The members of a pool are found by its UUID.
        options.retain(|option| !foreign.contains(&key(option)));
        let options = match &options[..] {
            [] => "defaults".to_owned(),
            options => options.join(","),
        };
        let (device, directory) = (devices.first().map_or("", |one| one), directory.display());
        let pass = fs.facts().pass;
        lines.push(format!("mkdir -p {directory}"));
        let mut source = source;
        // The kernel does not search for the members that the source names.
        if source == device {
            lines.push(format!("ID=$(blkid -s UUID -o value {device})"));
            "UUID=$ID".clone_into(&mut source);
        }
        lines.push(format!(
            "echo \"{source} {directory} {fstype} {options} 0 {pass}\" >> /etc/fstab"
        ));
        lines.push(format!("mount {directory}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::commands;
    use crate::{fs, kind_of};
    use fsdyno_model::{Contender, FilesystemKind};
    use std::path::Path;

    fn of(text: &str) -> Vec<String> {
        let contender = Contender::parse(text, &kind_of).unwrap();
        let devices: Vec<String> = match contender.layout.devices {
            1 => vec!["/dev/DISK".to_owned()],
            n => (1..=n).map(|n| format!("/dev/DISK{n}")).collect(),
        };
        commands(&contender, &devices, Path::new("/srv/data"))
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(of(text), expected, "{text}");
    }

    #[test]
    fn a_file_system_on_one_device_is_mounted_by_its_uuid() {
        check(
            "ext4[-O fast_commit]:noatime",
            &[
                "mkfs.ext4 -O fast_commit /dev/DISK",
                "mkdir -p /srv/data",
                "ID=$(blkid -s UUID -o value /dev/DISK)",
                "echo \"UUID=$ID /srv/data ext4 noatime 0 2\" >> /etc/fstab",
                "mount /srv/data",
            ],
        );
        let xfs = of("xfs");
        assert_eq!(xfs[0], "mkfs.xfs /dev/DISK");
        assert!(xfs[3].contains(" xfs defaults 0 0"), "{xfs:?}");
    }

    #[test]
    fn layouts_are_complete_by_the_file_system_or_by_an_array() {
        check(
            "xfs@mirror2",
            &[
                "mdadm --create /dev/md/data -l raid1 -n 2 /dev/DISK1 /dev/DISK2",
                "mdadm --detail --brief /dev/md/data >> /etc/mdadm/mdadm.conf",
                "update-initramfs -u",
                "mkfs.xfs /dev/md/data",
                "mkdir -p /srv/data",
                "ID=$(blkid -s UUID -o value /dev/md/data)",
                "echo \"UUID=$ID /srv/data xfs defaults 0 0\" >> /etc/fstab",
                "mount /srv/data",
            ],
        );
        check(
            "btrfs@mirror2:compress=zstd",
            &[
                "mkfs.btrfs -d raid1 -m raid1 /dev/DISK1 /dev/DISK2",
                "mkdir -p /srv/data",
                "ID=$(blkid -s UUID -o value /dev/DISK1)",
                "echo \"UUID=$ID /srv/data btrfs compress=zstd 0 0\" >> /etc/fstab",
                "mount /srv/data",
            ],
        );
        check(
            "zfs@mirror2:compression=on",
            &["zpool create -m /srv/data -O compression=on data mirror /dev/DISK1 /dev/DISK2"],
        );
        for (contender, first) in [
            (
                "btrfs@mirror3",
                "mkfs.btrfs -d raid1c3 -m raid1c3 /dev/DISK1 /dev/DISK2 /dev/DISK3",
            ),
            (
                "btrfs@parity3",
                "mkfs.btrfs -d raid5 -m raid1 /dev/DISK1 /dev/DISK2 /dev/DISK3",
            ),
            (
                "zfs@parity3",
                "zpool create -m /srv/data data raidz /dev/DISK1 /dev/DISK2 /dev/DISK3",
            ),
            (
                "zfs@stripe2",
                "zpool create -m /srv/data data /dev/DISK1 /dev/DISK2",
            ),
            (
                "xfs@parity3",
                "mdadm --create /dev/md/data -l raid5 -n 3 /dev/DISK1 /dev/DISK2 /dev/DISK3",
            ),
        ] {
            assert_eq!(of(contender)[0], first);
        }
    }

    #[test]
    fn a_pool_on_one_array_has_the_profile_of_one_device() {
        let on_array = of("btrfs@raid1x2");
        assert_eq!(on_array[3], "mkfs.btrfs /dev/md/data");
    }

    #[test]
    fn no_command_overwrites_without_a_question() {
        let blocks = fs::ALL
            .iter()
            .filter(|fs| fs.kind() == FilesystemKind::Block);
        for fs in blocks {
            let make = &of(fs.name())[0];
            let words: Vec<&str> = make.split(' ').collect();
            let forces = |word: &&&str| ["-F", "--force", "-q"].contains(word);
            assert_eq!(words.iter().find(forces), None, "{make}");
            assert!(make.ends_with(" /dev/DISK"), "{make}");
        }
    }
}
