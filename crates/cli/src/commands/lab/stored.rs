//! `lab kernels` and `lab remove`: the kernels that were built here, and the sources of their builds.

use super::args::RemoveArgs;
use crate::args::{JsonArgs, unknown};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels::{self, Kernels, LabKernel, Stored};
use fsdyno_model::Bytes;
use serde::Serialize;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    kind: &'static str,
    release: Option<&'a str>,
    size: Bytes,
    age_days: u64,
}

/// Something in the cache, with its directory.
struct Entry {
    kernels: Kernels,
    kind: &'static str,
    stored: Stored,
}

impl Entry {
    fn age_days(&self) -> u64 {
        let age = self.stored.modified.elapsed().unwrap_or_default();
        age.as_secs() / DAY.as_secs()
    }
}

/// All kernels of this user and the directories of their builds.
fn entries() -> Result<Vec<Entry>, CliError> {
    let of_user = Kernels::of_user().map_err(CliError::usage)?;
    let of_trees = Kernels::of_trees().map_err(CliError::usage)?;
    let mut all = Vec::new();
    for (kernels, kind) in [(of_user, "lab kernel"), (of_trees, "kernel of a tree")] {
        for stored in kernels.stored().map_err(CliError::failure)? {
            all.push(Entry {
                kind: match stored.kernel {
                    Some(_) => kind,
                    None => "sources and objects",
                },
                kernels: kernels.clone(),
                stored,
            });
        }
    }
    Ok(all)
}

pub fn list(args: &JsonArgs) -> Result<(), CliError> {
    let entries = entries()?;
    let rows: Vec<Row<'_>> = entries
        .iter()
        .map(|entry| Row {
            name: &entry.stored.name,
            kind: entry.kind,
            release: entry
                .stored
                .kernel
                .as_ref()
                .map(|kernel| kernel.identity.release.as_str()),
            size: entry.stored.size,
            age_days: entry.age_days(),
        })
        .collect();
    if args.json {
        return output::json(&rows);
    }
    if rows.is_empty() {
        return output::bytes(b"No kernel was built here.\n");
    }
    let mut lines = vec![output::words(["name", "kind", "release", "size", "age"])];
    lines.extend(rows.iter().map(|row| {
        vec![
            row.name.to_owned(),
            row.kind.to_owned(),
            row.release.unwrap_or_default().to_owned(),
            row.size.to_string(),
            days(row.age_days),
        ]
    }));
    output::rows(&lines, output::width())
}

fn days(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} day{plural}")
}

pub fn remove(args: &RemoveArgs) -> Result<Code, CliError> {
    let entries = entries()?;
    for name in &args.names {
        if !entries.iter().any(|entry| entry.stored.name == *name) {
            let names = entries.iter().map(|entry| entry.stored.name.as_str());
            return Err(CliError::usage(unknown("kernel", name, names)));
        }
    }
    let default = kernels::lab().ok();
    let is_chosen = |entry: &&Entry| {
        let is_default = is_same(entry.stored.kernel.as_ref(), default.as_ref());
        let is_old = args.older_than.is_some_and(|days| entry.age_days() >= days);
        args.names.contains(&entry.stored.name) || (is_old && !is_default)
    };
    let (mut code, mut freed) = (Code::Ok, 0);
    for entry in entries.iter().filter(is_chosen) {
        let Stored { name, size, .. } = &entry.stored;
        let removed = args.dry_run
            || (entry.kernels)
                .remove(&entry.stored)
                .map_err(CliError::failure)?;
        if !removed {
            output::error(format_args!(
                "fsdyno: {name} was not removed: a build uses it. Wait for its end"
            ));
            code = Code::Failure;
            continue;
        }
        freed += size.0;
        let done = if args.dry_run {
            "would remove"
        } else {
            "removed"
        };
        output::bytes(format!("{done} {name} ({size})\n").as_bytes())?;
    }
    let done = if args.dry_run {
        "would be freed"
    } else {
        "freed"
    };
    output::bytes(format!("{} {done}\n", Bytes(freed)).as_bytes())?;
    Ok(code)
}

/// Whether it is the kernel that guests have by default.
fn is_same(kernel: Option<&LabKernel>, default: Option<&LabKernel>) -> bool {
    kernel.is_some() && kernel.map(|one| &one.program) == default.map(|one| &one.program)
}
