//! Finds kernels with their modules for guests of QEMU: the running kernel, the newest in `/boot`,
//! or one unpacked into the cache.
//!
//! Files in the cache are used only if no other user could have written them.

use fsdyno_files::{TrustedDir, Untrusted, input, places};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The names of a kernel image, before the release.
const IMAGE: &str = "vmlinuz";

/// A kernel, and the directory of its modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    pub image: PathBuf,
    pub release: String,
    pub modules: PathBuf,
}

/// The error if no kernel was found.
#[derive(Debug, thiserror::Error)]
#[error("{}; {}", self.reason(), self.remedy())]
pub struct NoKernel {
    /// The kernels that were rejected, each with the reason.
    pub rejected: Vec<String>,
    /// The last searched directory; none if the cache directory is unknown.
    pub cache: Option<PathBuf>,
}

impl NoKernel {
    /// The searched places and the rejected kernels, as text.
    pub fn reason(&self) -> String {
        if self.rejected.is_empty() {
            return "no kernel for a guest of QEMU in /boot and /lib/modules".to_owned();
        }
        let rejected = self.rejected.join("; ");
        format!("no kernel for a guest of QEMU: {rejected}")
    }

    /// How to get a kernel.
    pub fn remedy(&self) -> String {
        let Some(cache) = &self.cache else {
            return "set HOME to an absolute path, and unpack one of a distribution into \
                    ~/.cache/fsdyno/qemu"
                .to_owned();
        };
        format!(
            "unpack one of a distribution into {}: apt-get download linux-image-..., dpkg -x, \
             depmod -b",
            cache.display()
        )
    }
}

/// The first suitable kernel: the running one, the newest installed, the newest in the cache.
pub fn find(running: &str, root: &Path, cache: Option<&Path>) -> Result<Kernel, NoKernel> {
    let mut installed = of_tree(root);
    // Stable: the others stay from the newest to the oldest.
    installed.sort_by_key(|kernel| kernel.release != running);
    let mut rejected = Vec::new();
    for kernel in installed {
        match check_usable(&kernel) {
            Ok(()) => return Ok(kernel),
            Err(reason) => rejected.push(reason),
        }
    }
    for kernel in cache.map(of_tree).unwrap_or_default() {
        let trusted = trusted(&kernel).map_err(|error| error.to_string());
        match trusted.and_then(|()| check_usable(&kernel)) {
            Ok(()) => return Ok(kernel),
            Err(reason) => rejected.push(reason),
        }
    }
    Err(NoKernel {
        rejected,
        cache: cache.map(Path::to_owned),
    })
}

/// Whether only root and the effective user can change a kernel or its modules.
fn trusted(kernel: &Kernel) -> Result<(), Untrusted> {
    TrustedDir::open(&kernel.modules)?.check_tree()?;
    match kernel.image.parent() {
        Some(folder) => TrustedDir::open(folder)?.check_tree(),
        None => Ok(()),
    }
}

/// The directory into which a user can unpack a kernel; none if the cache directory is unknown.
pub fn cache() -> Option<PathBuf> {
    let places = places::of_effective_user().ok()?;
    Some(places.cache.join("fsdyno").join("qemu"))
}

/// All kernels below a root, newest first.
fn of_tree(root: &Path) -> Vec<Kernel> {
    let modules = root.join("lib/modules");
    let mut found = Vec::new();
    let mut take = |image: PathBuf, release: String| {
        let modules = modules.join(&release);
        found.push(Kernel {
            image,
            release,
            modules,
        });
    };
    for name in names(&root.join("boot")) {
        let release = name.strip_prefix(IMAGE).and_then(|n| n.strip_prefix('-'));
        if let Some(release) = release {
            take(root.join("boot").join(&name), release.to_owned());
        }
    }
    // Some distributions put the image next to its modules.
    for release in names(&modules) {
        let image = modules.join(&release).join(IMAGE);
        if image.exists() {
            take(image, release);
        }
    }
    found.sort_by_key(|kernel| Reverse(version(&kernel.release)));
    found
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    // The release of a kernel is text.
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// A release split into numbers and separators: `6.1.0-9` is older than `6.1.0-10`.
fn version(release: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = release;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let words = after.find(|c: char| c.is_ascii_digit());
        let (word, after) = after.split_at(words.unwrap_or(after.len()));
        parts.push((number.parse().unwrap_or(0), word.to_owned()));
        rest = after;
    }
    parts
}

/// Checks that its image is readable and that it has the modules of a guest.
fn check_usable(kernel: &Kernel) -> Result<(), String> {
    let image = &kernel.image;
    let read = input::open(image).and_then(|mut file| file.read_exact(&mut [0]));
    read.map_err(|error| format!("{}: {error}", image.display()))?;
    modules(kernel).map(drop).map_err(|error| error.to_string())
}

/// The error of a kernel without the modules that a guest needs.
#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    /// The list of modules could not be read.
    #[error("{}: {cause}", path.display())]
    Unread {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A module is missing.
    #[error("the kernel {release} has no module {name} in {}", folder.display())]
    None {
        release: String,
        name: &'static str,
        folder: PathBuf,
    },
}

impl ModulesError {
    fn unread(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |cause| Self::Unread { path, cause }
    }
}

/// Modules that a guest needs before it can read the modules of the host: for disks, the channel to
/// the host, and the root.
const NEEDED: [&str; 5] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "9pnet_virtio",
    "9p",
];

/// The files of these modules and of their dependencies, in the order of loading.
pub fn modules(kernel: &Kernel) -> Result<Vec<PathBuf>, ModulesError> {
    let folder = &kernel.modules;
    let dependencies = folder.join("modules.dep");
    let text = fs::read_to_string(&dependencies).map_err(ModulesError::unread(&dependencies))?;
    let built_in = fs::read_to_string(folder.join("modules.builtin")).unwrap_or_default();
    let known: BTreeMap<String, (&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (name_of(file), (file, needs)))
        .collect();
    let mut files: Vec<PathBuf> = Vec::new();
    for name in NEEDED {
        let Some((file, needs)) = known.get(name) else {
            if built_in.lines().any(|file| name_of(file) == name) {
                continue;
            }
            return Err(ModulesError::None {
                release: kernel.release.clone(),
                name,
                folder: folder.clone(),
            });
        };
        // Dependencies come last.
        let needs = needs.split_whitespace().rev();
        for file in needs.chain([*file]) {
            let file = folder.join(file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Ok(files)
}

/// The name of a module from its file name, with any compression.
pub fn name_of(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or(file);
    let stem = file.split_once(".ko").map_or(file, |(stem, _)| stem);
    stem.replace('-', "_")
}

/// The uncompressed content of a module, because some kernels cannot uncompress modules.
pub fn content(file: &Path) -> Result<Vec<u8>, ModulesError> {
    let packed = fs::read(file).map_err(ModulesError::unread(file))?;
    let suffix = file.extension().unwrap_or_default();
    let mut content = Vec::new();
    let unpacked = match suffix.to_str() {
        Some("xz") => liblzma::read::XzDecoder::new(packed.as_slice()).read_to_end(&mut content),
        Some("zst") => zstd::stream::copy_decode(packed.as_slice(), &mut content).map(|()| 0),
        Some("gz") => flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut content),
        _ => return Ok(packed),
    };
    unpacked.map_err(ModulesError::unread(file))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPENDENCIES: &str = "\
kernel/drivers/virtio/virtio.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/block/virtio_blk.ko.xz: kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/net/9p/9pnet.ko:
kernel/net/9p/9pnet_virtio.ko: kernel/net/9p/9pnet.ko kernel/drivers/virtio/virtio.ko kernel/drivers/virtio/virtio_ring.ko
kernel/fs/9p/9p.ko: kernel/net/9p/9pnet.ko
";

    /// A kernel below a root.
    fn install(root: &Path, release: &str, dependencies: &str) {
        let folder = root.join("lib/modules").join(release);
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(root.join("boot")).unwrap();
        fs::write(
            root.join("boot/vmlinuz-")
                .with_file_name(format!("vmlinuz-{release}")),
            "k",
        )
        .unwrap();
        fs::write(folder.join("modules.dep"), dependencies).unwrap();
        let built_in = "kernel/drivers/char/virtio_console.ko\n";
        fs::write(folder.join("modules.builtin"), built_in).unwrap();
    }

    #[test]
    fn the_running_kernel_goes_first_then_the_newest_then_the_cache_and_what_cannot_start_is_passed()
     {
        let (root, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let found = |running: &str| find(running, root.path(), Some(cache.path()));
        let none = found("6.1.0-9").unwrap_err().to_string();
        assert!(none.contains(&cache.path().display().to_string()), "{none}");
        install(cache.path(), "7.0.0", DEPENDENCIES);
        assert_eq!(found("6.1.0-9").unwrap().release, "7.0.0");
        // A kernel that others could have written is rejected by name.
        let list = cache.path().join("lib/modules/7.0.0/modules.dep");
        let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&list, mode(0o666)).unwrap();
        let none = found("6.1.0-9").unwrap_err().to_string();
        assert!(none.contains("modules.dep is not trusted"), "{none}");
        for release in ["6.1.0-9", "6.1.0-10", "5.10.0-30"] {
            install(root.path(), release, DEPENDENCIES);
        }
        assert_eq!(found("4.19").unwrap().release, "6.1.0-10");
        assert_eq!(found("5.10.0-30").unwrap().release, "5.10.0-30");
        // A kernel without the needed modules.
        install(root.path(), "5.10.0-30", "kernel/fs/x.ko:\n");
        assert_eq!(found("5.10.0-30").unwrap().release, "6.1.0-10");
        let bare = tempfile::tempdir().unwrap();
        let none = find("5.10.0-30", root.path(), Some(bare.path()));
        assert_eq!(none.unwrap().release, "6.1.0-10");
        install(bare.path(), "5.10.0-30", "kernel/fs/x.ko:\n");
        let none = find("", bare.path(), None).unwrap_err().to_string();
        assert!(none.contains("has no module virtio_pci"), "{none}");
    }

    #[test]
    fn modules_are_loaded_after_what_they_depend_on_and_built_in_ones_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        install(root.path(), "6.1", DEPENDENCIES);
        let kernel = find("6.1", root.path(), None).unwrap();
        let files = modules(&kernel).unwrap();
        let names: Vec<String> = files
            .iter()
            .map(|f| name_of(&f.display().to_string()))
            .collect();
        assert_eq!(
            names,
            [
                "virtio_ring",
                "virtio",
                "virtio_pci",
                "virtio_blk",
                "9pnet",
                "9pnet_virtio",
                "9p"
            ]
        );
    }

    #[test]
    fn a_module_is_unpacked_from_every_format() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(b"module").unwrap();
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(b"module").unwrap();
        for (name, packed) in [
            ("a.ko", b"module".to_vec()),
            ("a.ko.gz", gz.finish().unwrap()),
            ("a.ko.xz", xz.finish().unwrap()),
            ("a.ko.zst", zstd::encode_all(&b"module"[..], 1).unwrap()),
        ] {
            let file = folder.path().join(name);
            fs::write(&file, packed).unwrap();
            assert_eq!(content(&file).unwrap(), b"module", "{name}");
        }
        let damaged = folder.path().join("b.ko.xz");
        fs::write(&damaged, "not packed").unwrap();
        assert!(
            content(&damaged)
                .unwrap_err()
                .to_string()
                .contains("b.ko.xz")
        );
    }
}
