//! Archives as they come: plain, or packed with gzip, xz or zstd, told by their first bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// What is read of a packed archive at once.
const PACKED_BUFFER: usize = 128 * 1024;

/// The unpacked bytes of an archive.
pub fn reader(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut magic = [0; 6];
    let mut have = 0;
    while have < magic.len() {
        match file.read(&mut magic[have..])? {
            0 => break,
            bytes => have += bytes,
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let packed = |file| BufReader::with_capacity(PACKED_BUFFER, file);
    Ok(match magic {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(packed(file))),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(packed(file)))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Box::new(zstd::stream::read::Decoder::with_buffer(packed(file))?)
        }
        _ => Box::new(file),
    })
}
