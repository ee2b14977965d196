//! Contenders that exist at the same time: phase by phase, and in slices. Needs root.

use crate::support::{Home, root_and};
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

fn args<'a>(place: &'a str, more: &'a str) -> Vec<&'a str> {
    let fixed = "run --dataset mixed --seed 3 --no-lock --work-dir";
    let words = fixed.split(' ').chain([place]);
    words.chain(more.split(' ')).collect()
}

#[test]
fn a_block_goes_phase_by_phase_through_its_contenders_and_reads_all_files_in_turn() {
    let test = "a_block_goes_phase_by_phase_through_its_contenders_and_reads_all_files_in_turn";
    if !root_and(&PROGRAMS, test) {
        return;
    }
    let home = Home::new();
    let place = home.work().display().to_string();
    let more = "--fs ext4,xfs,tmpfs --scale 0.05 --repeats 2 --verify --long --verbose \
                --set op.files=3000 --phases";
    let mut args = args(&place, more);
    args.push("copy,read cold,read warm,grep warm,stat-walk warm,op-create,op-stat warm,op-random-read warm,delete");
    let printed = home.fsdyno(&args);
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
    // The stages that were reported: no contender begins a phase before all have ended the one
    // before it.
    let phases = ["copy", "read cold", "read warm", "grep", "stat-walk"];
    let begun = printed.err.lines().filter_map(|line| {
        let label = line.rsplit_once(": phase ")?.1;
        phases.iter().position(|phase| *phase == label)
    });
    let begun: Vec<usize> = begun.collect();
    assert_eq!(begun.len(), 2 * 3 * phases.len(), "{}", printed.err);
    for block in begun.chunks(3 * phases.len()) {
        assert!(block.is_sorted(), "{begun:?}");
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
    for cell in cells {
        assert_eq!(cell["outcome"]["outcome"], "measured");
        assert_eq!(tallies(cell), tallies(&cells[0]), "{cell}");
        for sample in cell["samples"].as_array().unwrap() {
            // Latencies are timed by the same clock as the phase: a wait would be in both, or in one.
            let (kind, time) = (&sample["kind"], sample["return_ns"].as_u64().unwrap());
            let Some(latency) = sample["latencies"].get(0) else {
                continue;
            };
            let sum = latency["sum_ns"].as_u64().unwrap();
            // Between files, a walk lists directories.
            let operations = kind.as_str().unwrap().starts_with("op-");
            let least = if operations { time / 2 } else { 1 };
            assert!((least..=time).contains(&sum), "{kind}: {sum} {time}");
        }
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
    let place = home.work().display().to_string();
    // The tree does not fit into this memory.
    let more = "--fs ext4,tmpfs:size=4m,xfs --scale 0.2 --repeats 1 --phases";
    let mut args = args(&place, more);
    args.push("copy,read warm,delete");
    let printed = home.fsdyno(&args);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    let ends = crate::support::outcomes(&home.result("last"));
    let measured = ends.iter().filter(|(_, end)| end == "measured").count();
    assert_eq!((ends.len(), measured), (3, 2), "{ends:?}");
    home.assert_cleanable();
}
