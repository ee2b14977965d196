//! `clean`: removes the mounts, loop devices and files of a killed run.

use crate::exit::{CliError, Code};
use crate::{output, places};
use clap::Args;

#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
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
    let lines: Vec<String> = things.chain(refused).collect();
    if args.json {
        output::json(&lines)?;
    } else if lines.is_empty() {
        output::bytes(b"Nothing to clean.\n")?;
    } else {
        output::bytes((lines.join("\n") + "\n").as_bytes())?;
    }
    Ok(Code::ok_if(cleaned.is_whole()))
}
