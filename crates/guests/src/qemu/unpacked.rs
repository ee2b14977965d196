//! Uncompresses the kernel of a boot image. An emulated machine needs seconds for that, the host a
//! fraction of a second. QEMU can start an uncompressed kernel of x86-64 that has `CONFIG_PVH`.
//! Documentation/arch/x86/boot.rst of the kernel describes the layout of the image.

use super::elf;
use std::io::{self, Read};

/// The length of the first part of an image, in sectors; zero means four.
const SECTORS: usize = 0x1f1;

/// The magic number for boot loaders.
const HEADER: (usize, &[u8]) = (0x202, b"HdrS");

/// The offset of the packed kernel after the first part, and its length.
const PAYLOAD: (usize, usize) = (0x248, 0x24c);

/// How a kernel declares its entry point to QEMU: a note of that owner and type with an address of
/// four or eight bytes.
const ENTRIES: [&[u8]; 2] = [
    b"\x04\0\0\0\x04\0\0\0\x12\0\0\0Xen\0",
    b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0",
];

/// The uncompressed kernel of an image; none if it cannot be uncompressed or QEMU cannot start it.
pub fn kernel(image: &[u8]) -> Option<Vec<u8>> {
    let (at, magic) = HEADER;
    if image.get(at..at + magic.len())? != magic {
        return None;
    }
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let sectors = match usize::from(*image.get(SECTORS)?) {
        0 => 4,
        sectors => sectors,
    };
    let begin = ((sectors + 1) * 512).checked_add(number(PAYLOAD.0)?)?;
    let payload = image.get(begin..begin.checked_add(number(PAYLOAD.1)?)?)?;
    let kernel = unpack(payload).ok()?;
    starts(&kernel).then_some(kernel)
}

/// Whether the kernel declares an entry point.
fn starts(kernel: &[u8]) -> bool {
    let parts = elf::segments(kernel).unwrap_or_default();
    let notes = parts.iter().filter(|part| part.kind == elf::NOTES);
    let mut notes = notes.filter_map(|part| kernel.get(part.offset..)?.get(..part.length));
    let any = |notes: &[u8], entry: &[u8]| notes.windows(entry.len()).any(|one| one == entry);
    notes.any(|notes| ENTRIES.iter().any(|entry| any(notes, entry)))
}

/// Unpacks data in one of the usual formats. Bytes after its end are ignored.
fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    match packed {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            liblzma::read::XzDecoder::new(packed).read_to_end(&mut content)
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => zstd::stream::read::Decoder::new(packed)?
            .single_frame()
            .read_to_end(&mut content),
        [0x1f, 0x8b, ..] => flate2::read::GzDecoder::new(packed).read_to_end(&mut content),
        _ => Err(io::Error::from(io::ErrorKind::Unsupported)),
    }?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 2 * 512 + 100];
        image[SECTORS] = 1;
        image[HEADER.0..HEADER.0 + 4].copy_from_slice(HEADER.1);
        image[PAYLOAD.0..PAYLOAD.0 + 4].copy_from_slice(&100u32.to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap();
        image[PAYLOAD.1..PAYLOAD.1 + 4].copy_from_slice(&length.to_le_bytes());
        image.extend(payload);
        image
    }

    /// An ELF file that contains only these notes.
    fn elf_with(notes: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 0x78];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        // One header of 56 bytes, after the first 64.
        (file[0x20], file[0x36], file[0x38]) = (0x40, 56, 1);
        file[0x40] = 4;
        file[0x48] = 0x78;
        file[0x60] = u8::try_from(notes.len()).unwrap();
        file.extend(notes);
        file
    }

    #[test]
    fn a_kernel_is_unpacked_from_every_format_if_it_can_be_started() {
        let starts = elf_with(&[b"...", ENTRIES[1], b"..."].concat());
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&starts).unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&starts).unwrap();
        let zst = |content: &[u8]| zstd::encode_all(content, 1).unwrap();
        for mut payload in [gz.finish().unwrap(), xz.finish().unwrap(), zst(&starts)] {
            // The length of the kernel follows it.
            payload.extend(1234u32.to_le_bytes());
            assert_eq!(kernel(&image(&payload)).unwrap(), starts);
            let whole = image(&payload);
            assert_eq!(kernel(&whole[..whole.len() - 10]), None);
        }
        assert_eq!(kernel(&image(&zst(&elf_with(b"no such note")))), None);
        assert_eq!(kernel(&image(b"packed in another way")), None);
        assert_eq!(kernel(b"no image"), None);
    }
}
