//! The wish to stop, shared by everything that may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set once by a signal, looked at by every loop and every wait.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A wish not yet expressed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expresses the wish.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was expressed. One relaxed load: cheap enough for a measured loop.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
