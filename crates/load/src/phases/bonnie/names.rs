//! The names of the files: a number, and random letters and digits, in either order. This module
//! also assigns files to directories.

use fsdyno_model::random::index;
use rand_core::Rng;
use std::ffi::CStr;

/// The number of digits of the number.
const NUMBER: usize = 10;
/// The maximum number of random letters and digits.
const RANDOM: usize = 12;
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The part of a name that is first, and the order in which files are accessed and deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The number first; files in the order of the directory.
    Sequential,
    /// The random part first; files in a random order.
    Random,
}

impl Order {
    /// The name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

/// A name with its zero.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name([u8; NUMBER + RANDOM + 1]);

impl Name {
    /// The name of the file with that number: the number has a fixed width, so that names are
    /// unique.
    pub fn draw(number: usize, order: Order, random: &mut impl Rng) -> Self {
        let mut bytes = [0; NUMBER + RANDOM + 1];
        let letters = index(random.next_u64(), RANDOM + 1);
        let (number_at, random_at) = match order {
            Order::Sequential => (0, NUMBER),
            Order::Random => (letters, 0),
        };
        let mut left = number;
        for byte in bytes[number_at..number_at + NUMBER].iter_mut().rev() {
            *byte = b"0123456789abcdef"[left & 15];
            left >>= 4;
        }
        for byte in &mut bytes[random_at..random_at + letters] {
            *byte = LETTERS[index(random.next_u64(), LETTERS.len())];
        }
        Self(bytes)
    }

    /// Returns it as a C string.
    #[inline]
    pub fn as_c(&self) -> &CStr {
        // Always present: the last byte is never written.
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::collections::HashSet;

    /// The number of a name and its random part.
    fn parts(name: &str, order: Order) -> (&str, &str) {
        match order {
            Order::Sequential => name.split_at(NUMBER),
            Order::Random => {
                let (random, number) = name.split_at(name.len() - NUMBER);
                (number, random)
            }
        }
    }

    proptest! {
        #[test]
        fn a_name_is_its_number_in_hex_and_up_to_twelve_letters_and_digits(
            number in 0_usize..0xff_ffff_ffff,
            seed: u64,
            sequential: bool,
        ) {
            let order = if sequential { Order::Sequential } else { Order::Random };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let name = Name::draw(number, order, &mut random);
            let name = name.as_c().to_str().unwrap();
            prop_assert!((NUMBER..=NUMBER + RANDOM).contains(&name.len()));
            let (hex, letters) = parts(name, order);
            prop_assert_eq!(usize::from_str_radix(hex, 16), Ok(number));
            prop_assert!(letters.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }

        #[test]
        fn no_two_names_are_equal_and_all_lengths_occur(seed: u64, sequential: bool) {
            let order = if sequential { Order::Sequential } else { Order::Random };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let names: Vec<Vec<u8>> = (0..1000)
                .map(|n| Name::draw(n, order, &mut random).as_c().to_bytes().to_vec())
                .collect();
            let lengths: HashSet<usize> = names.iter().map(Vec::len).collect();
            prop_assert_eq!(lengths.len(), RANDOM + 1);
            if sequential {
                prop_assert!(names.is_sorted());
            }
            let different: HashSet<Vec<u8>> = names.into_iter().collect();
            prop_assert_eq!(different.len(), 1000);
        }
    }
}
