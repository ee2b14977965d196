//! The name of a crash state: text that describes the state whole, given its trace.
//!
//! ```text
//! 12/c2/00b1
//! 12/c2/80/g3/o17-15
//! 12/c3/f0/t2.0-3,6/w2048-15
//! 12/c4/80/u2048
//! 12/c5/00b1/f2
//! 12/c2/00b1+3/c0/07
//! ```
//!
//! - The window, from 0; the class.
//! - The requests that are on the medium, of those that may be or not, in the order of submission:
//!   four in each hexadecimal digit, the first in its highest bit. `f_12_` is 12 times the digit `f`.
//! - `t2.0-3,6`: of request 2 of these (from 0) only the sectors 0 to 3 and 6 are on the medium.
//! - `g3`: the discard 3 of these left garbage; without it, zeros. `g3.0-7`: in these sectors.
//! - `o17-15`: request 17 of the trace reached the medium after request 15, which was in flight at
//!   the same time. Without it, the one that was submitted later did.
//! - `w2048-15`: the same for one sector: sector 2048 holds the content of request 15.
//! - `u2048`: sector 2048 cannot be read.
//! - `f2`: the last two flushes before the window did nothing.
//! - `+`: then the power is cut again during the recovery from this state.

use fsdyno_model::exploration::StateClass;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// A crash state: of the recording, then of each recovery that a further power cut interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId {
    /// The state of the recording.
    pub first: Selection,
    /// The states of the recoveries, in order of time.
    pub nested: Vec<Selection>,
}

/// A crash state: the content of the medium after a power cut at the end of a window.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selection {
    /// The number of the window.
    pub window: u32,
    /// The class whose rules permit it.
    pub class: StateClass,
    /// The optional requests that are on the medium, at least in part.
    pub landed: Bits,
    /// The landed sectors of torn requests, by their place among the optional ones.
    pub torn: BTreeMap<u32, SectorSet>,
    /// Landed discards that read as garbage: all sectors or some.
    pub garbage: BTreeMap<u32, Option<SectorSet>>,
    /// Pairs of orders: the first reached the medium last, although it was submitted first.
    pub reordered: BTreeSet<(u64, u64)>,
    /// Sectors that hold another request's content than that of the landed one submitted last, by
    /// the order of that request.
    pub held: BTreeMap<u64, u64>,
    /// The sector that cannot be read.
    pub unreadable: Option<u64>,
    /// How many of the last flushes did nothing.
    pub ignored: u32,
}

/// A set of requests, by their place; its length is a multiple of four.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits(Vec<bool>);

/// A set of sectors of a request, counted from its first: ranges that do not touch, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SectorSet(Vec<(u64, u64)>);

/// A text that is not the name of a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a crash state: {reason}. An example is 12/c2/00b1")]
pub struct StateIdError {
    text: String,
    reason: String,
}

impl StateId {
    /// A state of the recording.
    pub fn new(first: Selection) -> Self {
        Self {
            first,
            nested: Vec::new(),
        }
    }

    /// The state after the power was cut again during the recovery from this one.
    #[must_use]
    pub fn then(&self, selection: Selection) -> Self {
        let mut id = self.clone();
        id.nested.push(selection);
        id
    }
}

impl From<Selection> for StateId {
    fn from(first: Selection) -> Self {
        Self::new(first)
    }
}

impl Selection {
    /// The selection without any of `optional` requests.
    pub fn none(window: u32, class: StateClass, optional: usize) -> Self {
        Self {
            window,
            class,
            landed: Bits::new(optional),
            torn: BTreeMap::new(),
            garbage: BTreeMap::new(),
            reordered: BTreeSet::new(),
            held: BTreeMap::new(),
            unreadable: None,
            ignored: 0,
        }
    }
}

impl Bits {
    /// The empty set, with room for `count` requests.
    pub fn new(count: usize) -> Self {
        Self(vec![false; count.max(1).next_multiple_of(4)])
    }

    /// The set of these requests.
    pub fn of(count: usize, places: impl IntoIterator<Item = usize>) -> Self {
        let mut bits = Self::new(count);
        for place in places {
            bits.set(place, true);
        }
        bits
    }

    /// Whether a request is in the set.
    pub fn get(&self, place: usize) -> bool {
        self.0.get(place).copied().unwrap_or(false)
    }

    /// Adds or removes a request. A place beyond the room is ignored.
    pub fn set(&mut self, place: usize, there: bool) {
        if let Some(bit) = self.0.get_mut(place) {
            *bit = there;
        }
    }

    /// The room: number of requests, rounded up to a multiple of four.
    pub fn room(&self) -> usize {
        self.0.len()
    }

    /// The requests of the set.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let there = self.0.iter().enumerate().filter(|(_, there)| **there);
        there.map(|(place, _)| place)
    }

    /// How many requests are in the set.
    pub fn count(&self) -> usize {
        self.places().count()
    }
}

/// The shortest run of equal digits that is abbreviated.
const LONG_RUN: usize = 8;
/// The maximum number of requests that a text names.
const MAX_BITS: usize = 1 << 23;

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digit = |bits: &[bool]| bits.iter().fold(0_u32, |n, bit| n << 1 | u32::from(*bit));
        let digits: Vec<u32> = self.0.chunks(4).map(digit).collect();
        for run in digits.chunk_by(|a, b| a == b) {
            let (digit, count) = (run[0], run.len());
            if count >= LONG_RUN {
                write!(f, "{digit:x}_{count}_")?;
            } else {
                for _ in run {
                    write!(f, "{digit:x}")?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for Bits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a set of requests in hexadecimal digits");
        let mut bits = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let digit = first.to_digit(16).filter(|_| !first.is_ascii_uppercase());
            let digit = digit.ok_or_else(wrong)?;
            rest = &rest[1..];
            let mut count = 1;
            if let Some(run) = rest.strip_prefix('_') {
                let (number, after) = run.split_once('_').ok_or_else(wrong)?;
                count = number.parse().map_err(|_| wrong())?;
                rest = after;
            }
            if count > MAX_BITS || bits.len() + 4 * count > MAX_BITS {
                return Err(wrong());
            }
            for _ in 0..count {
                bits.extend((0..4).rev().map(|at| digit >> at & 1 == 1));
            }
        }
        if bits.is_empty() {
            return Err(wrong());
        }
        Ok(Self(bits))
    }
}

impl SectorSet {
    /// The set of these sectors, which increase.
    pub fn of(sectors: impl IntoIterator<Item = u64>) -> Self {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for sector in sectors {
            match ranges.last_mut() {
                Some(last) if last.1 + 1 == sector => last.1 = sector,
                _ => ranges.push((sector, sector)),
            }
        }
        Self(ranges)
    }

    /// Whether a sector is in the set.
    pub fn contains(&self, sector: u64) -> bool {
        let at = self.0.partition_point(|range| range.1 < sector);
        self.0.get(at).is_some_and(|range| range.0 <= sector)
    }

    /// The sectors of the set.
    pub fn sectors(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|range| range.0..=range.1)
    }

    /// How many sectors are in the set.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.1 - range.0 + 1).sum()
    }

    /// The last sector.
    pub fn last(&self) -> Option<u64> {
        self.0.last().map(|range| range.1)
    }
}

impl fmt::Display for SectorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for SectorSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a set of sectors like 0-3,6");
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = (
                number(first).ok_or_else(wrong)?,
                number(last).ok_or_else(wrong)?,
            );
            // Ranges that touch would give one set two texts.
            let after = ranges.last().is_none_or(|before| range.0 > before.1 + 1);
            if range.1 < range.0 || range.1 > u64::from(u32::MAX) || !after {
                return Err(wrong());
            }
            ranges.push(range);
        }
        Ok(Self(ranges))
    }
}

/// A decimal number without a sign or leading zeros.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = text.parse().ok()?;
    (plain && (text == "0" || !text.starts_with('0'))).then_some(parsed)
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.class.name().to_ascii_lowercase();
        write!(f, "{}/{class}/{}", self.window, self.landed)?;
        for (place, sectors) in &self.torn {
            write!(f, "/t{place}.{sectors}")?;
        }
        for (place, sectors) in &self.garbage {
            write!(f, "/g{place}")?;
            if let Some(sectors) = sectors {
                write!(f, ".{sectors}")?;
            }
        }
        for (last, first) in &self.reordered {
            write!(f, "/o{last}-{first}")?;
        }
        for (sector, order) in &self.held {
            write!(f, "/w{sector}-{order}")?;
        }
        if let Some(sector) = self.unreadable {
            write!(f, "/u{sector}")?;
        }
        if self.ignored > 0 {
            write!(f, "/f{}", self.ignored)?;
        }
        Ok(())
    }
}

impl fmt::Display for StateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        for selection in &self.nested {
            write!(f, "+{selection}")?;
        }
        Ok(())
    }
}

impl FromStr for Selection {
    type Err = StateIdError;

    fn from_str(text: &str) -> Result<Self, StateIdError> {
        parse(text).map_err(|reason| StateIdError {
            text: text.to_owned(),
            reason,
        })
    }
}

impl FromStr for StateId {
    type Err = StateIdError;

    fn from_str(text: &str) -> Result<Self, StateIdError> {
        let mut parts = text.split('+');
        let first = parts.next().unwrap_or_default().parse()?;
        let nested: Result<_, _> = parts.map(str::parse).collect();
        Ok(Self {
            first,
            nested: nested?,
        })
    }
}

fn parse(text: &str) -> Result<Selection, String> {
    let mut parts = text.split('/');
    let mut next = |what: &str| parts.next().ok_or_else(|| format!("{what} is missing"));
    let window = next("the number of the window")?;
    let window = number(window).ok_or_else(|| format!("`{window}` is no number of a window"))?;
    let class = next("the class")?;
    let known = |one: &StateClass| one.name().to_ascii_lowercase() == class;
    let class = StateClass::ALL.into_iter().find(known);
    let class = class.ok_or("the class is one of c0 to c5")?;
    let mut selection = Selection::none(window, class, 0);
    selection.landed = next("the set of requests")?.parse()?;
    for part in parts {
        add(&mut selection, part)?;
    }
    // One state has one name: what is repeated or in another order is refused.
    if selection.to_string() == text {
        Ok(selection)
    } else {
        Err(format!("its usual form is `{selection}`"))
    }
}

/// Adds a part after the set of requests.
fn add(selection: &mut Selection, part: &str) -> Result<(), String> {
    let wrong = || format!("`{part}` is unknown");
    let mut letters = part.chars();
    let letter = letters.next().ok_or_else(wrong)?;
    let rest = letters.as_str();
    let pair = || {
        let (one, other) = rest.split_once('-').ok_or_else(wrong)?;
        let pair = number(one).zip(number(other));
        pair.ok_or_else(wrong)
    };
    match letter {
        't' => {
            let (place, sectors) = rest.split_once('.').ok_or_else(wrong)?;
            let place = number(place).ok_or_else(wrong)?;
            selection.torn.insert(place, sectors.parse()?);
        }
        'g' => {
            let (place, sectors) = match rest.split_once('.') {
                Some((place, sectors)) => (place, Some(sectors.parse()?)),
                None => (rest, None),
            };
            let place = number(place).ok_or_else(wrong)?;
            selection.garbage.insert(place, sectors);
        }
        'o' => {
            selection.reordered.insert(pair()?);
        }
        'w' => {
            let (sector, order) = pair()?;
            selection.held.insert(sector, order);
        }
        'u' => selection.unreadable = Some(number(rest).ok_or_else(wrong)?),
        'f' => selection.ignored = number(rest).filter(|count| *count > 0).ok_or_else(wrong)?,
        _ => return Err(wrong()),
    }
    Ok(())
}
