//! `OpenZFS` in the lab kernel: its sources, their changes, its options, and its programs.
//!
//! The sources become a part of the kernel tree, as upstream's `copy-builtin` does it. The programs of
//! the same version are kept next to the kernel; its guests find them first. The licences of the
//! kernel (GPL) and of `OpenZFS` (CDDL) forbid to distribute the result, so it is in no package.

use super::building::{BuildError, Tree};
use super::error::{Remedy, SetupError, ZfsError, refused};
use super::patches::{self, Patch};
use super::sources::{self, FOLDER, SourcesError};
use super::{GUEST_PROGRAMS, fragment, identity, tools};
use crate::own_programs::PLACE;
use fsdyno_host::command;
use fsdyno_host::removal::remove_tree;
use fsdyno_model::CancelToken;
use fsdyno_model::names::short_hash;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The packages of the sources and of the programs.
const SOURCES: &str = "zfs-dkms";
const TOOLS: &str = "zfsutils-linux";

/// The programs that guests run.
const TOOL_NAMES: [&str; 3] = ["zpool", "zfs", "zdb"];

/// The options of a kernel with `OpenZFS`, added to the config fragment. `zpool create` makes partitions.
const OPTIONS: &str = "\
# needed
CONFIG_PARTITION_ADVANCED=y
CONFIG_EFI_PARTITION=y
CONFIG_ZFS=y
";

/// The line of the fragment that becomes part of the release, and its parts around the version.
const RELEASE: &str = "CONFIG_LOCALVERSION=\"-fsdyno\"\n";

/// Changes for virtual time. When `OpenZFS` starts, it measures its routines of checksums and parity in
/// loops, which end only when the clock goes on; and User-mode Linux reports the features of the host's
/// processor. With these changes it measures nothing, and takes the portable routines on every machine.
const VIRTUAL_TIME: [Patch; 4] = [
    Patch {
        file: "module/zcommon/zfs_fletcher.c",
        text: "#if defined(_KERNEL)\n\tstatic const size_t data_size",
        instead: "#if 0\n\tstatic const size_t data_size",
    },
    Patch {
        file: "module/zfs/vdev_raidz_math.c",
        text: "#if defined(_KERNEL)\n\tabd_t *pabd;",
        instead: "#if 0\n\tabd_t *pabd;",
    },
    Patch {
        file: "module/zfs/zfs_chksum.c",
        text: "#ifndef _KERNEL\n\t/* we need the benchmark only",
        instead: "#if 1\n\t/* we need the benchmark only",
    },
    Patch {
        file: "include/os/linux/kernel/linux/simd_x86.h",
        text: "#define\tkfpu_allowed()\t\t1",
        instead: "#define\tkfpu_allowed()\t\t0",
    },
];

/// What joins the sources to those of a kernel.
const JOINED: [Patch; 2] = [
    Patch {
        file: "fs/Kconfig",
        text: "source \"fs/ext2/Kconfig\"\n",
        instead: "source \"fs/zfs/Kconfig\"\nsource \"fs/ext2/Kconfig\"\n",
    },
    Patch {
        file: "fs/Makefile",
        text: "obj-$(CONFIG_EXT2_FS)",
        instead: "obj-$(CONFIG_ZFS)\t\t+= zfs/\nobj-$(CONFIG_EXT2_FS)",
    },
];

/// The definition of its option.
const KCONFIG: &str = "\
config ZFS
\tbool \"OpenZFS\"
\tdepends on EFI_PARTITION
\tselect ZLIB_INFLATE
\tselect ZLIB_DEFLATE
";

/// Where its sources come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZfsSource {
    /// The package of the distribution.
    Distribution,
    /// An archive of a release.
    Archive(PathBuf),
}

/// The remedy for this system. The newest package of a stable release is in its backports.
fn remedy(stop: &CancelToken) -> Result<Remedy, SourcesError> {
    let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let words = [
        "apt-get",
        "indextargets",
        "--format",
        format,
        "Created-By: Packages",
    ];
    let lists = sources::printed(&words, stop)?;
    let suite = format!("{}-backports", codename());
    let mirror = mirror_of(&lists, &codename()).unwrap_or("URL");
    Ok(Remedy(format!("deb {mirror} {suite} contrib")))
}

/// The address from which the packages of a release come, in a list of addresses, releases and
/// components.
fn mirror_of<'a>(lists: &'a str, release: &str) -> Option<&'a str> {
    let mut lines = lists.lines().map(|line| line.split(' '));
    lines.find_map(|mut words| {
        let mirror = words.next()?;
        (words.next()? == release).then_some(mirror.trim_end_matches('/'))
    })
}

/// The name of this system's release.
fn codename() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    name.unwrap_or("stable").trim_matches('"').to_owned()
}

/// Sources of `OpenZFS` that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Zfs {
    /// Their name in the identity of a kernel: the package with its version, or a file with its digest.
    pub name: String,
    from: From,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum From {
    /// The directory of the installed package.
    Folder(PathBuf),
    Archive(PathBuf),
    /// The version of a package that can be downloaded.
    Package(String),
}

/// Finds sources: those that the user named, or the installed package, or the newest that apt-get knows
/// for the release of this system.
pub(super) fn find(source: &ZfsSource, stop: &CancelToken) -> Result<Zfs, SetupError> {
    if let ZfsSource::Archive(path) = source {
        let (name, path) = sources::named(path)?;
        let from = From::Archive(path);
        return Ok(Zfs { name, from });
    }
    let named = |version: &str| format!("{SOURCES} {version}");
    if let Some(version) = sources::installed(SOURCES, stop).map_err(SourcesError::from)? {
        let folder = Path::new(FOLDER).join(format!("zfs-{}", upstream(&version)));
        if folder.join("META").exists() {
            let (name, from) = (named(&version), From::Folder(folder));
            return Ok(Zfs { name, from });
        }
    }
    let listed = sources::printed(&["apt-cache", "madison", SOURCES], stop)?;
    match newest(&listed, &codename()) {
        Some(version) => Ok(Zfs {
            name: named(version),
            from: From::Package(version.to_owned()),
        }),
        None => Err(ZfsError::None(remedy(stop)?).into()),
    }
}

/// The version without the revision of the distribution.
fn upstream(version: &str) -> &str {
    let version = version
        .rsplit_once('-')
        .map_or(version, |(version, _)| version);
    version
        .split_once(':')
        .map_or(version, |(_, version)| version)
}

/// The first version in the output of `apt-cache madison`, which begins with the newest; of this release
/// if it has one.
fn newest<'a>(listed: &'a str, release: &str) -> Option<&'a str> {
    let lines = listed.lines().filter_map(|line| {
        let mut fields = line.split('|').map(str::trim);
        Some((fields.nth(1)?, fields.next()?))
    });
    let of_release = |(_, origin): &(&str, &str)| {
        let mut suites = origin.split(' ').filter_map(|word| word.split_once('/'));
        suites.any(|(suite, _)| suite.split('-').next() == Some(release))
    };
    let mut own = lines.clone().filter(of_release);
    own.next()
        .or_else(|| lines.clone().next())
        .map(|(version, _)| version)
}

/// What the file `META` of the sources says.
#[derive(Debug, PartialEq, Eq)]
struct Meta {
    version: String,
    minimum: String,
    maximum: String,
}

impl Meta {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            let value = lines.find(|(key, _)| *key == name)?.1.trim();
            value
                .starts_with(|c: char| c.is_ascii_digit())
                .then(|| value.to_owned())
        };
        Some(Self {
            version: field("Version")?,
            minimum: field("Linux-Minimum")?,
            maximum: field("Linux-Maximum")?,
        })
    }

    /// Whether it is for a kernel of this version: `6.12` of 4.18 to 6.14.
    fn is_for(&self, kernel: &str) -> bool {
        let number = sources::numbers;
        number(&self.minimum) <= number(kernel) && number(kernel) <= number(&self.maximum)
    }
}

/// The first two numbers of the version of a kernel, from its Makefile.
fn version_of(makefile: &str) -> Option<String> {
    let of = |key: &str| {
        let mut lines = makefile.lines().filter_map(|line| line.split_once(" = "));
        Some(lines.find(|(name, _)| *name == key)?.1.trim())
    };
    Some(format!("{}.{}", of("VERSION")?, of("PATCHLEVEL")?))
}

/// The text of the config fragment with `OpenZFS`. The release of the kernel names its version.
fn with_options(fragment: &str, version: &str) -> String {
    let release = format!("CONFIG_LOCALVERSION=\"-zfs-{version}-fsdyno\"\n");
    fragment.replace(RELEASE, &release) + OPTIONS
}

/// The hash of the config fragment, of the options of `OpenZFS`, and of the changes.
pub(super) fn fragment_hash() -> String {
    let mut text = identity::of_fragment(&with_options(fragment::TEXT, "version"));
    let changes = VIRTUAL_TIME.iter().chain(&JOINED);
    for one in changes {
        let _ = write!(text, "\n{}: {}", one.file, one.instead);
    }
    short_hash(&(text + KCONFIG))
}

/// Sources of `OpenZFS` next to those of the kernel, and the programs of the same version.
pub(super) struct Prepared {
    folder: PathBuf,
    version: String,
}

impl Prepared {
    /// Unpacks sources and programs, unless that was done, and checks them for this kernel.
    pub(super) fn new(
        zfs: &Zfs,
        kernel: &Path,
        build_dir: &Path,
        stop: &CancelToken,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<Self, SetupError> {
        let folder = build_dir.join("zfs");
        if !folder.is_dir() {
            on_step(&format!("fetching {}", zfs.name));
            let part = build_dir.join("zfs.part");
            remove_tree(&part).map_err(refused("remove", &part))?;
            fs::create_dir_all(&part).map_err(refused("make", &part))?;
            zfs.unpack(&part, build_dir, stop)?;
            fs::rename(&part, &folder).map_err(refused("rename", &part))?;
        }
        let no_sources = |why: &str| ZfsError::NoSources {
            name: zfs.name.clone(),
            why: why.to_owned(),
        };
        let text = fs::read_to_string(folder.join("META"));
        let text = text.map_err(|error| no_sources(&format!("META: {error}")))?;
        let meta = Meta::parse(&text).ok_or_else(|| no_sources("META names no versions"))?;
        let makefile = kernel.join("Makefile");
        let text = fs::read_to_string(&makefile).map_err(refused("read", &makefile))?;
        let kernel = version_of(&text).unwrap_or_default();
        if !meta.is_for(&kernel) {
            return Err(SetupError::Zfs(ZfsError::Kernel {
                name: zfs.name.clone(),
                minimum: meta.minimum,
                maximum: meta.maximum,
                kernel,
                remedy: remedy(stop)?,
            }));
        }
        let prepared = Self {
            folder,
            version: meta.version,
        };
        prepared.change()?;
        let programs = build_dir.join(GUEST_PROGRAMS);
        if !programs.is_dir() {
            on_step(&format!("fetching {TOOLS}"));
            prepared.fetch_programs(&zfs.from, build_dir, stop)?;
        }
        Ok(prepared)
    }

    /// The config fragment of the kernel.
    pub(super) fn fragment(&self) -> String {
        with_options(fragment::TEXT, &self.version)
    }

    /// Changes the sources for virtual time, unless that was done.
    fn change(&self) -> Result<(), SetupError> {
        let read = || refused("read", &self.folder);
        let done = self.folder.join("changed");
        if done.exists() {
            return Ok(());
        }
        if let Some(unfit) = patches::first_unfit(&self.folder, &VIRTUAL_TIME).map_err(read())? {
            return Err(SetupError::Zfs(ZfsError::Patch {
                version: self.version.clone(),
                unfit,
            }));
        }
        patches::apply(&self.folder, &VIRTUAL_TIME).map_err(read())?;
        fs::write(&done, "").map_err(refused("make", &done))
    }

    /// Unpacks the programs of the same version with their libraries, and runs one of them.
    fn fetch_programs(
        &self,
        from: &From,
        build_dir: &Path,
        stop: &CancelToken,
    ) -> Result<(), SetupError> {
        let failed = |why: String| ZfsError::Tools {
            version: self.version.clone(),
            why,
        };
        let package = match from {
            From::Package(version) => version.clone(),
            From::Folder(_) | From::Archive(_) => {
                let listed = sources::printed(&["apt-cache", "madison", TOOLS], stop)?;
                let mut versions = listed.lines().filter_map(|line| line.split('|').nth(1));
                let same = versions.find(|version| upstream(version.trim()) == self.version);
                let same = same.map(|version| version.trim().to_owned());
                same.ok_or_else(|| failed(format!("apt-get knows no {TOOLS} of this version")))?
            }
        };
        let place = build_dir.join("package");
        let emptied = remove_tree(&place).and_then(|()| fs::create_dir_all(&place));
        emptied.map_err(refused("make", &place))?;
        let tools = format!("{TOOLS}={package}");
        let show = ["apt-cache", "show", "--no-all-versions", &tools];
        let mut packages = vec![tools.clone()];
        packages.extend(libraries(&sources::printed(&show, stop)?, &package));
        sources::download(&packages, &place, stop)
            .map_err(SourcesError::from)?
            .map_err(failed)?;
        let (programs, part) = (
            build_dir.join(GUEST_PROGRAMS),
            build_dir.join("programs.part"),
        );
        remove_tree(&part).map_err(refused("remove", &part))?;
        let collected = collect(&place, &part);
        collected.map_err(refused("unpack", &place))?;
        let line = [
            "sh",
            "-c",
            "LD_LIBRARY_PATH=\"$0/lib\" \"$0/bin/zfs\" --version",
        ];
        let mut argv = tools::words(&line);
        argv.push(part.display().to_string());
        // Without a module of the kernel it fails after the first line, its own version.
        let printed = command::query(&argv, stop)?;
        let first = printed.stdout.lines().next().unwrap_or_default();
        if !first.starts_with(&format!("zfs-{}-", self.version)) {
            let why = format!("`zfs --version` of {tools} printed `{first}`");
            return Err(failed(format!("{why}: {}", printed.failure(&argv))).into());
        }
        remove_tree(&place).map_err(refused("remove", &place))?;
        fs::rename(&part, &programs).map_err(refused("rename", &part))
    }

    /// Joins the sources to those of the kernel. `tree` is configured with the fragment, as far as the
    /// kernel knows its options without `OpenZFS`.
    pub(super) fn join(
        &self,
        tree: &Tree<'_>,
        build_dir: &Path,
        stop: &CancelToken,
        on_step: &mut dyn FnMut(&str),
    ) -> Result<(), SetupError> {
        let done = build_dir.join("joined");
        if done.exists() {
            return Ok(());
        }
        on_step("configuring OpenZFS");
        let targets = ["prepare", "scripts"].map(str::to_owned);
        tree.make(&targets, stop, &mut |_| {})?;
        let option = |name: &str, path: &Path| format!("--with-linux{name}={}", path.display());
        let mut argv = tools::words(&["sh", "-c", CONFIGURE]);
        argv.push(self.folder.display().to_string());
        argv.extend([option("", tree.sources), option("-obj", tree.output)]);
        let finished = command::run(&argv, stop).map_err(|error| match error {
            command::CommandError::Stopped { .. } => BuildError::Stopped.into(),
            error => SetupError::Command(error),
        })?;
        if !finished.success() {
            let log = self.folder.join("config.log");
            let why = format!("{}; see {}", finished.failure(&argv), log.display());
            return Err(SetupError::Unpack(why));
        }
        self.copy_to(tree.sources, stop)?;
        fs::write(&done, "").map_err(refused("make", &done))
    }

    /// Copies the configured sources into those of the kernel.
    fn copy_to(&self, kernel: &Path, stop: &CancelToken) -> Result<(), SetupError> {
        let (code, headers) = (kernel.join("fs/zfs"), kernel.join("include/zfs"));
        for (from, to) in [("module", &code), ("include", &headers)] {
            remove_tree(to).map_err(refused("remove", to))?;
            copy_tree(&self.folder.join(from), to, stop)?;
        }
        self.register(kernel, &code, &headers)
            .map_err(refused("change", kernel))
    }

    /// Makes the copied sources a part of the kernel.
    fn register(&self, kernel: &Path, code: &Path, headers: &Path) -> io::Result<()> {
        fs::copy(
            self.folder.join("zfs_config.h"),
            headers.join("zfs_config.h"),
        )?;
        let version = format!("#define\tZFS_META_GITREV \"zfs-{}\"\n", self.version);
        fs::write(headers.join("zfs_gitrev.h"), version)?;
        fs::write(code.join("Kconfig"), KCONFIG)?;
        match patches::first_unfit(kernel, &JOINED)? {
            Some(unfit) => Err(io::Error::other(unfit)),
            None => patches::apply(kernel, &JOINED),
        }
    }
}

/// Configures the sources in `$0` for a kernel of User-mode Linux.
const CONFIGURE: &str = "cd -- \"$0\" && ARCH=um exec ./configure --disable-dependency-tracking \
    --with-config=kernel --enable-linux-builtin \"$@\"";

impl Zfs {
    /// Unpacks the sources into an empty directory.
    fn unpack(&self, to: &Path, build_dir: &Path, stop: &CancelToken) -> Result<(), SetupError> {
        match &self.from {
            From::Folder(folder) => copy_tree(folder, to, stop),
            From::Archive(path) => sources::unpack(path, to, stop)?.map_err(SetupError::Unpack),
            From::Package(version) => {
                let package = build_dir.join("package");
                let emptied = remove_tree(&package).and_then(|()| fs::create_dir_all(&package));
                emptied.map_err(refused("make", &package))?;
                let words = [format!("{SOURCES}={version}")];
                let downloaded = sources::download(&words, &package, stop);
                downloaded
                    .map_err(SourcesError::from)?
                    .map_err(|what| SourcesError::Fetch {
                        package: SOURCES.to_owned(),
                        what,
                    })?;
                let folder = format!("usr/src/zfs-{}", upstream(version));
                copy_tree(&package.join(folder), to, stop)?;
                remove_tree(&package).map_err(refused("remove", &package))
            }
        }
    }
}

/// The packages that a package needs in exactly its version: its libraries.
fn libraries(about: &str, version: &str) -> Vec<String> {
    let mut lines = about
        .lines()
        .filter_map(|line| line.strip_prefix("Depends: "));
    let needed = lines.next().unwrap_or_default().split(", ");
    let exact = format!(" (= {version})");
    let names = needed.filter_map(|one| one.strip_suffix(&exact));
    names.map(|name| format!("{name}={version}")).collect()
}

/// Collects the programs and libraries of unpacked packages, with a script for each program that starts
/// it with its libraries. Guests see the directory as [`PLACE`].
fn collect(unpacked: &Path, to: &Path) -> io::Result<()> {
    let (programs, libraries) = (to.join("bin"), to.join("lib"));
    for folder in [&programs, &libraries] {
        fs::create_dir_all(folder)?;
    }
    let mut folders = vec![unpacked.to_owned()];
    while let Some(folder) = folders.pop() {
        let is_of_programs = folder.ends_with("sbin") || folder.ends_with("bin");
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // The loader asks for `libzfs.so.6`, a link to the file with the whole version.
            let is_library = || {
                let version = name.split_once(".so.").filter(|_| name.starts_with("lib"));
                version.is_some_and(|(_, version)| !version.contains('.'))
            };
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if is_of_programs && TOOL_NAMES.contains(&&*name) {
                fs::copy(entry.path(), programs.join(&name))?;
                let script = to.join(&name);
                let text = format!(
                    "#!/bin/sh\nLD_LIBRARY_PATH={PLACE}/lib exec {PLACE}/bin/{name} \"$@\"\n"
                );
                fs::write(&script, text)?;
                fs::set_permissions(&script, Permissions::from_mode(0o755))?;
            } else if is_library() {
                fs::copy(entry.path(), libraries.join(&name))?;
            }
        }
    }
    Ok(())
}

/// Copies the contents of a directory.
pub(super) fn copy_tree(from: &Path, to: &Path, stop: &CancelToken) -> Result<(), SetupError> {
    let words = ["cp", "-R", "--preserve=mode,timestamps", "-T", "--"];
    let mut argv = tools::words(&words);
    argv.extend([from, to].map(|path| path.display().to_string()));
    let finished = command::run(&argv, stop)?;
    if finished.success() {
        return Ok(());
    }
    Err(SetupError::Unpack(finished.failure(&argv)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = "Meta:          1\nName:          zfs\nVersion:       2.3.2\n\
        Linux-Maximum: 6.14\nLinux-Minimum: 4.18\n";

    #[test]
    fn sources_say_for_which_kernels_they_are() {
        let meta = Meta::parse(META).unwrap();
        assert_eq!(meta.version, "2.3.2");
        for (kernel, fits) in [
            ("4.17", false),
            ("4.18", true),
            ("6.9", true),
            ("6.14", true),
            ("6.15", false),
            ("10.0", false),
        ] {
            assert_eq!(meta.is_for(kernel), fits, "{kernel}");
        }
        assert_eq!(Meta::parse("Name: zfs\nVersion: 2.3.2\n"), None);
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\n";
        assert_eq!(version_of(makefile).as_deref(), Some("6.12"));
    }

    #[test]
    fn the_newest_package_of_this_release_is_taken() {
        let listed = "  zfs-dkms | 2.3.9-0+deb13u1 | http://x/debian trixie/contrib amd64 Packages\n  \
            zfs-dkms | 2.3.2-2~bpo12+2 | http://x/debian bookworm-backports/contrib amd64 Packages\n  \
            zfs-dkms | 2.1.11-1 | http://x/debian bookworm/contrib amd64 Packages\n";
        assert_eq!(newest(listed, "bookworm"), Some("2.3.2-2~bpo12+2"));
        assert_eq!(newest(listed, "trixie"), Some("2.3.9-0+deb13u1"));
        assert_eq!(newest(listed, "other"), Some("2.3.9-0+deb13u1"));
        assert_eq!(newest("", "bookworm"), None);
        for (version, expected) in [("2.3.2-2~bpo12+2", "2.3.2"), ("1:2.4.0-1-x", "2.4.0-1")] {
            assert_eq!(upstream(version), expected);
        }
    }

    #[test]
    fn without_a_package_the_missing_line_of_the_sources_is_named() {
        let lists = "http://x/security bookworm-security main\nhttp://x/debian bookworm main\n";
        assert_eq!(mirror_of(lists, "bookworm"), Some("http://x/debian"));
        let remedy = Remedy("deb http://x/debian bookworm-backports contrib".to_owned());
        let text = ZfsError::None(remedy).to_string();
        assert!(
            text.contains("`deb http://x/debian bookworm-backports contrib`"),
            "{text}"
        );
    }

    #[test]
    fn the_release_names_the_version_and_the_hash_covers_the_changes() {
        let text = with_options(fragment::TEXT, "2.3.2");
        assert!(text.contains("\nCONFIG_LOCALVERSION=\"-zfs-2.3.2-fsdyno\"\n"));
        assert!(!text.contains("\"-fsdyno\"") && text.ends_with("CONFIG_ZFS=y\n"));
        assert_ne!(fragment_hash(), identity::of_fragment(fragment::TEXT));
    }

    #[test]
    fn programs_are_taken_with_their_libraries_only() {
        let about = "Package: zfsutils-linux\nDepends: libzfs6linux (= 2.3.2-2), python3, \
            libc6 (>= 2.34)\nDescription: x\n";
        assert_eq!(libraries(about, "2.3.2-2"), ["libzfs6linux=2.3.2-2"]);
        let work_dir = tempfile::tempdir().unwrap();
        let (from, to) = (work_dir.path().join("from"), work_dir.path().join("to"));
        for file in [
            "sbin/zpool",
            "sbin/zhack",
            "usr/share/zpool",
            "lib/x/libzfs.so.6.0.0",
        ] {
            let path = from.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        std::os::unix::fs::symlink("libzfs.so.6.0.0", from.join("lib/x/libzfs.so.6")).unwrap();
        collect(&from, &to).unwrap();
        let names = |folder: &str| {
            let entries = fs::read_dir(to.join(folder)).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(""), ["bin", "lib", "zpool"]);
        assert_eq!(
            (names("bin"), names("lib")),
            (vec!["zpool".into()], vec!["libzfs.so.6".into()])
        );
        assert_eq!(
            fs::read_to_string(to.join("bin/zpool")).unwrap(),
            "sbin/zpool"
        );
    }
}
