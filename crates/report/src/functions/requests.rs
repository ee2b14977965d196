//! Which functions submitted which requests to model disks.

use super::subsystems::subsystem;
use super::{FlushCalls, Functions, Submitted};
use crate::document::{Cell, Column, Label, Row, Table};
use crate::terms;
use fsdyno_model::Bytes;
use fsdyno_model::profile::{Content, Operation, Profile, RequestSum};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The subsystem that passes requests on.
const PASSES_ON: &str = "block layer";

/// The requests of both, by function and kind, the largest difference first; none if those of one are not
/// known.
pub fn of(profiles: [&Profile; 2]) -> Option<Vec<Submitted>> {
    let mut all: BTreeMap<(Vec<String>, Operation, Option<Content>), [RequestSum; 2]> =
        BTreeMap::new();
    for (side, profile) in profiles.into_iter().enumerate() {
        for one in profile.requests.as_ref()? {
            let key = (submitter(profile, one.path), one.operation, one.content);
            all.entry(key).or_default()[side] += one.sum;
        }
    }
    let of = |((path, operation, content), sums): (_, [RequestSum; 2])| Submitted {
        path,
        operation,
        content,
        requests: sums.map(|sum| sum.requests),
        bytes: sums.map(|sum| sum.bytes),
        seeks: sums.map(|sum| sum.seeks),
    };
    let mut all: Vec<Submitted> = all.into_iter().map(of).collect();
    // Stable: equal ones stay in the order of their names.
    all.sort_by_key(|one| {
        let difference = |[a, b]: [u64; 2]| Reverse(a.abs_diff(b));
        (difference(one.requests), difference(one.bytes))
    });
    Some(all)
}

/// The functions that gave the block layer requests with a flush.
pub fn flush_calls(profiles: [&Profile; 2]) -> Vec<FlushCalls> {
    let mut all: BTreeMap<Vec<String>, [u64; 2]> = BTreeMap::new();
    for (side, profile) in profiles.into_iter().enumerate() {
        for (at, path) in profile.paths.iter().enumerate() {
            if path.own.flush_calls > 0 {
                all.entry(submitter(profile, at)).or_default()[side] += path.own.flush_calls;
            }
        }
    }
    let all = all.into_iter();
    let mut all: Vec<FlushCalls> = all
        .map(|(path, calls)| FlushCalls { path, calls })
        .collect();
    all.sort_by_key(|one| Reverse(one.calls[0].abs_diff(one.calls[1])));
    all
}

/// The function of a path that submitted a request, and its caller: the last one of a file system or of the
/// page cache, because what is below only passes the request on. Else the first one of the block layer. The
/// caller is of a file system if there is one.
fn submitter(profile: &Profile, path: usize) -> Vec<String> {
    let paths = std::iter::successors(Some(path), |at| profile.paths[*at].caller);
    let mut functions: Vec<usize> = paths.map(|at| profile.paths[at].function).collect();
    functions.reverse();
    let source = |at: &usize| profile.sources[*at].as_str();
    let is_shared = |at: &usize| is(source(at), "page cache");
    let is_of_files = |at: &usize| source(at).starts_with("fs/");
    let is_of_one = |at: &usize| {
        let below = source(at).strip_prefix("fs/");
        below.is_some_and(|below| below.contains('/')) && !is_shared(at)
    };
    let last = functions
        .iter()
        .rposition(|at| is_of_files(at) || is_shared(at));
    let last = last.or_else(|| functions.iter().position(|at| is(source(at), PASSES_ON)));
    let last = last.unwrap_or(functions.len() - 1);
    let above = &functions[..last];
    let caller = above.iter().rfind(|at| is_of_one(at)).or(above.last());
    let names = caller.into_iter().chain([&functions[last]]);
    names.map(|at| profile.functions[*at].clone()).collect()
}

fn is(source: &str, wanted: &str) -> bool {
    !source.is_empty() && subsystem(source) == Some(wanted)
}

impl Submitted {
    /// `journal write`; of a file system whose blocks nobody can tell apart, `write`.
    pub fn kind(&self) -> String {
        let operation = match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Discard => "discard",
            Operation::Flush => "flush",
        };
        match self.content {
            None => operation.to_owned(),
            Some(Content::Data) => format!("data {operation}"),
            Some(Content::Journal) => format!("journal {operation}"),
            Some(Content::Metadata) => format!("metadata {operation}"),
        }
    }
}

/// How many requests both submit, and which function has most of the difference; none if neither submits
/// any, or if they are not known.
pub fn sentence(functions: &Functions) -> Option<String> {
    let all = functions.requests.as_ref()?;
    let sum = |of: fn(&Submitted) -> [u64; 2]| {
        let figures = all.iter().map(of);
        figures.fold([0, 0], |[a, b], [more_a, more_b]| [a + more_a, b + more_b])
    };
    let [requests, bytes, seeks] = [
        sum(|one| one.requests),
        sum(|one| one.bytes),
        sum(|one| one.seeks),
    ];
    if requests == [0, 0] {
        return None;
    }
    let [a, b] = &functions.contenders;
    let each = |side: usize| {
        format!(
            "{} to disks ({}, {})",
            counted(requests[side], "request"),
            Bytes(bytes[side]),
            counted(seeks[side], "seek")
        )
    };
    let mut sentences = vec![format!("{b} submits {}, {a} {}.", each(1), each(0))];
    let differs = |[a, b]: [u64; 2]| a != b;
    // The worker of the block layer submits flushes: their functions follow.
    let mut other = all.iter().filter(|one| one.operation != Operation::Flush);
    if let Some(most) = other.next().filter(|one| differs(one.requests)) {
        sentences.push(format!(
            "The largest difference is of {}s by {}: {}.",
            most.kind(),
            most.path.join(" > "),
            show(most.requests)
        ));
    }
    if let Some(most) = functions
        .flush_calls
        .first()
        .filter(|one| differs(one.calls))
    {
        let all = functions.flush_calls.iter().map(|one| one.calls);
        let all = all.fold([0, 0], |[a, b], [more_a, more_b]| [a + more_a, b + more_b]);
        sentences.push(format!(
            "Of requests that need a flush, {b} has {}; the largest difference is by {}: {}.",
            show(all),
            most.path.join(" > "),
            show(most.calls)
        ));
    }
    Some(sentences.join(" "))
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", terms::grouped(count))
}

/// `60 against 0`: of the second contender first.
fn show([a, b]: [u64; 2]) -> String {
    format!("{} against {}", terms::grouped(b), terms::grouped(a))
}

/// The requests by function and kind.
pub fn table(functions: &Functions, all: &[Submitted], rows: usize) -> Table {
    let contenders = functions.contenders.iter();
    let of_each = |what: &str, gives_way| {
        let columns = contenders.clone().map(move |contender| {
            let name = format!("{contender}{what}");
            Column::giving_way(Label::contender(name), gives_way)
        });
        columns.collect::<Vec<_>>()
    };
    let figures = [of_each("", 0), of_each(", bytes", 2), of_each(", seeks", 1)].concat();
    let columns = [Column::of_text("kind")].into_iter().chain(figures);
    let rows = all.iter().take(rows).map(|one| {
        let count = |figures: [u64; 2]| figures.map(|figure| Some(terms::grouped(figure)));
        let bytes = one.bytes.map(|bytes| Some(Bytes(bytes).to_string()));
        let kind = vec![Some(one.kind())];
        let figures = [count(one.requests), bytes, count(one.seeks)].concat();
        let cells = kind.into_iter().chain(figures).map(Cell::text);
        Row::new(one.path.join(" > "), cells.collect())
    });
    Table::new("", "function", columns, rows)
}

/// The requests with a flush, by function.
pub fn flush_table(functions: &Functions, rows: usize) -> Table {
    let contenders = functions.contenders.iter();
    let columns = contenders.map(|contender| Column::new(Label::contender(contender.as_str())));
    let rows = functions.flush_calls.iter().take(rows).map(|one| {
        let cells = one
            .calls
            .map(|calls| Cell::text(Some(terms::grouped(calls))));
        Row::new(one.path.join(" > "), cells.into())
    });
    Table::new("", "function", columns, rows)
}
