//! Series of cuts, from the store alone: as `show` and `report` tell them.

use super::crash;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::step::shell_line;
use fsdyno_model::{PowerCut, Series};
use fsdyno_report::Format;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A series at a glance: what was to be done, where, and how each cut came back.
pub fn show(series: &Series, json: bool) -> Result<Code, CliError> {
    if json {
        output::json(series)?;
        return Ok(Code::Ok);
    }
    output::rows(&facts(series), output::width())?;
    output::bytes(b"\n")?;
    let header = [
        "CUT",
        "CONTENDER",
        "AFTER",
        "OPERATIONS",
        "RECOVERY",
        "CAME BACK",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(series.cuts.iter().map(row));
    output::rows(&rows, output::width())?;
    for cut in &series.cuts {
        let mut contenders = series.info.contenders.iter();
        let contender = contenders.find(|one| one.label == cut.contender);
        let again = contender.and_then(|one| crash::again(one, cut, &series.info));
        if let Some(again) = again {
            let line = format!("\ncut {} of {}:\n  {again}\n", cut.number, cut.contender);
            output::bytes(line.as_bytes())?;
        }
    }
    Ok(Code::Ok)
}

/// The table of a series; its JSON. It has no other form.
pub fn report(series: &Series, format: Format) -> Result<Vec<u8>, CliError> {
    match format {
        Format::Terminal => {
            let info = &series.info;
            let table = crash::table(info, &series.cuts);
            let begun = begun(series);
            let head = format!("fsdyno: {} of {begun}, series {}", Series::NAME, info.id);
            Ok(format!("{head}\n\n{table}").into_bytes())
        }
        Format::Json => {
            let mut bytes = serde_json::to_vec_pretty(series)
                .map_err(|error| CliError::failure(format!("cannot write JSON: {error}")))?;
            bytes.push(b'\n');
            Ok(bytes)
        }
        other => Err(CliError::usage(format!(
            "{} is a series of cuts, which has no form in {other}; there are {} and {}",
            series.info.id,
            Format::Terminal,
            Format::Json
        ))),
    }
}

fn begun(series: &Series) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(series.info.started_unix_ns))
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_default()
}

fn facts(series: &Series) -> Vec<Vec<String>> {
    let info = &series.info;
    let labels: Vec<&str> = info.contenders.iter().map(|c| c.label.as_str()).collect();
    let p = &info.provenance;
    let ended = info
        .stop
        .map_or("not yet".to_owned(), |stop| stop.to_string());
    let mut facts = vec![
        ("series", info.id.clone()),
        ("begun", begun(series)),
        ("ended", ended),
        ("command", shell_line(&info.command_line)),
        ("contenders", labels.join(", ")),
        ("cuts", format!("{} of each", info.cuts_planned)),
        ("seed", info.seed.to_string()),
        (
            "machine",
            format!("{}, {} processors", p.processor, p.processors),
        ),
        ("kernel", p.kernel.clone()),
    ];
    facts.extend(info.disk.iter().map(|disk| {
        let about = format!("{} (model), virtual time", disk.profile);
        ("disk", about)
    }));
    // All cuts have the same guest, unless its kernel was replaced meanwhile.
    let guests: BTreeSet<&str> = series.cuts.iter().map(|cut| cut.guest.as_str()).collect();
    facts.extend(guests.into_iter().map(|guest| ("guest", guest.to_owned())));
    let programs = p.programs.iter();
    facts.extend(programs.map(|(name, version)| ("program", format!("{name}: {version}"))));
    facts
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect()
}

fn row(cut: &PowerCut) -> Vec<String> {
    let mut came_back = crash::came_back(cut);
    if let Some(lost) = crash::lost_by_disk(cut) {
        let _ = write!(came_back, "; {lost}");
    }
    vec![
        cut.number.to_string(),
        cut.contender.clone(),
        cut.after_ns.to_string(),
        cut.acknowledged.to_string(),
        cut.recovery.took_ns.to_string(),
        came_back,
    ]
}
