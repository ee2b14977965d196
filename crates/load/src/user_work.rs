//! Work of the program itself that a model processor charges: bytes that a phase searches. Everything
//! else that a phase does between two system calls takes few instructions.

use crate::error::LoadError;
use fsdyno_model::units::{Bytes, Nanos};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Advances the clock by the time to search this many bytes; returns that time.
type Charge<'a> = dyn Fn(Bytes) -> io::Result<Nanos> + Sync + 'a;

/// Bytes between two charges. Each takes a system call: with fewer bytes, the calls would count.
const STEP: u64 = 1 << 20;

/// The bytes that the workers of a phase search, and the time that is charged for them.
pub struct UserWork<'a> {
    charge: Box<Charge<'a>>,
    pending: AtomicU64,
    charged_ns: AtomicU64,
}

impl<'a> UserWork<'a> {
    /// Charges by this function, which several threads may call at once.
    pub fn new(charge: impl Fn(Bytes) -> io::Result<Nanos> + Sync + 'a) -> Self {
        Self {
            charge: Box::new(charge),
            pending: AtomicU64::new(0),
            charged_ns: AtomicU64::new(0),
        }
    }

    /// Records that these bytes were searched.
    pub(crate) fn searched(&self, bytes: usize) -> Result<(), LoadError> {
        let before = self.pending.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + (bytes as u64) < STEP {
            return Ok(());
        }
        self.finish()
    }

    /// Charges the rest, before the clock is read.
    pub(crate) fn finish(&self) -> Result<(), LoadError> {
        let pending = self.pending.swap(0, Ordering::Relaxed);
        if pending == 0 {
            return Ok(());
        }
        let charged = (self.charge)(Bytes(pending))
            .map_err(|source| LoadError::io("charge", Path::new("(the processor)"), source))?;
        self.charged_ns.fetch_add(charged.0, Ordering::Relaxed);
        Ok(())
    }

    /// The time charged so far.
    pub fn charged(&self) -> Nanos {
        Nanos(self.charged_ns.load(Ordering::Relaxed))
    }
}

impl std::fmt::Debug for UserWork<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserWork")
            .field("pending", &self.pending)
            .field("charged_ns", &self.charged_ns)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_are_charged_in_steps_and_at_the_end() {
        let charges = std::sync::Mutex::new(Vec::new());
        let work = UserWork::new(|bytes| {
            charges.lock().unwrap().push(bytes.0);
            Ok(Nanos(2 * bytes.0))
        });
        for _ in 0..3 {
            work.searched(700_000).unwrap();
        }
        work.finish().unwrap();
        work.finish().unwrap();
        assert_eq!(work.charged(), Nanos(4_200_000));
        assert_eq!(*charges.lock().unwrap(), [1_400_000, 700_000]);
    }
}
