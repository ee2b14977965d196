//! States set up on real file systems. Needs root, to mount image files.

use fsdyno_datasets::states::{self, Progress, Reached, Space, StateError};
use fsdyno_model::{CancelToken, InitialState};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system on an image file, unmounted on drop.
struct Mounted {
    home: tempfile::TempDir,
}

impl Mounted {
    /// Makes and mounts one; reports that the test is skipped where that cannot be.
    fn make(name: &str, test: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("SKIP root: {test}");
            return None;
        }
        if !Path::new("/dev/loop-control").exists() {
            println!("SKIP loop devices: {test}");
            return None;
        }
        let mkfs = format!("mkfs.{name}");
        let directories = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];
        if !directories
            .iter()
            .any(|d| Path::new(d).join(&mkfs).exists())
        {
            println!("SKIP program {mkfs}: {test}");
            return None;
        }
        let mounted = Self {
            home: tempfile::tempdir_in("/var/tmp").unwrap(),
        };
        let image = mounted.home.path().join("image");
        File::create(&image).unwrap().set_len(400 << 20).unwrap();
        run(Command::new(mkfs).arg("-q").arg(&image));
        fs::create_dir(mounted.at()).unwrap();
        run(Command::new("mount")
            .args(["-o", "loop"])
            .arg(&image)
            .arg(mounted.at()));
        Some(mounted)
    }

    fn at(&self) -> PathBuf {
        self.home.path().join("mnt")
    }

    fn percent(&self) -> f64 {
        Space::settled(File::open(self.at()).unwrap())
            .unwrap()
            .percent()
    }

    fn set_up(&self, fill: &str, age: u32) -> Result<Reached, StateError> {
        let state = InitialState::of(fill.parse().ok(), age).unwrap();
        let reached = states::set_up(&self.at(), &state, 1, &CancelToken::new(), &mut |_| {})?;
        Ok(reached.expect("a state was requested"))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that is being started may still hold the mount, which then ends with it.
        let _ = Command::new("umount").arg("--lazy").arg(self.at()).status();
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Names, sizes and contents of what is in a tree, in a form that compares.
fn listing(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for directory in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(directory.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let data = fs::read(&path).unwrap();
            found.push((path.strip_prefix(root).unwrap().to_owned(), data));
        }
    }
    found.sort();
    found
}

const FILE_SYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

#[test]
fn utilisation_is_as_requested_in_every_manner_even_nearly_full() {
    for name in FILE_SYSTEMS {
        for (fill, age, percent) in [
            ("90%", 0, 90.0),
            ("99%", 0, 99.0),
            ("70%:fragmented", 0, 70.0),
            ("99%:fragmented", 0, 99.0),
            ("97.5%", 1, 97.5),
        ] {
            let Some(mounted) = Mounted::make(name, "the_requested_utilisation_is_reached") else {
                return;
            };
            let reached = mounted
                .set_up(fill, age)
                .unwrap_or_else(|e| panic!("{name} {fill} {age}: {e}"));
            let really = mounted.percent();
            for percent_reached in [reached.percent, really] {
                assert!(
                    (percent_reached - percent).abs() < 1.0,
                    "{name} {fill} {age}: {percent_reached}"
                );
            }
            let files = listing(&mounted.at().join(states::DIRECTORY));
            let bytes: usize = files.iter().map(|(_, data)| data.len()).sum();
            assert_eq!(files.len() as u64, reached.files, "{name} {fill} {age}");
            assert_eq!(bytes as u64, reached.bytes.0, "{name} {fill} {age}");
        }
    }
}

#[test]
fn utilisation_outlives_an_unmount() {
    for name in FILE_SYSTEMS {
        let Some(mounted) = Mounted::make(name, "utilisation_outlives_an_unmount") else {
            return;
        };
        mounted.set_up("80%", 2).unwrap();
        run(Command::new("umount").arg(mounted.at()));
        let image = mounted.home.path().join("image");
        run(Command::new("mount")
            .args(["-o", "loop"])
            .arg(image)
            .arg(mounted.at()));
        let percent = mounted.percent();
        assert!((percent - 80.0).abs() < 1.0, "{name}: {percent}");
    }
}

#[test]
fn the_same_seed_brings_the_same_about() {
    let make = || Mounted::make("ext4", "the_same_seed_brings_the_same_about");
    let (Some(one), Some(two)) = (make(), make()) else {
        return;
    };
    let description = |mounted: &Mounted| mounted.set_up("40%", 1).unwrap().what;
    assert_eq!(description(&one), description(&two));
    let state = |mounted: &Mounted| listing(&mounted.at().join(states::DIRECTORY));
    assert!(state(&one) == state(&two));
    let error = one.set_up("40%", 1).unwrap_err().to_string();
    assert!(error.contains("remove"), "{error}");
}

#[test]
fn age_leaves_more_extents_than_filling() {
    for name in FILE_SYSTEMS {
        let Some(filled) = Mounted::make(name, "age_leaves_more_fragments") else {
            return;
        };
        let per_file = |mounted: &Mounted, age| {
            let found = mounted.set_up("90%", age).unwrap().fragmentation;
            assert_eq!(found.unavailable, None);
            found.extents as f64 / found.files as f64
        };
        // Filled with small files, none of which was ever changed.
        let found = filled.set_up("60%:fragmented", 0).unwrap().fragmentation;
        let fresh = found.extents as f64 / found.files as f64;
        let aged = per_file(&Mounted::make(name, "").unwrap(), 2);
        assert!(fresh < 1.1 && aged > 1.15, "{name}: {fresh} {aged}");
    }
}

#[test]
fn a_fuller_file_system_is_refused_and_a_run_can_be_cancelled() {
    let Some(mounted) = Mounted::make("ext4", "a_fuller_file_system_is_refused") else {
        return;
    };
    let size = 200 << 20;
    let file = File::create(mounted.at().join("large")).unwrap();
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size).unwrap();
    let error = mounted.set_up("20%", 0).unwrap_err().to_string();
    assert!(error.contains("20 % are requested"), "{error}");
    fs::remove_dir_all(mounted.at().join(states::DIRECTORY)).unwrap();
    let stop = CancelToken::new();
    stop.request();
    let state = InitialState::of("90%".parse().ok(), 3).unwrap();
    let outcome = states::set_up(&mounted.at(), &state, 1, &stop, &mut |_| {});
    assert!(matches!(outcome, Err(StateError::Stopped)), "{outcome:?}");
}

#[test]
fn progress_rises_to_its_end_and_a_run_is_cancelled_within_a_piece() {
    const PIECE: u64 = 1 << 20;
    for (fill, age) in [("60%", 0), ("60%:fragmented", 0), ("40%", 1)] {
        let make = || Mounted::make("ext4", "progress_rises_to_its_end");
        let (Some(whole), Some(stopped)) = (make(), make()) else {
            return;
        };
        let state = InitialState::of(fill.parse().ok(), age).unwrap();
        let mut reports: Vec<Progress> = Vec::new();
        let stop = CancelToken::new();
        let reached = states::set_up(&whole.at(), &state, 1, &stop, &mut |now| reports.push(now))
            .unwrap()
            .unwrap();
        assert!(reports.len() > 50, "{fill} {age}: {}", reports.len());
        assert!(reports.windows(2).all(|two| two[0].done <= two[1].done));
        let last = reports.last().unwrap();
        let (done, of, written) = (last.done.0, last.of.0, reached.written.0);
        assert!(done * 10 > of * 9, "{fill} {age}: {last:?}");
        assert!(done.abs_diff(written) < 4 * PIECE, "{last:?} {reached}");

        // In the middle of it.
        let halt = of / 2;
        let outcome = states::set_up(&stopped.at(), &state, 1, &stop, &mut |now| {
            if now.done.0 > halt {
                stop.request();
            }
        });
        assert!(matches!(outcome, Err(StateError::Stopped)), "{outcome:?}");
        let files = listing(&stopped.at().join(states::DIRECTORY));
        let bytes: usize = files.iter().map(|(_, data)| data.len()).sum();
        assert!((bytes as u64) < halt + 2 * PIECE, "{fill} {age}: {bytes}");
    }
}
