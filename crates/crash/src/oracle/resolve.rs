//! Maps the entries of a recovered tree to the files of the program.

use super::{Case, content};
use crate::simulation::{InodeId, Kind, Name};
use crate::tree::{Entry, EntryKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The entries of a tree with their files.
pub(super) struct Resolved<'a> {
    /// For each path below a known directory: its directory and name, its entry, and its inode. It
    /// has no inode if the name never existed, or never was of this kind.
    pub entries: BTreeMap<&'a str, (Name, &'a Entry, Option<InodeId>)>,
    /// The directories that exist, with a path of each.
    pub directories: BTreeMap<InodeId, &'a str>,
}

impl Resolved<'_> {
    /// The entry of a name.
    pub fn at(&self, place: &Name) -> Option<&(Name, &Entry, Option<InodeId>)> {
        self.entries.values().find(|(at, ..)| at == place)
    }

    /// The names that lead to an inode, with their paths.
    pub fn names_of(&self, inode: InodeId) -> BTreeMap<&Name, &str> {
        let entries = self.entries.iter();
        let found = entries.filter(|(_, (.., of))| *of == Some(inode));
        found.map(|(path, (place, ..))| (place, *path)).collect()
    }
}

/// The choices between candidate files for entries. All combinations are tried one after another.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// For each choice: the index of the picked candidate, and the number of candidates.
    picks: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    /// Picks one of the candidates: the cheapest first, the newest among equal ones.
    fn pick(
        &mut self,
        candidates: BTreeSet<InodeId>,
        cost: impl Fn(&InodeId) -> usize,
    ) -> Option<InodeId> {
        let mut candidates: Vec<InodeId> = candidates.into_iter().collect();
        if candidates.len() < 2 {
            return candidates.pop();
        }
        candidates.sort_by_cached_key(|inode| (cost(inode), Reverse(*inode)));
        if self.at == self.picks.len() {
            self.picks.push((0, candidates.len()));
        }
        let (picked, _) = self.picks[self.at];
        self.at += 1;
        candidates.get(picked).copied()
    }

    /// The next combination; whether there is one.
    pub fn advance(&mut self) -> bool {
        self.picks.truncate(self.at);
        self.at = 0;
        while let Some((picked, count)) = self.picks.pop() {
            if picked + 1 < count {
                self.picks.push((picked + 1, count));
                return true;
            }
        }
        false
    }
}

/// Finds the file of each entry: among the files that had this name, the most similar one.
pub(super) fn resolve<'a>(case: &Case<'a>, choices: &mut Choices) -> Resolved<'a> {
    let mut resolved = Resolved {
        entries: BTreeMap::new(),
        directories: BTreeMap::new(),
    };
    let root = case.tree.entries.get_key_value("");
    if let Some((path, _)) = root {
        resolved.directories.insert(0, path);
    }
    // Directories first: what the other entries can be depends on them.
    let mut known = BTreeMap::from([("", 0)]);
    for (path, entry) in case
        .tree
        .entries
        .iter()
        .filter(|(path, _)| !path.is_empty())
    {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(directory) = known.get(parent) else {
            continue;
        };
        let place = (*directory, name.to_owned());
        let mut inode = None;
        if entry.kind == EntryKind::Directory {
            let cost = |inode: &InodeId| directory_cost(case, path, *inode, &place);
            inode = choices.pick(candidates(case, &place, entry), cost);
            if let Some(inode) = inode {
                known.insert(path, inode);
                resolved.directories.insert(inode, path);
            }
        }
        resolved.entries.insert(path, (place, entry, inode));
    }
    resolve_files(case, &mut resolved, choices);
    resolved
}

fn resolve_files<'a>(case: &Case<'a>, resolved: &mut Resolved<'a>, choices: &mut Choices) {
    let mut groups: BTreeMap<(u32, &str), Vec<&'a str>> = BTreeMap::new();
    for (path, (_, entry, _)) in &resolved.entries {
        if entry.kind != EntryKind::Directory {
            // An entry that cannot be read has no inode number.
            let alone = if entry.kind == EntryKind::Other {
                *path
            } else {
                ""
            };
            groups.entry((entry.inode, alone)).or_default().push(path);
        }
    }
    for paths in groups.into_values() {
        let places: Vec<(Name, &Entry)> = paths
            .iter()
            .map(|path| (resolved.entries[path].0.clone(), resolved.entries[path].1))
            .collect();
        let all = places
            .iter()
            .flat_map(|(place, entry)| candidates(case, place, entry));
        let all: BTreeSet<InodeId> = all.collect();
        let cost = |inode: &InodeId| -> usize {
            let wrong = content::judge_file(case, paths[0], places[0].1, *inode).len();
            let names = places
                .iter()
                .map(|(place, _)| name_cost(case, *inode, place));
            wrong + names.sum::<usize>()
        };
        let best = choices.pick(all, cost);
        for (path, (place, entry)) in paths.into_iter().zip(&places) {
            let had = best.filter(|best| candidates(case, place, entry).contains(best));
            if let Some(entry) = resolved.entries.get_mut(path) {
                entry.2 = had;
            }
        }
    }
}

/// The files of this kind that had this name.
fn candidates(case: &Case<'_>, place: &Name, entry: &Entry) -> BTreeSet<InodeId> {
    let bound = case.history.bindings(place, 0, case.began);
    let fits = |inode: &InodeId| {
        let mut versions = case.history.window(*inode, 0, case.began);
        let kind = versions.next().map(|version| &version.kind);
        if let (Some(Kind::Special(is)), EntryKind::Special { kind }) = (kind, &entry.kind) {
            return is == kind;
        }
        let readable = entry.unreadable.is_none();
        matches!(
            (kind, &entry.kind),
            (Some(Kind::File(_)), EntryKind::File { .. })
                | (Some(Kind::Directory(_)), EntryKind::Directory)
                | (Some(Kind::Symlink(_)), EntryKind::Symlink { .. })
        ) || (!readable && entry.kind == EntryKind::Other)
    };
    bound.into_iter().flatten().filter(fits).collect()
}

fn name_cost(case: &Case<'_>, inode: InodeId, place: &Name) -> usize {
    let allowed = case.allowed(place).contains(&Some(inode));
    let gone = case.is_gone(inode).is_some();
    usize::from(!allowed) * 2 + usize::from(gone) * 2
}

fn directory_cost(case: &Case<'_>, path: &str, inode: InodeId, place: &Name) -> usize {
    let prefix = format!("{path}/");
    let below = case.tree.entries.keys();
    let found: BTreeSet<&str> = below
        .filter_map(|path| path.strip_prefix(&prefix))
        .filter(|name| !name.contains('/'))
        .collect();
    let known = case.history.names_in(inode, case.began);
    let missing = known.iter().filter(|name| {
        let place = (inode, (**name).to_owned());
        !found.contains(**name) && !case.allowed(&place).contains(&None)
    });
    found.difference(&known).count() + missing.count() + name_cost(case, inode, place)
}
