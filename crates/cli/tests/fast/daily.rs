//! Everyday use from the command line: commands as phases, forms of values, and errors that leave
//! nothing behind.

use crate::support::{Home, outcomes};

#[test]
fn commands_have_names_and_untimed_runs_and_may_fail() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let count = home.path("count").display().to_string();
    let failing = format!("echo x >>{count}; exit 3 # on purpose");
    let run = [
        "run",
        "--on",
        &on,
        "-n",
        "1",
        "--exec",
        &failing,
        "--exec-everywhere",
        "--label",
        "build",
    ];
    let output = home.fsdyno(&[&run[..], &["--ignore-failure", "--warmup", "2"]].concat());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(output.err.contains("begins in lab host"), "{}", output.err);
    let result = home.result("last");
    assert_eq!(outcomes(&result), [(0, "measured".to_owned())]);
    assert_eq!(result["cells"][0]["samples"][0]["label"], "build");
    // The program runs the command three times: twice untimed, once timed.
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\nx\nx\n");
    let output = home.fsdyno(&[&run[..], &["--label", "test", "--dry-run"]].concat());
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains("`test`"), "{}", output.err);
}

#[test]
fn what_is_missing_is_an_exit_code_and_no_store() {
    let home = Home::new();
    let kernel = home.path("no-kernel").display().to_string();
    let guest = [
        "run",
        "--fs",
        "ext4",
        "--lab",
        "uml",
        "--guest-kernel",
        &kernel,
    ];
    for (args, code) in [
        (
            &["run", "--fs", "ext4", "--on", "/dev/no-such-device"][..],
            2,
        ),
        (&guest, 4),
    ] {
        let output = home.fsdyno(args);
        assert_eq!(output.code, Some(code), "{args:?}: {}", output.err);
        assert!(!home.path("data/fsdyno/fsdyno.db").exists(), "{args:?}");
    }
}

#[test]
fn shares_have_the_same_forms_in_all_flags() {
    let home = Home::new();
    for (value, code) in [("2", 0), ("2 %", 0), ("2%", 0), ("0.02", 2), ("two", 2)] {
        for flag in ["--margin", "--precision", "--fill"] {
            let args = [
                "run",
                "--fs",
                "tmpfs:size=4G",
                "--scale",
                "0.01",
                "--dry-run",
                flag,
                value,
            ];
            let output = home.fsdyno(&args);
            assert_eq!(output.code, Some(code), "{flag} {value}: {}", output.err);
        }
    }
}

#[test]
fn blanks_are_allowed_in_lists_and_in_paths() {
    let home = Home::new();
    let place = home.path("with a blank");
    std::fs::create_dir_all(place.join("source")).unwrap();
    std::fs::write(place.join("source/file"), "x").unwrap();
    let (on, dataset) = (
        format!("dir:{}", place.display()),
        format!("tree:{}/source", place.display()),
    );
    let args = [
        "run",
        "--on",
        &on,
        "--dataset",
        &dataset,
        "--phases",
        "copy",
        "--dry-run",
    ];
    let output = home.fsdyno(&args);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(
        output.out.contains(&format!("'{}'", place.display())),
        "{}",
        output.out
    );
    for list in [
        "ext4:noatime,xfs",
        " ext4:noatime , xfs ",
        "ext4:noatime ,xfs",
    ] {
        let output = home.fsdyno(&["run", "--fs", list, "--dry-run"]);
        assert_eq!(output.code, Some(0), "{list}: {}", output.err);
        assert!(output.out.contains("# cell 1: xfs") || output.out.contains("# cell 0: xfs"));
    }
}

#[test]
fn an_unknown_key_of_a_plan_suggests_the_nearest() {
    let home = Home::new();
    let plan = home.path("plan.toml");
    std::fs::write(&plan, "name = \"x\"\nrepeat = 3\n").unwrap();
    let output = home.fsdyno(&["run", "--plan", plan.to_str().unwrap(), "--dry-run"]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    for text in [
        "unknown key `repeat`",
        "did you mean `repeats`?",
        "plan.toml:2:",
    ] {
        assert!(output.err.contains(text), "{text}: {}", output.err);
    }
}

#[test]
fn advice_on_the_size_of_a_workload_fits_its_dataset() {
    let home = Home::new();
    let tree = home.path("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("file"), vec![1; 64 << 20]).unwrap();
    let own = format!("tree:{}", tree.display());
    for (dataset, advice) in [
        (&*own, "a smaller dataset"),
        ("portage", "a smaller --scale"),
    ] {
        let args = [
            "run",
            "--fs",
            "ext4",
            "--on",
            "loop:40M",
            "--dataset",
            dataset,
            "--dry-run",
        ];
        let output = home.fsdyno(&args);
        assert_eq!(output.code, Some(2), "{dataset}: {}", output.err);
        assert!(output.err.contains(advice), "{dataset}: {}", output.err);
    }
}
