//! The Debian packages in an empty system: they are installed, and an ordinary user compares file
//! systems in guests there. Without root, the tools or packages of the distribution, the test is
//! skipped by name.

use crate::support::{Home, lab_kernel, printed, root_and};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs a program that must succeed; its output.
fn output_of(command: &mut Command) -> String {
    let printed = printed(&command.output().unwrap());
    assert_eq!(
        printed.code,
        Some(0),
        "{command:?}: {}{}",
        printed.out,
        printed.err
    );
    printed.out
}

/// An empty system of the distribution with the programs for one file system; none if its
/// packages cannot be fetched.
fn empty_system(place: &Path, test: &str) -> Option<()> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let mut lines = release.lines();
    let codename = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let made = codename.is_some_and(|codename| {
        let mut command = Command::new("timeout");
        command.args(["300", "mmdebstrap", "--variant=essential", "--quiet"]);
        command.args(["--include=e2fsprogs", codename]).arg(place);
        command.output().is_ok_and(|made| made.status.success())
    });
    if !made {
        println!("SKIP packages of the distribution (mmdebstrap): {test}");
    }
    made.then_some(())
}

/// Runs a program in the system as this user, with the devices and processes of the host.
fn inside(system: &Path, user: &str, words: &[&str]) -> String {
    let script = "mount --rbind /proc \"$1/proc\" && mount --rbind /dev \"$1/dev\" && \
                  system=$1 user=$2 && shift 2 && \
                  exec chroot --userspec=\"$user\" \"$system\" /usr/bin/env -i HOME=/srv/user \
                  PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout 180 \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]);
    output_of(command.arg(system).arg(user).args(words))
}

#[test]
fn an_ordinary_user_of_an_empty_system_runs_guests_from_the_packages() {
    let test = "an_ordinary_user_of_an_empty_system_runs_guests_from_the_packages";
    let programs = ["mmdebstrap", "dpkg-deb", "strip", "xz", "unshare"];
    let kernel = lab_kernel(test).filter(|_| root_and(&programs, test));
    let Some(kernel) = kernel else {
        return;
    };
    let home = Home::new();
    let (system, made) = (home.path("system"), home.path("packages"));
    if empty_system(&system, test).is_none() {
        return;
    }
    let binary = home.path("fsdyno");
    let mut strip = Command::new("strip");
    output_of(
        strip
            .arg("-o")
            .arg(&binary)
            .arg(env!("CARGO_BIN_EXE_fsdyno")),
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../x");
    let mut package = Command::new(script);
    package.arg("package").arg("--binary").arg(&binary);
    package.arg("--kernel").arg(&kernel).arg("--to").arg(&made);
    // The test needs no small packages.
    package
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "0")
        .env("XZ_OPT", "-0");
    let paths = output_of(&mut package);
    let name = |part: &str| {
        let mut paths = paths.lines().map(Path::new);
        let path = paths.find(|path| path.to_str().unwrap().contains(part));
        path.unwrap_or_else(|| panic!("{part}: {paths:?}"))
    };
    let version = env!("CARGO_PKG_VERSION");
    let (program, kernel) = (
        format!("/fsdyno_{version}"),
        format!("/fsdyno-lab-kernel_{version}"),
    );
    for (package, path) in [(&program, "/fsdyno.deb"), (&kernel, "/kernel.deb")] {
        fs::copy(name(package), system.join(&path[1..])).unwrap();
    }
    inside(&system, "0:0", &["dpkg", "-i", "/fsdyno.deb"]);
    inside(
        &system,
        "0:0",
        &["install", "-d", "-o", "1000", "-g", "1000", "/srv/user"],
    );
    let user = |words: &[&str]| inside(&system, "1000:1000", words);

    // The kernel without its installation, then installed for all users.
    let installed = user(&["fsdyno", "lab", "setup", "--from", "/kernel.deb"]);
    assert!(
        installed.starts_with("/srv/user/.cache/fsdyno/kernels/"),
        "{installed}"
    );
    user(&["rm", "-r", "/srv/user/.cache"]);
    inside(&system, "0:0", &["dpkg", "-i", "/kernel.deb"]);
    let found = user(&["fsdyno", "lab", "setup"]);
    assert!(found.starts_with("/usr/lib/fsdyno/kernels/"), "{found}");

    let run = "fsdyno run --lab uml --fs ext4 --dataset mixed --scale 0.003 --phases copy,delete \
               --repeats 1 --guest-memory 256M --no-lock --work-dir /srv/user";
    let words: Vec<&str> = run.split_whitespace().collect();
    user(&words);
    let report = user(&["fsdyno", "report", "last", "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(
        crate::support::outcomes(&result),
        [(0, "measured".to_owned())]
    );
    assert!(report.contains("-fsdyno (User-mode Linux)"), "{report}");

    let files = inside(
        &system,
        "0:0",
        &["dpkg", "-L", "fsdyno", "fsdyno-lab-kernel"],
    );
    for file in [
        "/usr/share/man/man1/fsdyno-lab-setup.1.gz",
        "/usr/share/bash-completion/completions/fsdyno",
        "/usr/share/zsh/vendor-completions/_fsdyno",
        "/usr/share/fish/vendor_completions.d/fsdyno.fish",
        "/usr/share/doc/fsdyno/copyright",
        "/usr/share/doc/fsdyno/docs/labs.md",
        "/usr/share/doc/fsdyno-lab-kernel/copyright",
    ] {
        assert!(files.lines().any(|line| line == file), "{file}: {files}");
    }
    let copyright = fs::read_to_string(system.join("usr/share/doc/fsdyno-lab-kernel/copyright"));
    let copyright = copyright.unwrap();
    assert!(
        copyright.contains("GNU GENERAL PUBLIC LICENSE"),
        "{copyright}"
    );
    assert!(copyright.contains("linux-source-6.12 6.12."), "{copyright}");
}
