//! Measurements of a model give its parameters back.

use super::*;
use crate::profiles::{ALL, Timing};

const EFFORT: Effort = Effort {
    budget_ns: 60_000_000_000,
    seed: 1,
};

fn identity() -> Identity {
    Identity {
        title: "a \"disk\"".to_owned(),
        source: "a test".to_owned(),
        queue_depth: None,
    }
}

/// Measures a profile with noise, and fits a profile to it.
fn refitted(profile: &Profile, seed: u64) -> Fit {
    let mut target = Simulated::new(profile).with_noise(seed);
    let effort = Effort { seed, ..EFFORT };
    let measured = measure(&mut target, effort, &mut |_| {}).unwrap();
    fit(&measured, None, &identity(), effort).unwrap()
}

/// The parameters of a profile that reads determine.
fn parameters(profile: &Profile) -> Vec<(&'static str, f64)> {
    match &profile.timing {
        Timing::Hdd(spec) => {
            let crate::models::hdd::SeekSpec::ThreePoint(seek) = spec.seek else {
                panic!("{}: {:?}", profile.name, spec.seek);
            };
            let for_reads = (spec.cache.0 - spec.write_room()) as f64;
            vec![
                ("rpm", spec.rpm),
                ("outer", spec.sectors_per_track[0] as f64),
                ("inner", spec.sectors_per_track[1] as f64),
                ("minimum_ms", seek.minimum_ms),
                ("mean_ms", seek.mean_ms),
                ("full_ms", seek.full_ms),
                ("command_overhead_ms", spec.command_overhead_ms),
                ("bus_mb_s", spec.bus_mb_s),
                ("track_skew_ms", spec.track_skew_ms.unwrap()),
                ("cylinder_skew_ms", spec.cylinder_skew_ms.unwrap()),
                ("segments", f64::from(spec.segments)),
                ("segment", for_reads / f64::from(spec.segments)),
                ("queue_depth", f64::from(profile.queue_depth)),
            ]
        }
        Timing::Flash(spec) => vec![
            ("channels", f64::from(spec.channels)),
            ("units_per_channel", f64::from(spec.units_per_channel)),
            ("program_unit", spec.program_unit.0 as f64),
            ("read_us", spec.read_us),
            ("read_firmware_us", spec.read_firmware_us),
            ("channel_mb_s", spec.channel_mb_s),
            ("link_mb_s", spec.link_mb_s[0]),
        ],
        Timing::Volume(spec) => vec![
            ("iops", spec.iops),
            ("burst", f64::from(spec.burst)),
            ("mib_s", spec.mib_s),
            ("burst_bytes", spec.burst_bytes.0 as f64),
            ("latency_us", spec.latency_us),
            ("sigma", spec.sigma),
        ],
        Timing::Null => Vec::new(),
    }
}

/// The parameters that differ by more than a tenth.
fn wrong(profile: &Profile, found: &Profile) -> Vec<String> {
    let pairs = parameters(profile).into_iter().zip(parameters(found));
    pairs
        .filter(|((_, a), (_, b))| (b / a - 1.0).abs() > 0.1)
        .map(|((key, a), (_, b))| format!("{}: {key} {a} {b}", profile.name))
        .collect()
}

/// The errors in the fit to a profile.
fn departures(profile: &Profile, seed: u64) -> Vec<String> {
    let fit = refitted(profile, seed);
    let best = &fit.models[0];
    let found = best.profile.timing.name();
    if found != profile.timing.name() {
        return vec![format!("{} is a {found}; {:?}", profile.name, fit.refused)];
    }
    wrong(profile, &best.profile)
}

#[test]
fn every_included_disk_is_found_again_within_a_tenth_despite_noise() {
    let mut off = Vec::new();
    for shipped in &ALL {
        let profile = Profile::try_from(shipped).unwrap();
        if profile.timing != Timing::Null {
            off.extend((1..3).flat_map(|seed| departures(&profile, seed)));
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

/// A volume without limits: an I/O path with this overhead for a request.
fn path(latency_us: u32) -> Profile {
    let text = format!(
        "title = \"path\"\nsource = \"a test\"\ncapacity = \"20G\"\nqueue_depth = 1024\n\
         [volume]\niops = 1e8\nburst = 1000000000\ncounted = 1000000000\nmib_s = 1e6\n\
         burst_bytes = 1000000000000\nlatency_us = {latency_us}\nsigma = 0\nseed = 1\n"
    );
    Profile::parse("path", &text).unwrap()
}

#[test]
fn what_the_way_to_a_disk_takes_is_subtracted() {
    // A path of 150 us a request, which is measured on a disk of 100 us.
    let measured = measure(&mut Simulated::new(&path(250)), EFFORT, &mut |_| {}).unwrap();
    let reference = Reference::of(measured, 100.0);
    let overhead = reference.overhead;
    assert!((overhead.request_us - 150.0).abs() < 1.0, "{overhead:?}");
    let slow = path(450);
    let mut device = Simulated::new(&slow);
    let mut target = Corrected {
        target: &mut device,
        reference: &reference,
    };
    let measured = measure(&mut target, EFFORT, &mut |_| {}).unwrap();
    let fit = fit(&measured, Some(&reference), &identity(), EFFORT).unwrap();
    let volume = fit.models.iter().find_map(|one| match &one.profile.timing {
        Timing::Volume(spec) => Some(spec.latency_us),
        _ => None,
    });
    assert!((volume.unwrap() - 300.0).abs() < 3.0, "{volume:?}");
    // Rates that the path allows no disk to exceed are not compared.
    assert!((reference.overhead_us(6144) - 150.0).abs() < 1.0);
    let best = &fit.models[0];
    assert!(best.figures.iter().all(|figure| figure.unit != "MB/s"));
    assert!(best.unresolved.is_empty(), "{:?}", best.unresolved);
}

#[test]
fn parameters_that_the_way_hides_are_estimates() {
    let measured = measure(&mut Simulated::new(&path(60)), EFFORT, &mut |_| {}).unwrap();
    let reference = Reference::of(measured, 0.0);
    // The path takes no time for a byte, so that rates of a flash disk are found.
    for (name, hidden) in [
        ("nvme", &["flash.read_us", "flash.read_firmware_us"][..]),
        (
            "sata-2008",
            &[
                "hdd.seek.three-point.minimum_ms",
                "hdd.track_skew_ms",
                "hdd.cylinder_skew_ms",
                "hdd.command_overhead_ms",
                "hdd.bus_mb_s",
            ],
        ),
    ] {
        let profile = Profile::named(std::path::Path::new(name)).unwrap();
        let measured = measure(&mut Simulated::new(&profile), EFFORT, &mut |_| {}).unwrap();
        let fit = fit(&measured, Some(&reference), &identity(), EFFORT).unwrap();
        let best = &fit.models[0];
        assert_eq!(best.unresolved, hidden, "{name}");
        let estimated = &best.profile.estimated;
        for key in &best.unresolved {
            assert!(estimated.contains(key), "{estimated:?}");
        }
    }
}

#[test]
fn a_fit_of_a_scratch_file_gives_write_and_flush_times_back() {
    for (name, keys) in [
        ("nvme", ["program_us", "write_firmware_us"].as_slice()),
        ("sata-2008", ["write_room"].as_slice()),
    ] {
        let profile = Profile::named(std::path::Path::new(name)).unwrap();
        let mut measured = measure(&mut Simulated::new(&profile), EFFORT, &mut |_| {}).unwrap();
        measured.writes = Some(Writes::measure(&mut Simulated::new(&profile), EFFORT).unwrap());
        let fit = fit(&measured, None, &identity(), EFFORT).unwrap();
        let value = |profile: &Profile, key: &str| match (&profile.timing, key) {
            (Timing::Flash(spec), "program_us") => spec.program_us,
            (Timing::Flash(spec), _) => spec.write_firmware_us,
            (Timing::Hdd(spec), _) => spec.write_room() as f64,
            (other, _) => panic!("{name}: {other:?}"),
        };
        let found = &fit.models[0].profile;
        for key in keys {
            let (from, to) = (value(&profile, key), value(found, key));
            assert!((to / from - 1.0).abs() < 0.1, "{name}: {key} {from} {to}");
        }
    }
}

#[test]
fn a_flash_disk_that_hides_its_units_is_fitted_by_its_rates() {
    let text = Profile::named(std::path::Path::new("nvme")).unwrap().text;
    let hidden = text.replace("program_unit = \"32K\"", "program_unit = \"4K\"");
    assert_ne!(hidden, text);
    let profile = Profile::parse("hidden", &hidden).unwrap();
    let fit = refitted(&profile, 1);
    let best = &fit.models[0];
    assert_eq!(best.profile.timing.name(), "flash");
    assert!(best.error < 0.3, "{}", best.error);
    let estimated = &best.profile.estimated;
    assert!(estimated.iter().any(|key| key == "flash.channels"));
}

#[test]
fn wrong_parameters_of_a_flash_disk_are_adjusted() {
    let profile = Profile::named(std::path::Path::new("sata-ssd")).unwrap();
    let measured = measure(&mut Simulated::new(&profile), EFFORT, &mut |_| {}).unwrap();
    let right = FlashFit::of(&measured).unwrap();
    // Twice the firmware, half of the link, and fewer channels.
    let wrong = right.scaled(1, 2.0).scaled(3, 0.5).scaled(4, 0.6);
    let both = (&measured, None);
    let text = identity().flash(&wrong, &measured);
    let before = candidate("flash", &text, both, EFFORT).unwrap().error;
    let after = refine(&wrong, both, &identity(), EFFORT).unwrap().error;
    assert!(before > 0.2 && after < before / 3.0, "{before} {after}");
}
