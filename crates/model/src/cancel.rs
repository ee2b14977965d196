//! The request to cancel, shared by all operations that can take long.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cancellation was requested. Errors of work that can be cancelled are made from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped at the user's request")]
pub struct Cancelled;

/// A cancellation token. A signal or the end of a cell's time budget sets it; every loop and every
/// wait checks it.
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    /// The flag that loops check.
    requested: Arc<AtomicBool>,
    /// Whether the user requested it.
    user: Arc<AtomicBool>,
    /// The token whose requests are requests of this one too.
    parent: Option<Arc<CancelToken>>,
}

impl CancelToken {
    /// A token without a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// A token that is cancelled with this one, or alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            parent: Some(Arc::new(self.clone())),
            ..Self::default()
        }
    }

    /// Requests cancellation for the user.
    pub fn request(&self) {
        self.user.store(true, Ordering::SeqCst);
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Requests cancellation because a time limit is reached. This request can be withdrawn.
    pub fn expire(&self) {
        self.requested.store(true, Ordering::SeqCst);
    }

    /// Withdraws a request that the user did not make.
    pub fn withdraw(&self) {
        self.requested.store(false, Ordering::SeqCst);
        // The user's request may arrive in between: its flag is set first.
        if self.by_user() {
            self.requested.store(true, Ordering::SeqCst);
        }
    }

    /// Whether cancellation is requested. A relaxed load for the token and for each of its parents:
    /// cheap enough for a measured loop.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
            || self
                .parent
                .as_ref()
                .is_some_and(|parent| parent.requested())
    }

    /// An error after cancellation is requested.
    #[inline]
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.requested() {
            return Err(Cancelled);
        }
        Ok(())
    }

    /// Whether the user requested it.
    pub fn by_user(&self) -> bool {
        self.user.load(Ordering::SeqCst)
            || self.parent.as_ref().is_some_and(|parent| parent.by_user())
    }

    /// The flags, for a signal handler to set in this order.
    pub fn flags(&self) -> [Arc<AtomicBool>; 2] {
        [Arc::clone(&self.user), Arc::clone(&self.requested)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_of_a_time_limit_can_be_withdrawn() {
        let stop = CancelToken::new();
        stop.expire();
        assert!(stop.requested() && !stop.by_user());
        stop.withdraw();
        assert!(!stop.requested());
        stop.expire();
        stop.request();
        stop.withdraw();
        assert!(stop.requested() && stop.by_user());
    }

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way_round() {
        let parent = CancelToken::new();
        let (one, other) = (parent.child(), parent.child());
        one.expire();
        assert!(one.requested() && !one.by_user());
        assert!(!parent.requested() && !other.requested());
        one.withdraw();
        assert!(!one.requested());
        parent.request();
        one.withdraw();
        assert!(one.by_user() && other.requested());
    }
}
