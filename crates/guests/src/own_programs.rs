//! Programs that the guests of a kernel find first: those in a directory next to it, whose version is that
//! of a part of the kernel.

use fsdyno_model::Bytes;

/// The directory, as guests find it.
pub(crate) const PLACE: &str = "/run/fsdyno/programs";

/// The environment variable of a guest that names the directory, or a link to it.
pub(crate) const GIVEN: &str = "FSDYNO_PROGRAMS";

/// The least limit of the cache that `OpenZFS` takes.
const SMALLEST_CACHE: Bytes = Bytes(64 << 20);

/// The words of a kernel's command line for guests with these programs, reached at `place`.
pub(crate) fn words(place: &str, memory: Bytes) -> [String; 3] {
    // Half of the guest's memory. Without a limit the cache (ARC) of `OpenZFS` may take almost all.
    let cache = SMALLEST_CACHE.max(Bytes(memory.0 / 2));
    [
        format!("zfs.zfs_arc_max={}", cache.0),
        format!("{GIVEN}={place}"),
        // A guest has no udev, so mdadm(8) must create the device nodes itself.
        "MDADM_NO_UDEV=1".to_owned(),
    ]
}
