//! Debian packages of fsdyno and of the lab kernel, and a tar archive of fsdyno.

use crate::system::{Result, Start, at, cargo, has, host, output, quiet_output, run, target};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const FSDYNO: &str = include_str!("../fsdyno.control");
const LAB_KERNEL: &str = include_str!("../fsdyno-lab-kernel.control");

/// Makes the packages and prints their paths. The static binary needs no library of the distribution.
pub fn package(start: &Start, words: &[String]) -> Result {
    let (mut binary, mut kernel, mut to) = (None, None, target().join("package"));
    for pair in words.chunks(2) {
        let [option, path] = pair else {
            return Err(format!("{} takes a path", pair[0]).into());
        };
        let path = start.here.join(path);
        let existing = || path.canonicalize().map_err(at(&path));
        match option.as_str() {
            "--binary" => binary = Some(existing()?),
            "--kernel" => kernel = Some(existing()?),
            "--to" => to = path,
            _ => {
                let what = "package takes --binary, --kernel and --to";
                return Err(format!("unknown argument `{option}`; {what}").into());
            }
        }
    }
    start.need_packages(&["package"])?;
    if !has("dpkg-deb") {
        return Err("dpkg-deb is missing: install dpkg, and run this command again".into());
    }
    let binary = binary.map_or_else(build_static, Ok)?;
    let setup = || output(Command::new(&binary).args(["lab", "setup"])).map(PathBuf::from);
    let kernel = kernel.map_or_else(setup, Ok)?;
    let version = output(Command::new(&binary).arg("--version"))?;
    let version = version.split(' ').nth(1).unwrap_or_default();
    fs::create_dir_all(&to).map_err(at(&to))?;
    let (fsdyno, lab_kernel) = (start.work_dir.join("fsdyno"), start.work_dir.join("kernel"));
    // Equal sources give equal packages.
    let date = quiet_output(Command::new("git").args(["log", "-1", "--format=%ct"]));
    let date = date.map_or_else(|| output(Command::new("date").arg("+%s")), Ok)?;
    stage_fsdyno(&binary, &fsdyno)?;
    stage_kernel(&kernel, &lab_kernel)?;
    tar_archive(version, &date, &fsdyno, &to)?;
    let pack =
        |name, from: &Path, fields| debian_package((name, version), &date, from, &to, fields);
    pack("fsdyno", &fsdyno, FSDYNO)?;
    pack("fsdyno-lab-kernel", &lab_kernel, LAB_KERNEL)
}

fn build_static() -> Result<PathBuf> {
    // With --target, build scripts and macros are built without these flags.
    let host = host()?;
    let mut build = cargo(&[
        "build",
        "--release",
        "--locked",
        "-p",
        "fsdyno-cli",
        "--target",
        &host,
    ]);
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    run(build.env("RUSTFLAGS", format!("{flags} -Ctarget-feature=+crt-static")))?;
    let binary = target().join(host).join("release/fsdyno");
    binary.canonicalize().map_err(at(&binary))
}

/// Puts the files of fsdyno for a package into a directory.
fn stage_fsdyno(binary: &Path, to: &Path) -> Result {
    install(binary, &to.join("usr/bin/fsdyno"), "755")?;
    let share = to.join("usr/share");
    let pages = share.join("man/man1");
    run(Command::new(binary).args(["man", "--dir"]).arg(&pages))?;
    let entries = fs::read_dir(&pages).map_err(at(&pages))?.flatten();
    run(Command::new("gzip")
        .args(["-9n", "--"])
        .args(entries.map(|entry| entry.path())))?;
    for (shell, path) in [
        ("bash", "bash-completion/completions/fsdyno"),
        ("zsh", "zsh/vendor-completions/_fsdyno"),
        ("fish", "fish/vendor_completions.d/fsdyno.fish"),
    ] {
        let path = share.join(path);
        write(&path, "")?;
        let script = File::create(&path).map_err(at(&path))?;
        run(Command::new(binary)
            .args(["completions", shell])
            .stdout(script))?;
    }
    let doc = share.join("doc/fsdyno");
    write(&doc.join("copyright"), &copyright_of_fsdyno()?)?;
    let documents = ["README.md", "CHANGELOG.md", "BENCHMARKS.md", "docs"];
    run(Command::new("cp")
        .args(["-r", "--"])
        .args(documents)
        .arg(doc))
}

/// The licences of the crates in the binary. Their texts are in the crates.
fn copyright_of_fsdyno() -> Result<String> {
    let mut tree = cargo(&["tree", "--locked", "-p", "fsdyno-cli", "-e", "normal"]);
    let tree = output(tree.args(["--prefix", "none", "-f", "{p} ({l})"]))?;
    let crates: BTreeSet<&str> = tree.lines().filter(|line| !line.contains("(/")).collect();
    let mut text = read(Path::new("LICENSE"))?;
    text += "\nThe program contains these crates, each under its own licence:\n\n";
    text.extend(crates.into_iter().flat_map(|one| [one, "\n"]));
    text += "\nIt is linked with the GNU C library (LGPL-2.1 or later).\n";
    Ok(text)
}

/// Puts the files of the lab kernel for a package into a directory.
fn stage_kernel(kernel: &Path, to: &Path) -> Result {
    let kernel = kernel.canonicalize().map_err(at(kernel))?;
    let folder = kernel.parent().ok_or("the lab kernel is in no directory")?;
    let name = folder
        .file_name()
        .ok_or("the lab kernel is in no directory")?;
    let identity = folder.join("identity.json");
    let identity: Value = serde_json::from_str(&read(&identity)?).map_err(at(&identity))?;
    if !identity["zfs"].is_null() {
        return Err("the lab kernel has OpenZFS, whose licence forbids to distribute it".into());
    }
    let place = to.join("usr/lib/fsdyno/kernels").join(name);
    for (file, mode) in [
        ("linux", "755"),
        ("identity.json", "644"),
        ("config", "644"),
        ("source-files", "644"),
    ] {
        install(&folder.join(file), &place.join(file), mode)?;
    }
    let field = |key: &str| identity[key].as_str().unwrap_or_default();
    let licence = Path::new("/usr/share/common-licenses/GPL-2");
    let text = format!(
        "This is Linux {} for User-mode Linux, under the GNU General Public License, version 2.\n\
         Sources: {} (snapshot.debian.org has each version of a Debian package).\n\
         Changes to the sources: patches* in this directory. Configuration: lab-kernel.config, and\n\
         /usr/lib/fsdyno/kernels/{}/config. \"fsdyno lab setup\" builds it.\n\
         The licence is in {} and follows.\n\n{}",
        field("release"),
        field("source"),
        name.display(),
        licence.display(),
        fs::read_to_string(licence).unwrap_or_default()
    );
    let doc = to.join("usr/share/doc/fsdyno-lab-kernel");
    write(&doc.join("copyright"), &text)?;
    let copy =
        "cp -r -- crates/guests/data/lab-kernel.config crates/guests/src/kernels/patches* \"$1\"";
    run(Command::new("sh").args(["-c", copy, "sh"]).arg(doc))
}

fn tar_archive(version: &str, date: &str, from: &Path, to: &Path) -> Result {
    let machine = std::env::consts::ARCH;
    let archive = to.join(format!("fsdyno-{version}-linux-{machine}.tar.xz"));
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(from.join("usr"));
    tar.arg(format!("--transform=s,^[.],fsdyno-{version}-{machine},"));
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{date}"))
        .arg("-cJf")
        .arg(&archive)
        .arg(".");
    run(&mut tar)?;
    println!("{}", archive.display());
    Ok(())
}

/// Writes a Debian package of a directory, with these further fields of its control file.
fn debian_package(
    (name, version): (&str, &str),
    date: &str,
    from: &Path,
    to: &Path,
    fields: &str,
) -> Result {
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let size = output(Command::new("du").args(["-k", "-s", "--"]).arg(from))?;
    let variable = |name, usual: &str| {
        let set = std::env::var(name).ok().filter(|value| !value.is_empty());
        set.unwrap_or_else(|| usual.to_owned())
    };
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n\
         Maintainer: {} <{}>\nSection: utils\nPriority: optional\nInstalled-Size: {}\n{fields}",
        variable("DEBFULLNAME", "fsdyno developers"),
        variable("DEBEMAIL", "fsdyno@localhost"),
        size.split('\t').next().unwrap_or_default()
    );
    write(&from.join("DEBIAN/control"), &control)?;
    let sums = from.join("DEBIAN/md5sums");
    let sums = File::create(&sums).map_err(at(&sums))?;
    let mut find = Command::new("find");
    find.args(["usr", "-type", "f", "-exec", "md5sum", "{}", "+"]);
    run(find.current_dir(from).stdout(sums))?;
    run(Command::new("chmod")
        .args(["-R", "u=rwX,go=rX", "--"])
        .arg(from))?;
    let package = to.join(format!("{name}_{version}_{architecture}.deb"));
    let mut build = Command::new("dpkg-deb");
    build
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(from)
        .arg(&package);
    run(build
        .env("SOURCE_DATE_EPOCH", date)
        .stdout(std::io::stderr()))?;
    println!("{}", package.display());
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(at(path))
}

/// Writes a file, and creates its directory.
fn write(path: &Path, text: &str) -> Result {
    let directory = path.parent().unwrap_or(path);
    fs::create_dir_all(directory).map_err(at(directory))?;
    fs::write(path, text).map_err(at(path))
}

/// Copies a file with a mode, and creates its directory.
fn install(from: &Path, to: &Path, mode: &str) -> Result {
    run(Command::new("install")
        .args(["-D", "-m", mode, "--"])
        .arg(from)
        .arg(to))
}
