//! `copy`: copies the newest tree into a new tree next to it. As with `cp -a`, modes, owners,
//! times, extended attributes, hard links, holes and special files are kept.

use super::attributes::{AttributeWriter, Creation};
use super::data::DataCopier;
use super::parallel_walk::{Shared, Walker, walk_in_parallel};
use super::walk::{Above, Revisit, Visitor};
use super::{Job, PARAMETERS, PhaseKind, Scratch, ToolRun, TreePhase, summed};
use crate::engines::meta::{Kind, Meta};
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::plan::CopyMethod;
use fsdyno_model::sample::Tally;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub static KIND: PhaseKind = PhaseKind {
    writes: true,
    makes_tree: true,
    reads_data: true,
    ..PhaseKind::on_tree(
        "copy",
        "copies the newest tree, with all metadata that cp -a preserves",
        PARAMETERS,
    )
};

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run,
        tool: |job| Ok(tool(job)),
        method: |job| job.method.name().to_owned(),
    }
}

fn tool(job: &Job<'_>) -> ToolRun {
    let run = match job.method {
        // Since coreutils 9.0 cp shares or offloads by default.
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

/// The copy of the first name of a file with several names, and the number of remaining names.
type Links = HashMap<(u64, u64), (CString, u64)>;

struct Copy<'a, E: Calls> {
    base: &'a E::Dir,
    target: &'a CStr,
    attribute_writer: &'a mut AttributeWriter,
    mover: DataCopier<'a>,
    /// Shared by all workers. It is locked while a first name is created, so that a worker with the
    /// second name finds it.
    links: &'a Mutex<Links>,
    /// The path of the directory that is being filled, below the work directory. It is valid from
    /// `begins` on: the rest belongs to the directory that this worker took over.
    path: Vec<u8>,
    begins: usize,
    /// Whether the attribute writer has checked a created directory.
    observed: bool,
    symlink: &'a mut [u8],
    tally: Tally,
}

/// A directory that is being filled.
struct Level<D> {
    to: D,
    meta: Meta,
    attributes: usize,
    creation: Creation,
    /// The range of the parent's path.
    above: (usize, usize),
}

fn run<E: Calls + Send>(
    engine: &mut E,
    job: &Job<'_>,
    workers: &mut [Scratch],
) -> Result<Tally, LoadError> {
    let base = engine.open_work_dir(job.root)?;
    let links = Mutex::default();
    let walkers = workers.iter_mut().map(
        |Scratch {
             data,
             symlink,
             walk,
             attribute_writer,
             ..
         }| {
            let visitor = Copy::<E> {
                base: &base,
                target: &job.target,
                attribute_writer,
                mover: DataCopier {
                    method: job.method,
                    buffer: data,
                    stop: job.stop,
                },
                links: &links,
                path: Vec::with_capacity(libc::PATH_MAX as usize),
                begins: 0,
                observed: false,
                symlink,
                tally: Tally::default(),
            };
            Walker {
                visitor,
                state: walk,
            }
        },
    );
    let mut walkers: Vec<_> = walkers.collect();
    let calls = walk_in_parallel(engine, &base, &job.source, job.stop, &mut walkers)?;
    let done = summed(calls + 1, walkers.iter().map(|walker| walker.visitor.tally));
    drop(walkers);
    engine.close_dir(base);
    Ok(done)
}

impl<'a, E: Calls> Copy<'a, E> {
    fn file(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        to_dir: &E::Dir,
        name: &CStr,
    ) -> Result<(), LoadError> {
        let mut from = engine.open(dir, name)?;
        let meta = engine.stat(&Target::File(&from))?;
        let mut first = None;
        if meta.links > 1 {
            first = self.first_name(engine, &meta, to_dir, name)?;
            if first.is_none() {
                return engine.close(from);
            }
        }
        let source = Target::File(&from);
        let attributes = self.attribute_writer.list(engine, &source, &meta)?;
        let creation = self.attribute_writer.creation(&meta, attributes);
        let mut to = engine.create(to_dir, name, creation.mode)?;
        if let Some(links) = first {
            self.made(links, &meta, name);
        }
        self.mover.copy(engine, &mut from, &mut to, &meta)?;
        let (source, made) = (Target::File(&from), Target::File(&to));
        let source = Some((&source, attributes));
        self.attribute_writer
            .finish(engine, source, &made, &meta, creation)?;
        engine.close(to)?;
        engine.close(from)?;
        self.tally.bytes.0 += meta.size;
        Ok(())
    }

    /// Links to the copy of this file's first name. For the first name, returns the locked list of
    /// links until the copy is created.
    #[cold]
    fn first_name(
        &mut self,
        engine: &mut E,
        meta: &Meta,
        to_dir: &E::Dir,
        name: &CStr,
    ) -> Result<Option<MutexGuard<'a, Links>>, LoadError> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (meta.dev, meta.ino);
        let Some((first, left)) = links.get_mut(&key) else {
            return Ok(Some(links));
        };
        engine.link((self.base, first), to_dir, name)?;
        *left -= 1;
        if *left == 0 {
            links.remove(&key);
        }
        Ok(None)
    }

    /// Restores the path to that of the parent.
    fn goes_back(&mut self, level: &Level<E::Dir>) {
        let (begins, ends) = level.above;
        self.begins = begins;
        self.path.truncate(ends);
    }

    /// Records a created first name, so that others can link to it.
    #[cold]
    fn made(&self, mut links: MutexGuard<'_, Links>, meta: &Meta, name: &CStr) {
        let mut path = self.path[self.begins..].to_vec();
        path.push(b'/');
        path.extend_from_slice(name.to_bytes());
        // Neither part contains a zero byte.
        let path = CString::new(path).unwrap_or_default();
        links.insert((meta.dev, meta.ino), (path, meta.links - 1));
    }

    /// Copies links and special files, which have no data.
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
        let mut first = None;
        if meta.links > 1 {
            first = self.first_name(engine, &meta, to_dir, name)?;
            if first.is_none() {
                return Ok(());
            }
        }
        let creation = self.attribute_writer.creation(&meta, 0);
        if kind == Kind::Symlink {
            let space = self.symlink.len() - 1;
            let bytes = engine.read_link(dir, name, &mut self.symlink[..space])?;
            self.symlink[bytes] = 0;
            let points_to = CStr::from_bytes_until_nul(&self.symlink[..=bytes]).unwrap_or_default();
            engine.symlink(points_to, to_dir, name)?;
        } else {
            engine.make_node(to_dir, name, kind, creation.mode, meta.rdev)?;
        }
        if let Some(links) = first {
            self.made(links, &meta, name);
        }
        let made = Target::Entry(to_dir, name);
        self.attribute_writer
            .finish(engine, None, &made, &meta, creation)
    }
}

impl<E: Calls> Visitor<E> for Copy<'_, E> {
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
        let attributes = self.attribute_writer.list(engine, &source, &meta)?;
        let creation = self.attribute_writer.creation(&meta, attributes);
        let root = above.level.is_none();
        let (parent, name) = match &above.level {
            Some(level) => (&level.to, name),
            None => (self.base, self.target),
        };
        engine.make_dir(parent, name, creation.mode)?;
        let to = engine.open_dir(parent, name)?;
        if root {
            self.attribute_writer.observe(engine, &to)?;
            self.observed = true;
        }
        let above = (self.begins, self.path.len());
        if !root {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name.to_bytes());
        Ok(Level {
            to,
            meta,
            attributes,
            creation: self.attribute_writer.creation(&meta, attributes),
            above,
        })
    }

    fn tally(&self) -> &Tally {
        &self.tally
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
    ) -> Revisit<E::Dir, Self::Level> {
        let (source, made) = (Target::Directory(&dir), Target::Directory(&level.to));
        let listed = match level.attributes {
            0 => 0,
            // Other attributes were listed since, so list again.
            _ => self.attribute_writer.list(engine, &source, &level.meta)?,
        };
        let source = Some((&source, listed));
        self.attribute_writer
            .finish(engine, source, &made, &level.meta, level.creation)?;
        self.goes_back(&level);
        self.tally.directories += 1;
        engine.close_dir(level.to);
        engine.close_dir(dir);
        Ok(None)
    }
}

impl<E: Calls> Shared<E> for Copy<'_, E> {
    fn reach(&mut self, engine: &mut E, path: &[Box<CStr>]) -> Result<Self::Level, LoadError> {
        let above = (self.begins, self.path.len());
        self.begins = self.path.len();
        self.path.extend_from_slice(self.target.to_bytes());
        let mut to = engine.open_dir(self.base, self.target)?;
        if !self.observed {
            self.attribute_writer.observe(engine, &to)?;
            self.observed = true;
        }
        for name in path {
            self.path.push(b'/');
            self.path.extend_from_slice(name.to_bytes());
            let below = engine.open_dir(&to, name)?;
            engine.close_dir(std::mem::replace(&mut to, below));
        }
        // The worker that entered it sets its final attributes.
        let meta = engine.stat(&Target::Directory(&to))?;
        Ok(Level {
            to,
            meta,
            attributes: 0,
            creation: self.attribute_writer.creation(&meta, 0),
            above,
        })
    }

    fn release(&mut self, engine: &mut E, level: Self::Level) {
        self.goes_back(&level);
        engine.close_dir(level.to);
    }
}
