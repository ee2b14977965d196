//! The clocks of the ranks, compared with that of rank 0.
//!
//! Rank 0 sends a message and gets back the reading of the other clock. The offset is exact if the
//! message and the answer take the same time. It is wrong by at most half the time of the round, so
//! the shortest round counts (Cristian, "Probabilistic clock synchronization", 1989).

use crate::group::{Group, Halt, Wait, broadcast};
use rustix::thread::{ClockId, Timespec};
use serde::{Deserialize, Serialize};

/// Rounds with each rank.
const ROUNDS: usize = 40;

/// `CLOCK_MONOTONIC` in nanoseconds, which the phases are timed by.
pub fn now() -> u64 {
    let Timespec { tv_sec, tv_nsec } = rustix::time::clock_gettime(ClockId::Monotonic);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec.cast_unsigned()
}

/// The offset of a clock from that of rank 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offset {
    /// This clock minus that of rank 0, nanoseconds.
    pub ns: i64,
    /// The largest possible error of it.
    pub error_ns: u64,
}

/// One round: rank 0 sends, the other rank reads its clock, rank 0 receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The clock of rank 0 before it sends.
    pub sent: u64,
    /// The other clock.
    pub there: u64,
    /// The clock of rank 0 after it has received.
    pub received: u64,
}

impl Offset {
    /// The offset by the shortest of these rounds; none without rounds.
    pub fn of(rounds: &[Round]) -> Option<Self> {
        let shortest = rounds
            .iter()
            .min_by_key(|round| round.received.saturating_sub(round.sent))?;
        let round_trip = shortest.received.saturating_sub(shortest.sent);
        let middle = shortest.sent + round_trip / 2;
        Some(Self {
            ns: difference(shortest.there, middle),
            // The division rounds down.
            error_ns: round_trip.div_ceil(2),
        })
    }
}

fn difference(one: u64, other: u64) -> i64 {
    // Clocks that began with their machines differ by years at most.
    one.wrapping_sub(other).cast_signed()
}

/// The offsets of all ranks at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offsets {
    /// By rank; that of rank 0 is zero.
    pub all: Vec<Offset>,
    /// When they were measured, by the clock of rank 0.
    pub at: u64,
}

impl Offsets {
    /// Measures the clocks of all ranks; every rank gets all offsets.
    pub fn measure(group: &impl Group, wait: &Wait<'_>) -> Result<Self, Halt> {
        Self::measure_with(group, now, wait)
    }

    fn measure_with(
        group: &impl Group,
        clock: impl Fn() -> u64,
        wait: &Wait<'_>,
    ) -> Result<Self, Halt> {
        if group.rank() > 0 {
            for _ in 0..ROUNDS {
                group.receive(0, wait)?;
                group.send(0, &clock().to_le_bytes(), wait)?;
            }
            return broadcast(group, None, wait);
        }
        let mut all = vec![Offset::default()];
        for rank in 1..group.size() {
            let mut rounds = [Round {
                sent: 0,
                there: 0,
                received: 0,
            }; ROUNDS];
            for round in &mut rounds {
                round.sent = clock();
                group.send(rank, &[], wait)?;
                let there = group.receive(rank, wait)?;
                round.received = clock();
                let there = there.try_into().map_err(|_| {
                    Halt::Broken(format!("rank {rank} sent no reading of its clock"))
                })?;
                round.there = u64::from_le_bytes(there);
            }
            all.extend(Offset::of(&rounds));
        }
        let at = clock();
        broadcast(group, Some(Self { all, at }), wait)
    }

    /// A moment of rank 0 by the clock of another rank.
    pub fn local(&self, rank: usize, moment: u64) -> u64 {
        moment.wrapping_add_signed(self.all[rank].ns)
    }
}

/// The offsets before and after a phase. In between they are interpolated: clocks drift.
#[derive(Debug, Clone, Copy)]
pub struct Clocks<'a> {
    /// Before the phase.
    pub before: &'a Offsets,
    /// After it.
    pub after: &'a Offsets,
}

impl Clocks<'_> {
    /// A moment of a rank by the clock of rank 0.
    pub fn at_rank_0(&self, rank: usize, moment: u64) -> u64 {
        let (before, after) = (self.before.all[rank].ns, self.after.all[rank].ns);
        let first = moment.wrapping_add_signed(-before);
        let span = self.after.at.saturating_sub(self.before.at);
        if span == 0 {
            return first;
        }
        let since = first.saturating_sub(self.before.at).min(span);
        let drift = i128::from(after - before) * i128::from(since) / i128::from(span);
        // Not larger than the drift, which is an i64.
        first.wrapping_add_signed(-i64::try_from(drift).unwrap_or_default())
    }

    /// The largest possible error of such a moment.
    pub fn error_ns(&self, rank: usize) -> u64 {
        let (before, after) = (&self.before.all[rank], &self.after.all[rank]);
        before.error_ns.max(after.error_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{Alarm, threads};
    use fsdyno_datasets::seed::Seed;
    use std::time::Duration;

    #[test]
    fn injected_offsets_are_found_within_their_error() {
        let seed = Seed::new(3);
        for case in 0..200 {
            let seed = seed.at(case);
            let draw = |name: &str, limit| seed.part(name).below(limit);
            // From -5 ms to 5 ms; each way takes 1 us to 2 ms, with another time in each round.
            let true_offset = draw("offset", 10_000_001).cast_signed() - 5_000_000;
            let mut at = 1_000_000_000;
            let rounds: Vec<Round> = (0..ROUNDS as u64)
                .map(|round| {
                    let way = |name: &str| 1000 + seed.part(name).at(round).below(2_000_000);
                    let sent = at;
                    let there = (sent + way("there")).wrapping_add_signed(true_offset);
                    let received = sent + way("there") + way("back");
                    at = received + 10_000;
                    Round {
                        sent,
                        there,
                        received,
                    }
                })
                .collect();
            let found = Offset::of(&rounds).unwrap();
            let wrong = found.ns.abs_diff(true_offset);
            assert!(wrong <= found.error_ns, "{case}: {found:?}, {true_offset}");
            let shortest = rounds.iter().map(|r| r.received - r.sent).min().unwrap();
            assert_eq!(found.error_ns, shortest.div_ceil(2), "{case}");
        }
        assert_eq!(Offset::of(&[]), None);
    }

    #[test]
    fn clocks_of_ranks_with_other_times_are_compared() {
        let alarm = Alarm::default();
        let injected = [0_i64, 5_000_000, -5_000_000, 86_400_000_000_000];
        let results = threads::run(4, |group| {
            let wait = Wait::new(&alarm, Duration::from_secs(60), "clocks");
            let clock = || now().wrapping_add_signed(injected[group.rank()]);
            Offsets::measure_with(group, clock, &wait).unwrap()
        });
        for offsets in &results {
            assert_eq!(*offsets, results[0]);
            for (found, injected) in offsets.all.iter().zip(injected) {
                assert!(found.ns.abs_diff(injected) <= found.error_ns, "{found:?}");
            }
        }
        assert_eq!(results[0].local(2, 9_000_000), {
            9_000_000_u64.wrapping_add_signed(results[0].all[2].ns)
        });
    }

    #[test]
    fn a_clock_that_drifts_is_interpolated() {
        let offsets = |ns, at| Offsets {
            all: vec![Offset::default(), Offset { ns, error_ns: 5 }],
            at,
        };
        let (before, after) = (offsets(1000, 10_000), offsets(1100, 20_000));
        let clocks = Clocks {
            before: &before,
            after: &after,
        };
        assert_eq!(clocks.at_rank_0(1, 11_000), 10_000);
        assert_eq!(clocks.at_rank_0(1, 16_050), 15_000);
        assert_eq!(clocks.at_rank_0(1, 21_100), 20_000);
        assert_eq!(clocks.at_rank_0(0, 123), 123);
        assert_eq!(clocks.error_ns(1), 5);
    }
}
