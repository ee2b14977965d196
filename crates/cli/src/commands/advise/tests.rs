//! Needs, options and commands, without a measurement.

use super::measure::{SCALE, options};
use super::*;
use clap::{Args as _, FromArgMatches as _};
use fsdyno_model::{LabChoice, StateClass};

fn parsed(words: &[&str]) -> AdviseArgs {
    let command = AdviseArgs::augment_args(clap::Command::new("advise"));
    let matches = command.try_get_matches_from([&["advise"], words].concat());
    AdviseArgs::from_arg_matches(&matches.unwrap()).unwrap()
}

fn names(contenders: &[Contender]) -> Vec<&str> {
    contenders.iter().map(|one| one.label.as_str()).collect()
}

#[test]
fn contenders_without_a_need_or_without_programs_are_dropped_with_the_reason() {
    let table = FeatureTable::read().unwrap();
    let args = parsed(&["--fs", "ext4,xfs,btrfs", "--needs", "shrink"]);
    let missing =
        |one: &Contender| (one.label == "btrfs").then(|| "mkfs.btrfs is missing".to_owned());
    let (kept, dropped) = candidates(&table, &args, &missing).unwrap();
    assert_eq!(names(&kept), ["ext4"]);
    let dropped: Vec<(&str, &str)> = dropped
        .iter()
        .map(|one| (one.name.as_str(), one.why.as_str()))
        .collect();
    assert_eq!(
        dropped,
        [("xfs", "no shrink"), ("btrfs", "mkfs.btrfs is missing")]
    );
    let (kept, _) = candidates(&table, &parsed(&[]), &|_| None).unwrap();
    assert!(!names(&kept).contains(&"tmpfs"), "{kept:?}");
}

#[test]
fn a_file_system_whose_cleaner_does_not_run_is_a_contender_only_by_name() {
    let why = |name: &str| not_advisable(recipes::find(name).unwrap(), true);
    let nilfs2 = why("nilfs2").unwrap();
    assert!(nilfs2.starts_with("nilfs_cleanerd frees"), "{nilfs2}");
    assert!(nilfs2.ends_with("Name it with --fs"), "{nilfs2}");
    assert_eq!(why("f2fs"), None);
}

#[test]
fn who_must_survive_the_loss_of_a_disk_has_a_mirror_by_default() {
    let table = FeatureTable::read().unwrap();
    let args = parsed(&["--survive", "disk"]);
    let (kept, _) = candidates(&table, &args, &|_| None).unwrap();
    assert!(kept.iter().all(layouts::is_redundant), "{kept:?}");
    assert!(names(&kept).contains(&"ext4@mirror2"), "{kept:?}");
    let args = parsed(&[
        "--survive",
        "disk",
        "--fs",
        "ext4,xfs@stripe2,btrfs@parity3",
    ]);
    let (kept, dropped) = candidates(&table, &args, &|_| None).unwrap();
    assert_eq!(names(&kept), ["btrfs@parity3"]);
    assert_eq!(dropped.len(), 2);
    assert_eq!(dropped[0].why, "its files are gone with a disk");
}

#[test]
fn needs_that_no_file_system_meets_are_an_error_of_usage() {
    let table = FeatureTable::read().unwrap();
    let args = parsed(&["--needs", "snapshots,encryption", "--fs", "ext4,btrfs"]);
    let error = candidates(&table, &args, &|_| None).unwrap_err();
    assert_eq!(error.code, Code::Usage);
    assert_eq!(
        error.to_string(),
        "no contender meets the needs and works here. Drop a need, or install programs:\n  ext4: no \
         snapshots\n  btrfs: no encryption"
    );
}

#[test]
fn the_commands_name_each_device_of_the_layout() {
    let of = |text| commands(&Contender::parse(text, &recipes::kind_of).unwrap());
    assert_eq!(
        of("xfs[-m reflink=0]:noatime")[0],
        "mkfs.xfs -m reflink=0 /dev/DISK"
    );
    let mirror = of("ext4@mirror2").join("\n");
    assert!(mirror.contains("/dev/DISK1 /dev/DISK2"), "{mirror}");
}

#[test]
fn the_figures_decide_the_draws_of_virtual_time_and_work_of_the_user_has_its_own_size() {
    let contenders = [Contender::plain("ext4")];
    let virtual_time = options(&parsed(&[]), None, &contenders, true);
    assert_eq!(virtual_time.repeats, None);
    assert_eq!(virtual_time.scale, Some(SCALE));
    assert_eq!(virtual_time.lab, Some(LabChoice::Uml));
    let recorded = options(&parsed(&["--workload-trace", "a"]), None, &contenders, true);
    assert_eq!(recorded.scale, None);
    let own = options(&parsed(&["--work", "mail.toml"]), None, &contenders, true);
    assert_eq!((own.scale, own.work), (None, vec!["mail.toml".into()]));
    let app = options(&parsed(&["git[files=9]"]), None, &contenders, true);
    assert_eq!((app.scale, app.suite), (None, None));
    assert_eq!(app.app, ["git[files=9]"]);
    let real = options(&parsed(&[]), None, &contenders, false);
    assert_eq!((real.repeats, real.disk), (None, None));
    assert_eq!(real.lab, Some(LabChoice::Host));
}

#[test]
fn options_that_cost_safety_are_the_first_that_a_budget_leaves_out() {
    let table = FeatureTable::read().unwrap();
    let best = [Contender::plain("ext4"), Contender::plain("btrfs")];
    let mut singles = Selected::singles(&table, &best, &[]);
    let all = singles.contenders(&best).len();
    assert!(singles.keep(usize::MAX, 2).is_empty());
    let out = singles.keep(all - 3, best.len());
    assert_eq!(out.len(), 3, "{out:?}");
    assert!(out.contains(&"btrfs:nodatacow".to_owned()), "{out:?}");
    assert!(
        singles
            .notes()
            .iter()
            .any(|note| note.label == "btrfs:noatime")
    );
    let kept = singles.contenders(&best);
    assert_eq!(kept[0].label, "ext4");
    assert_eq!(kept.len(), all - 3);
    assert_eq!(singles.keep(1, best.len()).len(), all - 5);
}

#[test]
fn the_format_of_the_output_is_checked_before_anything_is_measured() {
    let json = parsed(&["--format", "json", "-o", "a.csv"]);
    assert_eq!(formats(&json).unwrap(), Format::Csv);
    let bencher = formats(&parsed(&["--format", "bencher"])).unwrap_err();
    assert_eq!(bencher.code, Code::Usage);
    let unknown = formats(&parsed(&["-o", "a.pdf"])).unwrap_err();
    assert!(unknown.to_string().contains(".json"), "{unknown}");
}

#[test]
fn an_application_has_its_own_work_and_needs_its_programs() {
    let error = |words: &[&str]| check_application(&parsed(words)).unwrap_err();
    let scaled = error(&["git", "--scale", "2"]);
    assert_eq!(scaled.code, Code::Usage);
    assert!(scaled.to_string().contains("its own work"), "{scaled}");
    let wrong = error(&["git[file=1]"]);
    assert!(
        wrong.to_string().contains("unknown setting `file`"),
        "{wrong}"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.toml");
    let text = "title = \"a\"\nprograms = { no-such-program = \"its-package\" }\n\
                [[phases]]\nname = \"a\"\nabout = \"a\"\nload = \"true\"\n";
    std::fs::write(&file, text).unwrap();
    let missing = error(&["--app", file.to_str().unwrap()]);
    assert_eq!(missing.code, Code::Missing);
    let words = "needs `no-such-program`. Install: apt-get install its-package";
    assert!(missing.to_string().contains(words), "{missing}");
    assert!(check_application(&parsed(&["mail", "--scale", "2"])).is_ok());
}

#[test]
fn a_question_keeps_its_settings_but_not_the_form_of_the_answer() {
    let args = "mail --disk nvme --needs shrink,journal --survive power=c3,bitrot --set mail.messages=3 --budget 90s \
                --format json --guest-kernel packaged";
    let args = parsed(&args.split_whitespace().collect::<Vec<_>>());
    let question = AdviceQuestion {
        directory: "/here".into(),
        in_guest: true,
        contenders: vec![Contender::parse("ext4:noatime", &recipes::kind_of).unwrap()],
        dropped: vec![Dropped::new("btrfs", "no shrink")],
        fit: None,
        args,
    };
    let text = serde_json::to_string(&question).unwrap();
    let read: AdviceQuestion = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    assert_eq!(read.contenders, question.contenders);
    assert_eq!(read.args.needs, question.args.needs);
    assert_eq!(read.args.safety(), Some(StateClass::C3));
    assert_eq!(read.args.budget(), question.args.budget());
    assert_eq!(read.args.format, Format::Terminal);
    let before = options(&question.args, None, &question.contenders, true);
    assert_eq!(options(&read.args, None, &read.contenders, true), before);
}

#[test]
fn an_advice_that_resumes_takes_no_other_question() {
    let command = || AdviseArgs::augment_args(clap::Command::new("advise"));
    let takes = |words: &[&str]| {
        let all = [&["advise", "--resume", "last"], words].concat();
        command().try_get_matches_from(all).is_ok()
    };
    assert!(takes(&[
        "--budget", "10m", "--format", "json", "-o", "a.html", "--force"
    ]));
    for arg in command().get_arguments() {
        let name = arg.get_id().as_str();
        if ["resume", "budget", "format", "output", "force", "help"].contains(&name) {
            continue;
        }
        let flag = format!("--{}", arg.get_long().unwrap_or_default());
        let words = match (arg.is_positional(), arg.get_action().takes_values()) {
            (true, _) => vec!["quick"],
            (false, true) => vec![
                flag.as_str(),
                if name == "survive" { "power" } else { "shrink" },
            ],
            (false, false) => vec![flag.as_str()],
        };
        assert!(!takes(&words), "{name}");
    }
}
