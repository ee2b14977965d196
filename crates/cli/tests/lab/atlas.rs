//! The atlas, built and verified on model disks in virtual time. Without the lab kernel, the test is
//! skipped by name.

use crate::support::{Home, have, lab_kernel};
use fsdyno_report::atlas::Atlas;
use rusqlite::Connection;
use std::fs;

/// Two contenders, one work, one disk, two draws.
const PLAN: &str = r#"
title = "two file systems for mail"
scale = 0.02
draws = 2

[[part]]
contenders = ["ext4", "ext3"]
works = ["mail"]
disks = ["nvme"]
sizes = [1]
"#;

#[test]
fn an_atlas_is_built_shown_verified_and_compared() {
    let test = "an_atlas_is_built_shown_verified_and_compared";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4", "mkfs.ext3"], test)) else {
        return;
    };
    let home = Home::new();
    let path = |name: &str| home.path(name).display().to_string();
    let (plan, file, again) = (path("plan.toml"), path("a.jsonl"), path("b.jsonl"));
    fs::write(&plan, PLAN).unwrap();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let place = ["--guest-kernel", &kernel, "--work-dir", &work];
    let atlas = |words: &[&str], place: &[&str]| home.fsdyno(&[&["atlas"], words, place].concat());
    let built = atlas(&["build", &plan, "-o", &file], &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(
        built.err.contains("questions: 1; cells: 4; to measure: 4"),
        "{}",
        built.err
    );
    // The runs in the store are used again, and give the same file.
    let built = atlas(&["build", &plan, "-o", &again], &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("to measure: 0"), "{}", built.err);
    let whole = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::read_to_string(&again).unwrap(), whole);
    let names = [&work, &kernel].map(|path| whole.contains(path.as_str()));
    assert_eq!(
        names, [false; 2],
        "a path of this machine is in the file: {whole}"
    );

    let shown = atlas(&["show", "--atlas", &file], &[]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(
        shown.out.contains("ext3") && shown.out.contains("2 draws"),
        "{}",
        shown.out
    );
    let advice = home.fsdyno(&[
        "advise",
        "mail",
        "--disk",
        "nvme",
        &format!("--atlas={file}"),
    ]);
    assert_eq!(advice.code, Some(0), "{}", advice.err);
    assert!(
        advice.out.contains("From the atlas, not measured here"),
        "{}",
        advice.out
    );
    assert!(
        advice.out.contains("fsdyno atlas verify mail/nvme"),
        "{}",
        advice.out
    );
    let other = home.fsdyno(&[
        "advise",
        "web",
        "--disk",
        "nvme",
        &format!("--atlas={file}"),
    ]);
    assert_eq!(other.code, Some(4), "{}", other.out);
    assert!(
        other
            .err
            .contains("fsdyno advise web --disk nvme --measure"),
        "{}",
        other.err
    );

    let verified = atlas(&["verify", "--atlas", &file, "--sample", "1"], &place);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    assert!(
        verified.out.contains("1 of 1 cells are equal"),
        "{}",
        verified.out
    );
    let figure = "\"durable_ns\":";
    fs::write(&file, whole.replacen(figure, "\"durable_ns\":1", 1)).unwrap();
    let verified = atlas(
        &["verify", "--atlas", &file, "mail/nvme/1/ext4/maildir/1"],
        &place,
    );
    assert_eq!(verified.code, Some(1), "{}{}", verified.out, verified.err);
    assert!(
        verified.out.contains("DIFFERS  mail/nvme/1/ext4/maildir/1"),
        "{}",
        verified.out
    );
    let differs = atlas(&["diff", &again, &file], &[]);
    assert_eq!(differs.code, Some(1), "{}", differs.err);
    assert!(
        differs.out.contains("3 of 4 common cells"),
        "{}",
        differs.out
    );
    let same = atlas(&["diff", &again, &again], &[]);
    assert_eq!(same.code, Some(0), "{}", same.err);
    home.assert_no_guest();
    assert!(home.left_in_work().is_empty());
}

#[test]
fn an_atlas_that_ended_early_is_completed_by_the_same_command() {
    let test = "an_atlas_that_ended_early_is_completed_by_the_same_command";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4", "mkfs.ext3"], test)) else {
        return;
    };
    let home = Home::new();
    let path = |name: &str| home.path(name).display().to_string();
    let (part, again) = (path("part.toml"), path("b.jsonl"));
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let place = ["--guest-kernel", &kernel, "--work-dir", &work];
    let atlas = |words: &[&str], place: &[&str]| home.fsdyno(&[&["atlas"], words, place].concat());
    let two = PLAN
        .replace("sizes = [1]", "sizes = [1, 2]")
        .replace("draws = 2", "draws = 1");
    fs::write(&part, two).unwrap();
    let words = ["build", &part, "-o", &again];
    let built = atlas(&[&words[..], &["--budget", "1ns"]].concat(), &place);
    assert_eq!(built.code, Some(1), "{}", built.err);
    let built = atlas(&[&words[..], &["--budget", "0.1s"]].concat(), &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("1 of 2 questions"), "{}", built.err);
    let built = atlas(&words, &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("2 of 2 questions"), "{}", built.err);
    let built = atlas(&words, &place);
    assert!(built.err.contains("--force"), "{}", built.err);

    let whole = fs::read_to_string(&again).unwrap();
    // An interrupted run is completed.
    let store = Connection::open(home.path("data/fsdyno/fsdyno.db")).unwrap();
    let interrupt = "DELETE FROM part WHERE key = (SELECT max(key) FROM part);
        UPDATE record SET document = json_set(document, '$.stop', 'interrupted')
            WHERE id = (SELECT id FROM record ORDER BY started_unix_ns DESC LIMIT 1);";
    store.execute_batch(interrupt).unwrap();
    drop(store);
    let built = atlas(&[&words[..], &["--force"]].concat(), &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("to measure: 1,"), "{}", built.err);
    let completed = fs::read_to_string(&again).unwrap();
    // The time that the run took differs.
    let cells = |text: &str| -> Vec<String> {
        let cells = text.lines().filter(|line| line.starts_with("{\"cell\""));
        cells.map(str::to_owned).collect()
    };
    assert_eq!(cells(&completed), cells(&whole));
    // Complete runs count in whatever directory they ran.
    let elsewhere = path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let place = [&place[..3], &[&elsewhere]].concat();
    let built = atlas(&[&words[..], &["--force"]].concat(), &place);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("to measure: 0,"), "{}", built.err);
}

#[test]
fn tests_with_faulty_disks_and_power_cuts_of_an_atlas_are_built_verified_and_advise() {
    let test = "tests_with_faulty_disks_and_power_cuts_of_an_atlas_are_built_verified_and_advise";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4", "mkfs.ext3"], test)) else {
        return;
    };
    let home = Home::new();
    let path = |name: &str| home.path(name).display().to_string();
    let (plan, file, changed) = (path("plan.toml"), path("a.jsonl"), path("b.jsonl"));
    let tests = "[faults]\ncontenders = [\"ext4\"]\ndraws = 1\n\n\
                 [power]\ncontenders = [\"ext4\"]\ndraws = 1\n\n[[part]]";
    fs::write(&plan, PLAN.replacen("[[part]]", tests, 1)).unwrap();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    let place = ["--guest-kernel", &kernel, "--work-dir", &work];
    let atlas = |words: &[&str]| home.fsdyno(&[&["atlas"], words, &place].concat());
    let built = atlas(&["build", &plan, "-o", &file]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    assert!(built.err.contains("ext4 is tested"), "{}", built.err);
    let whole = fs::read_to_string(&file).unwrap();
    let names = [&work, &kernel].map(|path| whole.contains(path.as_str()));
    assert_eq!(names, [false; 2], "a path of this machine is in the file");
    // The tests in the store are used again.
    let built = atlas(&["build", &plan, "-o", &file, "--force"]);
    assert_eq!(built.code, Some(0), "{}", built.err);
    for begun in ["is tested", "series "] {
        assert!(!built.err.contains(begun), "{}", built.err);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), whole);

    let of_file = format!("--atlas={file}");
    let question = [
        "advise",
        "mail",
        "--disk",
        "nvme",
        &of_file,
        "--survive",
        "bitrot",
    ];
    let advice = home.fsdyno(&question);
    // ext4 gives wrong data, and ext3 was not tested.
    assert_eq!(advice.code, Some(1), "{}", advice.err);
    for said in [
        "ext3: it was not tested with flipped",
        "ext4: wrong data after",
    ] {
        assert!(advice.out.contains(said), "{said}: {}", advice.out);
    }
    let advice = home.fsdyno(&[&question[..5], &["--fs", "ext4"]].concat());
    let said = "When the power fails, changes without fsync of the last";
    let words: Vec<&str> = advice.out.split_whitespace().collect();
    assert!(
        words.join(" ").contains(said),
        "{}{}",
        advice.out,
        advice.err
    );
    let verified = atlas(&["verify", "--atlas", &file, "faults/ext4"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    let (outcome, other) = ("\"outcome\":\"wrong-data\"", "\"outcome\":\"healed\"");
    fs::write(&changed, whole.replacen(outcome, other, 1)).unwrap();
    let verified = atlas(&["verify", "--atlas", &changed, "faults"]);
    assert_eq!(verified.code, Some(1), "{}{}", verified.out, verified.err);
    assert!(
        verified.out.contains("DIFFERS  faults/ext4") && verified.out.contains("WrongData here"),
        "{}",
        verified.out
    );
    let verified = atlas(&["verify", "--atlas", &file, "power/ext4"]);
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    fs::write(
        &changed,
        whole.replacen("\"acknowledged\":", "\"acknowledged\":1", 1),
    )
    .unwrap();
    let verified = atlas(&["verify", "--atlas", &changed, "power"]);
    assert_eq!(verified.code, Some(1), "{}{}", verified.out, verified.err);
    assert!(verified.out.contains("power cut 1"), "{}", verified.out);
}

/// Another build of fsdyno measured the shipped file, on another day and perhaps another machine.
#[test]
fn a_random_sample_of_the_shipped_atlas_is_equal_here_to_the_nanosecond() {
    let test = "a_random_sample_of_the_shipped_atlas_is_equal_here_to_the_nanosecond";
    let head = Atlas::shipped().unwrap().unwrap().head;
    let programs: Vec<&str> = head.programs.keys().map(String::as_str).collect();
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let build = kernel.parent().and_then(|place| place.file_name()).unwrap();
    if !head.kernel.ends_with(&build.display().to_string()) {
        println!("SKIP the lab kernel of the shipped atlas: {test}");
        return;
    }
    let seed = std::env::var("FSDYNO_SEED").unwrap_or_else(|_| "1".to_owned());
    let home = Home::new();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let place = ["--guest-kernel", &kernel, "--work-dir"];
    let sample = ["atlas", "verify", "--sample", "6", "--seed", &seed];
    let work = work.display().to_string();
    let verified = home.fsdyno(&[&sample[..], &place, &[&work]].concat());
    // `verify` names programs of other versions, which make other file systems.
    let mut lines = verified.out.lines();
    if lines.any(|line| {
        programs
            .iter()
            .any(|one| line.starts_with(&format!("{one}: ")))
    }) {
        println!("SKIP the programs of the shipped atlas: {test}");
        return;
    }
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
    assert!(
        verified
            .out
            .contains("6 of 6 cells are equal to the nanosecond"),
        "{}",
        verified.out
    );
    let faults = ["atlas", "verify", "faults/ext4"];
    let verified = home.fsdyno(&[&faults[..], &place, &[&work]].concat());
    assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
}
