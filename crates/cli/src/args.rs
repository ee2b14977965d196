//! Arguments and value parsers that several commands share.

use crate::exit::CliError;
use clap::{ArgAction, Args};
use fsdyno_host::guard::Consent;
use fsdyno_model::{CopyMethod, LabChoice, NoLab};
pub use fsdyno_run::options::kernel;
use fsdyno_run::resolve::ConfigError;

#[derive(Debug, Args)]
pub struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The devices that may be erased, as the user acknowledges them to the device guard.
#[derive(Debug, Clone, Default, Args)]
pub struct Erase {
    /// Allow erasing this device or file; the device guard prints the value
    #[arg(long, value_name = "IDENTITY[:SIGNATURES]", action = ArgAction::Append)]
    pub erase: Vec<String>,
    /// Allow it although /etc/fstab or /etc/crypttab names it; needs --erase
    #[arg(long, value_name = "IDENTITY", action = ArgAction::Append)]
    pub erase_fstab: Vec<String>,
}

impl Erase {
    /// The acknowledgements as consents for the device guard.
    pub fn consents(&self) -> Result<Vec<Consent>, CliError> {
        Consent::parse_all(&self.erase, &self.erase_fstab).map_err(|identity| {
            CliError::usage(format!(
                "--erase-fstab {identity}: no --erase has this identity. Give both the same identity."
            ))
        })
    }
}

pub fn copy_method(text: &str) -> Result<CopyMethod, String> {
    CopyMethod::from_name(text)
        .ok_or_else(|| unknown("copy method", text, CopyMethod::ALL.map(CopyMethod::name)))
}

pub fn lab(text: &str) -> Result<LabChoice, String> {
    text.parse()
        .map_err(|error: NoLab| format!("{error}; the labs are {}", LabChoice::FORMS.join(", ")))
}

/// Parses the name of a lab that runs guests.
pub fn guest_lab(text: &str) -> Result<LabChoice, String> {
    let lab = lab(text)?;
    let refused = format!("the lab `{text}` has no guests: write uml or qemu");
    lab.is_guest().then_some(lab).ok_or(refused)
}

pub fn percent(text: &str) -> Result<f64, String> {
    fsdyno_model::units::percent(text).map_err(|error| error.to_string())
}

pub fn multiple(text: &str) -> Result<f64, String> {
    fsdyno_model::units::multiple(text).map_err(|error| error.to_string())
}

/// The error of a name that does not exist, with the nearest names or all of them.
pub fn unknown<'a, I>(what: &'static str, name: &str, known: I) -> String
where
    I: IntoIterator<Item = &'a str, IntoIter: Clone>,
{
    let error = ConfigError::unknown(what, name, known.into_iter());
    format!("{error} ({})", error.help().unwrap_or_default())
}

pub fn report_format(text: &str) -> Result<fsdyno_report::Format, String> {
    let names = || {
        fsdyno_report::Format::ALL
            .iter()
            .map(|format| format.name())
    };
    text.parse().map_err(|_| unknown("format", text, names()))
}

/// The command line of this process, as it is stored.
pub fn command_line() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}
