//! The devices that share a disk: a use of one of them forbids erasing another.

use super::{How, Use};
use crate::sysfs::Block;
use std::io;

/// A device that shares the disk, and how to call it.
pub(super) struct Relative {
    pub block: Block,
    pub subject: String,
}

impl Relative {
    fn new(block: Block, subject: impl Into<String>) -> Self {
        let subject = subject.into();
        Self { block, subject }
    }

    pub fn used(&self, how: How) -> Use {
        Use {
            subject: self.subject.clone(),
            how,
        }
    }
}

/// The device, its disk and that disk's partitions, and all that is made on top of any of them.
pub(super) fn family(block: &Block) -> io::Result<Vec<Relative>> {
    let disk = block.whole()?;
    let mut family = vec![Relative::new(block.clone(), "it")];
    if disk != *block {
        let subject = format!("its disk {}", disk.name);
        family.push(Relative::new(disk.clone(), subject));
    }
    for partition in disk
        .partitions()?
        .into_iter()
        .filter(|other| other != block)
    {
        let subject = if disk == *block {
            format!("its partition {}", partition.name)
        } else {
            format!("{}, on the same disk {},", partition.name, disk.name)
        };
        family.push(Relative::new(partition, subject));
    }
    with_holders(family)
}

/// All devices whose content is destroyed when a device is erased: itself, its partitions, and all
/// devices on top of them; for a partition also the users of the whole disk.
pub(super) fn affected(block: &Block) -> io::Result<Vec<Relative>> {
    let mut all = vec![Relative::new(block.clone(), "it")];
    all.extend(block.partitions()?.into_iter().map(|partition| {
        let subject = format!("its partition {}", partition.name);
        Relative::new(partition, subject)
    }));
    let mut all = with_holders(all)?;
    let disk = block.whole()?;
    if disk != *block {
        let subject = format!("its disk {}", disk.name);
        all.push(Relative::new(disk, subject));
    }
    Ok(all)
}

/// Adds holders of holders, and their partitions.
fn with_holders(mut family: Vec<Relative>) -> io::Result<Vec<Relative>> {
    let mut next = 0;
    while let Some(below) = family.get(next).map(|member| member.block.clone()) {
        let mut above = below.holders()?;
        if next > 0 {
            above.extend(below.partitions()?);
        }
        for holder in above {
            if !family.iter().any(|known| known.block == holder) {
                let subject = format!("{}, made on {},", holder.name, below.name);
                family.push(Relative::new(holder, subject));
            }
        }
        next += 1;
    }
    Ok(family)
}

pub(super) fn find_number(family: &[Relative], number: Option<(u32, u32)>) -> Option<&Relative> {
    family
        .iter()
        .find(|relative| Some(relative.block.number) == number)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    /// A disk in `/sys`: its first partition carries a volume that carries another, its second is a
    /// member of an array.
    pub fn stacked_disk() -> TempDir {
        let sys = TempDir::new().unwrap();
        let device = |path: &str, number: &str| {
            for folder in ["holders", "slaves"] {
                fs::create_dir_all(sys.path().join(path).join(folder)).unwrap();
            }
            fs::write(sys.path().join(path).join("dev"), number).unwrap();
        };
        let write = |path: &str, text: &str| {
            let path = sys.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        device("sda", "8:0\n");
        for (path, number) in [("sda/sda1", "8:1"), ("sda/sda2", "8:2")] {
            device(path, number);
            write(&format!("{path}/partition"), "1\n");
        }
        for (path, number) in [("dm-0", "253:0"), ("dm-1", "253:1"), ("md0", "9:0")] {
            device(path, number);
        }
        write("dm-0/dm/name", "vg-data\n");
        write("dm-1/dm/name", "secret\n");
        write("md0/md/level", "raid1\n");
        for (below, above) in [("sda/sda1", "dm-0"), ("dm-0", "dm-1"), ("sda/sda2", "md0")] {
            let path = |name: &str| sys.path().join(name);
            let name = Path::new(below).file_name().unwrap();
            symlink(path(above), path(below).join("holders").join(above)).unwrap();
            symlink(path(below), path(above).join("slaves").join(name)).unwrap();
        }
        sys
    }

    fn subjects(device: &str) -> Vec<String> {
        let sys = stacked_disk();
        let block = Block::at(&sys.path().join(device)).unwrap();
        let family = family(&block).unwrap();
        family.into_iter().map(|member| member.subject).collect()
    }

    #[test]
    fn a_disk_brings_its_partitions_and_all_that_is_made_of_them() {
        assert_eq!(
            subjects("sda"),
            [
                "it",
                "its partition sda1",
                "its partition sda2",
                "dm-0, made on sda1,",
                "md0, made on sda2,",
                "dm-1, made on dm-0,",
            ]
        );
    }

    #[test]
    fn erasing_a_partition_does_not_affect_another() {
        let sys = stacked_disk();
        let affected_by = |device: &str| -> Vec<String> {
            let block = Block::at(&sys.path().join(device)).unwrap();
            let all = affected(&block).unwrap().into_iter();
            all.map(|one| one.block.name).collect()
        };
        assert_eq!(affected_by("sda/sda2"), ["sda2", "md0", "sda"]);
        let all = ["sda", "sda1", "sda2", "dm-0", "md0", "dm-1"];
        assert_eq!(affected_by("sda"), all);
    }

    #[test]
    fn the_family_of_a_partition_has_its_disk_and_the_other_partitions() {
        assert_eq!(
            subjects("sda/sda2"),
            [
                "it",
                "its disk sda",
                "sda1, on the same disk sda,",
                "md0, made on sda2,",
                "dm-0, made on sda1,",
                "dm-1, made on dm-0,",
            ]
        );
    }
}
