//! `tree:DIR`: a directory of the user, copied as by `cp -a`.
//!
//! It is examined completely before anything is created. Entries that cannot be read, or that the
//! current user cannot create, are refused by name. Other file systems mounted below it are not
//! entered.

use crate::attributes::{Attributes, Lost};
use crate::copying::Copier;
use crate::survey::{self, Survey};
use crate::work_dir::{SOURCE, WorkDir};
use crate::{Dataset, DatasetError, Facts, Form, shown};
use fsdyno_model::{CancelToken, Warning, WarningKind};
use rustix::fd::AsFd;
use rustix::fs;
use std::path::{Path, PathBuf};

/// A directory of the user.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    survey: Survey,
}

impl Tree {
    /// Examines the whole tree.
    pub fn open(root: &Path, stop: &CancelToken) -> Result<Self, DatasetError> {
        let mut survey = survey::survey(root, stop)?;
        survey.facts.about = format!("the tree {}", shown(root));
        Ok(Self {
            root: root.to_owned(),
            survey,
        })
    }

    fn warnings(&self, lost: Lost) -> Vec<Warning> {
        let mut warnings = lost_warnings(lost);
        if self.survey.mount_count > 0 {
            let named: Vec<_> = self.survey.mounts.iter().map(|path| shown(path)).collect();
            warnings.push(Warning::new(
                WarningKind::Entry,
                format!(
                    "{} directories of {} hold another file system and were left empty: {}",
                    self.survey.mount_count,
                    shown(&self.root),
                    named.join(", ")
                ),
                "copy them by a dataset of their own, if they matter",
            ));
        }
        warnings
    }
}

impl Dataset for Tree {
    fn facts(&self) -> &Facts {
        &self.survey.facts
    }

    fn create(
        &self,
        work_dir: &mut WorkDir,
        form: Form,
        stop: &CancelToken,
    ) -> Result<Vec<Warning>, DatasetError> {
        if form == Form::Archive {
            return Err(DatasetError::NoArchive {
                name: format!("tree:{}", shown(&self.root)),
            });
        }
        refuse_inside(&self.root, &work_dir.root)?;
        let (to, stores) = (work_dir.root.join(SOURCE), work_dir.stores);
        let (mut copier, roots) = Copier::open(&self.root, &to, stores, stop)?;
        copier.copy_directory_contents(roots.from.as_fd(), roots.to.as_fd())?;
        let (mut lost, left_out) = (copier.lost, copier.left_out);
        let attributes = Attributes::of(&roots.stat, roots.from.as_fd(), c".")
            .map_err(|errno| DatasetError::io("read the attributes of", &self.root, errno))?;
        attributes
            .apply(roots.to.as_fd(), c".", &stores, &mut lost)
            .map_err(|(operation, errno)| DatasetError::io(operation, &to, errno))?;
        work_dir.trees.push(to);
        let mut warnings = self.warnings(lost);
        warnings.extend(left_out.warning());
        Ok(warnings)
    }
}

/// A warning about attributes that could not be kept.
pub(super) fn lost_warnings(lost: Lost) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if lost.owners > 0 {
        warnings.push(Warning::new(
            WarningKind::Entry,
            format!("{} entries were created without their owner", lost.owners),
            "run as root to keep owners",
        ));
    }
    if lost.xattrs > 0 {
        warnings.push(Warning::new(
            WarningKind::Entry,
            format!(
                "{} entries were created without some extended attributes",
                lost.xattrs
            ),
            "the file system does not take them, or not from this user: compare without them",
        ));
    }
    warnings
}

/// An error if a tree would be copied into itself: the copy would grow during the walk.
fn refuse_inside(tree: &Path, work_dir: &Path) -> Result<(), DatasetError> {
    let whole = |path: &Path| {
        path.canonicalize()
            .map_err(|error| DatasetError::io("find", path, error))
    };
    let device = |path: &Path| {
        fs::stat(path)
            .map(|stat| stat.st_dev)
            .map_err(|errno| DatasetError::io("examine", path, errno))
    };
    // A ground on another file system is not entered, wherever it is mounted.
    if whole(work_dir)?.starts_with(whole(tree)?) && device(work_dir)? == device(tree)? {
        return Err(DatasetError::Inside {
            tree: tree.into(),
            work_dir: work_dir.into(),
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
