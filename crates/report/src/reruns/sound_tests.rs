//! Tests that every built-in rerun matches its table.

use super::{ALL, Rerun, Setting, find};
use crate::published::{self, Table};
use fsdyno_cpu::Profile;
use std::path::Path;

fn reruns() -> impl Iterator<Item = (Table, Setting)> {
    ALL.iter().map(|rerun| {
        let table = rerun.table().unwrap();
        let setting = rerun.read(&table).unwrap_or_else(|e| panic!("{e}"));
        (table, setting)
    })
}

#[test]
fn every_contender_of_a_rerun_runs_or_has_a_reason_for_its_absence() {
    assert_eq!(ALL.len(), published::ALL.len());
    for (table, setting) in reruns() {
        assert_eq!(find(&table.name).map(|one| one.name), Some(&table.name[..]));
        for (at, contender) in table.contenders.iter().enumerate() {
            let of_it = |form: &&String| contender.today.contains(form);
            let in_its_place = |form: &&String| contender.instead.contains(form);
            let running = setting.contenders.iter().filter(of_it).count();
            let instead = setting.contenders.iter().filter(in_its_place).count();
            assert!(
                instead <= 1 && running * instead == 0,
                "{}",
                contender.label
            );
            let left_out = setting.left_out.iter().filter(|one| one.contender == at);
            let left_out: Vec<&str> = left_out.map(|one| one.why.as_str()).collect();
            let label = format!("{}: {}", table.name, contender.label);
            assert_eq!(running + left_out.len(), 1, "{label}");
            assert!(left_out.iter().all(|why| !why.is_empty()), "{label}");
        }
        let runs_for = |form: &String| {
            let mut contenders = table.contenders.iter();
            contenders.any(|c| c.today.contains(form) || c.instead.contains(form))
        };
        assert!(setting.contenders.iter().all(runs_for), "{}", table.name);
    }
}

#[test]
fn every_rerun_has_a_processor_of_its_time() {
    for (table, setting) in reruns() {
        let profile = Profile::named(Path::new(&setting.cpu));
        let profile = profile.unwrap_or_else(|error| panic!("{}: {error}", table.name));
        // An estimate for the time: newer processors are faster.
        assert!(profile.prices.block_ns > 3.0, "{}", table.name);
    }
}

#[test]
fn guest_memory_scales_with_the_datasets_down_to_a_minimum() {
    for (table, setting) in reruns() {
        let full = setting.guest_memory(1.0).0;
        let itself = setting.guest_memory(1e-9).0;
        assert!(itself >= super::ITSELF.0, "{}", table.name);
        assert_eq!(full - itself, setting.memory.0, "{}", table.name);
        let half = setting.guest_memory(0.5).0;
        assert_eq!(half - itself, setting.memory.0 / 2, "{}", table.name);
    }
}

#[test]
fn an_invalid_rerun_is_rejected_with_the_reason() {
    let good = find("btrfs-2008").unwrap();
    let table = good.table().unwrap();
    let message = |more: &str| {
        let text = format!("{}\n{more}", good.text);
        let text: &'static str = Box::leak(text.into_boxed_str());
        let broken = Rerun { text, ..*good };
        broken.read(&table).unwrap_err().to_string()
    };
    let cause =
        |key: &str, value: &str| format!("[[cause]]\n{key} = {value}\ntext = \"x\"\nfigures = []");
    for (more, words) in [
        (
            "[[left-out]]\ncontender = \"hammer\"\nwhy = \"x\"".to_owned(), // no contender
            "the table has no contender hammer",
        ),
        (
            cause("conclusion", "\"No such conclusion\""),
            "0 conclusions begin",
        ),
        (
            cause("lines", "[\"avi copy\"]"),
            "it names no figure of the table",
        ),
        (cause("line", "[\"avi copy\"]"), "unknown field `line`"),
    ] {
        assert!(
            message(&more).contains(words),
            "{words}: {}",
            message(&more)
        );
    }
}
