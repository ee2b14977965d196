//! The arguments of `selftest`.

use crate::args::{multiple, percent};
use crate::commands::measuring::LockArgs;
use clap::Args;
use fsdyno_model::Nanos;

#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Run N experiments with one contender under two names: false-positive rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub aa: Option<u32>,
    /// Slow down the second contender by this, in percent: detection rate
    ///
    /// The number of experiments is 20, or that of --aa.
    #[arg(long, value_name = "PERCENT", value_parser = handicap)]
    pub ab: Option<f64>,
    /// Contender
    #[arg(long, value_name = "CONTENDER", default_value = "tmpfs")]
    pub fs: String,
    /// Phases to run [default: copy]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub phases: Vec<String>,
    /// Size of the dataset portage as a multiple of full size [default: 0.02]
    #[arg(long, value_name = "X", value_parser = multiple)]
    pub scale: Option<f64>,
    /// Maximum repeats of an experiment [default: 240]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_repeats: Option<u32>,
    /// Repeat until ratios are known to this, in percent [default: margin / 4]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Smallest difference that matters, in percent [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Start no experiment after this time: 90s, 15m, 2h
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanos>,
    #[command(flatten)]
    pub lock: LockArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn handicap(text: &str) -> Result<f64, String> {
    match percent(text)? {
        part if part > 0.0 && part <= 10.0 => Ok(part),
        _ => Err("write more than 0 % and up to 1000 %, as 5%".to_owned()),
    }
}
