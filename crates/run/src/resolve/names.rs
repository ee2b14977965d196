//! Names and paths in a plan.

use super::config_error::ConfigError;
use std::path::{Path, PathBuf};

pub fn check_name(what: &str, name: &str) -> Result<String, ConfigError> {
    if name.trim().is_empty() || name.contains(char::is_control) {
        let message = format!("the name of a {what} is empty or holds control characters");
        return Err(ConfigError::wrong(
            message,
            "write a short name in one line",
        ));
    }
    Ok(name.to_owned())
}

/// Makes a path absolute with `base`, without its `.` parts. It reads nothing from disk: `..` and
/// symbolic links stay.
pub fn absolute(base: &Path, path: &Path) -> PathBuf {
    base.join(path).components().collect()
}
