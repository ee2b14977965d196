//! The known errors of a profile, by groups of parameters, and profiles that are changed by them.
//!
//! A group holds the parameters that scale together: all times of seeks, or all rates of a transfer.
//! Its factor multiplies times, and divides rates.

use super::{Profile, Timing};
use crate::models::hdd::SeekSpec;
use crate::values::Impossible;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A group of parameters of a timing model. The speed of rotation is in none: data sheets state it,
/// and a fit measures it, to a part of a thousand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// The seek curve of a hard disk, with head switch, settle time, and the skews that cover them.
    Seeks,
    /// The command overhead of a hard disk.
    Commands,
    /// Reads of a flash disk: its units, and the firmware.
    Reads,
    /// Writes of a flash disk: program and erase times, and the firmware.
    Writes,
    /// The firmware overhead of a flush of a flash disk.
    Flushes,
    /// The latency of the requests of a volume.
    Requests,
    /// Rates of the media, the channels and the link.
    Transfers,
}

/// The relative error of figures with a source. They are typical of a series, whose disks differ.
const WITH_SOURCE: f64 = 0.1;

/// The relative errors of estimates, of hard disks and of other disks.
///
/// Mean seeks of three disks of one class are 7.2 to 9.5 ms, their command overheads 2.5 to 3.3 ms
/// (`DiskSim`): 15 % around the middle. Published models of flash read a page in 36 to 75 us and
/// program it in 185 to 750 us (`NVMeVirt`, FEMU, `MQSim`): more than 50 %.
const ESTIMATED: [f64; 2] = [0.2, 0.5];

impl Group {
    pub const ALL: [Self; 7] = [
        Self::Seeks,
        Self::Commands,
        Self::Reads,
        Self::Writes,
        Self::Flushes,
        Self::Requests,
        Self::Transfers,
    ];

    /// Its name, as in a profile and in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seeks => "seeks",
            Self::Commands => "commands",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Flushes => "flushes",
            Self::Requests => "requests",
            Self::Transfers => "transfers",
        }
    }

    /// The figure of the data sheet that determines the group, and else its main parameter; `None`
    /// if the model has no such parameters.
    fn keys(self, timing: &Timing) -> Option<[&'static str; 2]> {
        Some(match (timing, self) {
            (Timing::Hdd(_), Self::Seeks) => ["mean_seek_ms", "hdd.seek.three-point.mean_ms"],
            (Timing::Hdd(_), Self::Commands) => ["", "hdd.command_overhead_ms"],
            (Timing::Hdd(_), Self::Transfers) => ["outer_mb_s", "hdd.sectors_per_track"],
            (Timing::Flash(_), Self::Reads) => ["random_read_us", "flash.read_us"],
            (Timing::Flash(_), Self::Writes) => ["", "flash.program_us"],
            (Timing::Flash(_), Self::Flushes) => ["", "flash.flush_firmware_us"],
            (Timing::Flash(_), Self::Transfers) => ["sequential_read_mb_s", "flash.link_mb_s"],
            (Timing::Volume(_), Self::Requests) => ["latency_p50_us", "volume.latency_us"],
            _ => return None,
        })
    }
}

/// The groups with a factor each.
pub type Factors = BTreeMap<Group, f64>;

/// The groups with their smallest and largest factor.
pub type Intervals = BTreeMap<Group, [f64; 2]>;

impl Profile {
    /// The known errors of each group of parameters: the smallest and the largest factor of its
    /// times. They are those of the profile's table `errors`, else 10 % for figures with a source,
    /// and for estimates 20 % of a hard disk and 50 % of another disk.
    pub fn errors(&self) -> Vec<(Group, [f64; 2])> {
        let groups = Group::ALL.into_iter();
        let errors = groups.filter_map(|group| {
            let keys = group.keys(&self.timing)?;
            let stated = self.stated_errors.get(&group).copied();
            Some((group, stated.unwrap_or_else(|| self.usual_error(keys))))
        });
        errors.collect()
    }

    /// The groups whose parameters are no estimates.
    pub(crate) fn measured_groups(&self) -> impl Iterator<Item = Group> {
        let groups = Group::ALL.into_iter();
        groups.filter(|group| {
            let keys = group.keys(&self.timing);
            keys.is_some_and(|keys| self.has_source(keys))
        })
    }

    /// Whether the data sheet or another source states a group.
    fn has_source(&self, [sheet, parameter]: [&str; 2]) -> bool {
        let is_estimate = |key: &str| self.estimated.iter().any(|one| one == key);
        let on_sheet = self.sheet.given().iter().any(|(key, _)| *key == sheet);
        on_sheet && !is_estimate(&format!("sheet.{sheet}")) || !is_estimate(parameter)
    }

    fn usual_error(&self, keys: [&str; 2]) -> [f64; 2] {
        let [of_hdd, of_others] = ESTIMATED;
        let error = match self.timing {
            _ if self.has_source(keys) => WITH_SOURCE,
            Timing::Hdd(_) => of_hdd,
            _ => of_others,
        };
        [1.0 / (1.0 + error), 1.0 + error]
    }

    /// The text of this profile with the times of a group multiplied by a factor.
    pub fn scaled(&self, group: Group, factor: f64) -> String {
        format!(
            "{}\n[factors]\n{} = {factor:?}\n",
            self.text.trim_end(),
            group.name()
        )
    }
}

impl Timing {
    /// Multiplies the times of these groups by their factors.
    pub(super) fn scale(&mut self, factors: &Factors) -> Result<(), Impossible> {
        for (group, factor) in factors {
            let key = format!("factors.{}", group.name());
            Impossible::outside(key.as_str(), *factor, 0.01, 100.0)?;
            if group.keys(self).is_none() {
                return Err(without(&key, *factor, self));
            }
            self.scale_group(*group, *factor);
        }
        Ok(())
    }

    fn scale_group(&mut self, group: Group, factor: f64) {
        let scale = |times: &mut [&mut f64]| {
            for time in times {
                **time *= factor;
            }
        };
        match (self, group) {
            (Self::Hdd(spec), Group::Seeks) => {
                match &mut spec.seek {
                    SeekSpec::ThreePoint(seek) => {
                        scale(&mut [&mut seek.minimum_ms, &mut seek.mean_ms, &mut seek.full_ms]);
                    }
                    SeekSpec::TwoPiece(seek) => scale(&mut [
                        &mut seek.short_ms,
                        &mut seek.short_root_ms,
                        &mut seek.long_ms,
                        &mut seek.long_cylinder_ms,
                    ]),
                }
                scale(&mut [&mut spec.head_switch_ms, &mut spec.write_settle_ms]);
                for skew in [&mut spec.track_skew_ms, &mut spec.cylinder_skew_ms] {
                    *skew = skew.map(|skew| skew * factor);
                }
            }
            (Self::Hdd(spec), Group::Commands) => spec.command_overhead_ms *= factor,
            (Self::Hdd(spec), _) => {
                spec.bus_mb_s /= factor;
                spec.sectors_per_track = spec.sectors_per_track.map(|n| divided(n, factor));
            }
            (Self::Flash(spec), Group::Reads) => {
                scale(&mut [&mut spec.read_us, &mut spec.read_firmware_us]);
            }
            (Self::Flash(spec), Group::Writes) => scale(&mut [
                &mut spec.program_us,
                &mut spec.fast_program_us,
                &mut spec.erase_us,
                &mut spec.write_firmware_us,
            ]),
            (Self::Flash(spec), Group::Flushes) => spec.flush_firmware_us *= factor,
            (Self::Flash(spec), _) => {
                spec.channel_mb_s /= factor;
                spec.link_mb_s = spec.link_mb_s.map(|rate| rate / factor);
            }
            (Self::Volume(spec), _) => spec.latency_us *= factor,
            (Self::Null, _) => {}
        }
    }

    /// Refuses intervals of groups that the model does not have, and impossible ones.
    pub(super) fn check_errors(&self, errors: &Intervals) -> Result<(), Impossible> {
        for (group, [low, high]) in errors {
            let key = format!("errors.{}", group.name());
            Impossible::outside(key.as_str(), *low, 0.01, 1.0)?;
            Impossible::outside(key.as_str(), *high, 1.0, 100.0)?;
            if group.keys(self).is_none() {
                return Err(without(&key, *low, self));
            }
        }
        Ok(())
    }
}

fn without(key: &str, value: f64, timing: &Timing) -> Impossible {
    let known = Group::ALL.iter().filter(|one| one.keys(timing).is_some());
    let known: Vec<&str> = known.map(|one| one.name()).collect();
    let why = format!("the model {} has {}", timing.name(), known.join(", "));
    Impossible::new(key, value, why)
}

/// A number of sectors at a lower or higher rate.
fn divided(sectors: u64, factor: f64) -> u64 {
    crate::arithmetic::to_ns(sectors as f64 / factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::ALL;

    #[test]
    fn every_group_changes_its_model_and_nothing_else() {
        for built_in in &ALL {
            let profile = Profile::try_from(built_in).unwrap();
            for (group, [low, high]) in profile.errors() {
                assert!(low < 1.0 && high > 1.0, "{}", profile.name);
                for factor in [low, high] {
                    let text = profile.scaled(group, factor);
                    let scaled = Profile::parse(&profile.name, &text).unwrap();
                    assert_ne!(scaled.timing, profile.timing, "{} {group:?}", profile.name);
                    assert_eq!(scaled.capacity, profile.capacity);
                }
                let same = Profile::parse("same", &profile.scaled(group, 1.0)).unwrap();
                assert_eq!(same.timing, profile.timing);
            }
        }
    }

    #[test]
    fn errors_are_those_of_the_profile_or_follow_from_its_sources() {
        let of = |name: &str, group| {
            let profile = Profile::named(name.as_ref()).unwrap();
            let errors = profile.errors().into_iter();
            let [_, high] = errors.clone().find(|(one, _)| *one == group).unwrap().1;
            high
        };
        // From the data sheet, from an estimate, and from the profile.
        assert!((of("sata-2008", Group::Transfers) - 1.1).abs() < 1e-9);
        assert!((of("sata-2008", Group::Seeks) - 1.2).abs() < 1e-9);
        assert!((of("sata-ssd", Group::Writes) - 1.5).abs() < 1e-9);
        assert!((of("sata-ssd", Group::Flushes) - 2.5).abs() < 1e-9);
        assert!(Profile::named("null".as_ref()).unwrap().errors().is_empty());
    }

    #[test]
    fn groups_of_another_model_are_refused() {
        let nvme = Profile::named("nvme".as_ref()).unwrap();
        for table in ["[factors]\nseeks = 2.0", "[errors]\nseeks = [0.5, 2.0]"] {
            let error = Profile::parse("mine", &format!("{}\n{table}\n", nvme.text)).unwrap_err();
            assert!(error.to_string().contains("reads, writes"), "{error}");
        }
    }
}
