//! The time of each phase on a model processor by part: storage, workload, kernel threads.

use super::Lab;
use crate::document::{Block, Cell, Column, Group, Row, Section, Table};
use crate::processor::Processor;
use crate::why::parts::{Anatomy, Part};
use crate::why::work::Unit;
use crate::why::{median_sample, parts};
use fsdyno_model::{Nanos, Sample};

/// The section; `None` if no model processor charged a phase.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let processor = Processor::of(&lab.set.run.plan);
    let mut groups = Vec::new();
    for (w, workload) in lab.comparison.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let samples = lab.set.samples_of_all(w, p);
            let middles: Vec<Option<&Sample>> =
                samples.iter().map(|of| median_sample(of)).collect();
            let rows = middles.iter().enumerate().filter_map(|(at, sample)| {
                let devices = lab.set.run.plan.contenders[at].layout.devices;
                let cells = cells((*sample)?, devices, processor)?;
                Some(Row::new(lab.label(at), cells))
            });
            let rows: Vec<Row> = rows.collect();
            let Some(unit) = middles.iter().flatten().next().map(|one| Unit::of(one)) else {
                continue;
            };
            if rows.is_empty() {
                continue;
            }
            let place = lab.comparison.place(workload, phase);
            groups.push(Group {
                about: unit.row().unwrap_or_default(),
                ..Group::of_phase(place, rows)
            });
        }
    }
    if groups.is_empty() {
        return None;
    }
    let columns = [
        Column::new("time"),
        Column::new("storage"),
        Column::new("workload"),
        Column::new("kthreads"),
        Column::giving_way("rest", 2),
        Column::giving_way("blocks", 3),
        Column::giving_way("each", 1),
    ];
    let table = Table::grouped("Time by part", ["phase", "contender"], columns, groups);
    let legend = format!(
        "The median sample. storage: {}. workload, kthreads: the processor ran for the workload, and \
         for kernel threads. rest: neither, such as timers. blocks: basic blocks that the kernel \
         executed; each: divided as the heading states.",
        parts::STORAGE
    );
    Some(
        Section::new("parts", "Time by part")
            .with(Block::Legend(legend.into()))
            .with(table),
    )
}

fn cells(sample: &Sample, devices: u32, processor: Processor) -> Option<Vec<Cell>> {
    let anatomy = Anatomy::of(sample, devices, processor);
    let charge = anatomy.charge?;
    let time = |ns: Option<u64>| Cell::known(ns.map(Nanos), Cell::Duration);
    let blocks = sample.whole_kernel_work()?.blocks();
    Some(vec![
        time(Some(anatomy.whole_ns)),
        time(anatomy.storage()),
        time(Some(charge.workload_ns)),
        time(Some(charge.kernel_threads_ns)),
        time(anatomy.part(Part::Rest)),
        Cell::Count(blocks),
        Cell::Number(Unit::of(sample).each_of(blocks)),
    ])
}
