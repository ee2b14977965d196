//! The wish to stop, shared by everything that may take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by a signal, or by the end of the time a cell may take; looked at by every loop and every
/// wait.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    /// What loops look at.
    wish: Arc<AtomicBool>,
    /// That it is the user's.
    user: Arc<AtomicBool>,
}

impl CancelToken {
    /// A wish not yet expressed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expresses the wish, as the user's.
    pub fn request(&self) {
        self.user.store(true, Ordering::SeqCst);
        self.wish.store(true, Ordering::SeqCst);
    }

    /// Expresses the wish because a time is over: it can be taken back.
    pub fn expire(&self) {
        self.wish.store(true, Ordering::SeqCst);
    }

    /// Takes back a wish that was not the user's.
    pub fn recall(&self) {
        self.wish.store(false, Ordering::SeqCst);
        // The user's may have come in between: it is noted before it is expressed.
        if self.by_user() {
            self.wish.store(true, Ordering::SeqCst);
        }
    }

    /// Whether it was expressed. One relaxed load: cheap enough for a measured loop.
    pub fn requested(&self) -> bool {
        self.wish.load(Ordering::Relaxed)
    }

    /// Whether it is the user's.
    pub fn by_user(&self) -> bool {
        self.user.load(Ordering::SeqCst)
    }

    /// The flags themselves, for a signal handler to set, in this order.
    pub fn flags(&self) -> [Arc<AtomicBool>; 2] {
        [Arc::clone(&self.user), Arc::clone(&self.wish)]
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
