//! `lab build`: builds the kernels of source trees and commits. `fsdyno_guests` decides how.

use super::args::BuildArgs;
use super::setup::BuildScreen;
use crate::commands::jobs::compile_jobs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels::{Kernels, NamedSource, TreeOrder, build};
use fsdyno_host::signals;
use std::os::unix::ffi::OsStrExt;

pub fn build_all(args: &BuildArgs) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let mut sources: Vec<NamedSource> = Vec::new();
    for source in &args.sources {
        let named = source.all().map_err(|error| {
            let code = Code::of_git(&error, Code::Failure);
            CliError::new(code, format!("{source}: {error}"))
        })?;
        if named.is_empty() {
            return Err(CliError::usage(format!(
                "{source}: it has no tag. Name every Nth commit: {source}:100"
            )));
        }
        sources.extend(named);
    }
    let kernels = Kernels::of_trees().map_err(CliError::usage)?;
    let order = TreeOrder {
        jobs: compile_jobs(args.jobs),
        must_count: false,
    };
    let mut code = Code::Ok;
    for named in &sources {
        let mut screen = BuildScreen::new();
        let made = build(&kernels, named.source(), order, &stop, &mut |progress| {
            screen.show(progress);
        });
        screen.end();
        let made = match made {
            Ok(made) => made,
            Err(_) if stop.requested() => {
                let text = "interrupted; the finished part is kept, and the same command resumes";
                return Err(CliError::new(Code::Interrupted, text));
            }
            Err(error) if error.is_of_sources() => {
                output::error(format_args!("fsdyno: {}: {error}", named.name));
                code = Code::Failure;
                continue;
            }
            Err(error) => return Err(CliError::failure(error)),
        };
        let mut line = Vec::new();
        if args.names {
            line.extend(named.name.as_bytes());
            line.push(b'\t');
        }
        line.extend(made.kernel.program.as_os_str().as_bytes());
        line.push(b'\n');
        output::bytes(&line)?;
    }
    Ok(code)
}
