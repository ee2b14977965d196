//! `man`: the man pages, from the definition of the command line.

use crate::exit::CliError;
use crate::output;
use clap::{Args, Command};
use clap_mangen::Man;
use fsdyno_files::create_output_dir;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Directory for one page per command [default: standard output]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "dir")]
    pub force: bool,
}

/// Prints the man pages of a command line, or writes them to a directory.
pub fn man(args: &ManArgs, command: Command) -> Result<(), CliError> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    render_pages(&command, &mut pages)?;
    if let Some(directory) = &args.dir {
        create_output_dir(directory).map_err(|error| {
            let path = directory.display();
            CliError::failure(format!("cannot write man pages into {path}: {error}"))
        })?;
    }
    for (file, text) in &pages {
        match &args.dir {
            Some(directory) => {
                output::save(&directory.join(file), text, output::existing(args.force))?;
            }
            None => output::bytes(text)?,
        }
    }
    Ok(())
}

/// Renders the man page of a command and of its visible subcommands, each with its file name.
/// Hidden commands and flags are left out.
fn render_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), CliError> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    // clap_mangen puts the text after the options into a section EXTRA.
    let (before, after) = text.split_once(".SH EXTRA\n").unwrap_or((&text, ""));
    let title = if after.is_empty() {
        ""
    } else {
        ".SH NOTES AND EXAMPLES\n.nf\n"
    };
    let (after, rest) = after.split_at(after.find("\n.SH ").map_or(after.len(), |at| at + 1));
    let end = if after.is_empty() { "" } else { ".fi\n" };
    let text = [before, title, after, end, rest].concat();
    pages.push((page.get_filename(), text.into_bytes()));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        render_pages(sub, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;

    #[test]
    fn each_visible_command_has_a_man_page_and_hidden_ones_have_none() {
        let mut command = command_line::command().disable_help_subcommand(true);
        command.build();
        let mut pages = Vec::new();
        render_pages(&command, &mut pages).unwrap();
        let files: Vec<&str> = pages.iter().map(|(file, _)| file.as_str()).collect();
        for file in ["fsdyno.1", "fsdyno-run.1", "fsdyno-ufs-make.1"] {
            assert!(files.contains(&file), "{file} is not in {files:?}");
        }
        let hidden: Vec<String> = command
            .get_subcommands()
            .filter(|sub| sub.is_hide_set())
            .map(|sub| format!("fsdyno-{}.1", sub.get_name()))
            .collect();
        assert!(!hidden.is_empty());
        for file in &hidden {
            assert!(!files.contains(&file.as_str()), "{file}");
        }
        let main = String::from_utf8(pages[0].1.clone()).unwrap();
        assert!(
            main.contains("fsdyno\\-run(1)") && !main.contains("guest(1)"),
            "{main}"
        );
    }
}
