//! Explorations in the store: commands list, show, report, merge and delete them like runs.

#[path = "../../../store/src/tests/specimen.rs"]
#[expect(dead_code, reason = "the tests of the store use all of it")]
mod specimen;

use crate::support::{Home, Printed};
use fsdyno_model::StopReason;
use fsdyno_store::Store;
use serde_json::Value;
use specimen::{exploration, explored_clean, explored_with_findings};
use std::path::{Path, PathBuf};

/// A store with a shard of the exploration of the specimen: in its second program both contenders
/// broke a promise.
fn shard(home: &Home, number: u32) -> PathBuf {
    let path = home.path(&format!("shard{number}.db"));
    let mut store = Store::open(&path).unwrap();
    let mut info = exploration(1_795_428_000_000_000_000 + u64::from(number));
    info.shard = Some(format!("{number}/2").parse().unwrap());
    store.begin_exploration(&mut info).unwrap();
    for unit in info.units() {
        let contender = &info.contenders[unit.contender].label;
        let program = if unit.number == 1 {
            explored_with_findings(contender, 1)
        } else {
            explored_clean(contender, unit.number)
        };
        store.record_program(&info.id, &program).unwrap();
    }
    let end = info.started_unix_ns + 90_000_000_000;
    store
        .end_exploration(&info.id, StopReason::Complete, end)
        .unwrap();
    path
}

fn at(home: &Home, store: &Path, words: &[&str]) -> Printed {
    let store = store.display().to_string();
    home.fsdyno(&[&["--store", &store][..], words].concat())
}

/// The output of a command that must succeed.
fn out(home: &Home, store: &Path, words: &[&str]) -> String {
    let printed = at(home, store, words);
    assert_eq!(printed.code, Some(0), "{words:?}: {}", printed.err);
    printed.out
}

#[test]
fn shards_are_merged_listed_shown_and_reported() {
    let home = Home::new();
    let shards = [1, 2].map(|number| shard(&home, number).display().to_string());
    let store = home.path("all.db");
    let first = out(&home, &store, &["merge", &shards[0]]);
    assert!(
        first.contains(": 4 of 8 programs, missing programs of shards 2/2"),
        "{first}"
    );
    let digests = [[0, 1], [1, 0]].map(|[one, other]| {
        let merged = out(&home, &store, &["merge", &shards[one], &shards[other]]);
        let (counts, digest) = merged.split_once(", digest ").unwrap();
        assert!(counts.ends_with(": 8 of 8 programs"), "{merged}");
        digest.trim().to_owned()
    });
    assert_eq!(digests[0], digests[1]);
    let listed = out(&home, &store, &["runs"]);
    let row = listed.lines().nth(1).unwrap();
    for part in ["explore-", "8/8 programs 2", "complete", "ext2 xfs"] {
        assert!(row.contains(part), "{part}: {row}");
    }
    let id = row.split(' ').next().unwrap();
    let shown = out(&home, &store, &["show", id]);
    assert!(shown.contains(&digests[0]) && shown.contains("Minimal program, 2 operations:"));
    assert_eq!(shown, out(&home, &store, &["report", "last", "--long"]));
    let brief = out(&home, &store, &["report", &id[..9]]);
    assert!(brief.contains("ext2 broke promises (1 finding)"), "{brief}");
    assert!(!brief.contains("Minimal program"));
    let json: Value = serde_json::from_str(&out(&home, &store, &["show", id, "--json"])).unwrap();
    assert_eq!(json["programs"].as_array().unwrap().len(), 8);
    for (file, part) in [
        ("page.html", "<details id=\"finding-1-1\""),
        ("page.csv", "contender,programs,"),
        ("page.md", "## Findings"),
    ] {
        let path = home.path(file);
        out(
            &home,
            &store,
            &["report", id, "-o", &path.display().to_string()],
        );
        let page = std::fs::read_to_string(&path).unwrap();
        assert!(page.contains(part), "{file}: {page}");
    }
    for words in [
        &["chart", id][..],
        &["why", id, "ext2", "xfs"],
        &["show", id, "--commands", "0"],
        &["report", id, "--against", "namesys-2003"],
        &["report", id, "--format", "bonnie-csv"],
    ] {
        let printed = at(&home, &store, words);
        assert_eq!(printed.code, Some(2), "{words:?}: {}", printed.err);
        assert!(printed.err.contains(id), "{words:?}: {}", printed.err);
    }
    out(&home, &store, &["runs", "name", id, "mine"]);
    out(&home, &store, &["runs", "rm", "mine"]);
    assert_eq!(out(&home, &store, &["runs"]).lines().count(), 1);
}
