//! The provenance of figures: the machine, its kernel and its programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine a run was made on.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of fsdyno.
    pub fsdyno: String,
    /// `uname -srm`.
    pub kernel: String,
    /// `uname -v`.
    pub kernel_build: String,
    /// The distribution (`PRETTY_NAME` of os-release).
    pub distribution: String,
    /// The processor model.
    pub processor: String,
    /// Processors this process may use.
    pub processors: u32,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// The hypervisor or container, as far as it is known; `none` on bare metal.
    pub virtualisation: String,
    /// The frequency governor, if there is one.
    pub governor: Option<String>,
    /// The device under the image files, or the devices under test: name, model, scheduler.
    pub devices: Vec<DeviceFacts>,
    /// Programs used, each with the first line of its version text.
    pub programs: Vec<(String, String)>,
    /// Whether the run had root.
    pub root: bool,
    /// The user who recorded it, as a number; none if that is not known. Only this user resumes
    /// the run, because its plan may hold commands.
    #[serde(default)]
    pub uid: Option<u32>,
}

/// The known properties of a block device.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its kernel name (`sda`, `loop0`).
    pub name: String,
    /// Its role (`image files`, `device under test`).
    pub role: String,
    /// The model, if it reports one.
    pub model: Option<String>,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Whether it reports that it rotates.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// The volatile write cache, as the kernel sees it (`write back`, `write through`).
    pub write_cache: Option<String>,
    /// The logical block size, bytes.
    pub logical_block_bytes: u32,
    /// The file system that contains the image files, if there is one.
    pub host_filesystem: Option<String>,
}
