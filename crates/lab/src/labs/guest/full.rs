//! Lives of file systems on full disks, each in a guest in virtual time.

use super::virtual_time::about;
use super::{GuestLab, GuestLabError, paths_of};
use crate::messages::{GuestMessage, Task};
use fsdyno_disk::transports::calendar::Setting;
use fsdyno_host::image::Scratch;
use fsdyno_model::{Bytes, Contender, Filling, FullDisk};

impl GuestLab {
    /// Fills the disks of a contender, uses its file system while it is full, and empties it. Also
    /// returns the kernel of the guest.
    pub fn fill_disks(
        &self,
        contender: &Contender,
        seed: u64,
        filling: &Filling,
    ) -> Result<(FullDisk, String), GuestLabError> {
        let scratch = Scratch::create(&self.unique_place("full"), &self.journal)?;
        let devices = contender.layout.devices;
        let images = self.empty_disks(scratch.path(), devices, filling.size)?;
        let task = Task::Fill {
            contender: Box::new(contender.clone()),
            seed,
            quota: filling.quota,
        };
        let mut guest = String::new();
        let report = self.report_in_virtual_time(
            (&task, Setting::default()),
            &filling.disk,
            scratch.path(),
            &paths_of(&images),
            &mut |word| match word {
                GuestMessage::Filled { life } => Ok(Some(*life)),
                other => {
                    guest = about(&other).ok_or_else(|| format!("it sent {other:?}"))?;
                    Ok(None)
                }
            },
        )?;
        let mut life = report.unwrap_or_else(|what| FullDisk {
            seed,
            crashed: Some(what),
            ..FullDisk::default()
        });
        let disks = Bytes(filling.size.0.saturating_mul(devices.into()));
        life.capacity = filling.quota.unwrap_or(disks);
        Ok((life, guest))
    }
}
