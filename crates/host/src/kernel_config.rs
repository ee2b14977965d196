//! The configuration of the running kernel, if it is readable.

use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Whether an option (without `CONFIG_`) is built in or a module; if not, why, or why that cannot be
/// known.
pub(crate) fn has_option(option: &str, release: &str) -> Result<(), String> {
    let places = [
        PathBuf::from("/proc/config.gz"),
        Path::new("/boot").join(format!("config-{release}")),
        Path::new("/lib/modules").join(release).join("config"),
    ];
    let Some((place, text)) = places.iter().find_map(|place| Some((place, read(place)?))) else {
        let places = places.map(|place| place.display().to_string()).join(", ");
        return Err(format!(
            "the configuration of this kernel is not known (none of {places} can be read)"
        ));
    };
    if is_set(&text, option) {
        return Ok(());
    }
    Err(format!("CONFIG_{option} is not set in {}", place.display()))
}

fn read(place: &Path) -> Option<String> {
    if place.extension().is_some_and(|extension| extension == "gz") {
        let mut text = String::new();
        let mut decoder = GzDecoder::new(File::open(place).ok()?);
        decoder.read_to_string(&mut text).ok()?;
        return Some(text);
    }
    fs::read_to_string(place).ok()
}

fn is_set(text: &str, option: &str) -> bool {
    text.lines().any(|line| {
        let rest = line.strip_prefix("CONFIG_");
        let rest = rest.and_then(|rest| rest.strip_prefix(option));
        matches!(rest, Some("=y" | "=m"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_set_where_it_is_built_in_or_a_module_and_nowhere_else() {
        let text =
            "CONFIG_UFS_FS=m\n# CONFIG_UFS_FS_WRITE is not set\nCONFIG_MD=y\nCONFIG_HZ=100\n";
        for (option, expected) in [
            ("UFS_FS", true),
            ("MD", true),
            ("UFS_FS_WRITE", false),
            ("HZ", false),
            ("UFS", false),
        ] {
            assert_eq!(is_set(text, option), expected, "{option}");
        }
    }
}
