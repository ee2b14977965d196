//! An entry of a block trace as a line of text.

use super::{Causes, Record};
use fsdyno_model::Nanos;
use std::fmt::Write as _;

impl Record {
    /// The entry as a line; a completion with the latency of its request, if it is known.
    pub fn line(&self, latency: Option<Nanos>) -> String {
        let moment = |at: &Nanos| format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000);
        match self {
            Self::Submitted {
                at,
                order,
                request,
                hash,
            } => {
                let fua = if request.fua { " fua" } else { "" };
                let kind = request.kind;
                let mut line = format!("{:>16} {order:>7} {kind:<12}", moment(at));
                if request.sectors > 0 {
                    let _ = write!(line, " {} +{}{fua}", request.sector, request.sectors);
                }
                if let Some(hash) = hash {
                    let _ = write!(line, " {hash:016x}");
                }
                line
            }
            Self::Payload { order, bytes } => {
                let length = bytes.len();
                format!("{:>16} {order:>7} payload      {length} bytes", "")
            }
            Self::Completed {
                at,
                order,
                result,
                causes,
            } => {
                let latency = latency.map_or_else(String::new, |latency| latency.to_string());
                let mut line = format!("{:>16} {order:>7} done         {latency}", moment(at));
                let named = Causes::NAMES.into_iter().zip(causes.parts());
                let named = named.filter(|(_, ns)| *ns > 0);
                for (at, (name, ns)) in named.enumerate() {
                    let comma = if at == 0 { ":" } else { "," };
                    let _ = write!(line, "{comma} {name} {}", Nanos(ns));
                }
                if let Err(failure) = result {
                    let _ = write!(line, "; {failure}");
                }
                line
            }
            Self::Mark { at, text } => {
                let text = text.escape_debug();
                format!("{:>16} ------- {text}", moment(at))
            }
            Self::PowerCut { at, seed } => {
                let at = moment(at);
                format!("{at:>16} ======= the power was cut, by seed {seed}")
            }
        }
    }
}
