//! Commands that are judged by a figure that they print.

use crate::support::{Home, outcomes};

/// Two directories of which the first does twice as many transactions.
fn run<'a>(on: &'a str, command: &'a str) -> Vec<&'a str> {
    vec![
        "run",
        "--on",
        on,
        "-n",
        "3",
        "--exec-everywhere",
        "--no-model",
        "--exec",
        command,
    ]
}

fn directories(home: &Home) -> String {
    let names = ["quick", "other"].map(|name| home.path(name));
    for name in &names {
        std::fs::create_dir(name).unwrap();
    }
    format!("dir:{},{}", names[0].display(), names[1].display())
}

const BENCH: &str = "case {dir} in *quick*) n=3362.248672;; *) n=1334.821214;; esac
echo \"progress: 1.0 s, 17 tps\"
echo \"tps = $n (without initial connection time)\"
echo \"FIGURE stalls 3 lower\"";

#[test]
fn a_command_is_judged_by_the_number_that_it_prints() {
    let home = Home::new();
    let on = directories(&home);
    let mut words = run(&on, BENCH);
    words.extend([
        "--figure",
        "tps[1/s,higher]=tps = ([0-9.]+)",
        "--judge",
        "tps",
    ]);
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let result = home.result("last");
    let figures = &result["cells"][0]["samples"][0]["figures"];
    assert!(figures.to_string().contains("stalls"), "{figures}");
    let phases = result["results"][0]["phases"].as_array().unwrap();
    let judged = phases.iter().find(|phase| phase["whole"] == true).unwrap();
    assert_eq!(judged["figure"], "tps");
    assert_eq!(judged["unit"], "1/s");
    let median = judged["contenders"][0]["median"].as_f64().unwrap();
    assert!((median - 3_362.248_672).abs() < 1e-9, "{median}");
    let answer = result["results"][0]["answer"].as_str().unwrap();
    assert!(
        answer.contains("tps") && !answer.contains("fast"),
        "{answer}"
    );
    let compared = home.fsdyno(&["compare", "last", "last", "--fail-if", "exec.tps < 0.9"]);
    assert_eq!(compared.code, Some(0), "{}{}", compared.out, compared.err);
}

#[test]
fn a_missing_number_fails_its_cell_with_the_last_lines() {
    let home = Home::new();
    let on = directories(&home);
    let command = "case {dir} in *quick*) echo tps = 5;; *) echo connection refused;; esac";
    let mut words = run(&on, command);
    words.extend(["--figure", "tps=tps = ([0-9.]+)", "--judge", "tps"]);
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let result = home.result("last");
    let failed = outcomes(&result)
        .into_iter()
        .filter(|(_, outcome)| outcome == "failed");
    assert_eq!(failed.count(), 3);
    let all = result["cells"].to_string();
    assert!(
        all.contains("tps = ([0-9.]+)") && all.contains("connection refused"),
        "{all}"
    );
}

#[test]
fn an_unknown_figure_or_an_invalid_expression_is_refused_before_anything_is_made() {
    let home = Home::new();
    let on = directories(&home);
    for (more, part) in [
        (
            &["--judge", "tsp", "--figure", "tps=tps = (.*)"][..],
            "did you mean tps?",
        ),
        (&["--judge", "durabel"], "did you mean durable?"),
        (&["--judge", "steal"], "neither a higher nor a lower"),
        (&["--figure", "tps=tps = ("], "invalid"),
        (&["--figure", "tps=tps"], "brackets"),
        (&["--figure", "x=(.*)"], "x[higher]=REGEX"),
    ] {
        let mut words = run(&on, "true");
        words.extend(more);
        let output = home.fsdyno(&words);
        assert_eq!(output.code, Some(2), "{}", output.err);
        assert!(output.err.contains(part), "{part}: {}", output.err);
    }
    assert_ne!(home.fsdyno(&["show", "last"]).code, Some(0));
}

#[test]
fn a_program_of_fixed_duration_is_judged_by_its_rate_unless_told_otherwise() {
    let home = Home::new();
    let plan = home.path("plan.toml");
    let text = "contenders = [\"ext4\", \"xfs\"]\n[[workload]]\nname = \"d\"\nphases = [\"dbench\", \
                { kind = \"sysbench-fileio\", label = \"timed\" }, \
                { kind = \"sysbench-fileio\", label = \"counted\", events = 100 }, \
                { kind = \"dbench\", label = \"by time\", judge = \"durable\" }]\n";
    std::fs::write(&plan, text).unwrap();
    let read = fsdyno_run::RunOptions {
        plan: Some(plan),
        ..Default::default()
    };
    let plan = fsdyno_run::resolve::resolve(&read, &fsdyno_run::resolve::Catalogue::complete());
    let phases = &plan.unwrap().workloads[0].phases;
    let judged = phases
        .iter()
        .map(|phase| phase.judge.as_ref().map(fsdyno_model::FigureName::as_str));
    let judged: Vec<Option<&str>> = judged.collect();
    assert_eq!(judged, [Some("throughput"), Some("events"), None, None]);
}
