//! The attributes that a copy keeps: mode, owner, times and extended attributes (with access
//! control lists), as `cp -a` does. A call is made only if the current value differs from the
//! requested one.

use crate::engines::meta::{Kind, Meta};
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::capability::Capabilities;
use fsdyno_model::warning::{Warning, WarningKind};
use std::ffi::CStr;

/// Space for the names, and for one value, of extended attributes: the kernel's limits.
const ATTRIBUTE_SPACE: usize = 64 * 1024;

/// The current user, and the defaults that the system applies to new files.
#[derive(Debug)]
pub struct AttributeWriter {
    uid: u32,
    gid: u32,
    umask: u32,
    /// New files do not get our group, or get more than the requested mode: set everything.
    inherits: bool,
    /// Whether the file system stores owners and permissions.
    owners: bool,
    /// A file system without extended attributes.
    without: Option<u64>,
    names: Box<[u8]>,
    value: Box<[u8]>,
    refused: u64,
    foreign: u64,
}

/// The mode with which a file is created, and the attributes that are set later.
#[derive(Debug, Clone, Copy)]
pub struct Creation {
    pub mode: u32,
    /// Whether the mode must be set at the end.
    exact: bool,
}

impl Creation {
    /// Created with an arbitrary mode: the mode must be set at the end.
    pub fn inexact(mode: u32) -> Self {
        Self { mode, exact: false }
    }
}

impl Default for AttributeWriter {
    fn default() -> Self {
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            umask: umask(),
            inherits: false,
            owners: true,
            without: None,
            names: vec![1; ATTRIBUTE_SPACE].into_boxed_slice(),
            value: vec![1; ATTRIBUTE_SPACE].into_boxed_slice(),
            refused: 0,
            foreign: 0,
        }
    }
}

/// The umask of the process, read without changing it; the strictest if it cannot be read.
fn umask() -> u32 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("Umask:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        })
        .unwrap_or(0o777)
}

impl AttributeWriter {
    /// A writer for a file system with these capabilities.
    pub fn on(stores: &Capabilities) -> Self {
        Self {
            owners: stores.owners,
            ..Self::default()
        }
    }

    /// Checks on the first created directory whether it has our group.
    pub fn observe<E: Calls>(&mut self, engine: &mut E, dir: &E::Dir) -> Result<(), LoadError> {
        let meta = engine.stat(&Target::Directory(dir))?;
        self.inherits = meta.gid != self.gid || meta.mode & 0o7000 != 0;
        Ok(())
    }

    /// Replaces a foreign owner by our own if only root could set it.
    #[inline]
    pub fn without_foreign_owner(&self, meta: Meta) -> Meta {
        if self.uid == 0 {
            return meta;
        }
        Meta {
            uid: self.uid,
            gid: self.gid,
            ..meta
        }
    }

    /// Returns the way to create a file that ends with the mode of `meta`.
    #[inline]
    pub fn creation(&self, meta: &Meta, attributes: usize) -> Creation {
        let plain = meta.mode & 0o7000 == 0
            && meta.mode & self.umask == 0
            && attributes == 0
            && !self.inherits;
        let needed = if meta.kind == Kind::Directory {
            0o700
        } else {
            0
        };
        if plain && meta.mode & needed == needed {
            return Creation {
                mode: meta.mode,
                exact: true,
            };
        }
        Creation {
            // The owner must be able to write it, and to set its attributes.
            mode: meta.mode & 0o777 | 0o600 | needed,
            exact: false,
        }
    }

    /// The length of the list of extended attributes, which is stored for [`Self::finish`].
    #[inline]
    pub fn list<E: Calls>(
        &mut self,
        engine: &mut E,
        of: &Target<'_, E>,
        meta: &Meta,
    ) -> Result<usize, LoadError> {
        if self.without == Some(meta.dev) {
            return Ok(0);
        }
        let Some(bytes) = engine.list_attributes(of, &mut self.names)? else {
            self.without = Some(meta.dev);
            return Ok(0);
        };
        Ok(bytes)
    }

    /// Copies the last listed extended attributes.
    fn copy_attributes<E: Calls>(
        &mut self,
        engine: &mut E,
        from: &Target<'_, E>,
        to: &Target<'_, E>,
        listed: usize,
    ) -> Result<(), LoadError> {
        let mut names = &self.names[..listed];
        while let Ok(name) = CStr::from_bytes_until_nul(names) {
            let kept = match engine.attribute(from, name, &mut self.value)? {
                Some(bytes) => engine.set_attribute(to, name, &self.value[..bytes])?,
                None => false,
            };
            self.refused += u64::from(!kept);
            names = &names[name.count_bytes() + 1..];
        }
        Ok(())
    }

    /// Sets times, owner, extended attributes and mode, in an order in which no call undoes
    /// another: a new owner clears set-id bits and capabilities, and a mode may forbid the other
    /// calls.
    #[inline]
    pub fn finish<E: Calls>(
        &mut self,
        engine: &mut E,
        from: Option<(&Target<'_, E>, usize)>,
        to: &Target<'_, E>,
        meta: &Meta,
        creation: Creation,
    ) -> Result<(), LoadError> {
        engine.set_times(to, meta.accessed, meta.modified)?;
        let mut mode = meta.mode;
        if (meta.uid != self.uid || meta.gid != self.gid || self.inherits)
            && self.owners
            && !self.own(engine, to, meta)?
        {
            // As in cp: a set-id program must not change its owner.
            mode &= !0o6000;
        }
        if let Some((from, listed)) = from
            && listed > 0
        {
            self.copy_attributes(engine, from, to, listed)?;
        }
        if !creation.exact && meta.kind != Kind::Symlink && self.owners {
            engine.set_mode(to, mode)?;
        }
        Ok(())
    }

    /// Sets owner and group, or at least the group; returns whether both were set.
    #[cold]
    fn own<E: Calls>(
        &mut self,
        engine: &mut E,
        on: &Target<'_, E>,
        meta: &Meta,
    ) -> Result<bool, LoadError> {
        if engine.set_owner(on, Some(meta.uid), Some(meta.gid))? {
            return Ok(true);
        }
        self.foreign += 1;
        engine.set_owner(on, None, Some(meta.gid))?;
        Ok(false)
    }

    pub fn warnings<'a>(all: impl Iterator<Item = &'a Self>) -> Vec<Warning> {
        let sums = |(refused, foreign), one: &Self| (refused + one.refused, foreign + one.foreign);
        let (refused, foreign) = all.fold((0, 0), sums);
        let mut warnings = Vec::new();
        if refused > 0 {
            warnings.push(Warning::new(
                WarningKind::Entry,
                format!("{refused} extended attributes could not be kept"),
                "run as root, or on a file system that has them",
            ));
        }
        if foreign > 0 {
            warnings.push(Warning::new(
                WarningKind::Entry,
                format!("the owner of {foreign} entries could not be kept"),
                "run as root to keep owners",
            ));
        }
        warnings
    }
}
