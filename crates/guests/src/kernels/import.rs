//! Installs a kernel that was built elsewhere into the cache: from a Debian package of a lab kernel,
//! or from the program in the cache of another user or machine.
//!
//! Only a file that nobody but root and the effective user can change is read. The program must have
//! the SHA-256 that its identity records, and print the recorded release.

use super::build::{BuildDir, Made, OnProgress, Progress, publish};
use super::error::{ImportError, SetupError, refused};
use super::identity::{self, Identity, sha256};
use super::{Kernels, LabKernel, PROGRAM, symbols};
use crate::uml::Uml;
use fsdyno_files::{Access, TrustedDir};
use fsdyno_host::removal::remove_tree;
use fsdyno_model::CancelToken;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The files of a kernel. The last two are not needed to start it.
const FILES: [&str; 4] = [PROGRAM, identity::FILE, "config", symbols::SOURCE_FILES];

/// The directory in a package that holds the directory of the kernel.
const IN_PACKAGE: &str = "usr/lib/fsdyno/kernels";

/// The limit of what a package unpacks to, bytes.
const UNPACKED_MAX: u64 = 1 << 30;

/// The limit of the memory of an xz decoder, bytes. `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// The limit of the window of zstd, as a power of two.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Installs the kernel in this file, unless it exists.
pub fn install(
    kernels: &Kernels,
    file: &Path,
    stop: &CancelToken,
    on_progress: OnProgress<'_>,
) -> Result<Made, SetupError> {
    let import = Import::open(file)?;
    let cache = TrustedDir::create(kernels.folder())?;
    let build_dir = BuildDir::claim(cache.path(), "import", stop, on_progress)?;
    let made = import.all(&build_dir.path("kernel.part"), kernels, on_progress);
    build_dir.remove()?;
    made
}

/// A file with a kernel, and its directory.
struct Import {
    folder: TrustedDir,
    path: PathBuf,
    file: File,
}

impl Import {
    fn open(path: &Path) -> Result<Self, ImportError> {
        let unread = |cause| ImportError::Read {
            file: path.to_owned(),
            cause,
        };
        // Without symbolic links: a directory that is trusted may be reached by one.
        let path = path.canonicalize().map_err(unread);
        let path = match path {
            Err(ImportError::Read { file, cause }) if cause.kind() == io::ErrorKind::NotFound => {
                std::path::absolute(file).map_err(unread)?
            }
            path => path?,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(unread(io::ErrorKind::IsADirectory.into()));
        };
        let folder = TrustedDir::open(parent)?;
        let file = folder.file(name, Access::ReadSystem)?;
        Ok(Self { folder, path, file })
    }

    fn all(
        mut self,
        part: &Path,
        kernels: &Kernels,
        on_progress: OnProgress<'_>,
    ) -> Result<Made, SetupError> {
        remove_tree(part).map_err(refused("remove", part))?;
        let staged = TrustedDir::create(part)?;
        on_progress(Progress::Step(&format!("reading {}", self.path.display())));
        self.copy_to(staged.path())?;
        let identity = Identity::read(&staged)?
            .ok_or_else(|| self.no_kernel("it records no identity in a known format"))?;
        if let Some(zfs) = identity.zfs.clone() {
            let file = self.path;
            return Err(ImportError::OwnUseOnly { file, zfs }.into());
        }
        let program = staged.path().join(PROGRAM);
        let digest = File::open(&program).and_then(|program| sha256(&program));
        let found = digest.map_err(refused("read", &program))?;
        if found != identity.sha256 {
            return Err(SetupError::Import(ImportError::Differs {
                file: self.path,
                found,
                recorded: identity.sha256,
            }));
        }
        let same = |one: &LabKernel| one.identity == identity && one.verified().is_ok();
        if let Some(kernel) = kernels.ready()?.into_iter().find(same) {
            return Ok(Made {
                kernel,
                was_there: true,
            });
        }
        let printed = Uml::at(program, None).map_err(SetupError::NoKernel)?;
        if printed.release != identity.release {
            let why = format!("it prints the release {}", printed.release);
            return Err(self.no_kernel(&why).into());
        }
        let kernel = publish(staged.path(), kernels.folder(), identity)?;
        if !kernel.is_current() {
            on_progress(Progress::Note(
                "the kernel was built with other options than those of this version of fsdyno; \
                 a kernel with them is preferred (fsdyno lab setup)",
            ));
        }
        Ok(Made {
            kernel,
            was_there: false,
        })
    }

    fn no_kernel(&self, why: &str) -> ImportError {
        ImportError::NoKernel {
            file: self.path.clone(),
            why: why.to_owned(),
        }
    }

    /// Copies the files of the kernel into a directory.
    fn copy_to(&mut self, staged: &Path) -> Result<(), SetupError> {
        let mut magic = [0; 8];
        let unread = |cause| ImportError::Read {
            file: self.path.clone(),
            cause,
        };
        let length = self.file.read(&mut magic).map_err(unread)?;
        let copied = match &magic[..length] {
            b"!<arch>\n" => unpack(&self.file, staged),
            [0x7f, b'E', b'L', b'F', ..] => self.copy_program(staged),
            _ => {
                let why = "it is neither a Debian package nor a program";
                return Err(self.no_kernel(why).into());
            }
        };
        copied.map_err(|cause| {
            SetupError::Import(ImportError::Read {
                file: self.path.clone(),
                cause,
            })
        })?;
        if staged.join(PROGRAM).exists() {
            Ok(())
        } else {
            let why = format!("the package has no {IN_PACKAGE}/*/{PROGRAM}");
            Err(self.no_kernel(&why).into())
        }
    }

    /// Copies the program and the files next to it.
    fn copy_program(&self, staged: &Path) -> io::Result<()> {
        (&self.file).rewind()?;
        save(staged, PROGRAM, &mut &self.file)?;
        for name in FILES.into_iter().filter(|name| *name != PROGRAM) {
            match self.folder.file(OsStr::new(name), Access::ReadSystem) {
                Ok(mut file) => save(staged, name, &mut file)?,
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(())
    }
}

/// Writes a file of the kernel, durably.
fn save(staged: &Path, name: &str, from: &mut dyn Read) -> io::Result<()> {
    let mode = if name == PROGRAM { 0o755 } else { 0o644 };
    let mut options = OpenOptions::new();
    let options = options.write(true).create_new(true).mode(mode);
    let mut file = options.open(staged.join(name))?;
    io::copy(from, &mut file)?;
    file.sync_all()
}

/// Unpacks the kernel of a Debian package, behind its first eight bytes. The package is an `ar`
/// archive (ar(5)) with the member `data.tar` in one of several compressions (deb(5)).
fn unpack(mut package: &File, staged: &Path) -> io::Result<()> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    loop {
        let mut header = [0; 60];
        package
            .read_exact(&mut header)
            .map_err(|_| invalid("it is a package without data.tar"))?;
        let text = |from: usize, to: usize| std::str::from_utf8(&header[from..to]).map(str::trim);
        let (Ok(name), Ok(size)) = (text(0, 16), text(48, 58)) else {
            return Err(invalid("the header of a member of the package is no text"));
        };
        let size: u32 = size
            .parse()
            .map_err(|_| invalid("a member of the package has no size"))?;
        let size = u64::from(size);
        if let Some(suffix) = name.trim_end_matches('/').strip_prefix("data.tar") {
            let packed = BufReader::new(package.take(size));
            return unpack_tar(suffix, packed, staged);
        }
        // Members begin at even offsets.
        let next = i64::try_from(size + size % 2).map_err(io::Error::other)?;
        package.seek(SeekFrom::Current(next))?;
    }
}

/// Unpacks the files of a kernel from the data of a package; all others are ignored.
fn unpack_tar(suffix: &str, packed: impl io::BufRead, staged: &Path) -> io::Result<()> {
    let tar: Box<dyn Read + '_> = match suffix {
        ".xz" => {
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(packed, stream))
        }
        ".zst" => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        ".gz" => Box::new(flate2::bufread::GzDecoder::new(packed)),
        "" => Box::new(packed),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    for entry in tar::Archive::new(tar.take(UNPACKED_MAX)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let of_kernel = |path: &Path| {
            let folder = path.parent()?.parent()?;
            let folder = folder.strip_prefix("./").unwrap_or(folder);
            (folder == Path::new(IN_PACKAGE)).then_some(())?;
            FILES
                .into_iter()
                .find(|name| path.file_name() == Some(OsStr::new(name)))
        };
        if let Some(name) = of_kernel(&path).filter(|_| entry.header().entry_type().is_file()) {
            save(staged, name, &mut entry)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const KERNEL: &str = "#!/bin/sh\necho 6.12-test\n";

    fn identity(program: &str) -> Identity {
        let work_dir = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut &work_dir, program.as_bytes()).unwrap();
        let sha256 = sha256(&work_dir).unwrap();
        Identity::of("linux-source-6.12 6.12.1-1", "other options", "cc 12").built(
            "6.12-test",
            &sha256,
            &[],
        )
    }

    /// A package with these files of a kernel and one other.
    fn package(suffix: &str, files: &[(&str, &str)]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut add = |path: &str, content: &str| {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, path, content.as_bytes())
                .unwrap();
        };
        add(
            "./usr/share/doc/fsdyno-lab-kernel/config",
            "no file of a kernel",
        );
        for (name, content) in files {
            add(&format!("./{IN_PACKAGE}/linux-6.12/{name}"), content);
        }
        let tar = tar.into_inner().unwrap();
        let data = match suffix {
            ".xz" => {
                let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
                io::Write::write_all(&mut xz, &tar).unwrap();
                xz.finish().unwrap()
            }
            ".zst" => zstd::encode_all(tar.as_slice(), 1).unwrap(),
            _ => tar,
        };
        let mut package = b"!<arch>\n".to_vec();
        for (name, content) in [
            ("debian-binary", b"2.0".as_slice()),
            (&format!("data.tar{suffix}"), &data),
        ] {
            let header = format!("{name:<16}{:<32}{:<10}`\n", "0", content.len());
            package.extend(header.as_bytes());
            package.extend(content);
            package.extend((content.len() % 2 == 1).then_some(b'\n'));
        }
        package
    }

    fn install_from(kernels: &Kernels, file: &Path) -> Result<Made, SetupError> {
        install(kernels, file, &CancelToken::new(), &mut |_| {})
    }

    #[test]
    fn a_package_is_installed_once_and_its_kernel_is_verified() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        let file = work_dir.path().join("kernel.deb");
        let json = serde_json::to_string(&identity(KERNEL)).unwrap();
        let files = [
            ("linux", KERNEL),
            ("identity.json", &json),
            ("config", "CONFIG_A=y\n"),
        ];
        for (suffix, was_there) in [(".xz", false), (".zst", true), ("", true)] {
            fs::write(&file, package(suffix, &files)).unwrap();
            let made = install_from(&kernels, &file).unwrap();
            assert_eq!(made.was_there, was_there, "{suffix}");
            assert_eq!(made.kernel.identity, identity(KERNEL));
            made.kernel.verified().unwrap();
            let config = made.kernel.program.with_file_name("config");
            assert_eq!(fs::read_to_string(config).unwrap(), "CONFIG_A=y\n");
        }
        // Only the kernel remains, also after an interrupted import.
        assert_eq!(fs::read_dir(kernels.folder()).unwrap().count(), 1);
        let part = kernels.folder().join("unfinished/import/kernel.part");
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join("linux"), "partial").unwrap();
        assert!(install_from(&kernels, &file).unwrap().was_there);
        // The program in a cache can be named too; a script is none.
        let program = kernels.ready().unwrap()[0].program.clone();
        let why = install_from(&kernels, &program).unwrap_err().to_string();
        assert!(
            why.contains("neither a Debian package nor a program"),
            "{why}"
        );
    }

    #[test]
    fn anything_but_the_recorded_kernel_is_refused() {
        let work_dir = tempfile::tempdir().unwrap();
        let kernels = Kernels::in_folder(work_dir.path().join("kernels"));
        let file = work_dir.path().join("kernel.deb");
        let json = serde_json::to_string(&identity(KERNEL)).unwrap();
        let other = KERNEL.replace("6.12", "6.13");
        let renamed = serde_json::to_string(&identity(&other)).unwrap();
        let mut with_zfs = identity(KERNEL);
        with_zfs.zfs = Some("zfs-dkms 2.3.2-2".to_owned());
        let with_zfs = serde_json::to_string(&with_zfs).unwrap();
        let whole = package(".xz", &[("linux", KERNEL), ("identity.json", &json)]);
        let cases = [
            (
                package("", &[("linux", &other), ("identity.json", &json)]),
                "SHA-256",
            ),
            (
                package("", &[("linux", &other), ("identity.json", &renamed)]),
                "6.13-test",
            ),
            (package("", &[("linux", KERNEL)]), "records no identity"),
            (
                package("", &[("linux", KERNEL), ("identity.json", &with_zfs)]),
                "only who built it may use it",
            ),
            (
                package("", &[("identity.json", &json)]),
                "has no usr/lib/fsdyno/kernels",
            ),
            (package(".lzma", &[]), "cannot read"),
            (whole[..whole.len() / 2].to_vec(), "cannot read"),
            (whole[..70].to_vec(), "without data.tar"),
            (b"\x7fELF and no identity".to_vec(), "records no identity"),
            (b"PK".to_vec(), "neither a Debian package"),
            (Vec::new(), "neither a Debian package"),
        ];
        for (content, expected) in cases {
            fs::write(&file, content).unwrap();
            let why = install_from(&kernels, &file).unwrap_err().to_string();
            assert!(why.contains(expected), "{expected}: {why}");
            assert!(kernels.ready().unwrap().is_empty(), "{expected}");
            assert!(!kernels.folder().join("unfinished").exists(), "{expected}");
        }
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let why = install_from(&kernels, &file).unwrap_err().to_string();
        assert!(why.contains("writable by everybody"), "{why}");
        let missing = install_from(&kernels, &work_dir.path().join("missing.deb"));
        assert!(matches!(missing, Err(SetupError::Import(why)) if why.is_missing()));
    }
}
