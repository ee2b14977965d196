//! Kernels of guests: one for QEMU from the distribution, and the lab kernel for User-mode Linux.

use crate::system::{Result, Start, at, has, message, output, quiet_output, run};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Unpacks the kernel package `$1` into the cache `$2`. A failure leaves no partial kernel.
const UNPACK: &str = r#"apt-get -q download "$1" && dpkg -x ./*.deb . &&
    depmod -b . "${1#linux-image-}" && mkdir -p -- "$2/boot" "$2/lib/modules" &&
    mv -- lib/modules/* "$2/lib/modules/" && mv -- boot/vmlinuz-* "$2/boot/""#;

/// Provides a kernel for QEMU guests, if no installed kernel is readable with its modules. It is
/// unpacked into the cache and not installed, so that this machine boots as before. Without it, its
/// tests are skipped.
pub fn need_guest_kernel(start: &Start) -> Result {
    let cache = start.cache.join("qemu");
    let modules = |root: &Path, release: &str| {
        let directory = root.join("lib/modules").join(release);
        directory.join("modules.dep").exists()
    };
    let usable = images(&cache).iter().any(|(image, release)| {
        let readable = fs::File::open(image).is_ok();
        readable && (modules(Path::new("/"), release) || modules(&cache, release))
    });
    if usable || !["apt-get", "dpkg", "depmod"].into_iter().all(has) {
        return Ok(());
    }
    let mut depends = Command::new("apt-cache");
    depends.args(["depends", "--important", "linux-image-amd64"]);
    let depends = quiet_output(&mut depends).unwrap_or_default();
    let mut packages = depends
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "));
    let Some(package) = packages.find(|package| package.starts_with("linux-image-")) else {
        return Ok(());
    };
    message(format!(
        "unpacking {package} into {}, for guests of QEMU",
        cache.display()
    ));
    let mut private = DirBuilder::new();
    let parts = cache.join(format!("parts.{}", std::process::id()));
    private
        .recursive(true)
        .mode(0o700)
        .create(&parts)
        .map_err(at(&parts))?;
    let mut unpack = Command::new("sh");
    unpack
        .args(["-c", UNPACK, "sh", package])
        .arg(&cache)
        .current_dir(&parts);
    if run(unpack.stdout(std::io::stderr())).is_err() {
        message("continuing without it");
    }
    fs::remove_dir_all(&parts).map_err(at(&parts))
}

/// The images of installed and unpacked kernels, each with its release.
fn images(cache: &Path) -> Vec<(PathBuf, String)> {
    let entries = |directory: &Path| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.path(), entry.file_name().into_string().ok()?)))
    };
    let boot = [PathBuf::from("/boot"), cache.join("boot")];
    let boot = boot.iter().flat_map(|directory| entries(directory));
    let boot =
        boot.filter_map(|(path, name)| Some((path, name.strip_prefix("vmlinuz-")?.to_owned())));
    let modules = entries(Path::new("/lib/modules"));
    boot.chain(modules.map(|(path, release)| (path.join("vmlinuz"), release)))
        .collect()
}

/// The path of the lab kernel, built unless it is in the cache of this user; empty without it. An empty
/// value hides a kernel that the environment names.
pub fn lab_kernel(fsdyno: &Path) -> String {
    let kernel = output(Command::new(fsdyno).args(["lab", "setup"]));
    kernel.unwrap_or_else(|_| {
        message("the lab kernel is not available (see above): tests that need it are skipped");
        String::new()
    })
}
