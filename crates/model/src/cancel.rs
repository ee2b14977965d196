//! The request to stop, shared by everything that can take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by a signal, or by the end of the time a cell may take; looked at by every loop and every
/// wait.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    /// What loops look at.
    requested: Arc<AtomicBool>,
    /// That it is the user's.
    user: Arc<AtomicBool>,
}

impl CancelToken {
    /// A token without a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the stop for the user.
    pub fn request(&self) {
        self.user.store(true, Ordering::SeqCst);
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Requests the stop because a time is over. This request can be withdrawn.
    pub fn expire(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Withdraws a request that the user did not make.
    pub fn recall(&self) {
        self.requested.store(false, Ordering::SeqCst);
        // The user's may have come in between: it is noted before it is expressed.
        if self.by_user() {
            self.requested.store(true, Ordering::SeqCst);
        }
    }

    /// Whether it was expressed. One relaxed load: cheap enough for a measured loop.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Whether it is the user's.
    pub fn by_user(&self) -> bool {
        self.user.load(Ordering::SeqCst)
    }

    /// The flags themselves, for a signal handler to set, in this order.
    pub fn flags(&self) -> [Arc<AtomicBool>; 2] {
        [Arc::clone(&self.user), Arc::clone(&self.requested)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_time_asks_for_can_be_taken_back_and_what_the_user_asks_for_cannot() {
        let stop = CancelToken::new();
        stop.expire();
        assert!(stop.requested() && !stop.by_user());
        stop.recall();
        assert!(!stop.requested());
        stop.expire();
        stop.request();
        stop.recall();
        assert!(stop.requested() && stop.by_user());
    }
}
