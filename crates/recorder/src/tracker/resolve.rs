//! Resolves the paths that programs pass, as the kernel does: from the working directory or a
//! descriptor, through symbolic links, within the root directory of the process.
//!
//! Links in the tree are those of the manifest, and those that recorded programs made. Other links
//! are read from the system, once.

use super::files::Directories;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Maximum number of links that the kernel follows in one path: `MAXSYMLINKS`.
const MAX_LINKS: usize = 40;

/// Maximum number of cached results.
const MAX_CACHED: usize = 100_000;

/// The result of resolving a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The absolute path without symbolic links in its directories. A link in the tree at its end
    /// is kept.
    pub named: Vec<u8>,
    /// The same, with a link at the end followed if the call follows it.
    pub real: Vec<u8>,
    /// The descriptor that a name such as `/proc/self/fd/3` refers to: process and number.
    pub descriptor: Option<(i32, i32)>,
}

/// The symbolic links that paths go through.
#[derive(Debug)]
pub(crate) struct Links {
    /// The recorded tree, absolute, without symbolic links.
    root: Vec<u8>,
    /// Links in the tree, by their path relative to it.
    inside: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Target texts of links outside the tree; none for names that are no links.
    outside: HashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Whether links outside the tree are those of another machine, and not known.
    elsewhere: bool,
    /// Results of earlier paths. Cleared when a link in the tree changes.
    known: HashMap<Vec<u8>, Found>,
    /// The key of a path in `known`.
    key: Vec<u8>,
}

impl Links {
    pub fn new(root: Vec<u8>, inside: BTreeMap<Vec<u8>, Vec<u8>>) -> Self {
        Self {
            root,
            inside,
            outside: HashMap::new(),
            elsewhere: false,
            known: HashMap::new(),
            key: Vec::new(),
        }
    }

    pub fn of_elsewhere(&mut self) {
        self.elsewhere = true;
    }

    /// The path relative to the tree; none outside it.
    pub fn relative<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        let rest = path.strip_prefix(&self.root[..])?;
        if rest.is_empty() {
            return Some(rest);
        }
        if self.root == b"/" {
            return Some(rest);
        }
        rest.strip_prefix(b"/")
    }

    pub fn root(&self) -> &[u8] {
        &self.root
    }

    /// A symbolic link was made in the tree.
    pub fn made(&mut self, path: &[u8], text: &[u8]) {
        self.inside.insert(path.to_vec(), text.to_vec());
        self.known.clear();
    }

    /// The link of that path, if there is one.
    pub fn text(&self, path: &[u8]) -> Option<&Vec<u8>> {
        self.inside.get(path)
    }

    /// A name was removed from the tree, or replaced by something that is no link.
    pub fn removed(&mut self, path: &[u8]) {
        if self.inside.remove(path).is_some() {
            self.known.clear();
        }
    }

    /// A file or directory was renamed. A path is none outside the tree.
    pub fn renamed(&mut self, from: &[u8], to: &[u8], exchange: bool) {
        let moved = self.take_below(from);
        let replaced = self.take_below(to);
        if !moved.is_empty() || !replaced.is_empty() {
            self.known.clear();
        }
        self.inside.extend(
            moved
                .into_iter()
                .map(|(rest, text)| ([to, &rest].concat(), text)),
        );
        if exchange {
            let back = replaced.into_iter();
            self.inside
                .extend(back.map(|(rest, text)| ([from, &rest].concat(), text)));
        }
    }

    /// Removes the links at a path and below it. Returns the rest of each path.
    fn take_below(&mut self, path: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let below = |key: &[u8]| {
            let rest = key.strip_prefix(path)?;
            (rest.is_empty() || rest[0] == b'/').then(|| rest.to_vec())
        };
        let found: Vec<(Vec<u8>, Vec<u8>)> = self
            .inside
            .range(path.to_vec()..)
            .take_while(|(key, _)| key.starts_with(path))
            .filter_map(|(key, _)| Some((key.clone(), below(key)?)))
            .collect();
        let take = |(key, rest)| Some((rest, self.inside.remove(&key)?));
        found.into_iter().filter_map(take).collect()
    }

    /// As [`Links::resolve`], from the cache if the same path was resolved before.
    pub fn find(
        &mut self,
        pid: i32,
        place: &Directories,
        base: Option<&[u8]>,
        text: &[u8],
        follow: bool,
    ) -> Option<Found> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.push(u8::from(follow));
        key.extend(&place.root);
        key.push(0);
        if !text.starts_with(b"/") {
            key.extend(base?);
        }
        key.push(0);
        key.extend(text);
        let known = self.known.get(&key).cloned();
        let found = known.or_else(|| {
            let found = self.resolve(pid, place, base, text, follow)?;
            // Names in `/proc` mean other files in other processes.
            if !found.named.starts_with(b"/proc/") && !found.real.starts_with(b"/proc/") {
                if self.known.len() >= MAX_CACHED {
                    self.known.clear();
                }
                self.known.insert(key.clone(), found.clone());
            }
            Some(found)
        });
        self.key = key;
        found
    }

    /// Resolves a path. `base` is the directory that it is relative to; none if that is not known.
    /// None if the path cannot be resolved: too many links, or an unknown directory.
    fn resolve(
        &mut self,
        pid: i32,
        place: &Directories,
        base: Option<&[u8]>,
        text: &[u8],
        follow: bool,
    ) -> Option<Found> {
        let start = if text.starts_with(b"/") {
            &place.root[..]
        } else {
            base?
        };
        let mut walk = Walk {
            at: start.to_vec(),
            links: 0,
        };
        if walk.at == b"/" {
            walk.at.clear();
        }
        let mut parts: VecDeque<Vec<u8>> = VecDeque::new();
        push(&mut parts, text);
        let trailing = text.ends_with(b"/");
        let mut named = None;
        let mut descriptor = None;
        while let Some(part) = parts.pop_front() {
            if part == b".." {
                if walk.at != place.root {
                    let end = walk.at.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                    walk.at.truncate(end);
                }
                continue;
            }
            let mut next = walk.at.clone();
            next.push(b'/');
            // `self` is the process of the caller, not this one.
            if walk.at == b"/proc" && matches!(&part[..], b"self" | b"thread-self") {
                next.extend(pid.to_string().into_bytes());
                walk.at = next;
                continue;
            }
            next.extend(&part);
            let last = parts.is_empty() && !trailing;
            let inside = self.relative(&next).is_some();
            if last && !follow {
                walk.at = next;
                break;
            }
            if let Some(number) = descriptor_of(&next) {
                descriptor = last.then_some(number);
                walk.at = next;
                continue;
            }
            let Some(target) = self.target(&next) else {
                walk.at = next;
                continue;
            };
            walk.links += 1;
            if walk.links > MAX_LINKS {
                // A loop in the tree: the call fails, and is recorded with the name of the link.
                let named = named?;
                return Some(Found {
                    real: Vec::clone(&named),
                    named,
                    descriptor: None,
                });
            }
            if last && inside && named.is_none() {
                named = Some(next.clone());
            }
            if target.starts_with(b"/") {
                walk.at.clone_from(&place.root);
            }
            push(&mut parts, &target);
        }
        let whole = |path: Vec<u8>| if path.is_empty() { b"/".to_vec() } else { path };
        let real = whole(walk.at);
        let named = named.map_or_else(|| real.clone(), whole);
        Some(Found {
            named,
            real,
            descriptor,
        })
    }

    /// The text of a symbolic link; none for other names.
    fn target(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        if let Some(relative) = self.relative(path) {
            return self.inside.get(relative).cloned();
        }
        // Links in `/proc` change, and those of this process differ.
        if self.elsewhere || path.starts_with(b"/proc/") {
            return None;
        }
        if let Some(known) = self.outside.get(path) {
            return known.clone();
        }
        let text = std::fs::read_link(Path::new(OsStr::from_bytes(path))).ok();
        let text = text.map(|text| text.into_os_string().into_encoded_bytes());
        if self.outside.len() >= MAX_CACHED {
            self.outside.clear();
        }
        self.outside.insert(path.to_vec(), text.clone());
        text
    }
}

struct Walk {
    at: Vec<u8>,
    links: usize,
}

/// The process and number of `/proc/PID/fd/N`.
fn descriptor_of(path: &[u8]) -> Option<(i32, i32)> {
    let text = std::str::from_utf8(path.strip_prefix(b"/proc/")?).ok()?;
    let (pid, rest) = text.split_once('/')?;
    let rest = rest
        .strip_prefix("task/")
        .map_or(Some(rest), |rest| Some(rest.split_once('/')?.1));
    let number = rest?.strip_prefix("fd/")?;
    Some((pid.parse().ok()?, number.parse().ok()?))
}

/// Puts the names of a path in front.
fn push(parts: &mut VecDeque<Vec<u8>>, text: &[u8]) {
    let names = text.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    for name in names.rev() {
        parts.push_front(name.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let inside = [
            ("link", "dir/file"),
            ("dirlink", "dir"),
            ("out", "/nonexistent-place/x"),
            ("back", "/srv/tree/dir"),
            ("a", "b"),
            ("b", "a"),
            ("dir/up", "../link"),
        ];
        let inside = inside.map(|(path, text)| (path.into(), text.into()));
        Links::new(b"/srv/tree".to_vec(), inside.into())
    }

    fn places() -> Directories {
        Directories {
            working: b"/srv/tree/dir".to_vec(),
            root: Vec::new(),
        }
    }

    fn check(path: &str, follow: bool) -> Option<(String, String)> {
        let places = places();
        let mut links = links();
        let mut find = || links.find(9, &places, Some(&places.working), path.as_bytes(), follow);
        let found = find();
        assert_eq!(found, find(), "from memory");
        let found = found?;
        let text = |path| String::from_utf8(path).unwrap();
        Some((text(found.named), text(found.real)))
    }

    #[test]
    fn paths_are_resolved_as_the_kernel_does() {
        let pair = |one: &str, two: &str| Some((one.to_owned(), two.to_owned()));
        let same = |path: &str| pair(path, path);
        assert_eq!(check("x", true), same("/srv/tree/dir/x"));
        assert_eq!(check("../x/./y/", true), same("/srv/tree/x/y"));
        assert_eq!(check("/../..", true), same("/"));
        assert_eq!(check("../../../../etc", true), same("/etc"));
        // Links in directories are resolved, at the end they are kept.
        assert_eq!(check("../dirlink/new", true), same("/srv/tree/dir/new"));
        assert_eq!(
            check("../link", true),
            pair("/srv/tree/link", "/srv/tree/dir/file")
        );
        assert_eq!(check("../link", false), same("/srv/tree/link"));
        assert_eq!(
            check("up", true),
            pair("/srv/tree/dir/up", "/srv/tree/dir/file")
        );
        assert_eq!(check("../dirlink/..", true), same("/srv/tree"));
        assert_eq!(
            check("../out", true),
            pair("/srv/tree/out", "/nonexistent-place/x")
        );
        assert_eq!(check("../back/file", true), same("/srv/tree/dir/file"));
        // A loop fails with the name of the link, and in a directory it is not resolved.
        assert_eq!(check("../a", true), same("/srv/tree/a"));
        assert_eq!(check("../a/x", true), None);
    }

    #[test]
    fn a_process_in_a_chroot_stays_in_it() {
        let places = Directories {
            working: b"/srv/tree".to_vec(),
            root: b"/srv/tree".to_vec(),
        };
        let mut links = links();
        let mut resolve = |path: &[u8]| {
            let found = links
                .find(9, &places, Some(&places.working), path, true)
                .unwrap();
            String::from_utf8(found.real).unwrap()
        };
        assert_eq!(resolve(b"/dir/file"), "/srv/tree/dir/file");
        assert_eq!(resolve(b"../../etc"), "/srv/tree/etc");
        assert_eq!(resolve(b"/out"), "/srv/tree/nonexistent-place/x");
    }

    #[test]
    fn descriptors_have_names_in_proc() {
        let places = places();
        let resolve = |path: &[u8]| {
            let found = links().find(9, &places, Some(&places.working), path, true);
            found.unwrap().descriptor
        };
        assert_eq!(resolve(b"/proc/self/fd/3"), Some((9, 3)));
        assert_eq!(resolve(b"/proc/12/fd/4"), Some((12, 4)));
        assert_eq!(resolve(b"/proc/self/status"), None);
    }

    #[test]
    fn a_link_that_changes_leads_to_another_place() {
        let mut links = links();
        let places = places();
        let check = |links: &mut Links, expected: &str| {
            let found = links.find(9, &places, None, b"/srv/tree/dirlink/x", true);
            assert_eq!(found.unwrap().real, expected.as_bytes());
        };
        check(&mut links, "/srv/tree/dir/x");
        links.made(b"dirlink", b"other");
        check(&mut links, "/srv/tree/other/x");
        links.renamed(b"dirlink", b"moved", false);
        check(&mut links, "/srv/tree/dirlink/x");
        links.renamed(b"moved", b"dirlink", false);
        check(&mut links, "/srv/tree/other/x");
        links.removed(b"dirlink");
        check(&mut links, "/srv/tree/dirlink/x");
    }

    #[test]
    fn links_move_with_their_directory() {
        let mut links = links();
        links.renamed(b"dir", b"other", false);
        assert!(links.text(b"dir/up").is_none());
        assert_eq!(links.text(b"other/up").unwrap(), b"../link");
        assert!(links.text(b"dirlink").is_some());
        links.renamed(b"link", b"other/up", true);
        assert_eq!(links.text(b"other/up").unwrap(), b"dir/file");
        assert_eq!(links.text(b"link").unwrap(), b"../link");
    }
}
