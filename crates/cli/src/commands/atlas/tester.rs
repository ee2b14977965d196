//! The tests with faulty disks and the power cuts of an atlas: those of `fsdyno lose`.

use super::PlaceArgs;
use crate::commands::crash::{contenders, info, timed_disk, virtual_lab_for};
use crate::commands::lab::guest_size;
use crate::commands::lose::{DISK, MEMORY, disks, power};
use crate::exit::CliError;
use fsdyno_lab::GuestLab;
use fsdyno_lab::preflight::DEFAULT_SCRATCH;
use fsdyno_model::{
    CancelToken, FaultTest, FaultTestsInfo, GuestSize, LabChoice, ModelDisk, SeriesInfo, StopReason,
};
use fsdyno_report::atlas::{AtlasFaults, AtlasPower};
use fsdyno_run::lose::activities;
use fsdyno_store::Store;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A place of guests with such disks.
pub struct Tester {
    lab: GuestLab,
    disk: ModelDisk,
    guest: GuestSize,
    work: PathBuf,
    jobs: NonZeroUsize,
}

impl Tester {
    pub fn new(place: &PlaceArgs, stop: &CancelToken) -> Result<Self, CliError> {
        let guest = guest_size(&LabChoice::Uml, MEMORY, place.guest_kernel.as_ref());
        let work = place.work_dir.as_deref();
        let work = std::path::absolute(work.unwrap_or(Path::new(DEFAULT_SCRATCH)))?;
        Ok(Self {
            lab: virtual_lab_for(&guest, &work, stop)?,
            disk: timed_disk(Path::new(DISK))?,
            guest,
            work,
            jobs: place.jobs.of_guests(MEMORY),
        })
    }

    /// Tests contenders with faulty disks, by their short forms, unless the store has these tests with this kernel.
    pub fn faults(
        &self,
        labels: &[String],
        (seed, draws): (u64, u32),
        (store, kernel): (&mut Store, &str),
    ) -> Result<AtlasFaults, CliError> {
        let contenders = contenders(labels, &LabChoice::Uml)?;
        let info = FaultTestsInfo {
            seed,
            ..disks::info(contenders, draws, self.guest.clone(), &self.work)
        };
        for summary in store.fault_tests()? {
            let tests = store.load_fault_tests(&summary.id)?;
            let guests = tests.tests.iter().map(|one| &*one.guest);
            if tests.info.hash() == info.hash() && is_whole(tests.info.stop, guests, kernel) {
                return Ok(AtlasFaults::of(&tests));
            }
        }
        let (tests, ended) = disks::recorded((&self.lab, &self.disk, self.jobs), info, store)?;
        ended?;
        Ok(AtlasFaults::of(&tests))
    }

    /// Cuts the power of contenders during usual work, unless the store has that series with this kernel.
    pub fn power(
        &self,
        labels: &[String],
        (seed, draws): (u64, u32),
        (store, kernel): (&mut Store, &str),
    ) -> Result<AtlasPower, CliError> {
        let contenders = contenders(labels, &LabChoice::Uml)?;
        let place = (self.guest.clone(), Some(self.disk.clone()));
        let info = SeriesInfo {
            activities: Some(activities::DEFAULT.to_owned()),
            ..info((seed, draws), contenders, place, self.work.clone())
        };
        for summary in store.series()? {
            if !summary.has_activities || summary.stop != Some(StopReason::Complete) {
                continue;
            }
            let series = store.load_series(&summary.id)?;
            let guests = series.power_cuts.iter().map(|one| &*one.guest);
            if series.info.hash() == info.hash() && is_whole(series.info.stop, guests, kernel) {
                return Ok(AtlasPower::of(&series));
            }
        }
        let work = power::default_work()?;
        let (series, ended) = power::recorded((&self.lab, &work, self.jobs), info, store)?;
        ended?;
        Ok(AtlasPower::of(&series))
    }
}

/// Whether all tests were done, in guests of this kernel.
fn is_whole<'g>(
    stop: Option<StopReason>,
    mut guests: impl Iterator<Item = &'g str>,
    kernel: &str,
) -> bool {
    stop == Some(StopReason::Complete) && guests.all(|one| is_of(one, kernel))
}

/// Whether a guest had the kernel of a cell, by its description: without the kind of the guest, or with
/// more about it.
fn is_of(guest: &str, kernel: &str) -> bool {
    let without_kind = kernel.replace(" (User-mode Linux),", "");
    let more = guest
        .strip_prefix(kernel)
        .or_else(|| guest.strip_prefix(&without_kind));
    more.is_some_and(|more| more.is_empty() || more.starts_with(','))
}

/// What the power cuts of a contender in an atlas and those here do not have in common.
pub fn unequal_cuts(label: &str, atlas: &AtlasPower, here: &AtlasPower) -> Vec<String> {
    let mut here = here.of_contender(label);
    let mut differences = Vec::new();
    for known in atlas.of_contender(label) {
        let number = known.number;
        let of_one = match here.next() {
            Some(one) => unequal_fields(known, one),
            None => vec!["not here".to_owned()],
        };
        differences.extend(
            of_one
                .iter()
                .map(|text| format!("power cut {number}: {text}")),
        );
    }
    differences
}

/// The fields of two records that differ.
fn unequal_fields(atlas: &impl Serialize, here: &impl Serialize) -> Vec<String> {
    let [atlas, here] = [fields(atlas), fields(here)];
    let names: BTreeSet<&String> = atlas.keys().chain(here.keys()).collect();
    let value = |fields: &BTreeMap<String, Value>, name| {
        let value = fields.get(name).filter(|value| !value.is_null());
        value.map_or_else(|| "none".to_owned(), Value::to_string)
    };
    let names = names.into_iter();
    let values = names.map(|name| (name, value(&atlas, name), value(&here, name)));
    let unequal = values.filter(|(_, then, now)| then != now);
    unequal
        .map(|(name, then, now)| format!("{name}: {then} in the atlas, {now} here"))
        .collect()
}

/// The values of a record by the path to their field.
fn fields(record: &impl Serialize) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    // A record without a form in JSON could not be in a file.
    let mut open = vec![(
        String::new(),
        serde_json::to_value(record).unwrap_or_default(),
    )];
    while let Some((path, value)) = open.pop() {
        let below = |name: &str| match &*path {
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        match value {
            Value::Object(parts) => {
                open.extend(parts.into_iter().map(|(name, part)| (below(&name), part)));
            }
            Value::Array(parts) => {
                let numbered = parts.into_iter().zip(1_u32..);
                open.extend(numbered.map(|(part, number)| (below(&number.to_string()), part)));
            }
            value => drop(found.insert(path, value)),
        }
    }
    found
}

/// What the tests of a contender in an atlas and those here do not have in common.
pub fn unequal_faults(atlas: &FaultTest, here: &FaultTest) -> Vec<String> {
    let words = |test: &FaultTest| -> Vec<String> {
        let faults = test.faults.iter();
        let one = faults.map(|one| {
            let role = one.role.map_or("disk", |role| role.name());
            format!(
                "{role}: {} in sector {} of disk {}: {:?}",
                one.fault, one.sector, one.disk, one.outcome
            )
        });
        one.collect()
    };
    let (atlas, here) = (words(atlas), words(here));
    let only = |one: &[String], other: &[String], place: &str| -> Vec<String> {
        let only = one.iter().filter(|text| !other.contains(text));
        only.map(|text| format!("{text} {place}")).collect()
    };
    let mut all = only(&atlas, &here, "in the atlas");
    all.extend(only(&here, &atlas, "here"));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn records_that_differ_are_told_apart_by_the_names_of_their_fields() {
        let atlas =
            json!({"number": 3, "lost": {"files": 1}, "steps": ["mount", "check"], "first": null});
        let mut here = atlas.clone();
        assert!(unequal_fields(&atlas, &here).is_empty());
        here["lost"]["files"] = json!(2);
        here["steps"] = json!(["mount"]);
        here["first"] = json!("a name");
        let expected = [
            "first: none in the atlas, \"a name\" here",
            "lost.files: 1 in the atlas, 2 here",
            "steps.2: \"check\" in the atlas, none here",
        ];
        assert_eq!(unequal_fields(&atlas, &here), expected);
    }
}
