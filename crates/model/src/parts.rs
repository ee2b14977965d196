//! Figures whose fields are numbers of the same kind: their names, their values as an array, and
//! sums.

/// Implements this for a type. The fields are `u64`, `Bytes` or `Nanos`.
macro_rules! parts {
    ($name:ident: $count:literal { $($field:ident),* }) => {
        impl $name {
            /// The names of the fields, in the order of [`Self::parts`].
            pub const NAMES: [&'static str; $count] = [$(stringify!($field)),*];

            /// The values, in the order of [`Self::NAMES`].
            pub fn parts(&self) -> [u64; $count] {
                [$(self.$field.into()),*]
            }

            /// From values in the order of [`Self::NAMES`].
            pub fn from_parts(parts: [u64; $count]) -> Self {
                let [$($field),*] = parts;
                Self { $($field: $field.into()),* }
            }

            /// Each value combined with that of another.
            #[must_use]
            pub fn combined(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
                let (mine, others) = (self.parts(), other.parts());
                Self::from_parts(std::array::from_fn(|at| with(mine[at], others[at])))
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                self.combined(&other, |one, other| one + other)
            }
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
    };
}

pub(crate) use parts;
