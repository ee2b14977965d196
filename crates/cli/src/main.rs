//! The binary `fsdyno`: it parses arguments, calls the commands and sets the exit code.

#![deny(clippy::print_stderr, clippy::print_stdout)]

mod args;
mod catalogue;
mod command_line;
mod commands;
mod completion;
mod examples;
mod exit;
mod man;
mod mistakes;
mod output;
mod places;
#[cfg(test)]
mod reference;
mod screen;

use command_line::{Cli, Command};
use exit::{CliError, Code};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    fsdyno_host::command::this_is_fsdyno();
    output::filter_panics();
    fsdyno_files::programs::note_with(|what| output::note(what));
    if completion::answer() {
        return ExitCode::SUCCESS;
    }
    let mut cli = match command_line::parse() {
        Ok(cli) => cli,
        // Help and version contain no data of users or disks, so they may have colours.
        Err(usage) if usage.exit_code() == 0 => usage.exit(),
        Err(usage) => {
            let usage = command_line::without_tips(usage);
            output::error(usage.render().to_string().trim_end());
            propose();
            return Code::Usage.into();
        }
    };
    output::set_verbosity(cli.verbosity());
    output::set_colors(cli.color);
    if cli.dirs_from_env {
        fsdyno_files::places::use_environment();
    }
    cli.store = cli.store.or_else(store_of_environment);
    match dispatch(&cli) {
        Ok(code) => code.into(),
        Err(error) => {
            output::error(format_args!("fsdyno: {error}"));
            if error.code == Code::Usage {
                propose();
            }
            error.code.into()
        }
    }
}

/// Prints the corrected command line if it is clear.
fn propose() {
    if let Some(proposal) = mistakes::proposal() {
        output::error(proposal);
    }
}

/// The store that `FSDYNO_STORE` names. Root may have inherited the environment of another user, so
/// root uses it only with the flag.
fn store_of_environment() -> Option<PathBuf> {
    let named = std::env::var_os("FSDYNO_STORE").filter(|named| !named.is_empty())?;
    if fsdyno_files::places::from_environment() {
        return Some(PathBuf::from(named));
    }
    output::note(format_args!(
        "fsdyno: FSDYNO_STORE is ignored for root. Use --store FILE, or --dirs-from-env to take \
         directories from the environment"
    ));
    None
}

fn dispatch(cli: &Cli) -> Result<Code, CliError> {
    let store = || places::store(cli.store.as_ref());
    let done = match &cli.command {
        Command::List(args) => commands::list::list(args),
        Command::Doctor(args) => commands::doctor::doctor(args),
        Command::Runs(args) => commands::runs::runs(args, &store()?),
        Command::Merge(args) => commands::merge::merge(args, &store()?),
        Command::Show(args) => commands::show::show(args, &store()?),
        Command::Report(args) => commands::report::report(args, &store()?),
        Command::Chart(args) => commands::chart::chart(args, &store()?),
        Command::History(args) => commands::history::history(args, &store()?),
        Command::Site(args) => commands::site::site(args, &store()?),
        Command::Ci(args) => commands::ci::ci(&args.command),
        Command::Why(args) => commands::why::why(args, &store()?),
        Command::Published(args) => commands::published::published(&args.command),
        Command::Make(args) => commands::make::make(args),
        Command::Age(args) => commands::age::age(args),
        Command::Record(args) => commands::record::record(args),
        Command::Work(args) => commands::work::work(&args.command),
        Command::Phase(args) => commands::phase::phase(args),
        Command::Completions { shell } => completion::completions(shell),
        Command::Newfs(args) => commands::ufs::make(args),
        Command::Man(args) => man::man(args, command_line::command()),
        Command::Schema { name } => output::bytes(name.text().as_bytes()),
        Command::Guest { words } => commands::guest::guest(words),
        // The other commands choose their exit code.
        Command::Run(args) => return commands::run::run(args, &store()?),
        Command::Cluster(args) => return commands::cluster::cluster(args),
        Command::Rerun(args) => return commands::rerun::rerun(args, &store()?),
        Command::Compare(args) => return commands::compare::compare(args, &store()?),
        Command::Clean(args) => return commands::clean::clean(args),
        Command::Selftest(args) => return commands::selftest::selftest(args),
        Command::Advise(args) => return commands::advise::advise(args, &store()?),
        Command::Atlas(args) => return commands::atlas::atlas(&args.command, &store()?),
        Command::Bisect(args) => return commands::bisect::bisect(args, &store()?),
        Command::Crash(args) => return commands::crash::crash(args, &store()?),
        Command::Price(args) => return commands::price::price(args, &store()?),
        Command::Lose(args) => return commands::lose::lose(args, &store()?),
        Command::Fsck(args) => return commands::ufs::check(args),
        Command::Ufs(args) => return commands::ufs::ufs(&args.command),
        Command::Bcachefs(args) => return commands::bcachefs::bcachefs(&args.command),
        Command::Lab(args) => return commands::lab::lab(&args.command),
        Command::Disk(args) => return commands::disk::disk(&args.command),
        Command::Cpu(args) => return commands::cpu::cpu(args),
    };
    done.map(|()| Code::Ok)
}
