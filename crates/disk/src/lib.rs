//! The model disk: a device core that knows blocks and nanoseconds.
//!
//! What lives here: the core ([`Disk`]), what times it (`models`), disks as data ([`Profile`]), the
//! recorder ([`Recorder`]), faults ([`Faults`]), power cuts, and probes that hold a profile against
//! its sheet (`check`). What does not: a clock (whoever serves the disk says what time it is), a
//! transport, threads. The same requests at the same moments give the same completions, to the
//! nanosecond, on any machine.

mod arithmetic;
pub mod check;
mod cut;
mod disk;
pub mod faults;
pub mod models;
mod pending;
pub mod profiles;
mod random;
pub mod record;
mod request;
mod store;
pub mod transports;

pub use cut::{CutReport, Remains};
pub use disk::{Disk, SubmitError};
pub use faults::{FaultPlan, Faults};
pub use models::Work;
pub use profiles::{Profile, ProfileError};
pub use random::Random;
pub use record::{Payloads, Recorder};
pub use request::{Causes, Completion, Failure, Kind, Request, SECTOR};
pub use store::{Memory, SparseFile, Store, StoreError};
