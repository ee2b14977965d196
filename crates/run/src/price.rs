//! The price of protection: which contenders show what checksums, compression, snapshots and copies
//! on further disks cost. It measures nothing.

use fsdyno_model::{Contender, FilesystemKind, InitialState, LayoutChoice, PricedKind};
use fsdyno_recipes::fs::{MIRROR, PARITY, STRIPE};
use fsdyno_recipes::{self as recipes, layouts};
use std::path::Path;

/// The same contender with a protection and without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedProtection {
    /// The label of the contender that is asked about.
    pub base: String,
    /// Its name in a sentence: `checksums of data`.
    pub name: String,
    pub with: Contender,
    pub without: Contender,
    pub kind: PricedKind,
    /// What else differs between the two.
    pub also: Option<String>,
    /// The document that describes it; none if it is no option.
    pub source: Option<String>,
}

/// The name of a layout, and its number of devices.
type Devices = (&'static str, u32);

/// A layout with copies or parity, and that without protection for the same capacity.
struct Redundant {
    name: &'static str,
    with: Devices,
    without: Devices,
    /// Its names without one of its disks, with a scrub, and with a rebuild.
    degraded: &'static str,
    scrub: &'static str,
    rebuild: &'static str,
}

const LAYOUTS: [Redundant; 2] = [
    Redundant {
        name: "a mirror of 2 disks",
        with: (MIRROR, 2),
        without: ("single", 1),
        degraded: "a degraded mirror",
        scrub: "a scrub of a mirror",
        rebuild: "a rebuild of a mirror",
    },
    Redundant {
        name: "a parity on 3 disks",
        with: (PARITY, 3),
        without: (STRIPE, 2),
        degraded: "a degraded parity",
        scrub: "a scrub of a parity",
        rebuild: "a rebuild of a parity",
    },
];

/// The protections of a contender that a run can price, each with both contenders.
pub fn protections(base: &Contender, snapshots: &[u32]) -> Vec<PricedProtection> {
    let upkeep = base.state.degraded || base.state.scrubbed || base.state.rebuilding;
    let Some(recipe) = recipes::find(&base.filesystem).filter(|_| !upkeep) else {
        return Vec::new();
    };
    let priced = |kind, name: String, with: Contender, without: Contender| PricedProtection {
        base: base.label.clone(),
        name,
        with,
        without,
        kind,
        also: None,
        source: None,
    };
    let of_state = |kind, name: String, one: &Contender, state| {
        priced(kind, name, in_state(one, state), one.clone())
    };
    let degraded = |one: &Contender, name: &str| {
        let state = InitialState {
            degraded: true,
            ..InitialState::default()
        };
        of_state(PricedKind::Degraded, name.to_owned(), one, state)
    };
    let scrubbed = |one: &Contender, name: &str| {
        let state = InitialState {
            scrubbed: true,
            ..InitialState::default()
        };
        of_state(PricedKind::Scrub, name.to_owned(), one, state)
    };
    let rebuilding = |one: &Contender, name: &str| {
        let state = InitialState {
            rebuilding: true,
            ..InitialState::default()
        };
        of_state(PricedKind::Rebuild, name.to_owned(), one, state)
    };
    let mut all = Vec::new();
    for one in recipe.facts().protections {
        let pair = with_options(base, one.with).zip(with_options(base, one.without));
        all.extend(pair.map(|(with, without)| PricedProtection {
            also: one.also.map(str::to_owned),
            source: Some(one.source.to_owned()),
            ..priced(PricedKind::Option, one.name.to_owned(), with, without)
        }));
    }
    if base.state.is_fresh() && recipe.snapshot(Path::new("/"), 1).is_some() {
        for count in snapshots {
            let state = InitialState {
                snapshots: *count,
                ..InitialState::default()
            };
            let plural = if *count == 1 { "" } else { "s" };
            let name = format!("{count} snapshot{plural}");
            all.push(of_state(PricedKind::Snapshots, name, base, state));
        }
    }
    if base.state.is_fresh() && layouts::may_scrub(base) {
        all.push(scrubbed(base, "a scrub"));
    }
    if base.layout == LayoutChoice::default() && recipe.kind() == FilesystemKind::Block {
        for layout in LAYOUTS {
            let has = |layout: &str| layouts::of(recipe).any(|one| one.name == layout);
            if !(has(layout.with.0) && has(layout.without.0)) {
                continue;
            }
            let [with, without] =
                [layout.with, layout.without].map(|layout| in_layout(base, layout));
            let name = layout.name.to_owned();
            all.push(priced(PricedKind::Disks, name, with.clone(), without));
            if with.state.is_fresh() && layouts::may_degrade(&with) {
                all.push(degraded(&with, layout.degraded));
                all.push(rebuilding(&with, layout.rebuild));
            }
            if with.state.is_fresh() && layouts::may_scrub(&with) {
                all.push(scrubbed(&with, layout.scrub));
            }
        }
    }
    all
}

/// The contenders of all these protections after their base, each once.
pub fn contenders(base: &Contender, all: &[PricedProtection]) -> Vec<Contender> {
    let mut contenders = vec![base.clone()];
    for one in all.iter().flat_map(|one| [&one.without, &one.with]) {
        if !contenders.contains(one) {
            contenders.push(one.clone());
        }
    }
    contenders
}

/// The protections of which a run has both contenders.
pub fn in_plan(contenders: &[Contender]) -> Vec<PricedProtection> {
    let mut counts: Vec<u32> = contenders.iter().map(|one| one.state.snapshots).collect();
    counts.retain(|count| *count > 0);
    counts.sort_unstable();
    counts.dedup();
    // A plan adds to its contenders where they run, and what they give up.
    let is_there = |one: &Contender| contenders.iter().any(|other| other.label == one.label);
    let mut all: Vec<PricedProtection> = Vec::new();
    for one in contenders
        .iter()
        .flat_map(|base| protections(base, &counts))
    {
        // A scrub of a mirror is one of its own, and one of the single disk's protections.
        let is_new = all.iter().all(|other| {
            other.with.label != one.with.label || other.without.label != one.without.label
        });
        if is_there(&one.with) && is_there(&one.without) && is_new {
            all.push(one);
        }
    }
    all
}

/// The contender with these options added. None if it sets one of them already, or cannot have them.
fn with_options(base: &Contender, options: &str) -> Option<Contender> {
    let text = format!("{}{options}", base.filesystem);
    let added = Contender::parse(&text, &recipes::kind_of).ok()?;
    let key = recipes::options::key;
    let is_set = |word: &String| base.mount.iter().any(|given| key(given) == key(word));
    let is_given = |word: &String| {
        let option = word.split('=').next().unwrap_or(word);
        option.starts_with('-') && base.mkfs.iter().any(|given| given.starts_with(option))
    };
    if added.mount.iter().any(is_set) || added.mkfs.iter().any(is_given) {
        return None;
    }
    let mut with = base.clone();
    with.mkfs.extend(added.mkfs);
    with.mount.extend(added.mount);
    Some(relabelled(with, base))
}

fn in_layout(base: &Contender, (name, devices): Devices) -> Contender {
    let mut one = base.clone();
    one.layout = LayoutChoice {
        name: name.to_owned(),
        devices,
    };
    relabelled(one, base)
}

fn in_state(base: &Contender, state: InitialState) -> Contender {
    let mut one = base.clone();
    one.state = state;
    one.label += &one.state.suffix();
    one
}

/// The contender with its short form and its state as its label, unless it is the base itself.
fn relabelled(mut one: Contender, base: &Contender) -> Contender {
    if one != *base {
        one.label = one.short_form() + &one.state.suffix();
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Contender {
        Contender::parse(text, &recipes::kind_of).unwrap()
    }

    fn pairs(text: &str, snapshots: &[u32]) -> Vec<String> {
        let all = protections(&parse(text), snapshots).into_iter();
        all.map(|one| format!("{}: {} / {}", one.name, one.with.label, one.without.label))
            .collect()
    }

    #[test]
    fn each_protection_differs_by_itself_only() {
        assert_eq!(
            pairs("btrfs", &[1, 10]),
            [
                "checksums of data: btrfs / btrfs:nodatasum",
                "compression (zstd): btrfs:compress=zstd / btrfs",
                "1 snapshot: btrfs snapshots=1 / btrfs",
                "10 snapshots: btrfs snapshots=10 / btrfs",
                "a scrub: btrfs scrubbed / btrfs",
                "a mirror of 2 disks: btrfs@mirror2 / btrfs",
                "a degraded mirror: btrfs@mirror2 degraded / btrfs@mirror2",
                "a rebuild of a mirror: btrfs@mirror2 rebuilding / btrfs@mirror2",
                "a scrub of a mirror: btrfs@mirror2 scrubbed / btrfs@mirror2",
                "a parity on 3 disks: btrfs@parity3 / btrfs@stripe2",
                "a degraded parity: btrfs@parity3 degraded / btrfs@parity3",
                "a rebuild of a parity: btrfs@parity3 rebuilding / btrfs@parity3",
                "a scrub of a parity: btrfs@parity3 scrubbed / btrfs@parity3",
            ]
        );
        assert_eq!(
            pairs("ext4:noatime", &[1]),
            [
                "checksums of metadata: ext4:noatime / ext4[-O ^metadata_csum]:noatime",
                "the journal: ext4:noatime / ext4[-O ^has_journal]:noatime",
                "data in the journal: ext4:noatime,data=journal / ext4:noatime",
                "a mirror of 2 disks: ext4@mirror2:noatime / ext4:noatime",
                "a degraded mirror: ext4@mirror2:noatime degraded / ext4@mirror2:noatime",
                "a rebuild of a mirror: ext4@mirror2:noatime rebuilding / ext4@mirror2:noatime",
                "a scrub of a mirror: ext4@mirror2:noatime scrubbed / ext4@mirror2:noatime",
                "a parity on 3 disks: ext4@parity3:noatime / ext4@stripe2:noatime",
                "a degraded parity: ext4@parity3:noatime degraded / ext4@parity3:noatime",
                "a rebuild of a parity: ext4@parity3:noatime rebuilding / ext4@parity3:noatime",
                "a scrub of a parity: ext4@parity3:noatime scrubbed / ext4@parity3:noatime",
            ]
        );
    }

    #[test]
    fn options_that_the_contender_sets_itself_are_not_priced() {
        assert_eq!(
            pairs("btrfs@mirror2:compress=lzo,nodatasum", &[]),
            [
                "a scrub: btrfs@mirror2:compress=lzo,nodatasum scrubbed / btrfs@mirror2:compress=lzo,nodatasum"
            ]
        );
        assert_eq!(
            pairs("ext4[-O ^metadata_csum]", &[])[..2],
            [
                "data in the journal: ext4[-O ^metadata_csum]:data=journal / ext4[-O ^metadata_csum]",
                "a mirror of 2 disks: ext4[-O ^metadata_csum]@mirror2 / ext4[-O ^metadata_csum]",
            ]
        );
    }

    #[test]
    fn every_declared_protection_is_two_valid_contenders() {
        for recipe in recipes::fs::ALL {
            let base = Contender::plain(recipe.name());
            let all = protections(&base, &[1]);
            let declared = recipe.facts().protections;
            let optional = all.iter().filter(|one| one.source.is_some());
            assert_eq!(optional.count(), declared.len(), "{}", recipe.name());
            for one in all.iter().flat_map(|one| [&one.with, &one.without]) {
                recipes::validate(one).unwrap();
                recipes::check_options(one).unwrap();
            }
        }
    }

    #[test]
    fn a_run_is_priced_by_its_contenders() {
        let base = parse("btrfs");
        let all = protections(&base, &[10]);
        let contenders = contenders(&base, &all);
        assert_eq!(in_plan(&contenders), all);
        assert_eq!(in_plan(&contenders[1..2]), []);
        let mut planned = contenders;
        let without_checksums = planned
            .iter_mut()
            .find(|one| one.label == "btrfs:nodatasum");
        without_checksums.unwrap().gives_up = Some("checksums".to_owned());
        assert_eq!(in_plan(&planned), all);
        assert_eq!(in_plan(&[parse("xfs"), parse("ext4")]), []);
    }
}
