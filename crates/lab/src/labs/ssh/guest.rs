//! The virtual machine of an image: started for the first cell, and again if it ended.

use super::SshLabError;
use crate::preflight::{DEFAULT_SCRATCH, Preflight};
use fsdyno_guests::qemu::Accelerator;
use fsdyno_guests::vm::{SystemImage, Vm, VmError, VmHost, VmSetting, used_between};
use fsdyno_host::image::Scratch;
use fsdyno_host::journal::Journal;
use fsdyno_host::place::check_work_dir;
use fsdyno_host::ssh::Ssh;
use fsdyno_model::{Bytes, CancelToken, DeviceUse, LabChoice, Plan};
use std::path::Path;
use std::time::Duration;

/// The directory for files of fsdyno in the system of an image.
pub(super) const WORK_DIR_THERE: &str = DEFAULT_SCRATCH;

/// A virtual machine and its files. The machine ends before they are removed.
pub(super) struct Guest {
    vm: Option<Vm>,
    host: VmHost,
    _scratch: Scratch,
}

impl Guest {
    pub fn new(
        plan: &Plan,
        preflight: &Preflight,
        journal: &Journal,
        stop: &CancelToken,
    ) -> Result<Self, SshLabError> {
        let size = plan.guest.clone().unwrap_or_default();
        let image = size.image.ok_or(SshLabError::NoImage)?;
        let image = SystemImage::open(&image).map_err(VmError::from)?;
        check_work_dir(&preflight.scratch)?;
        let name = format!("fsdyno-{}-vm", journal.name());
        let scratch = Scratch::create(&preflight.scratch.join(name), journal)?;
        if let Some(needed) = image.to_unpack() {
            let free = fsdyno_host::space::free(scratch.path()).unwrap_or(needed);
            if free < needed {
                return Err(SshLabError::NoRoom {
                    directory: preflight.scratch.clone(),
                    free,
                    needed,
                });
            }
        }
        let setting = VmSetting {
            image,
            memory: size.memory,
            processors: size.processors.unwrap_or(1),
            disks: disks(plan, preflight),
            scratch: scratch.path().to_owned(),
        };
        let host = VmHost::new(setting, stop)?;
        Ok(Self {
            vm: None,
            host,
            _scratch: scratch,
        })
    }

    /// The way into the machine, which is started if it does not run.
    pub fn ssh(
        &mut self,
        journal: &Journal,
        stop: &CancelToken,
        note: &mut dyn FnMut(&str),
    ) -> Result<Ssh, SshLabError> {
        if let Some(vm) = &mut self.vm
            && vm.is_running()
        {
            return Ok(vm.ssh().clone());
        }
        self.vm = None;
        let kind = self.kind();
        let mut progress = |elapsed: Duration| {
            let minutes = elapsed.as_secs() / 60;
            note(&format!(
                "the system of the image boots ({kind}), {minutes} min so far"
            ));
        };
        let vm = self.host.start(journal, stop, &mut progress)?;
        let ssh = vm.ssh().clone();
        self.vm = Some(vm);
        Ok(ssh)
    }

    pub fn end(&mut self) {
        self.vm = None;
    }

    /// The last lines of its console, if it ended.
    pub fn why_ended(&mut self) -> Option<String> {
        let vm = self.vm.as_mut()?;
        (!vm.is_running()).then(|| vm.last_lines().join("; "))
    }

    /// Its accelerator, as part of its description.
    pub fn kind(&self) -> String {
        format!("QEMU with {}", self.host.accelerator())
    }

    /// The reason why it is emulated; none with KVM.
    pub fn remark(&self) -> Option<String> {
        match self.host.accelerator() {
            Accelerator::Kvm => None,
            Accelerator::Tcg { why } => Some(format!(
                "the virtual machine is emulated (TCG): its boot takes minutes, and its processor is \
                 many times slower than this one: {why}"
            )),
        }
    }

    pub fn image(&self) -> &Path {
        self.host.image()
    }

    /// The counters of its first disks; none if QEMU does not answer.
    pub fn counters(&mut self, disks: u32) -> Option<DeviceUse> {
        self.vm.as_mut()?.counters(disks).ok()
    }
}

/// The use of the disks between two readings.
pub(super) fn used(before: Option<DeviceUse>, after: Option<DeviceUse>) -> Option<DeviceUse> {
    Some(used_between(&before?, &after?))
}

/// The number and the size of disks with which each cell can run.
fn disks(plan: &Plan, preflight: &Preflight) -> (u32, Bytes) {
    let contenders = plan.contenders.iter().enumerate();
    let own =
        contenders.filter(|(_, one)| one.lab == LabChoice::Vm && fsdyno_recipes::on_blocks(one));
    own.fold((0, Bytes(0)), |(count, size), (number, contender)| {
        let devices = contender.layout.devices;
        (
            count.max(devices),
            size.max(preflight.images.largest_of(number)),
        )
    })
}
