//! Creates generated entries as a tree of files.
//!
//! Every directory is held open while entries are made in it, so that no path is ever looked up
//! twice and none can be too long.

use super::{File, Sink};
use crate::DatasetError;
use crate::content::{BUFFER, Stream};
use fsdyno_files::uninterrupted;
use fsdyno_model::CancelToken;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, CWD, Mode, OFlags, Timespec, Timestamps};
use std::path::{Path, PathBuf};

pub struct TreeSink<'s> {
    /// The directories that have begun, outermost first, with the dates they get at their end.
    open: Vec<(OwnedFd, u64)>,
    /// The round, and how many there are.
    round: (u32, u32),
    path: PathBuf,
    buffer: Box<[u8]>,
    stop: &'s CancelToken,
}

impl<'s> TreeSink<'s> {
    /// Makes the directory that holds the tree.
    pub fn create(tree: &Path, mtime: u64, stop: &'s CancelToken) -> Result<Self, DatasetError> {
        fs::mkdir(tree, Mode::RWXU)
            .map_err(|errno| DatasetError::io("make directory", tree, errno))?;
        let directory = open_directory(CWD, tree)
            .map_err(|errno| DatasetError::io("open directory", tree, errno))?;
        Ok(Self {
            open: vec![(directory, mtime)],
            round: (0, 1),
            path: tree.to_owned(),
            buffer: vec![0; BUFFER].into(),
            stop,
        })
    }

    /// Begins a round: its share of the files is created. All directories are made in the first, and
    /// get their dates anew in each, as new entries change these.
    pub fn begin(&mut self, round: u32, rounds: u32) {
        self.round = (round, rounds);
    }

    /// Whether a file is created in this round: its content decides, so that each is in one of them.
    fn is_of_round(&self, file: &File) -> bool {
        let (round, rounds) = self.round;
        file.seed.part("round").below(u64::from(rounds)) == u64::from(round)
    }

    pub fn finish(mut self) -> Result<(), DatasetError> {
        while !self.open.is_empty() {
            self.leave()?;
        }
        Ok(())
    }

    fn write(&mut self, name: &str, file: &File) -> Result<(), (&'static str, rustix::io::Errno)> {
        let Some((directory, _)) = self.open.last() else {
            return Ok(());
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| ("make", errno))?;
        let mut stream = Stream::new(file.content, file.seed, file.size, &mut self.buffer);
        while let Some(mut piece) = stream.next_piece() {
            if self.stop.requested() {
                return Err(("write to", rustix::io::Errno::INTR));
            }
            while !piece.is_empty() {
                let written = uninterrupted(|| rustix::io::write(&made, piece))
                    .map_err(|errno| ("write to", errno))?;
                piece = &piece[written..];
            }
        }
        fs::fchmod(&made, Mode::from_raw_mode(file.mode))
            .map_err(|errno| ("set the mode of", errno))?;
        set_date(&made, file.mtime).map_err(|errno| ("set the date of", errno))
    }
}

impl Sink for TreeSink<'_> {
    fn enter(&mut self, name: &str, mtime: u64) -> Result<(), DatasetError> {
        self.stop.check()?;
        self.path.push(name);
        let path = &self.path;
        let failed = |operation| move |errno| DatasetError::io(operation, path, errno);
        if let Some((parent, _)) = self.open.last() {
            if self.round.0 == 0 {
                fs::mkdirat(parent, name, Mode::RWXU).map_err(failed("make directory"))?;
            }
            let directory = open_directory(parent, name).map_err(failed("open directory"))?;
            self.open.push((directory, mtime));
        }
        Ok(())
    }

    fn file(&mut self, name: &str, file: &File) -> Result<(), DatasetError> {
        self.stop.check()?;
        if !self.is_of_round(file) {
            return Ok(());
        }
        self.write(name, file).map_err(|(operation, errno)| {
            if self.stop.requested() {
                DatasetError::Stopped
            } else {
                DatasetError::io(operation, self.path.join(name), errno)
            }
        })
    }

    fn leave(&mut self) -> Result<(), DatasetError> {
        if let Some((directory, mtime)) = self.open.pop() {
            fs::fchmod(&directory, Mode::from_raw_mode(0o755))
                .and_then(|()| set_date(&directory, mtime))
                .map_err(|errno| DatasetError::io("set the date of", &self.path, errno))?;
            self.path.pop();
        }
        Ok(())
    }
}

fn open_directory(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

fn set_date(of: impl AsFd, mtime: u64) -> rustix::io::Result<()> {
    let time = Timespec {
        tv_sec: mtime.cast_signed(),
        tv_nsec: 0,
    };
    fs::futimens(
        of,
        &Timestamps {
            last_access: time,
            last_modification: time,
        },
    )
}
