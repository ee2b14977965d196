//! The model disk: a device core that knows blocks and nanoseconds.
//!
//! The core is [`Disk`]. The crate also has timing models (`models`), disks as data ([`Profile`]),
//! the recorder ([`Recorder`]), faults ([`Faults`]) and power cuts. The probes in `check` compare a
//! profile with its sheet. The core has no clock, no transport and no threads: the caller supplies
//! the time. Equal requests at equal times give equal completions, to the nanosecond, on any
//! machine.

mod arithmetic;
pub mod check;
mod disk;
pub mod faults;
pub mod fit;
pub mod mailbox;
pub mod models;
mod pending;
mod power_cut;
pub mod profiles;
pub mod record;
mod request;
mod store;
pub mod transports;
mod values;

pub use disk::{Disk, SubmitError};
pub use faults::{FaultPlan, Faults};
pub use models::Work;
pub use power_cut::{PowerCutReport, Remains};
pub use profiles::{Profile, ProfileError};
pub use record::{Payloads, Recorder};
pub use request::{Causes, Completion, Failure, Kind, Request, SECTOR};
pub use store::{
    Base, Contents, Delta, Fill, Image, Memory, SectorSet, SparseFile, Store, StoreError,
};
