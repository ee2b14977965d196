//! The capabilities that recipes declare match the lab kernel. Needs the lab kernel.

use crate::support::{Home, have, lab_kernel};
use fsdyno_model::{Capabilities, FilesystemKind, NameRule};
use fsdyno_recipes::{Filesystem, fs};
use std::process::Command;

/// Tries each operation, and fails if the results differ from `$1`.
const SCRIPT: &str = r#"
can() { "$@" 2>/dev/null && printf y || printf n; }
owners() { chown 12:34 f && chmod 604 f && [ "$(stat -c %u:%g:%a f)" = 12:34:604 ]; }
sparse() { printf x | dd of=big bs=1 seek=4M status=none && sync && [ "$(stat -c %b big)" -lt 4096 ]; }
direct() { dd if=/dev/zero of=direct bs=64k count=1 oflag=direct status=none; }
folds() { : > Case && [ -e CASE ]; }
: > f
seen=$(can ln f hard; can ln -s f link; can mkfifo fifo; can owners; can setfattr -n user.a -v b f
  can sparse; can direct; can folds; can touch "a:b")
[ "$seen" = "$1" ] || { echo "seen $seen, declared $1" >&2; exit 1; }
"#;

/// The declared results, one letter per operation.
fn declared(capabilities: &Capabilities) -> String {
    let all = [
        capabilities.hard_links,
        capabilities.symlinks,
        capabilities.special_files,
        capabilities.owners,
        capabilities.xattrs,
        capabilities.sparse_files,
        capabilities.direct_io,
        capabilities.case_folding,
        capabilities.names != NameRule::WINDOWS,
    ];
    all.map(|can| if can { 'y' } else { 'n' }).iter().collect()
}

/// Whether it is a file system of Linux on a device, and its programs are installed.
fn can_be_tried(fs: &dyn Filesystem) -> bool {
    let mkfs = fs
        .version()
        .is_none_or(|step| Command::new(&step.argv()[0]).output().is_ok());
    fs.kind() == FilesystemKind::Block && fs.daemon().is_none() && !fs::bsd_only(fs) && mkfs
}

#[test]
fn declared_capabilities_are_those_of_the_kernel() {
    let test = "declared_capabilities_are_those_of_the_kernel";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["setfattr"], test)) else {
        return;
    };
    let home = Home::new();
    let script = home.path("try");
    std::fs::write(&script, SCRIPT).unwrap();
    let (kernel, work) = (
        kernel.display().to_string(),
        home.work().display().to_string(),
    );
    let mut failures = Vec::new();
    for fs in fs::ALL.iter().filter(|fs| can_be_tried(**fs)) {
        let command = format!("sh {} {}", script.display(), declared(&fs.capabilities()));
        let line = "run --long --lab uml --guest-memory 256M --repeats 1 --exec";
        let mut words: Vec<&str> = line.split(' ').collect();
        words.extend([&command, "--guest-kernel", &kernel, "--work-dir", &work]);
        words.extend(["--fs", fs.name()]);
        let ended = home.fsdyno(&words);
        if ended.code != Some(0) {
            let outcome = &home.result("last")["cells"][0]["outcome"];
            failures.push(format!("{}: {outcome}", fs.name()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn unsupported_phases_are_skipped_and_the_others_run() {
    let test = "unsupported_phases_are_skipped_and_the_others_run";
    let programs = ["mkfs.exfat", "mkfs.vfat", "mkfs.ntfs", "ntfsfix"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let home = Home::new();
    // An archive with entries that FAT cannot store.
    let (from, archive) = (home.path("from"), home.path("a.tar"));
    std::fs::create_dir_all(from.join("dir")).unwrap();
    std::fs::write(from.join("dir/file"), "data").unwrap();
    std::os::unix::fs::symlink("dir/file", from.join("link")).unwrap();
    let packed = Command::new("tar")
        .arg("-cf")
        .args([&archive, &"-C".into(), &from, &".".into()])
        .status();
    assert!(packed.unwrap().success());
    let (kernel, work) = (
        kernel.display().to_string(),
        home.work().display().to_string(),
    );
    let dataset = format!("tar:{}", archive.display());
    let phases = "untar,copy,read,stat-walk,grep,delete,op-create,op-link,op-rename,op-unlink";
    let names = "exfat,vfat,ntfs3";
    let line = "run --long --lab uml --guest-memory 256M --repeats 1 --verify --scale 0.001";
    let mut words: Vec<&str> = line.split(' ').collect();
    words.extend(["--fs", names, "--phases", phases, "--dataset", &dataset]);
    words.extend(["--guest-kernel", &kernel, "--work-dir", &work]);
    for engine in ["sync", "tools"] {
        let ended = home.fsdyno(&[&words[..], &["--engine", engine]].concat());
        assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
        check_skipped(&home.result("last"), names);
        for part in ["op-link: skipped, needs hard links", "has no hard links"] {
            assert!(ended.out.contains(part), "{part}: {}", ended.out);
        }
    }
}

/// Each cell skipped the phases that its file system cannot run, and ran the rest.
fn check_skipped(result: &serde_json::Value, names: &str) {
    for cell in result["cells"].as_array().unwrap() {
        let contender = cell["cell"]["contender"].as_u64().unwrap();
        let fs = names
            .split(',')
            .nth(usize::try_from(contender).unwrap())
            .unwrap();
        let ran = |kind: &str| {
            let mut samples = cell["samples"].as_array().unwrap().iter();
            samples.any(|sample| sample["kind"] == kind)
        };
        let stores_all = fsdyno_recipes::find(fs).unwrap().capabilities().hard_links;
        assert!(ran("untar") && ran("copy") && ran("op-unlink"), "{fs}");
        assert_eq!(ran("op-link"), stores_all, "{fs}");
        let left_out = cell.to_string().contains("1 entries were left out");
        assert_eq!(left_out, !stores_all, "{fs}");
    }
}
