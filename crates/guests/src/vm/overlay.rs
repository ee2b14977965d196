//! An empty qcow2 image over another image: it takes all writes, so that the other one stays as it
//! is (docs/interop/qcow2.txt of QEMU, version 3).

use super::image::Format;
use fsdyno_model::Bytes;

const CLUSTER_BITS: u32 = 16;
const CLUSTER: u64 = 1 << CLUSTER_BITS;
/// The bytes of a disk that one entry of the first table covers: a table of a cluster, 8 bytes an
/// entry.
const PER_ENTRY: u64 = CLUSTER * (CLUSTER / 8);
const HEADER: u32 = 104;
/// The header extension with the format of the backing file.
const BACKING_FORMAT: u32 = 0xe279_2aca;

/// The bytes of an overlay of that size over an image. The rest of a larger disk is empty.
pub(super) fn overlay(backing: &str, format: Format, size: Bytes) -> Vec<u8> {
    let entries = size.0.div_ceil(PER_ENTRY);
    let first_table = (entries * 8).div_ceil(CLUSTER).max(1);
    // The header, the table of reference counts, one block of them, and the first table.
    let clusters = 3 + first_table;
    let mut image = vec![0; usize::try_from(clusters * CLUSTER).unwrap_or_default()];
    let mut header = Vec::new();
    let name_at = u64::from(HEADER) + 8 + 8 + 8;
    let be32 = |header: &mut Vec<u8>, number: u32| header.extend(number.to_be_bytes());
    let be64 = |header: &mut Vec<u8>, number: u64| header.extend(number.to_be_bytes());
    header.extend(*b"QFI\xfb");
    be32(&mut header, 3);
    be64(&mut header, name_at);
    be32(
        &mut header,
        u32::try_from(backing.len()).unwrap_or_default(),
    );
    be32(&mut header, CLUSTER_BITS);
    be64(&mut header, size.0);
    // No encryption.
    be32(&mut header, 0);
    be32(&mut header, u32::try_from(entries).unwrap_or_default());
    be64(&mut header, 3 * CLUSTER);
    be64(&mut header, CLUSTER);
    be32(&mut header, 1);
    // No snapshots, no features.
    be32(&mut header, 0);
    be64(&mut header, 0);
    for _ in 0..3 {
        be64(&mut header, 0);
    }
    // Reference counts of 16 bits.
    be32(&mut header, 4);
    be32(&mut header, HEADER);
    let name = format.name().as_bytes();
    be32(&mut header, BACKING_FORMAT);
    be32(&mut header, u32::try_from(name.len()).unwrap_or_default());
    header.extend(name);
    header.resize(usize::try_from(name_at).unwrap_or_default(), 0);
    header.extend(backing.as_bytes());
    image[..header.len()].copy_from_slice(&header);
    let at = |cluster: u64| usize::try_from(cluster * CLUSTER).unwrap_or_default();
    image[at(1)..at(1) + 8].copy_from_slice(&(2 * CLUSTER).to_be_bytes());
    for number in 0..usize::try_from(clusters).unwrap_or_default() {
        image[at(2) + 2 * number + 1] = 1;
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_files::programs;

    #[test]
    fn qemu_finds_no_error_in_an_overlay_and_the_image_below_it() {
        let Some(program) = programs::find("qemu-img") else {
            println!("SKIP qemu-img: qemu_finds_no_error_in_an_overlay_and_the_image_below_it");
            return;
        };
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let size = 9 << 30;
        let base = path("base.raw").display().to_string();
        std::fs::File::create(&base)
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        std::fs::write(path("over"), overlay(&base, Format::Raw, Bytes(size))).unwrap();
        let run = |words: &[&str]| {
            let ran = programs::at(&program)
                .args(words)
                .arg(path("over"))
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            let failed = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(ran.status.success(), "{printed}{failed}");
            printed
        };
        assert!(run(&["check", "-f", "qcow2"]).contains("No errors"));
        let about: serde_json::Value =
            serde_json::from_str(&run(&["info", "--output=json"])).unwrap();
        assert_eq!(about["virtual-size"], size);
        assert_eq!(about["backing-filename"], base);
        assert_eq!(about["backing-filename-format"], "raw");
    }
}
