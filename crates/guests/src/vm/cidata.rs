//! The disk from which a system takes its first configuration: a FAT file system with the label
//! `cidata` (the `NoCloud` source of cloud-init, and nuageinit(7) of FreeBSD).
//!
//! It is written here, because no program for it is on every machine. FAT12 and long names:
//! Microsoft, FAT32 File System Specification 1.03 (2000).

const SECTOR: usize = 512;
const SECTORS: u16 = 2048;
const FAT_SECTORS: u16 = 6;
const ROOT_ENTRIES: u16 = 64;
const ENTRY: usize = 32;
/// The first sector of each part: the boot sector, two tables, the root directory, data.
const FATS: usize = 1;
const ROOT: usize = FATS + 2 * FAT_SECTORS as usize;
const DATA: usize = ROOT + ROOT_ENTRIES as usize * ENTRY / SECTOR;
const LABEL: &[u8; 11] = b"cidata     ";
const VOLUME: u8 = 0x08;
const ARCHIVE: u8 = 0x20;
const LONG_NAME: u8 = 0x0f;
const LAST: u8 = 0x40;
/// The characters of a long name in one entry, and their places there.
const PLACES: [usize; 13] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
/// The first cluster of data has this number; a cluster is a sector.
const FIRST_CLUSTER: usize = 2;
const END_OF_FILE: u16 = 0xfff;

/// The bytes of a disk with these files. Their names are ASCII.
pub(super) fn disk(files: &[(&str, &str)]) -> Vec<u8> {
    let mut image = vec![0; usize::from(SECTORS) * SECTOR];
    image[..SECTOR].copy_from_slice(&boot_sector());
    let mut fat = vec![0xff8, END_OF_FILE];
    let mut root = entry(LABEL, VOLUME, 0, 0).to_vec();
    let mut at = DATA * SECTOR;
    for (number, (name, text)) in files.iter().enumerate() {
        let clusters = text.len().div_ceil(SECTOR);
        let first = fat.len();
        for next in first + 1..first + clusters {
            fat.push(u16::try_from(next).unwrap_or(END_OF_FILE));
        }
        fat.push(END_OF_FILE);
        let short = short_name(number);
        root.extend(long_name(name, &short));
        root.extend(entry(&short, ARCHIVE, first, text.len()));
        image[at..at + text.len()].copy_from_slice(text.as_bytes());
        at += clusters * SECTOR;
    }
    image[ROOT * SECTOR..ROOT * SECTOR + root.len()].copy_from_slice(&root);
    let packed = packed(&fat);
    for copy in 0..2 {
        let at = (FATS + copy * usize::from(FAT_SECTORS)) * SECTOR;
        image[at..at + packed.len()].copy_from_slice(&packed);
    }
    debug_assert!(fat.len() - FIRST_CLUSTER <= usize::from(SECTORS) - DATA);
    image
}

fn boot_sector() -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &[0xeb, 0x3c, 0x90]);
    put(3, b"fsdyno  ");
    put(11, &512_u16.to_le_bytes());
    put(13, &[1]);
    put(14, &1_u16.to_le_bytes());
    put(16, &[2]);
    put(17, &ROOT_ENTRIES.to_le_bytes());
    put(19, &SECTORS.to_le_bytes());
    put(21, &[0xf8]);
    put(22, &FAT_SECTORS.to_le_bytes());
    put(24, &32_u16.to_le_bytes());
    put(26, &2_u16.to_le_bytes());
    put(36, &[0x80]);
    put(38, &[0x29]);
    put(39, b"fsdy");
    put(43, LABEL);
    put(54, b"FAT12   ");
    put(510, &[0x55, 0xaa]);
    sector
}

/// A table of numbers of 12 bits.
fn packed(numbers: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for pair in numbers.chunks(2) {
        let (low, high) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let both = u32::from(low) | u32::from(high) << 12;
        bytes.extend(&both.to_le_bytes()[..3]);
    }
    bytes
}

/// A name that no file of the disk has as its long one.
fn short_name(number: usize) -> [u8; 11] {
    let mut name = *b"CIDATA~1   ";
    name[7] = b'1' + u8::try_from(number).unwrap_or_default();
    name
}

fn entry(name: &[u8; 11], attribute: u8, cluster: usize, size: usize) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..11].copy_from_slice(name);
    entry[11] = attribute;
    debug_assert!(
        attribute == VOLUME || size > 0,
        "an empty file has no cluster"
    );
    // 1 January 1980 is day 1 of month 1 of year 0.
    entry[24] = 0x21;
    let cluster = u16::try_from(cluster).unwrap_or_default();
    entry[26..28].copy_from_slice(&cluster.to_le_bytes());
    let size = u32::try_from(size).unwrap_or_default();
    entry[28..].copy_from_slice(&size.to_le_bytes());
    entry
}

/// The entries of a long name, the last part first, which precede that of the short one.
fn long_name(name: &str, short: &[u8; 11]) -> Vec<u8> {
    let sum = short
        .iter()
        .fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte));
    let parts: Vec<&[u8]> = name.as_bytes().chunks(PLACES.len()).collect();
    let mut entries = Vec::new();
    for (number, part) in parts.iter().enumerate().rev() {
        let mut entry = [0; ENTRY];
        let last = if number + 1 == parts.len() { LAST } else { 0 };
        let number = u8::try_from(number + 1).unwrap_or_default();
        (entry[0], entry[11], entry[13]) = (number | last, LONG_NAME, sum);
        for (place, at) in PLACES.into_iter().enumerate() {
            // A zero ends a name that does not fill the entry; the rest is all ones.
            let unit = match part.get(place) {
                Some(byte) => u16::from(*byte),
                None if place == part.len() => 0,
                None => 0xffff,
            };
            entry[at..at + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entries.extend(entry);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_files::programs;

    #[test]
    fn the_check_program_of_fat_finds_no_error() {
        let long = "x".repeat(3000);
        let files = [
            ("meta-data", "instance-id: a\n"),
            ("user-data", &long),
            ("network-config", "version: 2\n"),
        ];
        let image = disk(&files);
        let text = String::from_utf8_lossy(&image);
        assert!(text.contains("cidata     FAT12") && text.contains(&long));
        let Some(program) = programs::find("fsck.fat") else {
            println!("SKIP fsck.fat: the_check_program_of_fat_finds_no_error");
            return;
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), image).unwrap();
        let ran = programs::at(program)
            .args(["-n", "-v", "-l"])
            .arg(file.path())
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{printed}");
        for (name, _) in files {
            assert!(printed.contains(name), "{name}: {printed}");
        }
    }
}
