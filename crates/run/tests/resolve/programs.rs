//! Phases that run commands or programs: their options and parameters.

use crate::support::*;

fn parameters(plan: &fsdyno_model::Plan) -> Vec<String> {
    let phases = plan.workloads.iter().flat_map(|w| &w.phases);
    let pairs = phases.flat_map(|phase| &phase.parameters);
    pairs
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

#[test]
fn commands_run_alone_or_after_the_phases_of_a_dataset() {
    let alone = plan(&request(|r| {
        r.exec = vec!["make -j2".into(), "make check".into()];
        r.prepare = Some("tar xf x.tar".into());
    }));
    assert_eq!(work(&alone), ["exec=none: exec cold 1, exec cold 2"]);
    assert_eq!(alone.name, "exec");
    let found = parameters(&alone);
    assert_eq!(
        found,
        [
            "command=make -j2",
            "prepare=tar xf x.tar",
            "command=make check"
        ]
    );
    let after = plan(&request(|r| {
        r.dataset = Some("ports".into());
        r.phases = vec!["untar".into()];
        r.exec = vec!["ls {tree}".into()];
    }));
    assert_eq!(work(&after), ["ports=ports: untar, exec"]);
}

#[test]
fn a_plan_names_commands_without_a_dataset_and_parameters_by_their_keys() {
    let (_directory, path) = written(concat!(
        "scale = 0.5\n[[workload]]\nname = \"w\"\nphases = [\n",
        "  { kind = \"exec\", command = \"make\", label = \"build\", cache = \"warm\" },\n",
        "  { kind = \"press\", jobs = 7, file = \"a.job\" },\n]\n"
    ));
    let folder = path.parent().unwrap().to_owned();
    let plan = plan(&request(|r| r.plan = Some(path)));
    assert_eq!(work(&plan), ["w=none: build, press"]);
    let file = format!("file={}", folder.join("a.job").display());
    assert_eq!(
        parameters(&plan),
        ["command=make", &file, "jobs=7", "size=536870912"]
    );
}

#[test]
fn parameters_are_set_by_kind_and_name() {
    let plan = plan(&request(|r| {
        r.phases = vec!["press".into()];
        r.set = vec!["press.size=64M".into()];
    }));
    assert_eq!(work(&plan), ["press=none: press"]);
    assert_eq!(parameters(&plan), ["jobs=4", "size=67108864"]);
}

#[test]
fn further_options_are_passed_on_to_a_program_and_a_file_replaces_the_defaults() {
    let of = |set: &[&str]| {
        let set = set.iter().map(|one| (*one).to_owned()).collect();
        parameters(&plan(&request(|r| {
            r.phases = vec!["stress".into()];
            r.set = set;
        })))
    };
    let found = of(&["stress.iodepth=8", "stress.size=64M"]);
    assert_eq!(found, ["iodepth=8", "jobs=4", "size=67108864"]);
    let found = of(&["stress.iodepth=8", "stress.file=/a.job"]);
    assert_eq!(found, ["file=/a.job", "iodepth=8"]);
}

#[test]
fn the_common_prefix_of_kinds_sets_a_parameter_of_all_of_them() {
    let plan = plan(&request(|r| {
        r.phases = vec!["mongo-create,mongo-read,bonnie-read,bonnie-stat".into()];
        r.set = vec!["mongo.processes=4".into(), "bonnie.size=3M".into()];
    }));
    let found = parameters(&plan);
    let many = |what: &str| found.iter().filter(|one| *one == what).count();
    assert_eq!(many("processes=4"), 2, "{found:?}");
    assert_eq!(many("size=3145728"), 1, "{found:?}");
    let set = |text: &str| {
        crate::support::error_of(&request(|r| {
            r.phases = vec!["mongo-create".into()];
            r.set = vec![text.into()];
        }))
    };
    for (typed, expected) in [
        ("mongo.proceses=4", "did you mean processes"),
        ("mongo.processes=0", "from 1 to"),
        ("mongo.median=0", "from 1 B to 1.00 GiB"),
        ("mongo.median=2G", "from 1 B to 1.00 GiB"),
        ("mngo.processes=4", "no kind of phase"),
        ("bonnie.size=4M", "--phases bonnie-"),
    ] {
        let message = set(typed);
        assert!(message.contains(expected), "{typed}: {message}");
    }
}

#[test]
fn a_parameter_is_a_word_or_a_number_and_is_refused_where_only_other_phases_take_it() {
    let with = |text: &str| {
        request(|r| {
            r.phases = vec!["bonnie-create,bonnie-read".into()];
            r.set = vec![text.into()];
        })
    };
    for value in ["each", "end", "7"] {
        let set = format!("fsync={value}");
        let found = parameters(&plan(&with(&format!("bonnie.{set}"))));
        // Only the phase that writes files has it.
        assert!(found.contains(&set), "{found:?}");
    }
    for (typed, expected) in [
        (
            "bonnie.fsync=always",
            "write each, end, or a whole number from 1 to 99",
        ),
        (
            "bonnie.fsync=0",
            "write each, end, or a whole number from 1 to 99",
        ),
        (
            "bonnie-read.fsync=each",
            "phase `bonnie-read` takes no `fsync`",
        ),
        (
            "bonnie-read.fsync=each",
            "phases that take it: bonnie-create",
        ),
    ] {
        let message = crate::support::error_of(&with(typed));
        assert!(message.contains(expected), "{typed}: {message}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_remedy() {
    let set = |text: &str| {
        error_of(&request(|r| {
            r.phases = vec!["press".into()];
            r.set = vec![text.into()];
        }))
    };
    for (typed, expected) in [
        ("press.sise=1M", "did you mean size"),
        ("press.size=much", "is not a size"),
        ("press.size=0", "is nothing"),
        ("press.jobs=100", "from 1 to 99"),
        ("exec.command=ls", "--phases exec"),
        ("size", "KIND.NAME=VALUE"),
    ] {
        let message = set(typed);
        assert!(message.contains(expected), "{typed}: {message}");
    }
    for (options, expected) in [
        (
            request(|r| r.phases = vec!["exec".into()]),
            "needs a command",
        ),
        (request(|r| r.exec = vec![" ".into()]), "is empty"),
        (request(|r| r.prepare = Some("ls".into())), "--exec"),
        (
            request(|r| {
                r.exec = vec!["ls".into()];
                r.engine = Some("null".into());
            }),
            "touches no file",
        ),
        (
            request(|r| {
                r.exec = vec!["ls {tree}".into()];
                r.dataset = Some("none".into());
            }),
            "finds no tree",
        ),
        (
            request(|r| {
                r.phases = vec!["copy".into()];
                r.dataset = Some("none".into());
            }),
            "finds no tree",
        ),
    ] {
        let message = error_of(&options);
        assert!(message.contains(expected), "{options:?}: {message}");
    }
}
