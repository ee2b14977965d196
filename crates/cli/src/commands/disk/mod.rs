//! `disk`: model disks. It lists, shows and checks profiles, fits them to devices, serves model
//! disks, and prints block traces.

mod args;
mod check;
mod fit;
mod list;
mod serve;
mod show;
mod trace;

pub use args::DiskArgs;
pub use fit::{fit_to_reads, profile_text};

use crate::exit::{CliError, Code};
use args::DiskCommand;
use fsdyno_disk::{Profile, ProfileError};
use fsdyno_files::named::NamedError;
use fsdyno_lab::FuseServerError;
use std::path::Path;

pub fn disk(command: &DiskCommand) -> Result<Code, CliError> {
    let done = match command {
        DiskCommand::List(args) => list::list(args.json),
        DiskCommand::Show(args) => show::show(&args.profile, args.json),
        DiskCommand::Fit(args) => fit::fit(args),
        DiskCommand::Trace(args) => trace::trace(args),
        DiskCommand::Check(args) => return check::check(args),
        DiskCommand::Serve(args) => return serve::serve(args),
        DiskCommand::FuseServer { .. } => match fsdyno_lab::serve_by_fuse() {
            Ok(()) => Ok(()),
            Err(error @ FuseServerError::NoOwner) => Err(CliError::usage(error)),
            // The run that started this process already received the error.
            Err(_) => return Ok(Code::Failure),
        },
    };
    done.map(|()| Code::Ok)
}

/// Loads a profile by name or from a file.
pub fn profile(name: &Path) -> Result<Profile, CliError> {
    Profile::named(name).map_err(|error| match error {
        ProfileError::Named(NamedError::Unreadable { .. }) => CliError::failure(error),
        _ => CliError::usage(error),
    })
}
