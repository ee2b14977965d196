//! Operations on names in directories.

use super::{Call, Done, PERMISSIONS, done};
use fsdyno_datasets::recorded::link_text;
use fsdyno_trace::{Action, PathId};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags};

impl Call<'_, '_> {
    pub(super) fn on_path(&mut self, action: &Action) -> Done {
        match action {
            Action::Truncate { path, length } => {
                let file = self.open_path(0, *path, OFlags::WRONLY | OFlags::NONBLOCK, 0)?;
                done(fs::ftruncate(file, *length))
            }
            Action::Rename { from, to, flags } => {
                let (old, new) = (self.parent(0, *from)?, self.parent(1, *to)?);
                self.release();
                let flags = RenameFlags::from_bits_retain(*flags);
                let names = (self.stage.name(*from), self.stage.name(*to));
                done(fs::renameat_with(old, names.0, new, names.1, flags))
            }
            Action::Link { from, to, .. } => self.link(*from, *to),
            Action::LinkHandle { to, .. } => {
                let (file, new) = (self.handle(0)?, self.parent(0, *to)?);
                let name = self.stage.name(*to);
                done(fs::linkat(file, c"", new, name, AtFlags::EMPTY_PATH))
            }
            Action::Symlink { path, target } => {
                let text = link_text(self.stage.paths, *path, target);
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                done(fs::symlinkat(text.as_slice(), directory, name))
            }
            Action::MakeDirectory { path, mode } => {
                let directory = self.parent(0, *path)?;
                let mode = Mode::from_raw_mode(mode & PERMISSIONS);
                done(fs::mkdirat(directory, self.stage.name(*path), mode))
            }
            Action::MakeNode { path, mode } => {
                let kind = match FileType::from_raw_mode(*mode) {
                    FileType::Socket => FileType::Socket,
                    FileType::RegularFile | FileType::Unknown => FileType::RegularFile,
                    _ => FileType::Fifo,
                };
                let directory = self.parent(0, *path)?;
                let mode = Mode::from_raw_mode(mode & PERMISSIONS);
                let name = self.stage.name(*path);
                done(fs::mknodat(directory, name, kind, mode, 0))
            }
            Action::Unlink { path } => {
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                done(fs::unlinkat(directory, name, AtFlags::empty()))
            }
            Action::RemoveDirectory { path } => {
                let directory = self.parent(0, *path)?;
                self.release();
                let name = self.stage.name(*path);
                done(fs::unlinkat(directory, name, AtFlags::REMOVEDIR))
            }
            Action::ReadLink { path, .. } => {
                let directory = self.parent(0, *path)?;
                let name = self.stage.name(*path);
                let length = fs::readlinkat_raw(directory, name, &mut *self.buffer)?;
                Ok(Some(length as u64))
            }
            on_object => self.on_object(on_object),
        }
    }

    fn link(&self, from: PathId, to: PathId) -> Done {
        let name = self.stage.name(to);
        // As in the kernel, an error of the old path is found before one of the new.
        if self.step.resolved.places[0].followed {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let file = self.stage.open_below(from, flags, 0)?;
            let new = self.parent(1, to)?;
            return done(fs::linkat(file, c"", new, name, AtFlags::EMPTY_PATH));
        }
        let old = self.parent(0, from)?;
        let from = self.stage.name(from);
        match self.parent(1, to) {
            Ok(new) => done(fs::linkat(old, from, new, name, AtFlags::empty())),
            Err(errno) => {
                fs::statat(old, from, AtFlags::SYMLINK_NOFOLLOW)?;
                Err(errno)
            }
        }
    }
}
