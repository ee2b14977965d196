//! The state of a file system before its workload: fresh, filled, aged; and the snapshots that hold
//! the files of its first phase.
//!
//! *Utilisation* is the `Use%` of df(1): with `used = f_blocks - f_bfree` and `free = f_bavail` of
//! statfs(2), it is `used / (used + free)`. Neither includes the reserve for the superuser, so at
//! 100 % an ordinary user can write nothing more.

use crate::units::percent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The state of a file system before its workload.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties, each a field of the stored form"
)]
pub struct InitialState {
    /// Its utilisation, in tenths of a percent.
    pub fill_permille: Option<u32>,
    /// Whether the free space is in small extents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fragmented: bool,
    /// How often its stored bytes were rewritten by creating, changing and deleting files; 0:
    /// never.
    pub age: u32,
    /// The number of snapshots that are taken, untimed, between the first phase and the second: they
    /// hold the files that the first phase left.
    #[serde(default, skip_serializing_if = "no_snapshots")]
    pub snapshots: u32,
    /// Whether the last of its devices is lost between the first phase and the second, and replaced
    /// after the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// Whether a scrub begins with each phase after the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub scrubbed: bool,
    /// Whether the last of its devices is lost between the first phase and the second, and replaced during
    /// the second.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rebuilding: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn no_snapshots(snapshots: &u32) -> bool {
    *snapshots == 0
}

impl InitialState {
    /// The default utilisation at which a file system ages: 50 %.
    pub const AGED_PERMILLE: u32 = 500;
    /// The maximum utilisation, in tenths of a percent.
    pub const MAX_PERMILLE: u32 = 990;
    /// The maximum age.
    pub const MAX_AGE: u32 = 1000;
    /// The maximum number of snapshots.
    pub const MAX_SNAPSHOTS: u32 = 1000;

    /// Whether it is fresh from mkfs.
    pub fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    /// The suffix of a contender's label: ` fill=95%:fragmented age=5 snapshots=10 degraded`, or
    /// empty.
    pub fn suffix(&self) -> String {
        let fill = self.fill().map(|fill| format!(" fill={fill}"));
        let age = (self.age > 0).then(|| format!(" age={}", self.age));
        let snapshots = (self.snapshots > 0).then(|| format!(" snapshots={}", self.snapshots));
        let degraded = self.degraded.then(|| " degraded".to_owned());
        let scrubbed = self.scrubbed.then(|| " scrubbed".to_owned());
        let rebuilding = self.rebuilding.then(|| " rebuilding".to_owned());
        let all = [fill, age, snapshots, degraded, scrubbed, rebuilding];
        all.into_iter().flatten().collect()
    }

    /// The fill; none if the file system is fresh or only aged.
    pub fn fill(&self) -> Option<Fill> {
        self.fill_permille.map(|permille| Fill {
            permille,
            fragmented: self.fragmented,
        })
    }

    /// The state with that fill and age. The error is the reason and the remedy.
    ///
    /// A fill of 0 % leaves the file system fresh.
    pub fn of(fill: Option<Fill>, age: u32) -> Result<Self, (String, &'static str)> {
        let fill = match fill {
            None if age > 0 => Some(Fill::plain(Self::AGED_PERMILLE)),
            fill => fill,
        };
        if age > Self::MAX_AGE {
            let remedy = "an age of 5 to 20 shows what there is to show";
            return Err((
                format!("age {age} is above the greatest, {}", Self::MAX_AGE),
                remedy,
            ));
        }
        match fill.filter(|fill| fill.permille > 0) {
            None if age > 0 => Err((
                format!("age {age} cannot be had at a fill of 0%: a file system ages by its files"),
                "name the fills at which it ages, for example --fill 50%,95%, or leave the fill \
                 out: it is half then",
            )),
            Some(Fill {
                fragmented: true, ..
            }) if age > 0 => Err((
                "free space cannot be both aged and fragmented on purpose".to_owned(),
                "leave out `:fragmented`: ageing fragments by itself",
            )),
            None => Ok(Self::default()),
            Some(fill) => Ok(Self {
                fill_permille: Some(fill.permille),
                fragmented: fill.fragmented,
                age,
                ..Self::default()
            }),
        }
    }
}

/// The fill of a file system: `90%`, `97.5%`, `90%:fragmented`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Its utilisation, in tenths of a percent.
    pub permille: u32,
    /// Whether the free space is in small extents.
    pub fragmented: bool,
}

impl Fill {
    /// Filled in sequence, so that the free space is contiguous.
    pub fn plain(permille: u32) -> Self {
        Self {
            permille,
            fragmented: false,
        }
    }
}

/// A text that is not a fill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no fill; write 0% to 99%, as in 90%, 97.5% or 90%:fragmented")]
pub struct FillError {
    /// The text as typed.
    pub text: String,
}

impl FromStr for Fill {
    type Err = FillError;

    fn from_str(text: &str) -> Result<Self, FillError> {
        let (part, fragmented) = match text.trim().strip_suffix(":fragmented") {
            Some(part) => (part, true),
            None => (text.trim(), false),
        };
        let permille = permille(part).filter(|p| *p <= InitialState::MAX_PERMILLE);
        // An empty file system cannot be fragmented.
        match permille.filter(|p| *p > 0 || !fragmented) {
            Some(permille) => Ok(Self {
                permille,
                fragmented,
            }),
            None => Err(FillError {
                text: text.to_owned(),
            }),
        }
    }
}

/// Parses a percentage with at most one decimal.
fn permille(text: &str) -> Option<u32> {
    let exact = percent(text).ok()? * 1000.0;
    let whole = exact.round();
    let fits = (exact - whole).abs() < 1e-6 && (0.0..=1000.0).contains(&whole);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked above"
    )]
    fits.then_some(whole as u32)
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.permille / 10)?;
        if !self.permille.is_multiple_of(10) {
            write!(f, ".{}", self.permille % 10)?;
        }
        f.write_str(if self.fragmented { "%:fragmented" } else { "%" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fills_are_parsed() {
        for (text, permille, fragmented) in [
            ("0%", 0, false),
            ("90%", 900, false),
            ("97.5%", 975, false),
            ("5%:fragmented", 50, true),
            (" 99% ", 990, false),
            ("90", 900, false),
            ("2 %", 20, false),
            ("90 %:fragmented", 900, true),
        ] {
            let fill = Fill {
                permille,
                fragmented,
            };
            assert_eq!(text.parse(), Ok(fill), "{text}");
        }
        for text in [
            "",
            "%",
            "0.02",
            "100%",
            "99.1%",
            "1.25%",
            "-1%",
            "+5%",
            "0%:fragmented",
            "90%:frag",
            "90%:",
            "1e1%",
            "4294967390%",
            "\u{0665}%",
        ] {
            let error = text.parse::<Fill>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }

    #[test]
    fn an_impossible_state_is_refused_with_a_remedy() {
        let fragmented = "90%:fragmented".parse().ok();
        for (fill, age, expected) in [
            (Some(Fill::plain(0)), 3, "fill of 0%"),
            (fragmented, 1, "both aged and fragmented"),
            (None, 1001, "above the greatest"),
        ] {
            let (message, _) = InitialState::of(fill, age).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
        assert!(
            InitialState::of(Some(Fill::plain(0)), 0)
                .unwrap()
                .is_fresh()
        );
        assert!(InitialState::of(None, 0).unwrap().is_fresh());
        let aged = InitialState::of(None, 3).unwrap();
        assert_eq!(aged.suffix(), " fill=50% age=3");
    }

    #[test]
    fn stored_states_round_trip() {
        let text = r#"{"fill_permille":950,"age":3}"#;
        let state: InitialState = serde_json::from_str(text).unwrap();
        assert_eq!(state.suffix(), " fill=95% age=3");
        assert_eq!(serde_json::to_string(&state).unwrap(), text);
        let held = InitialState {
            snapshots: 10,
            ..InitialState::default()
        };
        assert_eq!(held.suffix(), " snapshots=10");
        let lost = InitialState {
            degraded: true,
            ..InitialState::default()
        };
        assert_eq!(lost.suffix(), " degraded");
        assert!(!held.is_fresh());
        let text = serde_json::to_string(&held).unwrap();
        assert_eq!(serde_json::from_str::<InitialState>(&text).unwrap(), held);
    }

    proptest! {
        #[test]
        fn every_fill_reads_back(permille in 1_u32..=990, fragmented: bool) {
            let fill = Fill { permille, fragmented };
            prop_assert_eq!(fill.to_string().parse(), Ok(fill));
        }
    }
}
