//! Making a kernel, of sources whose Makefile does in a moment what that of a kernel does.

use super::*;
use fsdyno_host::command;
use fsdyno_model::CancelToken;
use tempfile::TempDir;

/// A replacement for `allnoconfig` that applies the whole fragment.
const TAKES_ALL: &str = "cp $(KCONFIG_ALLCONFIG) $(O)/.config";

/// A replacement for the compiler: the result is a program that prints a release.
const COMPILES: &str = "@echo '  CC      a.o'\n\t@: cc -c -o a.o\n\t\
    @printf '#!/bin/sh\\necho 6.0-small\\n' > $(O)/linux && chmod +x $(O)/linux";

/// A directory for kernels, and an archive of small sources.
struct WorkDir {
    root: TempDir,
    order: Order,
}

impl WorkDir {
    /// None if programs that every build needs are missing.
    fn new(test: &str, configures: &str, compiles: &str) -> Option<Self> {
        if let Some(lack) = tools::missing().first() {
            println!("SKIP program {}: {test}", lack.what);
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        let sources = root.path().join("linux-0");
        fs::create_dir_all(&sources).unwrap();
        let version = "VERSION = 6\nPATCHLEVEL = 0\n";
        let makefile = format!("{version}allnoconfig:\n\t{configures}\nlinux:\n\t{compiles}\n");
        fs::write(sources.join("Makefile"), makefile).unwrap();
        fs::write(sources.join("Kconfig"), "config HOSTFS\n").unwrap();
        let archive = root.path().join("linux-0.tar");
        let place = root.path().to_str().unwrap();
        let words = [
            "tar",
            "-C",
            place,
            "-cf",
            archive.to_str().unwrap(),
            "linux-0",
        ];
        let packed = command::run(&tools::words(&words), &CancelToken::new()).unwrap();
        assert!(packed.success(), "{packed:?}");
        let order = Order {
            source: Some(archive),
            zfs: None,
            jobs: 1,
            keep: false,
        };
        Some(Self { root, order })
    }

    fn kernels(&self) -> Kernels {
        Kernels::in_folder(self.root.path().join("cache/kernels"))
    }

    /// Runs the set-up and returns its progress messages.
    fn set_up(&self, stop: &CancelToken) -> (Result<Made, SetupError>, Vec<String>) {
        let mut reported = Vec::new();
        let token = stop.clone();
        let made = set_up(
            &self.kernels(),
            &self.order,
            stop,
            &mut |progress| match progress {
                Progress::Step(text) | Progress::Note(text) => reported.push(text.to_owned()),
                Progress::Object { name, of, .. } => {
                    reported.push(format!("{name} of {of}"));
                    if name == "stop.o" {
                        token.request();
                    }
                }
            },
        );
        (made, reported)
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.kernels().folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }
}

#[test]
fn a_kernel_comes_into_being_whole_and_is_not_made_twice() {
    let named = "a_kernel_comes_into_being_whole_and_is_not_made_twice";
    let Some(work_dir) = WorkDir::new(named, TAKES_ALL, COMPILES) else {
        return;
    };
    let (made, reported) = work_dir.set_up(&CancelToken::new());
    let made = made.unwrap();
    assert!(!made.was_there);
    assert!(reported.contains(&"a.o of 1".to_owned()), "{reported:?}");
    let Identity {
        release,
        sha256,
        source,
        ..
    } = &made.kernel.identity;
    assert_eq!((release.as_str(), sha256.len()), ("6.0-small", 64));
    assert!(source.starts_with("linux-0 sha256 "), "{source}");
    let first = work_dir.kernels().first().unwrap();
    assert_eq!(first.as_ref(), Some(&made.kernel));
    // Nothing else stays.
    assert_eq!(work_dir.left(), [made.kernel.identity.name()]);
    let folder = made.kernel.program.parent().unwrap();
    assert!(folder.join("config").exists() && folder.join(LOG).exists());
    let (again, reported) = work_dir.set_up(&CancelToken::new());
    let again = again.unwrap();
    assert!(again.was_there && reported.is_empty(), "{reported:?}");
    assert_eq!(again.kernel, made.kernel);
    // A kernel without the recorded hash is built again.
    let identity = made.kernel.identity.clone();
    identity.built("6.0", "00", &[]).write(folder).unwrap();
    let (anew, _) = work_dir.set_up(&CancelToken::new());
    let anew = anew.unwrap();
    assert!(!anew.was_there);
    assert_eq!(anew.kernel.identity.sha256, *sha256);
}

#[test]
fn sources_left_by_a_killed_build_are_removed() {
    let named = "sources_left_by_a_killed_build_are_removed";
    let Some(mut work_dir) = WorkDir::new(named, TAKES_ALL, COMPILES) else {
        return;
    };
    work_dir.order.keep = true;
    let made = work_dir.set_up(&CancelToken::new()).0.unwrap();
    let name = made.kernel.identity.name();
    let unfinished = work_dir.kernels().folder().join(UNFINISHED);
    assert!(unfinished.join(&name).join("sources").is_dir());
    work_dir.order.keep = false;
    // The build still runs.
    let lock = File::open(unfinished.join(format!("{name}.lock"))).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    assert!(work_dir.set_up(&CancelToken::new()).0.unwrap().was_there);
    assert!(unfinished.join(&name).join("sources").is_dir());
    drop(lock);
    assert!(work_dir.set_up(&CancelToken::new()).0.unwrap().was_there);
    assert_eq!(work_dir.left(), [name]);
}

#[test]
fn a_failed_or_cancelled_build_leaves_no_kernel_and_is_resumed() {
    let named = "a_failed_or_cancelled_build_leaves_no_kernel_and_is_resumed";
    let allow = "$(O)/allowed";
    let compiles = format!(
        "@echo '  CC      stop.o'; test -e {allow} || sleep 600\n\t@echo 'x.c: no such thing'; \
         test -s {allow} || exit 1\n\t{COMPILES}"
    );
    let Some(work_dir) = WorkDir::new(named, TAKES_ALL, &compiles) else {
        return;
    };
    let (made, _) = work_dir.set_up(&CancelToken::new());
    assert!(
        matches!(made, Err(SetupError::Build(BuildError::Stopped))),
        "{made:?}"
    );
    assert_eq!(work_dir.kernels().first().unwrap(), None);
    let unfinished = work_dir.kernels().folder().join(UNFINISHED);
    let entries = fs::read_dir(&unfinished).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let build_dir = paths.find(|path| path.is_dir()).unwrap();
    // Further than before, and then it fails.
    let allowed = build_dir.join("output/allowed");
    fs::write(&allowed, "").unwrap();
    // A fresh token.
    let mut on_progress = |_: Progress<'_>| {};
    let failed = set_up(
        &work_dir.kernels(),
        &work_dir.order,
        &CancelToken::new(),
        &mut on_progress,
    );
    let text = failed.unwrap_err().to_string();
    assert!(
        text.contains("no such thing") && text.contains(LOG),
        "{text}"
    );
    assert_eq!(work_dir.kernels().first().unwrap(), None);
    fs::write(&allowed, "yes").unwrap();
    let mut reported = Vec::new();
    let made = set_up(
        &work_dir.kernels(),
        &work_dir.order,
        &CancelToken::new(),
        &mut |one| {
            if let Progress::Step(step) = one {
                reported.push(step.to_owned());
            }
        },
    );
    assert_eq!(made.unwrap().kernel.identity.release, "6.0-small");
    let again = |word: &str| reported.iter().any(|step| step.contains(word));
    assert!(!again("unpacking") && !again("configuring"), "{reported:?}");
    assert!(again("compiling"), "{reported:?}");
}

#[test]
fn what_was_unpacked_by_half_is_unpacked_anew() {
    let named = "what_was_unpacked_by_half_is_unpacked_anew";
    let Some(work_dir) = WorkDir::new(named, TAKES_ALL, COMPILES) else {
        return;
    };
    let sources = sources::find(work_dir.order.source.as_deref(), &CancelToken::new()).unwrap();
    let compiler = tools::compiler(&CancelToken::new()).unwrap();
    let identity = Identity::of(&sources.name, fragment::TEXT, &compiler);
    let build_dir = work_dir.kernels().folder().join(UNFINISHED);
    let half = build_dir.join(identity.name()).join("sources.part");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("Makefile"), "all:\n\tfalse\n").unwrap();
    let (made, reported) = work_dir.set_up(&CancelToken::new());
    assert!(made.is_ok(), "{made:?}");
    assert!(
        reported.iter().any(|step| step.starts_with("unpacking")),
        "{reported:?}"
    );
}

#[test]
fn an_option_that_was_not_applied_fails_by_name() {
    let named = "an_option_that_was_not_applied_fails_by_name";
    let drops = "grep -v -e CONFIG_HOSTFS -e CONFIG_UFS_ $(KCONFIG_ALLCONFIG) > $(O)/.config";
    let Some(work_dir) = WorkDir::new(named, drops, COMPILES) else {
        return;
    };
    let (made, _) = work_dir.set_up(&CancelToken::new());
    let text = made.unwrap_err().to_string();
    assert!(text.contains("CONFIG_HOSTFS"), "{text}");
    // What this version has not at all is no failure.
    assert!(!text.contains("CONFIG_UFS_"), "{text}");
    let drops = "grep -v CONFIG_UFS_ $(KCONFIG_ALLCONFIG) > $(O)/.config";
    let Some(work_dir) = WorkDir::new(named, drops, COMPILES) else {
        return;
    };
    let (made, reported) = work_dir.set_up(&CancelToken::new());
    assert_eq!(made.unwrap().kernel.identity.lacks, ["ufs"]);
    assert!(
        reported.iter().any(|note| note.ends_with("has no ufs")),
        "{reported:?}"
    );
}

#[test]
fn a_program_that_prints_no_release_is_not_a_kernel() {
    let named = "a_program_that_prints_no_release_is_not_a_kernel";
    let compiles = "@printf '#!/bin/sh\\nexit 3\\n' > $(O)/linux && chmod +x $(O)/linux";
    let Some(work_dir) = WorkDir::new(named, TAKES_ALL, compiles) else {
        return;
    };
    let (made, _) = work_dir.set_up(&CancelToken::new());
    let text = made.unwrap_err().to_string();
    assert!(text.contains("does not start"), "{text}");
    assert_eq!(work_dir.kernels().first().unwrap(), None);
}

#[test]
fn openzfs_that_does_not_fit_is_refused_before_anything_is_compiled() {
    let named = "openzfs_that_does_not_fit_is_refused_before_anything_is_compiled";
    let Some(mut work_dir) = WorkDir::new(named, TAKES_ALL, COMPILES) else {
        return;
    };
    let archive = work_dir.root.path().join("zfs-9.0.tar");
    work_dir.order.zfs = Some(ZfsSource::Archive(archive.clone()));
    let meta = |maximum: &str| {
        format!("Name: zfs\nVersion: 9.0\nLinux-Maximum: {maximum}\nLinux-Minimum: 4.18\n")
    };
    for (text, expected) in [
        ("Name: zfs\n".to_owned(), "META names no versions"),
        (
            meta("5.19"),
            "is for Linux 4.18 to 5.19, and the kernel is Linux 6.0",
        ),
        (meta("6.0"), "OpenZFS 9.0 cannot run in virtual time"),
    ] {
        let folder = work_dir.root.path().join("zfs-9.0");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("META"), text).unwrap();
        let place = work_dir.root.path().to_str().unwrap();
        let words = [
            "tar",
            "-C",
            place,
            "-cf",
            archive.to_str().unwrap(),
            "zfs-9.0",
        ];
        let packed = command::run(&tools::words(&words), &CancelToken::new()).unwrap();
        assert!(packed.success(), "{packed:?}");
        let (made, reported) = work_dir.set_up(&CancelToken::new());
        let why = made.unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        let configured = reported.iter().any(|step| step.contains("configuring"));
        assert!(!configured, "{reported:?}");
    }
}
