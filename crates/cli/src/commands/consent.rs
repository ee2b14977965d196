//! What a command writes in a directory of the user: stated first, with consent where it is much.

use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_host::destination::{Destination, Writes};
use fsdyno_host::signals;
use fsdyno_model::CancelToken;
use fsdyno_model::step::shell_line;
use std::io::{ErrorKind, IsTerminal as _, Write as _, stderr, stdin};
use std::path::Path;

#[derive(Debug, Args)]
pub struct ConsentArgs {
    /// Write without a question where consent is needed
    ///
    /// On a file system that fsdyno did not make, `age` always needs consent, `make` and `phase` for
    /// more than 1 GiB. All need it to leave less free than 10 % or 1 GiB. Without a terminal they
    /// end instead of the question.
    #[arg(long)]
    pub yes: bool,
}

impl ConsentArgs {
    /// Prints what a command writes. Requests consent where it is much; without a terminal, refuses.
    pub fn ask(
        &self,
        command: &str,
        directory: &Path,
        writes: &Writes,
        stop: &CancelToken,
    ) -> Result<(), CliError> {
        let shown = directory.display();
        let destination = Destination::open(directory)
            .map_err(|error| CliError::usage(format!("cannot write in {shown}: {error}")))?;
        output::note(format_args!("fsdyno: {}", destination.describe(writes)));
        let Some(why) = destination.objection(writes).filter(|_| !self.yes) else {
            return Ok(());
        };
        if !(stdin().is_terminal() && stderr().is_terminal()) {
            return Err(CliError::usage(format!(
                "{command} wrote nothing: {why}. If you mean it: {}",
                confirmed(std::env::args())
            )));
        }
        let question = format!("fsdyno: {command}: {why}. Continue? [y/N] ");
        write!(stderr(), "{}", output::visible(&question, false))?;
        let answer = answer(stop)?;
        if answer.trim().eq_ignore_ascii_case("y") || answer.trim().eq_ignore_ascii_case("yes") {
            return Ok(());
        }
        Err(CliError::usage(format!("{command} wrote nothing")))
    }
}

/// The command line of this process, confirmed.
fn confirmed(arguments: impl Iterator<Item = String>) -> String {
    let words = ["fsdyno".to_owned()].into_iter().chain(arguments.skip(1));
    shell_line(&words.chain(["--yes".to_owned()]).collect::<Vec<_>>())
}

/// A line from the terminal. A signal ends the wait: nothing is written before the answer.
fn answer(stop: &CancelToken) -> Result<String, CliError> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::Interrupted => CliError::interrupted(),
        _ => CliError::failure(format!("cannot read the answer: {error}")),
    };
    signals::wait_for_input(stdin(), stop).map_err(failed)?;
    let mut line = String::new();
    stdin().read_line(&mut line).map_err(failed)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_type_has_the_arguments_and_the_consent() {
        let typed = ["/usr/bin/fsdyno", "age", "--in", "/a b", "--fill", "90%"];
        let line = confirmed(typed.map(str::to_owned).into_iter());
        assert_eq!(line, "fsdyno age --in '/a b' --fill 90% --yes");
    }
}
