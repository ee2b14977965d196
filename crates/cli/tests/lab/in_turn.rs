//! Contenders that exist at the same time: phase by phase, and in slices. Needs root.

use crate::support::{Home, Printed, root_and};
use serde_json::Value;

const PROGRAMS: [&str; 2] = ["mkfs.ext4", "mkfs.xfs"];

/// The recorded order of contenders, of each cell.
pub fn orders(result: &Value) -> Vec<String> {
    let cells = result["cells"].as_array().unwrap().iter();
    let effective = cells.flat_map(|cell| cell["effective"].as_array().unwrap());
    let orders = effective.filter(|one| one["source"] == "order");
    orders
        .map(|one| one["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs these phases with these options, in words.
fn run(home: &Home, options: &str, phases: &str) -> Printed {
    let place = home.work().display().to_string();
    let fixed = "run --dataset mixed --seed 3 --no-lock --work-dir";
    let words = fixed.split(' ').chain([&*place]);
    let words = words.chain(options.split(' ')).chain(["--phases", phases]);
    home.fsdyno(&words.collect::<Vec<_>>())
}

#[test]
fn a_block_goes_phase_by_phase_through_its_contenders_and_reads_all_files_in_turn() {
    let test = "a_block_goes_phase_by_phase_through_its_contenders_and_reads_all_files_in_turn";
    if !root_and(&PROGRAMS, test) {
        return;
    }
    let home = Home::new();
    let options = "--fs ext4,xfs,tmpfs --scale 0.05 --repeats 2 --verify --long --verbose \
                   --set op.files=3000";
    let phases = "copy,read cold,read warm,grep warm,stat-walk warm,op-create,op-stat warm,\
                  op-random-read warm,delete";
    let printed = run(&home, options, phases);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(
        printed.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(
            "Order within blocks: phase by phase: all contenders of a block exist at the same time."
        ),
        "{}",
        printed.out
    );
    let result = home.result("last");
    assert_eq!(orders(&result).len(), 6);
    let reading = ["read cold", "read warm", "grep", "stat-walk"];
    for block in begun(&printed.err, &reading) {
        let rounds = (block.len() - 3) / (3 * reading.len());
        assert_eq!(block, in_order(3, rounds, &reading), "{}", printed.err);
    }
    // All contenders did the same work, whole.
    let cells = result["cells"].as_array().unwrap();
    let tallies = |cell: &Value| -> Vec<String> {
        let samples = cell["samples"].as_array().unwrap().iter();
        let tally = |sample: &Value| {
            let tally = &sample["tally"];
            format!("{} {} {}", sample["label"], tally["files"], tally["bytes"])
        };
        samples.map(tally).collect()
    };
    assert_eq!(tallies(&cells[0]).len(), 9);
    let mut shares = Vec::new();
    for cell in cells {
        assert_eq!(cell["outcome"]["outcome"], "measured");
        assert_eq!(tallies(cell), tallies(&cells[0]), "{cell}");
        for sample in cell["samples"].as_array().unwrap() {
            // Latencies are timed by the same clock as the phase: a wait would be in both, or in one.
            // Those of the median pass of the median round, where the time is the mean of all: at
            // most 9/4 of it.
            let (kind, time) = (&sample["kind"], sample["return_ns"].as_u64().unwrap());
            let Some(latency) = sample["latencies"].get(0) else {
                continue;
            };
            let sum = latency["sum_ns"].as_u64().unwrap();
            // Between files, a walk lists directories.
            if kind.as_str().unwrap().starts_with("op-") {
                shares.push(sum as f64 / time as f64);
            }
            assert!((1..=9 * time / 4).contains(&sum), "{kind}: {sum} {time}");
        }
    }
    shares.sort_by(f64::total_cmp);
    assert!(shares[shares.len() / 2] > 0.5, "{shares:?}");
    home.assert_cleanable();
}

/// The phases that cells began to copy or read, by block, as the stages report them.
fn begun(reported: &str, reading: &[&str]) -> Vec<Vec<String>> {
    let labels = reported.lines().filter_map(|line| {
        let label = line.rsplit_once(": phase ")?.1;
        (label == "copy" || reading.contains(&label)).then(|| label.to_owned())
    });
    let mut blocks: Vec<Vec<String>> = Vec::new();
    for label in labels {
        match blocks.last_mut() {
            Some(block) if label != "copy" || block.iter().all(|one| one == "copy") => {
                block.push(label);
            }
            _ => blocks.push(vec![label]),
        }
    }
    assert_eq!(blocks.len(), 2, "{reported}");
    blocks
}

/// No contender begins a phase before all have ended the one before it; phases that read are repeated
/// together.
fn in_order(contenders: usize, rounds: usize, reading: &[&str]) -> Vec<String> {
    let all = |label: &str| vec![label.to_owned(); contenders];
    let round: Vec<String> = reading.iter().flat_map(|label| all(label)).collect();
    [all("copy"), vec![round; rounds].concat()].concat()
}

#[test]
fn short_phases_that_read_have_three_rounds_and_one_sample() {
    let test = "short_phases_that_read_have_three_rounds_and_one_sample";
    if !root_and(&PROGRAMS, test) {
        return;
    }
    let home = Home::new();
    let options = "--fs ext4,xfs --scale 0.002 --repeats 2 --verbose";
    let printed = run(&home, options, "copy,read cold,read warm,delete");
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    let reading = ["read cold", "read warm"];
    for block in begun(&printed.err, &reading) {
        assert_eq!(block, in_order(2, 3, &reading), "{}", printed.err);
    }
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap().iter();
        let labels: Vec<_> = samples.map(|one| one["label"].as_str().unwrap()).collect();
        assert_eq!(labels, ["copy", "read cold", "read warm", "delete"]);
        let cold = &cell["samples"][1];
        assert!(cold["cache"]["proven"].as_bool().unwrap(), "{cold}");
    }
    home.assert_cleanable();
}

#[test]
fn a_contender_that_fails_holds_up_nobody() {
    let test = "a_contender_that_fails_holds_up_nobody";
    if !root_and(&PROGRAMS, test) {
        return;
    }
    let home = Home::new();
    // The tree does not fit into this memory.
    let options = "--fs ext4,tmpfs:size=4m,xfs --scale 0.2 --repeats 1";
    let printed = run(&home, options, "copy,read warm,delete");
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let ends = crate::support::outcomes(&home.result("last"));
    let measured = ends.iter().filter(|(_, end)| end == "measured").count();
    assert_eq!((ends.len(), measured), (3, 2), "{ends:?}");
    home.assert_cleanable();
}
