//! Creates, untimed, the files that exist when a workload begins.

use super::HOME;
use crate::engines::Calls;
use crate::engines::sync::SystemCalls;
use crate::error::LoadError;
use crate::phases::data::{BUFFER, stamp};
use crate::phases::ready::{below, unless_absent, with_path};
use crate::phases::{Job, op};
use crate::work::{Compiled, Layout, Settings, Work};
use std::ffi::CString;
use std::fs;

/// Creates the directories and files, in place of all that is there.
pub(crate) fn prepare(work: &Work, settings: &Settings, job: &Job<'_>) -> Result<(), LoadError> {
    let home = below(job.root, HOME);
    with_path("unlink", &home, unless_absent(fs::remove_dir_all(&home)))?;
    let compiled = Compiled::new(work, settings);
    for directory in compiled.layouts.iter().flat_map(Layout::directories) {
        let path = home.join(directory);
        with_path("mkdir", &path, fs::create_dir_all(&path))?;
    }
    let mut calls = SystemCalls::default();
    let mut buffer = op::incompressible(BUFFER);
    let home = calls.open_work_dir(&home)?;
    for set in 0..compiled.layouts.len() {
        for file in compiled.first_files(set) {
            job.stop.check()?;
            let path = CString::new(compiled.path(set, file)).unwrap_or_default();
            let mut open = calls.create(&home, &path, super::perform::MODE)?;
            let (mut left, mut at) = (compiled.size(set, file), 0);
            while left > 0 {
                let length = usize::try_from(left).map_or(BUFFER, |left| left.min(BUFFER));
                stamp(&mut buffer[..length], file as usize, at);
                calls.write(&mut open, &buffer[..length])?;
                left -= length as u64;
                at += length as u64;
            }
            calls.close(open)?;
        }
    }
    calls.close_dir(home);
    Ok(())
}
