//! Resources that remain after a kill at any time, and those that the clean-up must not touch.

use crate::{WorkDir, assert_nothing_left, kinds, lab, make_filesystem};
use fsdyno_host::cache;
use fsdyno_host::clean_up::{CleanUp, clean};
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::journal::{Journal, Kind, Undo};
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::mount;
use fsdyno_model::Bytes;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Set for the process that is to be killed: where it works.
const VICTIM: &str = "FSDYNO_TEST_VICTIM";

/// Set for it as well: the number of its round, which chooses its file system.
const ROUND: &str = "FSDYNO_TEST_ROUND";

/// Not a test by itself: what [`after_a_kill_at_any_moment_clean_up_removes_everything`] starts and kills.
#[test]
fn victim() {
    let Some(home) = std::env::var_os(VICTIM) else {
        return;
    };
    let home = PathBuf::from(home);
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let kinds = kinds("victim");
    let (kind, make) = kinds[round % kinds.len()];
    let journal = Journal::open(&home.join("state")).unwrap();
    println!("begun");
    loop {
        let scratch = Scratch::create(&home.join(own(&journal)), &journal).unwrap();
        let target = scratch.path().join("mnt");
        let image = Image::create(
            &scratch.path().join("disk0.img"),
            Bytes(512 << 20),
            &journal,
        )
        .unwrap();
        let device = Loop::attach(&image.file().unwrap(), &journal).unwrap();
        make_filesystem(make, &device);
        fs::create_dir(&target).unwrap();
        let source = device.device().to_str().unwrap();
        let mounted = mount(kind, source, &target, &[], &journal).unwrap();
        // Half of its time it has something mounted.
        for number in 0..40 {
            fs::write(
                mounted.target().join(format!("file{number}")),
                vec![1; 256 << 10],
            )
            .unwrap();
            cache::sync_filesystem(mounted.target()).unwrap();
        }
        mounted.unmount().unwrap();
        device.detach().unwrap();
    }
}

/// The name of a directory of the process of a journal.
fn own(journal: &Journal) -> String {
    let stem = journal.path().file_stem().unwrap().to_string_lossy();
    format!("fsdyno-{stem}-0")
}

/// Cleans up, and trusts all journals.
fn cleaned(state: &Path) -> Vec<CleanUp> {
    let cleaned = clean(state, false, &|_, _| None).unwrap();
    assert!(cleaned.refused.is_empty(), "{:?}", cleaned.refused);
    cleaned.things
}

#[test]
fn after_a_kill_at_any_moment_clean_up_removes_everything() {
    const TEST: &str = "after_a_kill_at_any_moment_clean_up_removes_everything";
    if !lab(TEST) || kinds(TEST).is_empty() {
        return;
    }
    let work_dir = tempfile::tempdir().unwrap();
    let home = work_dir.path().canonicalize().unwrap();
    let state = home.join("state");
    let mut undone = Vec::new();
    for round in 0..20_u64 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "clean_up::victim",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(VICTIM, &home)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = Vec::new();
        let mut output = victim.stdout.take().unwrap();
        while !printed.ends_with(b"begun\n") {
            let mut byte = [0];
            output
                .read_exact(&mut byte)
                .expect("the victim ended before it began");
            printed.extend(byte);
        }
        // Spread over a round of the victim, which takes some 300 ms; the same each time.
        std::thread::sleep(Duration::from_millis((round * 67) % 401));
        victim.kill().unwrap();
        let status = victim.wait().unwrap();
        assert!(
            !status.success() && status.code().is_none(),
            "the victim ended by itself"
        );
        let reported = cleaned(&state);
        let bad = |one: &&CleanUp| !matches!(one.result, Undo::Done | Undo::Gone);
        assert!(
            reported.iter().find(bad).is_none(),
            "round {round}: {reported:?}"
        );
        assert_nothing_left(&home);
        let left: Vec<_> = fs::read_dir(&home)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["state"], "round {round}");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "round {round}");
        undone.extend(reported);
    }
    // The kills fell where there was something to undo, up to what was mounted.
    let done = |kind: &Kind| {
        let done = undone.iter().filter(|one| one.result == Undo::Done);
        done.filter(|one| one.resource.kind == *kind).count()
    };
    let (images, mounts) = (done(&Kind::Image), done(&Kind::Mount));
    println!("undone: {images} images, {mounts} mounts");
    assert!(images > 0 && mounts > 0, "{undone:?}");
}

#[test]
fn what_the_dead_left_is_undone_though_layered_and_in_use() {
    if !lab("what_the_dead_left_is_undone_though_layered_and_in_use") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (home, state) = (
        home.path().canonicalize().unwrap(),
        home.path().join("state"),
    );
    fs::create_dir(&state).unwrap();
    let target = home.join("fsdyno-1-1-0/mnt");
    fs::create_dir_all(&target).unwrap();
    // Two layers mounted by hand, as the journal of a dead process would record them.
    for _ in 0..2 {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(&target)
            .status();
        assert!(done.unwrap().success());
    }
    fs::write(target.join("file"), "x").unwrap();
    let lines = format!("make 1 directory {0}\nmake 2 mount {0}\n", target.display());
    let mut holder = Command::new("sleep")
        .arg("300")
        .stdin(fs::File::open(target.join("file")).unwrap())
        .spawn()
        .unwrap();
    fs::write(state.join("1-1.journal"), lines).unwrap();
    let reported = std::panic::catch_unwind(|| cleaned(&state));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let reported = reported.unwrap();
    assert!(
        matches!(&reported[0].result, Undo::Forced(how) if how.contains("sleep (")),
        "{reported:?}"
    );
    assert_eq!(reported[1].result, Undo::Done);
    assert_nothing_left(&home);
    assert!(!target.exists());
}

#[test]
fn a_directory_that_holds_a_foreign_mount_is_not_removed() {
    if !lab("a_directory_that_holds_a_foreign_mount_is_not_removed") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let work_dir = WorkDir::new();
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    let place = work_dir.path().join("fsdyno-1-1-0");
    let target = place.join("mnt");
    fs::create_dir_all(&target).unwrap();
    let foreign = mount("tmpfs", "tmpfs", &target, &[], &work_dir.journal).unwrap();
    fs::write(foreign.target().join("kept"), "x").unwrap();
    let journal = state.join("1-1.journal");
    fs::write(&journal, format!("make 1 directory {}\n", place.display())).unwrap();
    let reported = cleaned(&state);
    assert!(
        matches!(&reported[0].result, Undo::Failed(why) if why.contains("mounted at")),
        "{reported:?}"
    );
    assert!(foreign.target().join("kept").exists());
    assert!(journal.exists(), "it is tried again");
}
