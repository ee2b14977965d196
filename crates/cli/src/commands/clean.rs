//! `clean`: removes the mounts, loop devices and files of a killed run, and kept images on request.

use crate::exit::{CliError, Code};
use crate::{output, places};
use clap::Args;
use fsdyno_files::kept;

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove the kept images of crash tests
    #[arg(long)]
    pub kept: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn clean(args: &CleanArgs) -> Result<Code, CliError> {
    let cleaned = places::state()?.clean_up(args.dry_run);
    let cleaned = cleaned.map_err(CliError::failure)?;
    let refused = cleaned.refused.iter();
    let refused = refused.map(|why| format!("NOT read: the journal {why}"));
    let things = cleaned.things.iter().map(ToString::to_string);
    let mut lines: Vec<String> = things.chain(refused).collect();
    if args.kept || args.dry_run {
        lines.extend(kept(args)?);
    }
    if args.json {
        output::json(&lines)?;
    } else if lines.is_empty() {
        output::bytes(b"Nothing to clean.\n")?;
    } else {
        output::bytes((lines.join("\n") + "\n").as_bytes())?;
    }
    Ok(Code::ok_if(cleaned.is_whole()))
}

/// Lists the kept images, and removes them if that is requested.
fn kept(args: &CleanArgs) -> Result<Vec<String>, CliError> {
    let root = places::kept()?;
    let mut lines = Vec::new();
    for one in kept::runs(&root).map_err(CliError::failure)? {
        let (run, path, bytes) = (&one.run, one.path.display(), one.bytes);
        lines.push(match (args.kept, args.dry_run) {
            (true, true) => format!("would remove: kept images of {run}, {bytes}: {path}"),
            (false, _) => format!(
                "kept: images of {run}, {bytes}: {path}; fsdyno clean --kept removes all, and \
                 fsdyno runs rm {run} those of this run"
            ),
            (true, false) => {
                kept::remove(&root, run).map_err(CliError::failure)?;
                format!("removed: kept images of {run}, {bytes}: {path}")
            }
        });
    }
    Ok(lines)
}
