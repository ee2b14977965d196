//! The engine `tools`: programs of the system run the phases on trees (`cp`, `rm`, `tar`). All
//! other operations use the calls of `sync`.

use super::null::Facts;
use super::sync::SystemCalls;
use super::{Engine, EngineInfo};

pub const NAME: &str = "tools";

/// The programs, with the Debian packages that contain them.
const PROGRAMS: &[(&str, &str)] = &[
    ("cp", "coreutils"),
    ("rm", "coreutils"),
    ("cat", "coreutils"),
    ("tar", "tar"),
    ("find", "findutils"),
    ("grep", "grep"),
];

pub(crate) enum ToolsEngine {}

impl Engine for ToolsEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "installed programs: cp -a, rm -rf, tar, cat, find, grep -r",
        programs: PROGRAMS,
        touches_files: true,
    };
    type Calls = SystemCalls;

    fn calls(_facts: Facts) -> SystemCalls {
        SystemCalls::default()
    }
}

/// The Debian package that contains one of the programs.
pub(crate) fn package_of(program: &str) -> Option<&'static str> {
    PROGRAMS
        .iter()
        .find(|(name, _)| *name == program)
        .map(|(_, package)| *package)
}
