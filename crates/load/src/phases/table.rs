//! The table of the phases of a family: one row for each.

/// Defines `Phase`, the phases of a family, and `KINDS`, their kinds in the same order. A row has the
/// name of a phase, its title, and its system calls as text.
///
/// The family defines `Phase::writes` and `Phase::parameters`.
macro_rules! phases {
    ($($phase:ident: $name:literal, $title:literal, $method:literal;)+) => {
        /// The phases, in an order in which each finds its input.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Phase {
            $($phase),+
        }

        impl Phase {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$phase),+];

            /// The name of the kind of phase.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$phase => $name),+
                }
            }

            /// Its system calls, as text.
            pub const fn method(self) -> &'static str {
                match self {
                    $(Self::$phase => $method),+
                }
            }

            /// The phase with that name.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|phase| phase.name() == name)
            }
        }

        /// The kinds of these phases.
        pub(crate) static KINDS: [$crate::phase_kind::PhaseKind; Phase::ALL.len()] = [
            $($crate::phase_kind::PhaseKind {
                writes: Phase::$phase.writes(),
                ..$crate::phase_kind::PhaseKind::standalone(
                    $name,
                    $title,
                    Phase::$phase.parameters(),
                )
            }),+
        ];
    };
}

pub(super) use phases;
