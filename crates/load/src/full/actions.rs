//! What a user does while the file system is full.

use super::directory::{Directory, Failed, calling};
use super::known::{Durability, Known, content};
use super::{
    APPENDED, BLOCK, DATABASE, DATABASE_BLOCKS, FullLife, LOG, LOG_LENGTH, NOTE, OVERWRITTEN,
    PATIENCE,
};
use fsdyno_files::{errno, uninterrupted};
use fsdyno_model::{ActionOutcome, FullAction, FullDisk};
use rustix::fs::{Mode, OFlags, fchmod, fdatasync, fsync};
use rustix::io::{Errno, pwrite};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

impl FullLife {
    /// Does everything that a user tries on a full file system.
    pub fn use_full(&mut self, root: &Path) -> io::Result<()> {
        let directory = Directory::open(root)?;
        let mut freed = 0;
        for action in FullAction::ALL {
            let done = match action {
                FullAction::Overwrite => self.overwrite(&directory),
                FullAction::Append => self.append(&directory),
                FullAction::Rename => self.rename(&directory),
                FullAction::Chmod => chmod(&directory),
                FullAction::Create => self.create_empty(&directory),
                FullAction::SaveByRename => self.save_by_rename(&directory),
                FullAction::SaveInPlace => {
                    let done = self.save_in_place(&directory);
                    self.report.actions.push(done);
                    continue;
                }
                FullAction::Delete => {
                    let first = FullDisk::DELETED[0];
                    self.delete(&directory, first, &mut freed)
                }
            };
            self.report.actions.push(ActionOutcome {
                action,
                error: done.err().map(|failed| errno::text(failed.errno)),
                content_gone: false,
            });
        }
        if freed > 0 {
            self.make_room(&directory, freed);
        }
        // Its error is known: it concerns what was written since the last one.
        let _ = self.sync(&directory);
        Ok(())
    }

    pub(super) fn of(&mut self, path: &str) -> Option<&mut Known> {
        self.known.iter_mut().find(|one| one.path == path)
    }

    fn overwrite(&mut self, directory: &Directory) -> Result<(), Failed> {
        let places = self.seed.part("overwritten");
        let mut blocks = BTreeSet::new();
        let mut draw = 0;
        while blocks.len() < OVERWRITTEN {
            blocks.insert(places.at(draw).below(DATABASE_BLOCKS));
            draw += 1;
        }
        let Some(number) = self.of(DATABASE).map(|one| one.number) else {
            return Ok(());
        };
        let file = directory.open_file(DATABASE, OFlags::WRONLY)?;
        let written = blocks.iter().try_for_each(|block| {
            let at = block * BLOCK as u64;
            let mut new = [0; BLOCK];
            content(self.seed, (number, 1), at, &mut new);
            match calling("write", uninterrupted(|| pwrite(&file, &new, at)))? {
                BLOCK => Ok(()),
                // What follows a short write would have failed.
                _ => Err(Failed {
                    call: "write",
                    errno: self.quota.map_or(Errno::NOSPC, |_| Errno::DQUOT),
                }),
            }
        });
        let done = written.and_then(|()| calling("fdatasync", uninterrupted(|| fdatasync(&file))));
        if let Some(one) = self.of(DATABASE) {
            one.overwritten = blocks;
            one.must_be_new = done.is_ok();
        }
        done
    }

    fn append(&mut self, directory: &Directory) -> Result<(), Failed> {
        let Some(number) = self.of(LOG).map(|one| one.number) else {
            return Ok(());
        };
        let file = directory.open_file(LOG, OFlags::WRONLY | OFlags::APPEND)?;
        let end = LOG_LENGTH + APPENDED;
        let (length, written) = self.write(&file, (number, 0), (LOG_LENGTH, end));
        let done = written.and_then(|()| calling("fsync", uninterrupted(|| fsync(&file))));
        if let Some(one) = self.of(LOG) {
            match done {
                Ok(()) => one.allowed = vec![(0, end)],
                Err(_) => one.allowed.push((0, LOG_LENGTH + length)),
            }
        }
        done
    }

    fn rename(&mut self, directory: &Directory) -> Result<(), Failed> {
        let (from, to) = ("notes/3", "notes/renamed");
        directory.rename(from, to)?;
        let done = directory.sync_directory("notes");
        if let Some(one) = self.of(from) {
            to.clone_into(&mut one.path);
            if done.is_err() {
                one.durability = Durability::Doubtful;
            }
        }
        done
    }

    fn create_empty(&mut self, directory: &Directory) -> Result<(), Failed> {
        let path = "notes/empty";
        let file = directory.create(path)?;
        let done = calling("fsync", uninterrupted(|| fsync(&file)));
        self.known.push(Known {
            durability: Durability::after(&done),
            ..Known::new(path.to_owned(), 0, 0)
        });
        done
    }

    fn save_by_rename(&mut self, directory: &Directory) -> Result<(), Failed> {
        let (path, new) = ("notes/0", "notes/0.new");
        let Some(number) = self.of(path).map(|one| one.number) else {
            return Ok(());
        };
        let saved = directory
            .create(new)
            .and_then(|file| {
                self.write(&file, (number, 1), (0, NOTE)).1?;
                calling("fsync", uninterrupted(|| fsync(&file)))
            })
            .and_then(|()| directory.rename(new, path));
        if saved.is_err() {
            // A program tells its user, and removes what it could not write.
            let _ = directory.unlink(new);
            return saved;
        }
        let done = directory.sync_directory("notes");
        if let Some(one) = self.of(path) {
            match done {
                Ok(()) => one.allowed = vec![(1, NOTE)],
                Err(_) => one.allowed.push((1, NOTE)),
            }
        }
        done
    }

    fn save_in_place(&mut self, directory: &Directory) -> ActionOutcome {
        let path = "notes/1";
        let number = self.of(path).map_or(0, |one| one.number);
        let opened = directory.open_file(path, OFlags::WRONLY | OFlags::TRUNC);
        let done = opened.and_then(|file| {
            self.write(&file, (number, 1), (0, NOTE)).1?;
            calling("fsync", uninterrupted(|| fsync(&file)))
        });
        let mut content_gone = false;
        if let Some(at) = self.known.iter().position(|one| one.path == path) {
            if done.is_ok() {
                self.known[at].allowed = vec![(1, NOTE)];
            } else {
                let one = self.known.remove(at);
                content_gone = one.fault(self.seed, directory).is_some();
            }
        }
        ActionOutcome {
            action: FullAction::SaveInPlace,
            error: done.err().map(|failed| errno::text(failed.errno)),
            content_gone,
        }
    }

    /// Deletes files until so many per cent of what was stored are deleted.
    fn delete(
        &mut self,
        directory: &Directory,
        percent: u32,
        freed: &mut u64,
    ) -> Result<(), Failed> {
        let wanted = self.report.stored.0 / 100 * u64::from(percent);
        let is_filler = |one: &Known| one.path.starts_with("fill/");
        let fillers = self.known.iter().filter(|one| is_filler(one)).count();
        let skipped = self.seed.part("deleted").below(fillers as u64 / 2);
        let candidates = self.known.iter().filter(|one| is_filler(one));
        let candidates = candidates.skip(usize::try_from(skipped).unwrap_or_default());
        let (mut gone, mut done) = (BTreeSet::new(), Ok(()));
        for one in candidates {
            if *freed >= wanted {
                break;
            }
            done = directory.unlink(&one.path);
            if done.is_err() {
                break;
            }
            *freed += one.length();
            gone.insert(one.number);
        }
        self.known
            .retain(|one| !is_filler(one) || !gone.contains(&one.number));
        done
    }

    /// Deletes more and more until half of what is deleted can be written again.
    fn make_room(&mut self, directory: &Directory, mut freed: u64) {
        for percent in FullDisk::DELETED {
            let deleted = self.delete(directory, percent, &mut freed);
            self.report.deleted_percent = percent;
            self.report.room_after_seconds = self.reuse(directory, freed / 2);
            if self.report.room_after_seconds.is_some() || deleted.is_err() {
                return;
            }
        }
    }

    /// After how many seconds so much could be written again; none if it could not be.
    fn reuse(&mut self, directory: &Directory, size: u64) -> Option<u32> {
        for seconds in 0..=PATIENCE {
            if seconds > 0 {
                let _ = self.sync(directory);
                thread::sleep(Duration::from_secs(1));
            }
            let path = format!("again {} {seconds}", self.report.deleted_percent);
            let before = self.known.len();
            let (_, written) = self.add_at(directory, path.clone(), size);
            if written.and_then(|()| self.sync(directory)).is_ok() {
                return Some(seconds);
            }
            self.known.truncate(before);
            let _ = directory.unlink(&path);
        }
        None
    }
}

fn chmod(directory: &Directory) -> Result<(), Failed> {
    let file = directory.open_file("notes/2", OFlags::RDONLY)?;
    calling(
        "fchmod",
        uninterrupted(|| fchmod(&file, Mode::RUSR | Mode::WUSR)),
    )?;
    calling("fsync", uninterrupted(|| fsync(&file)))
}
