//! The files that the phases of this program leave, and their operations.

use super::{WorkPhase, data_bytes, kinds, planned, prepare, record_state, works_in};
use crate::engines::null::NullCalls;
use crate::engines::sync::SystemCalls;
use crate::error::LoadError;
use crate::phases::Job;
use crate::work::lines;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::capability::NameRule;
use fsdyno_model::evidence::CacheState;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::Tally;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Sizes of all phases, which are small.
const SMALL: &str = "messages=103 mailboxes=5 files=260 requests=500 photos=3 sources=45 \
                     size=2097152 transactions=600 checkpoint=77 layers=4 containers=3";

/// A directory, and the parameters of phases in it.
struct Place {
    root: tempfile::TempDir,
    parameters: String,
    names: NameRule,
}

impl Place {
    fn new(parameters: &str) -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            parameters: format!("{SMALL} {parameters}"),
            names: NameRule::BYTES,
        }
    }

    fn plan(&self, kind: &str) -> PhasePlan {
        let pairs = self.parameters.split_whitespace();
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        PhasePlan {
            label: kind.to_owned(),
            kind: kind.to_owned(),
            cache: CacheState::default(),
            pattern: None,
            parameters: pairs
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            judge: None,
        }
    }

    fn planned(&self, kind: &str) -> super::Planned {
        planned(&self.plan(kind), 1, self.names).unwrap().unwrap()
    }

    fn try_run(&self, kind: &str) -> Result<Tally, LoadError> {
        let stop = CancelToken::new();
        let job = Job::bare(self.root.path(), &stop);
        let planned = self.planned(kind);
        prepare(&planned, &job)?;
        let mut phase = WorkPhase::new(&planned.work()?, &planned);
        let tally = phase.run(&mut SystemCalls::default(), &job)?;
        record_state(&planned, &job)?;
        Ok(tally)
    }

    /// Prepares and runs a phase.
    fn run(&self, kind: &str) -> Tally {
        self.try_run(kind)
            .unwrap_or_else(|error| panic!("{kind}: {error}"))
    }

    /// All entries except directories and the record, by their paths, with their sizes.
    fn files(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let about = path.symlink_metadata().unwrap();
                if about.is_dir() {
                    folders.push(path);
                } else if !path.ends_with(".state") {
                    let name = path.strip_prefix(self.root.path()).unwrap();
                    found.insert(name.display().to_string(), about.len());
                }
            }
        }
        found
    }
}

fn count(files: &BTreeMap<String, u64>, part: &str) -> usize {
    files.keys().filter(|name| name.contains(part)).count()
}

/// Equal digests are equal operations, sizes and paths: results of two versions can be compared.
#[test]
fn the_operations_of_all_phases_are_those_of_the_versions_before() {
    let place = Place::new("");
    let mut digests = String::new();
    for kind in kinds() {
        let planned = place.planned(kind.name);
        let all = lines(&planned.work().unwrap(), &planned.settings, usize::MAX);
        let mut digest = 0xCBF2_9CE4_8422_2325_u64;
        for line in all.iter().flatten() {
            for byte in line.to_string().bytes() {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
        let count = all.iter().flatten().count();
        let _ = writeln!(digests, "{} {count} {digest:016x}", kind.name);
    }
    assert_eq!(digests, include_str!("operations.txt"));
}

#[test]
fn a_maildir_holds_exactly_what_was_delivered_and_not_expunged() {
    for workers in ["workers=1", "workers=4"] {
        let place = Place::new(workers);
        let delivered = place.run("mail-deliver");
        let new = place.files();
        assert_eq!(count(&new, "/new/m"), 103);
        assert_eq!(
            (delivered.files, delivered.bytes.0),
            (103, new.values().sum())
        );
        assert_eq!(place.run("mail-read").bytes, delivered.bytes);
        let read = place.files();
        assert_eq!(count(&read, ":2,S"), 103);
        let expunged = place.run("mail-expunge");
        let kept = place.files();
        assert_eq!(kept.len() as u64, 103 - expunged.files);
        assert!((52..=54).contains(&expunged.files), "{}", expunged.files);
        assert!(kept.iter().all(|(name, size)| read.get(name) == Some(size)));
    }
}

#[test]
fn messages_are_flagged_without_a_colon_where_names_have_none() {
    let mut place = Place::new("");
    place.names = NameRule::WINDOWS;
    place.run("mail-read");
    assert_eq!(count(&place.files(), "!2,S"), 103);
}

#[test]
fn a_build_makes_objects_and_archives_of_all_sources_and_clean_removes_them() {
    for workers in ["workers=1", "workers=3"] {
        let place = Place::new(workers);
        place.run("build-checkout");
        let sources = place.files();
        assert_eq!(sources.len(), 45 + 11);
        place.run("build-link");
        let built = place.files();
        assert_eq!(built.len(), 45 * 3 + 11 + 3);
        let sum = |part: &str| -> u64 {
            let found = built.iter().filter(|(name, _)| name.contains(part));
            found.map(|(_, size)| *size).sum()
        };
        assert_eq!(sum(".o"), sum(".a"));
        assert_eq!(place.run("build-check").files, 45);
        place.run("build-clean");
        assert_eq!(place.files(), sources);
    }
}

#[test]
fn a_table_is_written_whole_and_its_pages_are_committed_again_and_again() {
    let place = Place::new("");
    for _ in 0..2 {
        let committed = place.run("database-commit");
        // Each transaction writes a record of the log and a page.
        assert_eq!((committed.files, committed.bytes.0), (600, 2 * 600 * 8192));
    }
    let files = place.files();
    assert_eq!(
        (files["database/table"], files["database/log"]),
        (2 << 20, 16 << 20)
    );
}

#[test]
fn layers_are_links_to_objects_and_containers_change_only_their_own_files() {
    for workers in ["workers=1", "workers=3"] {
        let place = Place::new(workers);
        place.run("containers-pull");
        let pulled = place.files();
        assert_eq!(
            (count(&pulled, "layer-"), count(&pulled, "objects/o")),
            (260, 260)
        );
        let path = |name: &String| place.root.path().join(name);
        assert!(
            pulled
                .keys()
                .all(|name| fs::metadata(path(name)).unwrap().nlink() == 2)
        );
        match place.try_run("containers-start") {
            Err(error) if error.errno() == Some(libc::EPERM) => {
                println!("SKIP device nodes: layers_are_links_to_objects");
                return;
            }
            started => assert_eq!(started.unwrap().files, 3 * 65),
        }
        let mut own = place.files();
        own.retain(|name, _| !pulled.contains_key(name));
        assert!(own.keys().all(|name| name.contains("/upper/f")), "{own:?}");
        let is_whiteout = |name: &&String| {
            let about = fs::symlink_metadata(path(name)).unwrap();
            about.file_type().is_char_device() && about.rdev() == 0
        };
        let whiteouts = own.keys().filter(is_whiteout).count();
        assert!((1..own.len()).contains(&whiteouts), "{own:?}");
        let removed = place.run("containers-remove");
        assert_eq!((place.files(), removed.files), (pulled, own.len() as u64));
    }
}

#[test]
fn the_files_of_a_phase_have_space_on_a_device_of_its_size() {
    for kind in kinds() {
        let place = Place::new("");
        match place.try_run(kind.name) {
            Err(error) if error.errno() == Some(libc::EPERM) => {
                println!("SKIP device nodes: {}", kind.name);
                continue;
            }
            run => drop(run.unwrap()),
        }
        let (mut inodes, mut used) = (BTreeSet::new(), 0);
        for (name, size) in place.files() {
            let about = fs::symlink_metadata(place.root.path().join(name)).unwrap();
            if inodes.insert(about.ino()) {
                used += size.next_multiple_of(4096);
            }
        }
        let space = data_bytes(&place.plan(kind.name)).unwrap().0;
        assert!(
            (used..10 * used + (64 << 20)).contains(&space),
            "{}: {used} {space}",
            kind.name
        );
    }
}

#[test]
fn files_of_an_interrupted_phase_or_of_other_parameters_are_made_again() {
    let place = Place::new("");
    place.run("mail-deliver");
    let (stop, planned) = (CancelToken::new(), place.planned("mail-read"));
    prepare(&planned, &Job::bare(place.root.path(), &stop)).unwrap();
    // Interrupted: it has read one message and recorded nothing.
    let (name, _) = place.files().pop_first().unwrap();
    fs::remove_file(place.root.path().join(name)).unwrap();
    place.run("mail-read");
    assert_eq!(count(&place.files(), "/cur/m"), 103);
    let fewer = Place {
        parameters: "messages=10".to_owned(),
        ..place
    };
    fewer.run("mail-read");
    assert_eq!(fewer.files().len(), 10);
}

#[test]
fn the_null_engine_does_the_same_number_of_operations_each_time() {
    let stop = CancelToken::new();
    let job = Job::bare(Path::new("/"), &stop);
    let place = Place::new("");
    for kind in kinds() {
        let planned = place.planned(kind.name);
        let tally = || {
            let mut phase = WorkPhase::new(&planned.work().unwrap(), &planned);
            let tally = phase.run(&mut NullCalls::new(phase.facts()), &job).unwrap();
            assert_eq!(
                phase.timeline().latencies.count(),
                tally.files,
                "{}",
                kind.name
            );
            tally
        };
        let first = tally();
        assert!(
            first.calls > 0 && first.files > 0,
            "{}: {first:?}",
            kind.name
        );
        assert_eq!(tally(), first, "{}", kind.name);
    }
}

#[test]
fn a_phase_has_the_name_of_the_directory_of_its_files() {
    for kind in kinds() {
        let home = works_in(kind.name).unwrap().to_str().unwrap();
        assert!(kind.name.starts_with(home), "{home}");
    }
}
