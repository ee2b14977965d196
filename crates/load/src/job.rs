//! One phase, ready to run: its names are resolved, but no file is open yet.

use crate::user_work::UserWork;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::capability::Capabilities;
use fsdyno_model::plan::CopyMethod;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One phase, ready to run.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    /// The work directory, which contains all trees.
    pub root: &'a Path,
    /// The newest tree, as a name in the root; empty if the kind needs none.
    pub source: CString,
    /// The tree to make, as a name in the root; empty if the kind makes none.
    pub target: CString,
    /// The archive; empty if the kind needs none.
    pub archive: &'a Path,
    pub method: CopyMethod,
    /// The regular expression of a search, if set.
    pub pattern: Option<&'a str>,
    /// The number of workers that walk a tree in parallel.
    pub workers: usize,
    /// Whether the clock is read for each file, in phases where this is optional.
    pub each_file: bool,
    /// The capabilities of the file system.
    pub stores: Capabilities,
    /// Charges work of this program, if a model processor does.
    pub user_work: Option<&'a UserWork<'a>>,
    pub stop: &'a CancelToken,
}

impl<'a> Job<'a> {
    /// A job with only a work directory: no tree, no archive, no pattern, no clock for each file.
    pub fn bare(root: &'a Path, stop: &'a CancelToken) -> Self {
        Self {
            root,
            source: CString::default(),
            target: CString::default(),
            archive: Path::new(""),
            method: CopyMethod::default(),
            pattern: None,
            workers: 1,
            each_file: false,
            stores: Capabilities::ALL,
            user_work: None,
            stop,
        }
    }

    pub fn source_path(&self) -> PathBuf {
        self.root.join(as_os(&self.source))
    }

    pub fn target_path(&self) -> PathBuf {
        self.root.join(as_os(&self.target))
    }
}

fn as_os(name: &CStr) -> &OsStr {
    OsStr::from_bytes(name.to_bytes())
}
