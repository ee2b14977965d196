//! The place of a plan: the value of `--on` and of the key `device`.

use super::config_error::ConfigError;
use super::names::absolute;
use fsdyno_model::Bytes;
use std::path::{Path, PathBuf};

/// The devices or directories of the contenders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Image files of this size that fsdyno creates.
    Loop(Option<Bytes>),
    /// The same in memory.
    Ram(Option<Bytes>),
    /// These block devices.
    Block(Vec<PathBuf>),
    /// These directories, which are the contenders.
    Directories(Vec<PathBuf>),
}

impl Place {
    /// Parses `loop`, `loop:SIZE`, `ram`, `ram:SIZE`, `/dev/A,/dev/B` or `dir:PATH,dir:PATH`.
    ///
    /// In a list of directories, a comma is a separator only before `/` or `dir:`. Otherwise it is
    /// part of a name.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        match text.split_once(':') {
            None if text == "loop" => return Ok(Self::Loop(None)),
            None if text == "ram" => return Ok(Self::Ram(None)),
            Some(("loop", size)) => return Ok(Self::Loop(Some(size.parse()?))),
            Some(("ram", size)) => return Ok(Self::Ram(Some(size.parse()?))),
            _ => {}
        }
        if let Some(list) = text.strip_prefix("dir:") {
            return directories(list);
        }
        let devices: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
        if devices.iter().all(|path| path.is_absolute()) {
            if let Some(twice) = (1..devices.len()).find(|&n| devices[..n].contains(&devices[n])) {
                return Err(ConfigError::wrong(
                    format!("the device {} is named twice", devices[twice].display()),
                    "each device once",
                ));
            }
            return Ok(Self::Block(devices));
        }
        Err(ConfigError::wrong(
            format!("`{text}` is no place to measure"),
            "write loop, loop:SIZE, ram:SIZE, /dev/NAME (several with commas) or dir:PATH",
        ))
    }

    /// The place of the setting `device`, with directories relative to `base`; `None` if it is not
    /// set.
    pub fn of(device: &[String], base: &Path) -> Result<Option<Self>, ConfigError> {
        if device.is_empty() {
            return Ok(None);
        }
        Ok(Some(match Self::parse(&device.join(","))? {
            Self::Directories(paths) => {
                Self::Directories(paths.iter().map(|path| absolute(base, path)).collect())
            }
            place => place,
        }))
    }
}

fn directories(list: &str) -> Result<Place, ConfigError> {
    let mut paths: Vec<String> = Vec::new();
    for part in list.split(',') {
        match (part.strip_prefix("dir:"), paths.last_mut()) {
            (Some(path), _) => paths.push(path.to_owned()),
            (None, Some(before)) if !part.starts_with('/') => {
                before.push(',');
                before.push_str(part);
            }
            (None, _) => paths.push(part.to_owned()),
        }
    }
    if paths.iter().any(String::is_empty) {
        return Err(ConfigError::wrong(
            "a directory has no name",
            "write for example dir:/mnt/data",
        ));
    }
    Ok(Place::Directories(
        paths.into_iter().map(PathBuf::from).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        for (text, place) in [
            ("loop", Place::Loop(None)),
            ("loop:2G", Place::Loop(Some(Bytes(2 << 30)))),
            ("ram", Place::Ram(None)),
            ("ram:512M", Place::Ram(Some(Bytes(512 << 20)))),
            (
                "/dev/a,/dev/disk/by-id/b",
                Place::Block(paths(&["/dev/a", "/dev/disk/by-id/b"])),
            ),
            ("dir:.", Place::Directories(paths(&["."]))),
            (
                "dir:/a,/b,dir:c",
                Place::Directories(paths(&["/a", "/b", "c"])),
            ),
            ("dir:/a,b", Place::Directories(paths(&["/a,b"]))),
        ] {
            assert_eq!(Place::parse(text), Ok(place), "{text}");
        }
    }

    #[test]
    fn an_invalid_place_gives_an_error_with_a_remedy() {
        for (text, expected) in [
            ("", "is no place to measure"),
            ("sdb", "is no place to measure"),
            ("/dev/a,b", "is no place to measure"),
            ("/dev/a,/dev/a", "/dev/a is named twice"),
            ("loop:2Q", "`2Q` is not a size"),
            ("ram:", "is not a size"),
            ("dir:", "a directory has no name"),
            ("dir:/a,dir:", "a directory has no name"),
        ] {
            let error = Place::parse(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
