//! Tests that every built-in rerun matches its table.

use super::Setting;
use crate::published::{ALL, Published, Table, find};
use fsdyno_cpu::Profile;
use std::path::Path;

fn reruns() -> impl Iterator<Item = (Table, Setting)> {
    ALL.iter().map(|published| {
        let table = published.read().unwrap();
        let setting = published
            .read_rerun(&table)
            .unwrap_or_else(|e| panic!("{e}"));
        (table, setting)
    })
}

#[test]
fn every_contender_of_a_rerun_runs_or_has_a_reason_for_its_absence() {
    for (table, setting) in reruns() {
        for contender in &table.contenders {
            let of_it = |form: &&String| contender.today.contains(form);
            let in_its_place = |form: &&String| contender.instead.contains(form);
            let running = setting.contenders.iter().filter(of_it).count();
            let instead = setting.contenders.iter().filter(in_its_place).count();
            assert!(
                instead <= 1 && running * instead == 0,
                "{}",
                contender.label
            );
            let left_out = setting.left_out.iter();
            let left_out = left_out.filter(|one| one.contender == contender.label);
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
    let table = good.read().unwrap();
    let message = |more: &str| {
        let text = format!("{}\n{more}", good.rerun);
        let rerun: &'static str = Box::leak(text.into_boxed_str());
        let broken = Published { rerun, ..*good };
        broken.read_rerun(&table).unwrap_err().to_string()
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
