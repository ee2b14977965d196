//! Cells of a block that run together: all contenders are made, mounted and filled, and then go phase
//! by phase through the workload. What is compared is then seconds apart.

pub(super) mod length;
pub(super) mod turns;

use crate::filled;
use crate::preflight::Preflight;
use fsdyno_host::guard::Released;
use fsdyno_host::space;
use fsdyno_model::{Bytes, Cell, CellRecord, DeviceChoice, Event, FilesystemKind, Plan};
use fsdyno_observe::counters::memory_available;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;
use turns::{Turn, Turns};

/// The text of a cell that runs together with others.
pub(super) const TOGETHER: &str =
    "phase by phase: all contenders of a block exist at the same time";

/// The reason why the contenders of a workload cannot exist at the same time; none if they can.
pub(super) fn why_not(
    plan: &Plan,
    preflight: &Preflight,
    released: &[Released],
    workload: usize,
) -> Option<String> {
    if plan.contenders.len() < 2 {
        return None;
    }
    if plan.contenders.iter().any(|one| !one.lab.is_host()) {
        return Some("not all contenders run on this machine's kernel".to_owned());
    }
    if !released.is_empty() {
        return Some("all contenders use the same devices (--on)".to_owned());
    }
    if plan.disk.is_some() {
        return Some("a model disk is served for one contender at a time".to_owned());
    }
    if plan.profile {
        return Some("--profile samples one contender at a time".to_owned());
    }
    if plan.trace {
        return Some("--trace records one contender at a time".to_owned());
    }
    if plan.cell_budget.is_some() {
        return Some("each cell has its own time limit (--cell-budget)".to_owned());
    }
    for (contender, recipe) in plan.contenders.iter().zip(&preflight.recipes) {
        let label = &contender.label;
        if recipe.kind() == FilesystemKind::Directory {
            return Some(format!("{label} is a directory on a device of others"));
        }
        if recipe.daemon().is_some() {
            return Some(format!("{label} is served by a daemon"));
        }
    }
    let need = need(plan, preflight, workload);
    let too_large = |place: &str, room: Bytes| {
        format!("all contenders together need {need}, and {place} has {room}")
    };
    let memory = memory_available()?;
    if need.0 > memory.0 / 2 {
        return Some(too_large("half of the free memory", Bytes(memory.0 / 2)));
    }
    let DeviceChoice::Loop {
        directory,
        memory: false,
        ..
    } = &plan.device
    else {
        return None;
    };
    let room = space::free(directory).ok()?;
    (need.0 > room.0 / 2).then(|| too_large("half of the free space", Bytes(room.0 / 2)))
}

/// An upper bound of what all contenders write in a workload: their initial states, and their files.
fn need(plan: &Plan, preflight: &Preflight, workload: usize) -> Bytes {
    let peak = preflight.workloads[workload].peak.0;
    let each = plan.contenders.iter().enumerate().map(|(number, one)| {
        let image = preflight.images.of_pair(number, workload);
        if plan.images_in_memory() {
            return image.0.saturating_mul(one.layout.devices.into());
        }
        peak.saturating_add(filled::written_by(one, image).0)
    });
    Bytes(each.fold(0, u64::saturating_add))
}

/// Runs cells together, each by `run` in a thread of its own. Their events are received one by one, as
/// those of a single cell: the thread that reports an event has the turn, and waits.
pub(super) fn run<F>(
    plan: &Plan,
    cells: &[Cell],
    emit: &mut dyn FnMut(Event),
    run: &F,
) -> Vec<Option<CellRecord>>
where
    F: Fn(Cell, &Turn, &mut dyn FnMut(Event)) -> Option<CellRecord> + Sync,
{
    let first = cells.first().map_or(0, |cell| cell.index);
    let turns = Turns::new(cells.len(), plan.seed.wrapping_add(first.into()));
    let (send, received) = mpsc::channel::<(Event, mpsc::Sender<()>)>();
    thread::scope(|scope| {
        let start = |(number, cell): (usize, &Cell)| {
            let (send, turns, cell) = (send.clone(), &turns, *cell);
            scope.spawn(move || {
                let member = turns.join(number);
                run(cell, member.turn(), &mut |event| {
                    let (done, is_done) = mpsc::channel();
                    // Received until all threads have ended.
                    let _ = send.send((event, done));
                    let _ = is_done.recv();
                })
            })
        };
        let threads: Vec<_> = cells.iter().enumerate().map(start).collect();
        drop(send);
        turns.begin();
        for (event, done) in received {
            emit(event);
            let _ = done.send(());
        }
        let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{CancelToken, Contender, DatasetChoice, Nanos, Workload};

    fn plan(contenders: &[&str]) -> Plan {
        let kind_of = &fsdyno_recipes::kind_of;
        let contenders = contenders.iter();
        let contenders = contenders.map(|text| Contender::parse(text, kind_of).unwrap());
        let workload = Workload {
            name: "files".to_owned(),
            dataset: DatasetChoice::Generated("mixed".to_owned()),
            phases: Vec::new(),
        };
        Plan {
            scale: 0.001,
            device: DeviceChoice::Loop {
                directory: std::env::temp_dir(),
                size: Some(Bytes(64 << 20)),
                memory: false,
            },
            ..Plan::new(contenders.collect(), vec![workload])
        }
    }

    fn reason(plan: &Plan) -> Option<String> {
        let preflight = Preflight::of(plan, &CancelToken::new()).unwrap();
        why_not(plan, &preflight, &[], 0)
    }

    #[test]
    fn contenders_that_cannot_exist_together_follow_one_another_with_the_reason() {
        let two = plan(&["ext4", "tmpfs"]);
        assert_eq!(reason(&two), None);
        let directory = std::env::temp_dir();
        let directory = format!("dir:{}", directory.display());
        let with = |change: fn(&mut Plan)| {
            let mut plan = two.clone();
            change(&mut plan);
            plan
        };
        for (plan, words) in [
            (plan(&["tmpfs", &directory]), "is a directory"),
            (with(|plan| plan.trace = true), "--trace"),
            (with(|plan| plan.profile = true), "--profile"),
            (
                with(|plan| plan.cell_budget = Some(Nanos(1))),
                "--cell-budget",
            ),
            (
                with(|plan| plan.contenders[1].lab = fsdyno_model::LabChoice::Uml),
                "kernel",
            ),
        ] {
            let why = reason(&plan).unwrap();
            assert!(why.contains(words), "{why}");
        }
        // More than any machine has.
        let mut preflight = Preflight::of(&two, &CancelToken::new()).unwrap();
        preflight.workloads[0].peak = Bytes(u64::MAX / 8);
        let why = why_not(&two, &preflight, &[], 0).unwrap();
        assert!(why.contains("half of the free memory"), "{why}");
        // There is nothing to compare with.
        assert_eq!(reason(&plan(&[&directory])), None);
    }
}
