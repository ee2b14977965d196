//! Names of files as templates: `b{mailbox}/new/m{mail}`.

use super::layout::put_number;
use fsdyno_model::capability::NameRule;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The value of this variable, in seven digits.
    Variable(usize),
}

/// A path with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

/// A name that each file of a set can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedPath {
    pub name: String,
    pub set: usize,
    pub path: Template,
    /// The directory of the path, whose variables are the first of the path.
    pub directory: Template,
}

impl Template {
    /// Reads a template. `variable` returns the number of a variable; the error says what is wrong.
    pub fn read(text: &str, mut variable: impl FnMut(&str) -> usize) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!("`{text}`: a `}}` is missing"));
            };
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Variable(variable(name)));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let plain = parts.iter().all(|part| match part {
            Part::Text(text) => text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.,=+:/".contains(c)),
            Part::Variable(_) => true,
        });
        let whole = text.split('/');
        let known = |name: &str| name.is_empty() || name == "." || name == "..";
        if !plain || whole.into_iter().any(known) || text.len() > 200 {
            return Err(format!(
                "`{text}` is no path of letters, digits, `-_.,=+:/` and variables in braces"
            ));
        }
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self { parts })
    }

    /// The path of its directory.
    pub fn directory(&self) -> Self {
        let mut parts = self.parts.clone();
        while let Some(part) = parts.pop() {
            if let Part::Text(text) = part
                && let Some((before, _)) = text.rsplit_once('/')
            {
                parts.push(Part::Text(before.to_owned()));
                break;
            }
        }
        if parts.is_empty() {
            parts.push(Part::Text(".".to_owned()));
        }
        Self { parts }
    }

    /// Its variables, in the order of the path.
    pub fn variables(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(*variable),
            Part::Text(_) => None,
        })
    }

    /// Replaces the colon where names have none.
    pub fn adapt(&mut self, names: &NameRule) {
        if names.allows(b"a:b") {
            return;
        }
        for part in &mut self.parts {
            if let Part::Text(text) = part {
                *text = text.replace(':', "!");
            }
        }
    }

    /// Appends the path with these values of its variables.
    #[inline]
    pub fn put(&self, values: &[u32], into: &mut Vec<u8>) {
        let mut values = values.iter();
        for part in &self.parts {
            match part {
                Part::Text(text) => into.extend_from_slice(text.as_bytes()),
                Part::Variable(_) => put_number(values.next().copied().unwrap_or(0), into),
            }
        }
    }
}
