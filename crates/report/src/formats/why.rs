//! What stands between two contenders, in the formats it has: terminal, Markdown and JSON.

use super::Format;
use super::markdown::grid::{escape, header, row};
use super::terminal;
use crate::why::Why;
use crate::{Options, ReportError};
use std::fmt::Write as _;

/// The formats there are.
pub const FORMATS: [Format; 3] = [Format::Terminal, Format::Markdown, Format::Json];

/// What heads what is not known.
pub const MISSING: &str = "Not known";

/// What heads where figures come from.
pub const SOURCES: &str = "Sources";

/// Writes it.
pub fn why(why: &Why, format: Format, options: &Options) -> Result<Vec<u8>, ReportError> {
    let trouble = |reason: String| ReportError::Why {
        run: why.run.clone(),
        format,
        why: reason,
    };
    match format {
        Format::Terminal => Ok(terminal::why(why, options)),
        Format::Markdown => Ok(markdown(why).into_bytes()),
        Format::Json => {
            let mut bytes = serde_json::to_vec_pretty(why).map_err(|e| trouble(e.to_string()))?;
            bytes.push(b'\n');
            Ok(bytes)
        }
        _ => Err(trouble("choose terminal, markdown or json".to_owned())),
    }
}

/// What stands above the phases.
pub fn heading(why: &Why) -> String {
    let [a, b] = &why.contenders;
    format!("{a} and {b}, run {}", why.run)
}

fn markdown(why: &Why) -> String {
    let mut page = format!("# {}\n", escape(&heading(why)));
    for phase in &why.phases {
        let _ = write!(page, "\n## {}\n\n", escape(&phase.phase));
        header(&mut page, &[""], &why.contenders);
        for one in &phase.rows {
            let texts = one.texts.iter().map(|text| text.as_deref().unwrap_or("-"));
            let cells: Vec<String> = std::iter::once(one.name).chain(texts).map(escape).collect();
            row(&mut page, &cells);
        }
        let _ = write!(page, "\n{}\n", escape(&phase.sentence));
    }
    for (heading, texts) in [(SOURCES, &why.sources), (MISSING, &why.missing)] {
        let _ = write!(page, "\n## {heading}\n\n");
        for text in texts {
            let _ = writeln!(page, "- {}", escape(text));
        }
    }
    page
}
