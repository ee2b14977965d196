//! The monitor: it finds ranks that died or hang, names them, and writes the store.
//!
//! An MPI launcher kills all ranks when one dies, and MPICH does so by SIGKILL: no rank could
//! report anything. So rank 0 starts the monitor process ([`process`]) in a session of its own.
//! Only that process writes the store. Every rank connects to it by TCP ([`sentinel`]) and sends a
//! heartbeat each second. The kernel closes the connection of a rank that dies before the launcher
//! notices its death, so the first connection that ends without a farewell is that of the failed
//! rank.

mod lines;
pub mod link;
pub mod process;
pub mod sentinel;

use serde::{Deserialize, Serialize};
use std::time::Duration;

pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);

/// The addresses on which the monitor listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorAddress {
    pub host: String,
    /// Its addresses, to be tried in order.
    pub addresses: Vec<String>,
    pub port: u16,
    /// The secret of this run. Connections without it are closed.
    pub token: String,
}

/// A message of a rank to the monitor, one JSON line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FromRank {
    /// The first message.
    Hello {
        token: String,
        rank: usize,
        host: String,
        pid: u32,
    },
    /// A heartbeat of the rank, with the time for which its threads have used no processor.
    Alive { still_s: u64 },
    /// The rank received a signal to end.
    Interrupted { signal: String },
    /// The rank ends as it should.
    Farewell,
}

/// A message of the monitor to a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ToRank {
    /// The run failed: end.
    Failed { message: String },
}

/// The first line of rank 0 to the monitor; events follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub store: std::path::PathBuf,
    pub token: String,
    pub ranks: usize,
    pub heartbeat_timeout: Duration,
    pub phase_timeout: Duration,
}

/// The lines of the monitor to rank 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Listening {
        port: u16,
    },
    /// The run has this name in the store.
    Begun {
        run: String,
    },
    /// The store has everything.
    Ended,
    /// It cannot work.
    Refused {
        message: String,
    },
}
