//! `completions` and `man`: both from the one definition of the command line.

use crate::args::Cli;
use crate::exit::{CliError, Code};
use crate::output;
use clap::CommandFactory;

pub fn completions(shell: clap_complete::Shell) -> Result<Code, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fsdyno", &mut text);
    output::bytes(&text)?;
    Ok(Code::Ok)
}

pub fn man() -> Result<Code, CliError> {
    let mut text = Vec::new();
    let mut command = Cli::command();
    command.build();
    // All commands are sections of this one page; a list of them would point at pages of their
    // own, which there are not.
    let page = clap_mangen::Man::new(command.clone());
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    for sub in command
        .get_subcommands()
        .filter(|sub| sub.get_name() != "help")
    {
        let page = clap_mangen::Man::new(sub.clone());
        text.extend(format!(".SH \"COMMAND {}\"\n", sub.get_name().to_uppercase()).into_bytes());
        page.render_description_section(&mut text)?;
        page.render_options_section(&mut text)?;
        if sub.get_after_help().is_some() {
            page.render_extra_section(&mut text)?;
        }
    }
    page.render_extra_section(&mut text)?;
    output::bytes(&text)?;
    Ok(Code::Ok)
}
