//! Copies of the signatures of a device, taken before it is erased: enough to identify the old
//! contents and to restore partition tables and labels. Not a backup: file contents are not copied.

use super::{DeviceDescription, Identity, Signature};
use crate::sysfs::Block;
use fsdyno_files::{Access, TrustedDir, Untrusted};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The size of the copy of each end of a device, bytes.
const END: u64 = 1 << 20;
/// The size of the copy around a signature, bytes: the largest common sector size.
const SECTOR: u64 = 4096;

/// The JSON description of the copies.
#[derive(Debug, Serialize)]
struct Description<'a> {
    version: u32,
    identity: &'a Identity,
    signatures: &'a [Signature],
    copies: &'a str,
    extents: Vec<Extent>,
    how_to_put_back: &'static str,
}

/// An extent of the device, and the offset of its copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Extent {
    device_offset: u64,
    copy_offset: u64,
    bytes: u64,
}

/// The reason why signatures could not be copied.
#[derive(Debug, thiserror::Error)]
#[error("cannot save what {device} holds to {}: {source}", path.display())]
pub struct SaveError {
    pub device: String,
    /// The file or the folder.
    pub path: PathBuf,
    pub source: io::Error,
}

/// Saves the ends and the signatures of a device; returns the path of the description.
pub(super) fn save(
    description: &DeviceDescription,
    directory: &Path,
) -> Result<PathBuf, SaveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| SaveError {
            device: description.identity.path.display().to_string(),
            path,
            source,
        }
    };
    let untrusted = |error: Untrusted| failed(directory)(io::Error::other(error));
    let directory = TrustedDir::create(directory).map_err(untrusted)?;
    let (name, mut text) = fresh(&directory, &stem(&description.identity)).map_err(untrusted)?;
    let text_path = directory.path().join(name);
    let copy_path = text_path.with_extension("bin");
    let extents = extents(description).map_err(failed(&copy_path))?;
    let name = copy_path.file_name().unwrap_or_default();
    let copies = directory.file(name, Access::CreateNew).map_err(untrusted)?;
    copy(&description.identity.path, copies, &extents).map_err(failed(&copy_path))?;
    let description = Description {
        version: 1,
        identity: &description.identity,
        signatures: &description.signatures,
        copies: &name.to_string_lossy(),
        extents,
        how_to_put_back: "for each extent: dd if=COPIES of=DEVICE iflag=skip_bytes,count_bytes \
            oflag=seek_bytes conv=notrunc skip=copy_offset seek=device_offset count=bytes",
    };
    let json = serde_json::to_vec_pretty(&description)
        .map_err(|error| failed(&text_path)(error.into()))?;
    text.write_all(&json)
        .and_then(|()| text.sync_all())
        .map_err(failed(&text_path))?;
    Ok(text_path)
}

/// `sda-SERIAL`, without characters that are special in a shell or a path.
fn stem(identity: &Identity) -> String {
    format!("{}-{}", identity.name, identity.name_to_type())
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

/// A new file of that name, which only this user reads; numbered, since copies of earlier runs are
/// kept.
fn fresh(directory: &TrustedDir, stem: &str) -> Result<(String, File), Untrusted> {
    let mut count = 1;
    loop {
        let name = format!("{stem}-{count}.json");
        match directory.file(name.as_ref(), Access::CreateNew) {
            Ok(file) => return Ok((name, file)),
            Err(Untrusted::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                count += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The ranges to copy: both ends, and a sector around each signature elsewhere.
fn extents(description: &DeviceDescription) -> io::Result<Vec<Extent>> {
    let starts: Vec<(String, u64)> = match Block::named_by(&description.identity.path)? {
        Some(block) => block
            .partitions()?
            .into_iter()
            .map(|partition| (partition.name.clone(), partition.start_bytes()))
            .collect(),
        None => Vec::new(),
    };
    let places = description.signatures.iter().map(|signature| {
        let start = starts.iter().find(|(name, _)| *name == signature.device);
        start.map_or(0, |(_, start)| *start) + signature.offset
    });
    Ok(sort_extents(description.identity.size.0, places))
}

fn sort_extents(size: u64, places: impl Iterator<Item = u64>) -> Vec<Extent> {
    let mut spans = vec![(0, END.min(size))];
    if size > END {
        let start = size.saturating_sub(END).max(END);
        spans.push((start, size));
    }
    for place in places.filter(|place| *place < size) {
        let start = place - place % SECTOR;
        let span = (start, (start + SECTOR).min(size));
        if !spans
            .iter()
            .any(|known| known.0 <= span.0 && span.1 <= known.1)
        {
            spans.push(span);
        }
    }
    let mut copy_offset = 0;
    spans
        .into_iter()
        .map(|(start, end)| {
            let extent = Extent {
                device_offset: start,
                copy_offset,
                bytes: end - start,
            };
            copy_offset += extent.bytes;
            extent
        })
        .collect()
}

/// Copies the extents, one after the other, and waits until they are on disk.
fn copy(device: &Path, mut copies: File, extents: &[Extent]) -> io::Result<()> {
    let device = File::open(device)?;
    for extent in extents {
        let bytes = usize::try_from(extent.bytes).map_err(io::Error::other)?;
        let mut buffer = vec![0; bytes];
        device.read_exact_at(&mut buffer, extent.device_offset)?;
        copies.write_all(&buffer)?;
    }
    copies.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(size: u64, places: &[u64]) -> Vec<(u64, u64)> {
        sort_extents(size, places.iter().copied())
            .into_iter()
            .map(|extent| (extent.device_offset, extent.bytes))
            .collect()
    }

    #[test]
    fn both_ends_and_every_signature_are_covered_once() {
        let size = 100 << 20;
        assert_eq!(
            spans(size, &[0x438, 0x1fe, size - 512, 0x40_0100, 0x40_0438]),
            [(0, END), (size - END, END), (0x40_0000, SECTOR),]
        );
    }

    #[test]
    fn small_devices_are_copied_whole_and_never_beyond_their_end() {
        assert_eq!(spans(1000, &[510]), [(0, 1000)]);
        assert_eq!(spans(END + 512, &[]), [(0, END), (END, 512)]);
        assert_eq!(spans(END, &[END + 5]), [(0, END)]);
    }

    #[test]
    fn copies_are_private_and_never_go_through_a_planted_name() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let place = tempfile::tempdir().unwrap();
        let (target, state) = (place.path().join("target"), place.path().join("state"));
        std::fs::write(&target, "precious").unwrap();
        let directory = TrustedDir::create(&state).unwrap();
        symlink(&target, state.join("sda-1.json")).unwrap();
        let (name, _) = fresh(&directory, "sda").unwrap();
        assert_eq!(name, "sda-2.json");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join(name))), (0o700, 0o600));
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(TrustedDir::create(&state).is_err());
    }

    #[test]
    fn copies_are_saved_one_after_the_other() {
        let extents = sort_extents(10 << 20, [5 << 20].into_iter());
        let offsets: Vec<u64> = extents.iter().map(|extent| extent.copy_offset).collect();
        assert_eq!(offsets, [0, END, 2 * END]);
    }
}
