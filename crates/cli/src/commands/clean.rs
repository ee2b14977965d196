//! `clean`: undoes what a killed run left behind.

use crate::args::CleanArgs;
use crate::exit::{Code, Trouble};
use crate::{output, places};
use fsdyno_host::journal;

pub fn clean(args: &CleanArgs) -> Result<Code, Trouble> {
    let state = places::journals()?;
    let done = journal::clean(&state, args.dry_run).map_err(Trouble::failure)?;
    let failed = done.iter().filter(|c| c.failed()).count();
    if args.json {
        let lines: Vec<String> = done.iter().map(ToString::to_string).collect();
        output::json(&lines)?;
    } else if done.is_empty() {
        output::bytes(b"Nothing was left behind.\n")?;
    } else {
        let lines: Vec<String> = done.iter().map(ToString::to_string).collect();
        output::bytes((lines.join("\n") + "\n").as_bytes())?;
    }
    Ok(if failed == 0 { Code::Ok } else { Code::Failure })
}
