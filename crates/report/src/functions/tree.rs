//! Two profiles as one tree of calls, joined by the names of functions.

use super::subsystems::{OTHER, subsystem};
use super::{Callee, Concentrated, Function, Parting, Subsystem};
use crate::terms;
use fsdyno_model::profile::{
    CallPath, Content, Operation, PathRequests, PathWork, Profile, RequestSum,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The part of a difference with which a callee has most of it.
const MOST: f64 = 0.6;

/// Functions that only one calls have no counterpart in the other, if what the other calls alone there has less
/// than this part of them.
const COUNTERPART: f64 = 0.1;

/// The calls of both contenders. The first node is the root.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
}

/// A function by one call path.
#[derive(Debug, Clone, Default)]
pub struct Node {
    pub function: String,
    /// Its source file, without the end of its name; empty if it is not known.
    pub source: String,
    /// By the name of the function.
    pub callees: BTreeMap<String, usize>,
    /// Whether the contender has this path.
    pub present: [bool; 2],
    /// Without what it calls.
    pub own: [PathWork; 2],
    /// With it.
    pub total: [PathWork; 2],
}

impl Tree {
    pub fn of(profiles: [&Profile; 2]) -> Self {
        let mut tree = Self {
            nodes: vec![Node::default()],
        };
        for (side, profile) in profiles.into_iter().enumerate() {
            let mut places = Vec::with_capacity(profile.paths.len());
            for path in &profile.paths {
                let caller = path.caller.map_or(0, |caller| places[caller]);
                let at = tree.callee(caller, &profile.functions[path.function]);
                tree.nodes[at]
                    .source
                    .clone_from(&profile.sources[path.function]);
                tree.nodes[at].own[side] += path.own;
                tree.nodes[at].present[side] = true;
                places.push(at);
            }
        }
        // Callees are after their callers.
        for at in (0..tree.nodes.len()).rev() {
            for side in [0, 1] {
                let callees = tree.nodes[at].callees.values();
                let mut total = tree.nodes[at].own[side];
                callees.for_each(|callee| total += tree.nodes[*callee].total[side]);
                tree.nodes[at].total[side] = total;
            }
        }
        tree.nodes[0].present = [true; 2];
        tree
    }

    fn callee(&mut self, caller: usize, function: &str) -> usize {
        if let Some(at) = self.nodes[caller].callees.get(function) {
            return *at;
        }
        let at = self.nodes.len();
        self.nodes[caller].callees.insert(function.to_owned(), at);
        self.nodes.push(Node {
            function: function.to_owned(),
            ..Node::default()
        });
        at
    }

    /// The sum below these executors.
    pub fn whole(&self, figure: fn(&PathWork) -> u64, executors: &[&str]) -> [u64; 2] {
        let tops = self.executors(executors);
        [0, 1].map(|side| {
            tops.iter()
                .map(|at| figure(&self.nodes[*at].total[side]))
                .sum()
        })
    }

    fn executors(&self, names: &[&str]) -> Vec<usize> {
        let tops = names
            .iter()
            .filter_map(|name| self.nodes[0].callees.get(*name));
        tops.copied().collect()
    }

    /// The path to the function in which most of the difference is: from who executes down, as long as one
    /// callee has most of it. It ends where both call different functions for it, and at a function that only
    /// one calls.
    pub fn concentrated(
        &self,
        figure: fn(&PathWork) -> u64,
        executors: &[&str],
    ) -> Option<Concentrated> {
        let total = |at: usize| self.nodes[at].total.each_ref().map(figure);
        let difference = |at: usize| total(at)[0].abs_diff(total(at)[1]);
        // Of equal ones the first in the alphabet.
        let largest = |all: Vec<usize>| all.into_iter().rev().max_by_key(|at| difference(*at));
        let mut at = largest(self.executors(executors)).filter(|at| difference(*at) > 0)?;
        let mut path = vec![self.nodes[at].function.clone()];
        let mut only = None;
        while self.nodes[at].present == [true, true] {
            let callees = self.nodes[at].callees.values().copied();
            let (shared, alone): (Vec<usize>, Vec<usize>) =
                callees.partition(|at| self.nodes[*at].present == [true, true]);
            let of_one = [0, 1].map(|side| alone.iter().map(|at| total(*at)[side]).sum::<u64>());
            let most = (MOST * difference(at) as f64).ceil();
            let next = largest(shared).filter(|next| difference(*next) as f64 >= most);
            let next = next.or_else(|| {
                let larger = usize::from(of_one[1] > of_one[0]);
                let has_counterpart =
                    of_one[1 - larger] as f64 > COUNTERPART * of_one[larger] as f64;
                let by_side = |side| alone.iter().copied().filter(move |at| total(*at)[side] > 0);
                if has_counterpart {
                    if of_one[0].abs_diff(of_one[1]) as f64 >= most {
                        let of = |side| largest(by_side(side).collect());
                        let name = |at: usize| self.nodes[at].function.clone();
                        only = of(0).zip(of(1)).map(|(a, b)| [name(a), name(b)]);
                    }
                    return None;
                }
                largest(by_side(larger).collect()).filter(|next| difference(*next) as f64 >= most)
            });
            let Some(next) = next else {
                break;
            };
            at = next;
            path.push(self.nodes[at].function.clone());
        }
        Some(Concentrated {
            path,
            figures: total(at),
            present: self.nodes[at].present,
            only,
        })
    }

    /// The nodes that both have, with what is below them of one alone.
    pub fn partings(&self, figure: fn(&PathWork) -> u64, executors: &[&str]) -> Vec<Parting> {
        let mut partings = Vec::new();
        for top in self.executors(executors) {
            self.part(top, &mut Vec::new(), figure, &mut partings);
        }
        partings
    }

    fn part(
        &self,
        at: usize,
        path: &mut Vec<String>,
        figure: fn(&PathWork) -> u64,
        partings: &mut Vec<Parting>,
    ) {
        let node = &self.nodes[at];
        path.push(node.function.clone());
        let mut parting = Parting {
            path: path.clone(),
            figures: [0, 1].map(|side| figure(&node.own[side])),
            only: [Vec::new(), Vec::new()],
        };
        for callee in node.callees.values().copied() {
            let below = &self.nodes[callee];
            if below.present == [true, true] {
                self.part(callee, path, figure, partings);
                continue;
            }
            let side = usize::from(below.present[1]);
            let callee = Callee {
                function: below.function.clone(),
                figure: figure(&below.total[side]),
            };
            parting.figures[side] += callee.figure;
            if callee.figure > 0 {
                parting.only[side].push(callee);
            }
        }
        for only in &mut parting.only {
            only.sort_by(|a, b| {
                (Reverse(a.figure), &a.function).cmp(&(Reverse(b.figure), &b.function))
            });
        }
        partings.push(parting);
        path.pop();
    }

    /// The figure of each function.
    pub fn functions(&self, figure: fn(&PathWork) -> u64, executors: &[&str]) -> Vec<Function> {
        let mut all: HashMap<&str, Function> = HashMap::new();
        for top in self.executors(executors) {
            self.sum(top, figure, &mut BTreeSet::new(), &mut all);
        }
        let mut functions: Vec<Function> = all.into_values().collect();
        functions.sort_by(|a, b| {
            let difference = |one: &Function| Reverse(one.own[0].abs_diff(one.own[1]));
            (difference(a), &a.function).cmp(&(difference(b), &b.function))
        });
        functions
    }

    /// The blocks of each subsystem; none if the source of no function is known.
    pub fn subsystems(&self, executors: &[&str]) -> Vec<Subsystem> {
        if self.nodes.iter().all(|node| node.source.is_empty()) {
            return Vec::new();
        }
        let mut all: BTreeMap<&'static str, [u64; 2]> = BTreeMap::new();
        for top in self.executors(executors) {
            self.join(top, OTHER, &mut all);
        }
        let of = |(name, blocks): (&'static str, _)| Subsystem {
            subsystem: name.to_owned(),
            blocks,
        };
        let mut subsystems: Vec<Subsystem> = all.into_iter().map(of).collect();
        subsystems.retain(|one| one.blocks != [0, 0]);
        // Stable: equal ones stay in the order of the alphabet.
        subsystems.sort_by_key(|one| Reverse(one.blocks[0].abs_diff(one.blocks[1])));
        subsystems
    }

    fn join(&self, at: usize, of_caller: &'static str, all: &mut BTreeMap<&'static str, [u64; 2]>) {
        let node = &self.nodes[at];
        let is_executor = self.nodes[0].callees.get(&node.function) == Some(&at);
        let own = if is_executor {
            OTHER
        } else {
            subsystem(&node.source).unwrap_or(of_caller)
        };
        let blocks = all.entry(own).or_default();
        for side in [0, 1] {
            blocks[side] += node.own[side].blocks;
        }
        for callee in node.callees.values() {
            self.join(*callee, own, all);
        }
    }

    fn sum<'a>(
        &'a self,
        at: usize,
        figure: fn(&PathWork) -> u64,
        above: &mut BTreeSet<&'a str>,
        all: &mut HashMap<&'a str, Function>,
    ) {
        let node = &self.nodes[at];
        // Of a function that calls itself, the outermost call has the total.
        let outermost = above.insert(&node.function);
        let function = all.entry(&node.function).or_insert_with(|| Function {
            function: node.function.clone(),
            own: [0; 2],
            total: [0; 2],
        });
        for side in [0, 1] {
            function.own[side] += figure(&node.own[side]);
            if outermost {
                function.total[side] += figure(&node.total[side]);
            }
        }
        for callee in node.callees.values() {
            self.sum(*callee, figure, above, all);
        }
        if outermost {
            above.remove(&*node.function);
        }
    }
}

/// Several parts of one phase as one profile, or the sampled profiles of several repeats.
pub fn joined<'a>(parts: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut whole = Profile::default();
    let mut functions: HashMap<(String, String), usize> = HashMap::new();
    let mut paths: HashMap<(Option<usize>, usize), usize> = HashMap::new();
    let mut requests: BTreeMap<(usize, Operation, Option<Content>), RequestSum> = BTreeMap::new();
    let mut is_known = false;
    for part in parts {
        whole.lost += part.lost;
        if let Some(part) = &part.sampled {
            let whole = whole.sampled.get_or_insert_default();
            whole.hertz = part.hertz;
            whole.passes += part.passes;
            whole.elapsed_ns.0 += part.elapsed_ns.0;
            whole.others += part.others;
            whole.profiler += part.profiler;
        }
        let mut places = Vec::with_capacity(part.paths.len());
        for path in &part.paths {
            let name = &part.functions[path.function];
            let source = &part.sources[path.function];
            let key = (name.clone(), source.clone());
            let function = *functions.entry(key).or_insert_with(|| {
                whole.functions.push(name.clone());
                whole.sources.push(source.clone());
                whole.functions.len() - 1
            });
            let caller = path.caller.map(|caller| places[caller]);
            let at = *paths.entry((caller, function)).or_insert_with(|| {
                whole.paths.push(CallPath {
                    caller,
                    function,
                    own: PathWork::default(),
                });
                whole.paths.len() - 1
            });
            whole.paths[at].own += path.own;
            places.push(at);
        }
        for one in part.requests.iter().flatten() {
            let key = (places[one.path], one.operation, one.content);
            *requests.entry(key).or_default() += one.sum;
        }
        is_known |= part.requests.is_some();
    }
    let requests = requests.into_iter();
    let requests = requests.map(|((path, operation, content), sum)| PathRequests {
        path,
        operation,
        content,
        sum,
    });
    whole.requests = is_known.then(|| requests.collect());
    whole
}

/// The same profile with microseconds of processor time in a pass in the place of samples.
pub fn in_microseconds(profile: &Profile) -> Profile {
    let mut timed = profile.clone();
    if let Some(sampling) = &profile.sampled {
        for path in &mut timed.paths {
            path.own.samples = terms::whole(sampling.time_ns(path.own.samples) / 1e3);
        }
    }
    timed
}
