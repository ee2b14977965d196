//! Whole phases in a directory, and on the engine that accesses no file.

use super::*;
use crate::engines::null::NullCalls;
use crate::engines::sync::SystemCalls;
use fsdyno_model::cancel::CancelToken;
use std::fs;
use std::path::{Path, PathBuf};

fn given(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs.iter().map(|(a, b)| ((*a).into(), (*b).into()));
    owned.collect()
}

/// Prepares and runs a phase in a directory.
fn done(phase: Phase, root: &Path, pairs: &[(&str, &str)]) -> Done {
    let stop = CancelToken::new();
    let job = Job::bare(root, &stop);
    prepare(phase, &given(pairs), &job).unwrap();
    let mut bonnie = Bonnie::new(phase, &given(pairs), false);
    bonnie.run(&mut SystemCalls::default(), &job).unwrap()
}

fn value(done: &Done, name: &str) -> f64 {
    let found = done.figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("no {name}")).value
}

fn standing(root: &Path, order: &str) -> Vec<PathBuf> {
    let Ok(directories) = fs::read_dir(root.join("bonnie").join(order)) else {
        return Vec::new();
    };
    let directories = directories.map(|entry| entry.unwrap().path());
    directories
        .filter(|path| path.is_dir())
        .flat_map(|path| fs::read_dir(path).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect()
}

const SMALL: &[(&str, &str)] = &[("size", "1048576"), ("chars", "10000"), ("seeks", "300")];

#[test]
fn each_phase_leaves_the_expected_file() {
    let home = tempfile::tempdir().unwrap();
    let (root, file) = (home.path(), home.path().join("bonnie/data"));
    let chars = done(Phase::CharWrite, root, SMALL);
    assert_eq!(
        (chars.tally.bytes.0, fs::metadata(&file).unwrap().len()),
        (10_000, 10_000)
    );
    let write = done(Phase::Write, root, SMALL);
    assert_eq!((write.tally.bytes.0, write.tally.files), (1 << 20, 1));
    let written = fs::read(&file).unwrap();
    assert_eq!(written.len(), 1 << 20);
    assert_eq!(done(Phase::Rewrite, root, SMALL).tally.bytes.0, 1 << 20);
    let rewritten = fs::read(&file).unwrap();
    let changed = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a != b).count();
    // One byte in each chunk.
    for (before, after) in written.chunks(8192).zip(rewritten.chunks(8192)) {
        assert_eq!(changed(before, after), 1);
    }
    assert_eq!(done(Phase::CharRead, root, SMALL).tally.bytes.0, 10_000);
    assert_eq!(done(Phase::Read, root, SMALL).tally.bytes.0, 1 << 20);
    assert_eq!(fs::read(&file).unwrap(), rewritten);
    let seeks = done(Phase::Seeks, root, SMALL);
    assert_eq!(seeks.tally.bytes.0, 300 * 8192);
    let sought = fs::read(&file).unwrap();
    assert_eq!(sought.len(), 1 << 20);
    // 30 changes; several may be in one chunk.
    assert!((1..=30).contains(&changed(&rewritten, &sought)));
}

#[test]
fn a_single_phase_gets_its_file() {
    for phase in [Phase::Rewrite, Phase::CharRead, Phase::Read, Phase::Seeks] {
        let home = tempfile::tempdir().unwrap();
        assert!(
            done(phase, home.path(), SMALL).tally.bytes.0 >= 10_000,
            "{phase:?}"
        );
    }
    for phase in [Phase::Stat, Phase::Delete] {
        let home = tempfile::tempdir().unwrap();
        let done = done(phase, home.path(), &[("files", "50"), ("max", "100")]);
        assert_eq!(done.tally.files, 50, "{phase:?}");
    }
}

#[test]
fn zeros_are_written_on_request() {
    let home = tempfile::tempdir().unwrap();
    let pairs = [SMALL, &[("data", "like-original")]].concat();
    done(Phase::Write, home.path(), &pairs);
    let written = fs::read(home.path().join("bonnie/data")).unwrap();
    let other = written.iter().filter(|byte| **byte != 0).count();
    assert!(other < written.len() / 50, "{other}");
}

#[test]
fn files_are_created_read_and_deleted_in_both_orders() {
    for order in ["sequential", "random"] {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let pairs = [
            ("files", "1000"),
            ("directories", "7"),
            ("min", "10"),
            ("max", "9000"),
            ("order", order),
        ];
        let made = done(Phase::Create, root, &pairs);
        let standing_now = standing(root, order);
        assert_eq!((made.tally.files, standing_now.len()), (1000, 1000));
        let sizes: Vec<u64> = standing_now
            .iter()
            .map(|path| path.metadata().unwrap().len())
            .collect();
        assert!(sizes.iter().all(|size| (10..=9000).contains(size)));
        assert_eq!(sizes.iter().sum::<u64>(), made.tally.bytes.0);
        let mean = made.tally.bytes.0 / 1000;
        assert!((4000..5000).contains(&mean), "{mean}");
        assert!(value(&made, "rate until return") >= value(&made, "rate"));
        assert!(made.returned <= made.elapsed);

        let looked = done(Phase::Stat, root, &pairs);
        assert_eq!(
            (looked.tally.files, looked.tally.bytes),
            (1000, made.tally.bytes)
        );

        let deleted = done(Phase::Delete, root, &pairs);
        assert_eq!((deleted.tally.files, deleted.tally.directories), (1000, 7));
        assert!(standing(root, order).is_empty());
        let left = fs::read_dir(root.join("bonnie").join(order)).unwrap();
        assert_eq!(left.count(), 0);
    }
}

#[test]
fn links_refer_to_a_file_that_is_kept() {
    for (made, symbolic) in [("hard-links", false), ("symlinks", true)] {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let pairs = [
            ("files", "200"),
            ("directories", "2"),
            ("made", made),
            ("min", "5"),
        ];
        assert_eq!(done(Phase::Create, root, &pairs).tally.files, 200);
        for path in standing(root, "sequential") {
            assert_eq!(path.is_symlink(), symbolic, "{}", path.display());
            assert_eq!(fs::read(&path).unwrap(), [0; 5]);
        }
        assert_eq!(done(Phase::Stat, root, &pairs).tally.files, 200);
        assert_eq!(done(Phase::Delete, root, &pairs).tally.files, 200);
        let base = root.join("bonnie/sequential");
        assert!(base.join("original-0").exists());
        assert!(standing(root, "sequential").is_empty());
    }
}

#[test]
fn both_orders_can_exist_in_one_directory() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path();
    done(Phase::Create, root, &[("files", "20")]);
    done(Phase::Create, root, &[("files", "20"), ("order", "random")]);
    assert_eq!(standing(root, "sequential").len(), 20);
    assert_eq!(standing(root, "random").len(), 20);
}

#[test]
fn a_short_phase_is_repeated_or_has_a_warning() {
    let home = tempfile::tempdir().unwrap();
    let short = |done: &Done| {
        let mut kinds = done.warnings.iter().map(|warning| warning.kind);
        kinds.any(|kind| kind == WarningKind::TooShort)
    };
    assert!(short(&done(Phase::Read, home.path(), SMALL)));
    let stop = CancelToken::new();
    let job = Job::bare(home.path(), &stop);
    let mut repeated = Bonnie::new(Phase::Read, &given(SMALL), true);
    let done = repeated.run(&mut SystemCalls::default(), &job).unwrap();
    assert!(!short(&done));
    // Figures are those of one pass.
    assert_eq!(done.tally.bytes.0, 1 << 20);
    assert!(done.elapsed.0 < LONG_ENOUGH);
}

#[test]
fn every_phase_reports_rate_processor_time_and_latencies() {
    let names = [
        "rate",
        "cpu",
        "latency p50",
        "latency p90",
        "latency p99",
        "latency p99.9",
        "latency max",
    ];
    let home = tempfile::tempdir().unwrap();
    for phase in Phase::ALL {
        let pairs = [SMALL, &[("files", "30")]].concat();
        let done = done(phase, home.path(), &pairs);
        for name in names {
            let value = value(&done, name);
            assert!(
                value.is_finite() && value >= 0.0,
                "{phase:?} {name} {value}"
            );
        }
        assert!(value(&done, "rate") > 0.0 && value(&done, "latency max") > 0.0);
        let unit = &done.figures[0].unit;
        let of_bytes = phase.on_one_file() && phase != Phase::Seeks;
        assert_eq!(unit, if of_bytes { "KiB/s" } else { "1/s" }, "{phase:?}");
        assert_eq!(Phase::find(phase.name()), Some(phase));
    }
}

#[test]
fn the_null_engine_reports_the_requested_work() {
    let pairs = [
        SMALL,
        &[("files", "60"), ("directories", "3"), ("max", "100")],
    ]
    .concat();
    let stop = CancelToken::new();
    let job = Job::bare(Path::new("/nowhere"), &stop);
    for phase in Phase::ALL {
        let mut bonnie = Bonnie::new(phase, &given(&pairs), false);
        let mut engine = NullCalls::new(bonnie.facts());
        let tally = bonnie.run(&mut engine, &job).unwrap().tally;
        match phase {
            Phase::CharWrite | Phase::CharRead => assert_eq!(tally.bytes.0, 10_000),
            Phase::Write | Phase::Rewrite | Phase::Read => assert_eq!(tally.bytes.0, 1 << 20),
            Phase::Seeks => assert_eq!(tally.bytes.0, 300 * 8192),
            Phase::Create | Phase::Stat | Phase::Delete => assert_eq!(tally.files, 60),
        }
        assert!(tally.calls > 60, "{phase:?}");
    }
}

#[test]
fn cancellation_ends_every_phase() {
    let home = tempfile::tempdir().unwrap();
    let go = CancelToken::new();
    for phase in Phase::ALL {
        let pairs = [SMALL, &[("files", "30")]].concat();
        let job = Job::bare(home.path(), &go);
        prepare(phase, &given(&pairs), &job).unwrap();
        let mut bonnie = Bonnie::new(phase, &given(&pairs), true);
        let stop = CancelToken::new();
        stop.request();
        let job = Job::bare(home.path(), &stop);
        let end = bonnie.run(&mut SystemCalls::default(), &job);
        assert!(matches!(end, Err(LoadError::Stopped)), "{phase:?}");
    }
}

/// A measurement, not a test, with zeros like the original, to compare with it. Run it by name, in
/// release, with the directory in `BONNIE_DIR` and the size of the file in `BONNIE_SIZE`.
#[test]
#[ignore = "a measurement"]
fn figures_of_a_whole_run() {
    let root = PathBuf::from(std::env::var_os("BONNIE_DIR").expect("BONNIE_DIR"));
    let size = std::env::var("BONNIE_SIZE").unwrap_or("1073741824".to_owned());
    let data = [("size", size.as_str()), ("data", "like-original")];
    for order in ["sequential", "random"] {
        let pairs = [&data[..], &[("files", "65536"), ("order", order)]].concat();
        let phases = if order == "random" {
            &Phase::ALL[6..]
        } else {
            &Phase::ALL[..]
        };
        for phase in phases {
            let done = done(*phase, &root, &pairs);
            let summary = |name| value(&done, name);
            println!(
                "{} {order}: {:.0} {} {:.0} % slowest {:.0} us",
                phase.name(),
                summary("rate"),
                done.figures[0].unit,
                summary("cpu"),
                summary("latency max") / 1000.0
            );
        }
    }
}
