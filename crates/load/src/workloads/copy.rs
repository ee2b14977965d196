//! `copy`: copies the newest tree into a new one beside it, as `cp -a` does: modes, owners, times,
//! extended attributes, hard links, holes and special files are kept.

use super::attributes::{Creation, Keeper};
use super::data::Mover;
use super::walk::{Above, Left, Visitor, walk};
use super::{Job, Needs, PhaseKind, Scratch, ToolRun, tally};
use crate::engines::meta::{Kind, Meta};
use crate::engines::{Engine, LoadError, Target, null::Null, sync::Sync};
use fsdyno_model::plan::CopyMethod;
use fsdyno_model::sample::Tally;
use std::collections::HashMap;
use std::ffi::{CStr, CString};

/// The kind `copy`.
pub static KIND: PhaseKind = PhaseKind {
    name: "copy",
    title: "copies the newest tree, with everything cp -a keeps",
    needs: Needs::Tree,
    parameters: &[],
    writes: true,
    makes_tree: true,
    removes_tree: false,
    reads_data: true,
    searches: false,
    sync: run::<Sync>,
    null: run::<Null>,
    tools,
    method: |job| job.method.name().to_owned(),
};

fn tools(job: &Job<'_>) -> ToolRun {
    let run = match job.method {
        // Since coreutils 9.0 cp shares or offloads of its own accord, unless told not to.
        CopyMethod::ReadWrite => {
            ToolRun::new("cp -a --reflink=never", ["cp", "-a", "--reflink=never"])
        }
        CopyMethod::CopyFileRange => {
            ToolRun::new("cp -a (its own choice of reflink)", ["cp", "-a"])
        }
        CopyMethod::Reflink => {
            ToolRun::new("cp -a --reflink=always", ["cp", "-a", "--reflink=always"])
        }
    };
    run.arg("--").arg(job.source_path()).arg(job.target_path())
}

/// Where the first name of a file with several was copied to.
type Links = HashMap<(u64, u64), (CString, u64)>;

struct Copy<'a, E: Engine> {
    base: &'a E::Dir,
    target: &'a CStr,
    keeper: &'a mut Keeper,
    mover: Mover<'a>,
    links: Links,
    /// The directory being filled, as a path below the ground.
    path: Vec<u8>,
    symlink: &'a mut [u8],
    tally: Tally,
}

/// A directory being filled.
struct Level<D> {
    to: D,
    meta: Meta,
    attributes: usize,
    creation: Creation,
    /// The length of the path above it.
    above: usize,
}

fn run<E: Engine>(
    engine: &mut E,
    job: &Job<'_>,
    scratch: &mut Scratch,
) -> Result<Tally, LoadError> {
    let base = engine.open_ground(job.root)?;
    let mut copy = Copy::<E> {
        base: &base,
        target: &job.target,
        keeper: &mut scratch.keeper,
        mover: Mover {
            method: job.method,
            buffer: &mut scratch.data,
            stop: job.stop,
        },
        links: HashMap::new(),
        path: Vec::with_capacity(libc::PATH_MAX as usize),
        symlink: &mut scratch.symlink,
        tally: Tally::default(),
    };
    walk(
        engine,
        &base,
        &job.source,
        &mut scratch.trail,
        job.stop,
        &mut copy,
    )?;
    let done = copy.tally;
    engine.close_dir(base);
    Ok(tally(engine, done))
}

impl<E: Engine> Copy<'_, E> {
    fn file(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        to_dir: &E::Dir,
        name: &CStr,
    ) -> Result<(), LoadError> {
        let mut from = engine.open(dir, name)?;
        let meta = engine.stat(&Target::File(&from))?;
        if meta.links > 1 && self.linked(engine, &meta, to_dir, name)? {
            return engine.close(from);
        }
        let source = Target::File(&from);
        let attributes = self.keeper.list(engine, &source, &meta)?;
        let creation = self.keeper.creation(&meta, attributes);
        let mut to = engine.create(to_dir, name, creation.mode)?;
        self.mover.copy(engine, &mut from, &mut to, &meta)?;
        let (source, made) = (Target::File(&from), Target::File(&to));
        let source = Some((&source, attributes));
        self.keeper.finish(engine, source, &made, &meta, creation)?;
        engine.close(to)?;
        engine.close(from)?;
        self.tally.bytes.0 += meta.size;
        Ok(())
    }

    /// Gives the copy made of this file's first name another one; false at the first.
    #[cold]
    fn linked(
        &mut self,
        engine: &mut E,
        meta: &Meta,
        to_dir: &E::Dir,
        name: &CStr,
    ) -> Result<bool, LoadError> {
        let key = (meta.dev, meta.ino);
        if let Some((first, left)) = self.links.get_mut(&key) {
            engine.link((self.base, first), to_dir, name)?;
            *left -= 1;
            if *left == 0 {
                self.links.remove(&key);
            }
            return Ok(true);
        }
        let mut path = self.path.clone();
        path.push(b'/');
        path.extend_from_slice(name.to_bytes());
        // Neither part holds a zero byte.
        self.links.insert(
            key,
            (CString::new(path).unwrap_or_default(), meta.links - 1),
        );
        Ok(false)
    }

    /// Links and special files: there is nothing in them to be read.
    #[cold]
    fn odd(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        to_dir: &E::Dir,
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        let meta = engine.stat(&Target::Entry(dir, name))?;
        if meta.links > 1 && self.linked(engine, &meta, to_dir, name)? {
            return Ok(());
        }
        let creation = self.keeper.creation(&meta, 0);
        if kind == Kind::Symlink {
            let space = self.symlink.len() - 1;
            let bytes = engine.read_link(dir, name, &mut self.symlink[..space])?;
            self.symlink[bytes] = 0;
            let points_to = CStr::from_bytes_until_nul(&self.symlink[..=bytes]).unwrap_or_default();
            engine.symlink(points_to, to_dir, name)?;
        } else {
            engine.make_node(to_dir, name, kind, creation.mode, meta.rdev)?;
        }
        let made = Target::Entry(to_dir, name);
        self.keeper.finish(engine, None, &made, &meta, creation)
    }
}

impl<E: Engine> Visitor<E> for Copy<'_, E> {
    type Level = Level<E::Dir>;

    fn enter(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        above: Above<'_, E::Dir, Self::Level>,
        name: &CStr,
    ) -> Result<Self::Level, LoadError> {
        let source = Target::Directory(dir);
        let meta = engine.stat(&source)?;
        let attributes = self.keeper.list(engine, &source, &meta)?;
        let creation = self.keeper.creation(&meta, attributes);
        let root = above.level.is_none();
        let (parent, name) = match &above.level {
            Some(level) => (&level.to, name),
            None => (self.base, self.target),
        };
        engine.make_dir(parent, name, creation.mode)?;
        let to = engine.open_dir(parent, name)?;
        if root {
            self.keeper.observe(engine, &to)?;
        }
        let before = self.path.len();
        if !root {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name.to_bytes());
        Ok(Level {
            to,
            meta,
            attributes,
            creation: self.keeper.creation(&meta, attributes),
            above: before,
        })
    }

    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        level: &mut Self::Level,
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError> {
        self.tally.files += 1;
        if kind == Kind::File {
            self.file(engine, dir, &level.to, name)
        } else {
            self.odd(engine, dir, &level.to, name, kind)
        }
    }

    fn leave(
        &mut self,
        engine: &mut E,
        dir: E::Dir,
        level: Self::Level,
        _above: Above<'_, E::Dir, Self::Level>,
        _name: &CStr,
    ) -> Left<E::Dir, Self::Level> {
        let (source, made) = (Target::Directory(&dir), Target::Directory(&level.to));
        let listed = match level.attributes {
            0 => 0,
            // Others were listed since: once more.
            _ => self.keeper.list(engine, &source, &level.meta)?,
        };
        let source = Some((&source, listed));
        self.keeper
            .finish(engine, source, &made, &level.meta, level.creation)?;
        self.path.truncate(level.above);
        self.tally.directories += 1;
        engine.close_dir(level.to);
        engine.close_dir(dir);
        Ok(None)
    }
}
