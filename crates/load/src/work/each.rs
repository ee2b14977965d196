//! Loops over files and their relations, and the part of a loop that a step is done for.

/// A loop: what it goes through, and the variable that has its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Each {
    pub set: usize,
    /// The relation whose values it goes through; none for the files of the set.
    pub relation: Option<usize>,
    pub variable: usize,
    pub slice: Slice,
}

/// The part of a loop that a step is done for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Only {
    pub variable: usize,
    pub slice: Slice,
    /// Whether it is done for all others.
    pub others: bool,
}

/// A part of a list, in the notation of Python: `[FROM:TO:STEP]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slice {
    from: Option<Bound>,
    to: Option<Bound>,
    pub step: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// A place; if negative, from the end.
    Place(i64),
    /// The value of a variable.
    Variable(usize),
}

impl Slice {
    /// Splits `NAME[FROM:TO:STEP]`; without brackets, the slice is the whole list.
    pub fn read(
        text: &str,
        variable: impl Fn(&str) -> Option<usize>,
    ) -> Result<(&str, Self), String> {
        let text = text.trim();
        let (name, inside) = match text.split_once('[') {
            None => (text, ":"),
            Some((name, rest)) => (
                name,
                rest.strip_suffix(']')
                    .ok_or_else(|| format!("`{text}`: a `]` is missing"))?,
            ),
        };
        let wrong = || format!("`{text}` is no slice: write NAME[FROM:TO:STEP], as NAME[::2]");
        let parts: Vec<&str> = inside.split(':').map(str::trim).collect();
        let bound = |at: usize| match parts.get(at) {
            None | Some(&"") => Ok(None),
            Some(part) => part
                .parse()
                .map(Bound::Place)
                .ok()
                .or_else(|| variable(part).map(Bound::Variable))
                .map(Some)
                .ok_or_else(wrong),
        };
        let step = match bound(2)? {
            None => 1,
            Some(Bound::Place(step)) if step != 0 => step,
            Some(_) => return Err(wrong()),
        };
        if !(2..=3).contains(&parts.len()) {
            return Err(wrong());
        }
        let slice = Self {
            from: bound(0)?,
            to: bound(1)?,
            step,
        };
        Ok((name.trim(), slice))
    }

    /// The first place, and the place before which it ends, of a list of this length.
    fn ends(&self, length: usize, values: &[u32]) -> (i64, i64) {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let (least, most) = if self.step > 0 {
            (0, length)
        } else {
            (-1, length - 1)
        };
        let place = |bound: Option<Bound>, usual| match bound {
            None => usual,
            Some(Bound::Variable(variable)) => i64::from(values[variable]).clamp(least, most),
            Some(Bound::Place(place)) if place < 0 => (place + length).clamp(least, most),
            Some(Bound::Place(place)) => place.clamp(least, most),
        };
        if self.step > 0 {
            (place(self.from, least), place(self.to, most))
        } else {
            (place(self.from, most), place(self.to, least))
        }
    }

    /// Whether a place of a list of this length is in it.
    pub fn contains(&self, place: usize, length: usize, values: &[u32]) -> bool {
        let (from, to) = self.ends(length, values);
        let place = i64::try_from(place).unwrap_or(i64::MAX);
        let within = if self.step > 0 {
            (from..to).contains(&place)
        } else {
            (to + 1..=from).contains(&place)
        };
        within && (place - from) % self.step == 0
    }

    /// The places of a list of this length that are in it, in order.
    pub fn places(&self, length: usize, values: &[u32]) -> impl Iterator<Item = usize> + use<> {
        let (from, to) = self.ends(length, values);
        let step = self.step;
        let mut at = from;
        std::iter::from_fn(move || {
            let place = at;
            at = at.saturating_add(step);
            let within = if step > 0 { place < to } else { place > to };
            within.then(|| usize::try_from(place).unwrap_or(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_python() {
        let read = |text| {
            let name = |name: &str| (name == "v").then_some(0);
            Slice::read(text, name).map(|(name, slice)| (name.to_owned(), slice))
        };
        for (text, expected) in [
            ("a", &[0, 1, 2, 3, 4][..]),
            ("a[::2]", &[0, 2, 4]),
            ("a[1:]", &[1, 2, 3, 4]),
            ("a[:-1]", &[0, 1, 2, 3]),
            ("a[-1:]", &[4]),
            ("a[::-1]", &[4, 3, 2, 1, 0]),
            ("a[:v:-1]", &[4, 3]),
            ("a[3::8]", &[3]),
            ("a[9:]", &[]),
        ] {
            let (name, slice) = read(text).unwrap();
            assert_eq!(name, "a");
            let places: Vec<usize> = slice.places(5, &[2]).collect();
            assert_eq!(places, expected, "{text}");
            for place in 0..5 {
                let is_in = slice.contains(place, 5, &[2]);
                assert_eq!(is_in, expected.contains(&place), "{text} {place}");
            }
        }
        for text in ["a[", "a[2]", "a[::0]", "a[:w]", "a[1:2:3:4]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
