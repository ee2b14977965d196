//! Texts that come with fsdyno, and files of the user in the same form, found by name.

use crate::input::read_text;
use fsdyno_model::suggestion;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

/// A text that comes with fsdyno.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    pub name: &'static str,
    pub text: &'static str,
}

/// The built-in texts of these names, in files `../data/NAME.toml`.
#[macro_export]
macro_rules! built_in {
    ($($name:literal),+ $(,)?) => {
        [$($crate::named::BuiltIn {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $name, ".toml")),
        }),+]
    };
}

/// A name without a text.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    /// No built-in text and no file has this name.
    #[error("`{name}` is no {what} and no file ({suggestion})")]
    Unknown {
        /// The kind of the named object: `disk profile`.
        what: &'static str,
        name: String,
        suggestion: String,
    },
    /// The file cannot be read.
    #[error("cannot read the {what} {}: {source}", path.display())]
    Unreadable {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// The name and the text of a built-in text, or of a file: its name without the extension.
pub fn find(
    what: &'static str,
    name: &Path,
    all: &[BuiltIn],
) -> Result<(String, Cow<'static, str>), NamedError> {
    let shown = name.to_string_lossy();
    if let Some(one) = all.iter().find(|one| one.name == shown) {
        return Ok((one.name.to_owned(), one.text.into()));
    }
    if !name.exists() {
        return Err(NamedError::Unknown {
            what,
            suggestion: suggestion(&shown, all.iter().map(|one| one.name)),
            name: shown.into_owned(),
        });
    }
    let text = read_text(name).map_err(|source| NamedError::Unreadable {
        what,
        path: name.to_owned(),
        source,
    })?;
    let stem = name.file_stem().unwrap_or(name.as_os_str());
    Ok((stem.to_string_lossy().into_owned(), text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [BuiltIn; 2] = [
        BuiltIn {
            name: "laptop-2004",
            text: "old",
        },
        BuiltIn {
            name: "server-2023",
            text: "new",
        },
    ];

    #[test]
    fn a_name_is_that_of_a_built_in_text_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        std::fs::write(&path, "text").unwrap();
        let found = |name: &Path| find("profile", name, &ALL).map_err(|error| error.to_string());
        let pair = |name: &str, text: &'static str| Ok((name.to_owned(), Cow::Borrowed(text)));
        assert_eq!(found(Path::new("server-2023")), pair("server-2023", "new"));
        assert_eq!(found(&path), pair("mine", "text"));
        for (name, words) in [
            ("laptop-204", "did you mean laptop-2004?"),
            ("laptop", "did you mean laptop-2004?"),
            ("floppy", "there are laptop-2004, server-2023"),
        ] {
            let message = found(Path::new(name)).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
        let message = found(folder.path()).unwrap_err();
        assert!(message.contains("directory"), "{message}");
    }
}
