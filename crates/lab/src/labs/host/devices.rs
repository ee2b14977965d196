//! The devices of a cell: image files or model disks on loop devices, or devices that the user
//! named. They are combined below the file system if its layout requires it.

use super::executor::HostExecutor;
use super::machine::{Held, Machine};
use crate::disks::{self, DiskBuilder, DiskFile, ServedDiskReport};
use crate::job::Job;
use crate::procedure::CellEnd;
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_guests::DiskKind;
use fsdyno_host::arrays::Array;
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::loops::Loop;
use fsdyno_host::place::HeldFile;
use fsdyno_model::{Effective, Failure, FilesystemKind, ModelDisk, Step, Warning, WarningKind};
use fsdyno_recipes::layouts;
use std::io;
use std::path::{Path, PathBuf};

impl HostExecutor<'_, '_> {
    /// Provides the devices of a contender: created, or released by the guard. Combines them if the
    /// layout requires it.
    pub(super) fn provide(&mut self, job: &Job<'_>) -> Result<Vec<String>, CellEnd> {
        if job.recipe.kind() == FilesystemKind::Directory {
            return Ok(Vec::new());
        }
        let tag = self.machine.tag();
        let path = job.scratch(self.base, &tag);
        self.target = job.target(self.base, &tag);
        self.durable = job.recipe.make_durable(&self.target);
        // The mount point is removed before the directory that contains it.
        self.directory(&path)?;
        self.directory(&self.target.clone())?;
        if job.recipe.kind() == FilesystemKind::Memory {
            return Ok(Vec::new());
        }
        let count = job.contender.layout.devices;
        let mut devices = self.named_devices(count)?;
        if devices.is_empty() {
            let images = self.place_of_images(job, path)?;
            let created = (0..count).map(|number| self.image(job, &images, number));
            devices = created.collect::<Result<_, _>>()?;
        }
        self.create_array(job, devices)
    }

    /// The first devices of those that the user or a guest provides; empty if images are created.
    fn named_devices(&mut self, count: u32) -> Result<Vec<String>, CellEnd> {
        let count = count as usize;
        if let Machine::Script { devices, .. } = &self.machine {
            return Ok(devices.iter().take(count).cloned().collect());
        }
        let mut devices = Vec::new();
        for released in self.machine.released().iter().take(count) {
            // Another program may have started to use the device between two cells.
            released
                .recheck()
                .map_err(|refusal| self.notes.halt(refusal.to_string(), None))?;
            self.watched
                .push(released.description().identity.name.clone());
            devices.push(released.device().display().to_string());
        }
        Ok(devices)
    }

    /// Creates a directory. Each is removed before those that were created earlier.
    fn directory(&mut self, path: &Path) -> Result<(), CellEnd> {
        let step = Step::MakeDirectory {
            path: path.to_owned(),
        };
        let scratch = self.perform(&step, |journal| Scratch::create(path, journal))?;
        self.scratch.insert(0, Held::directory(scratch, path));
        Ok(())
    }

    /// The directory of the image files: that of the cell, or memory mounted in it.
    fn place_of_images(&mut self, job: &Job<'_>, scratch: PathBuf) -> Result<PathBuf, CellEnd> {
        let memory = job.memory(&scratch);
        let Some(step @ Step::Mount { target, .. }) = &memory else {
            return Ok(scratch);
        };
        self.directory(target)?;
        self.memory = self.mount(step)?;
        Ok(target.clone())
    }

    /// Creates an image file. It is open unless it is only printed.
    fn image_file(
        &mut self,
        job: &Job<'_>,
        scratch: &Path,
        number: u32,
    ) -> Result<(PathBuf, Option<HeldFile>), CellEnd> {
        let path = scratch.join(format!("disk{number}.img"));
        let create = Step::CreateImage {
            path: path.clone(),
            size: job.image_bytes,
        };
        let image = self.perform(&create, |journal| {
            Image::create(&path, job.image_bytes, journal)
        })?;
        let held = image.as_ref().map(Image::file);
        self.images.extend(image);
        Ok((path, self.held(held)?))
    }

    /// Creates one model disk that is a file. It is open unless it is only printed.
    fn model_disk(
        &mut self,
        job: &Job<'_>,
        model: &ModelDisk,
        scratch: &Path,
        number: usize,
    ) -> Result<(PathBuf, Option<HeldFile>), CellEnd> {
        let size = job.image_bytes;
        let (path, step) = disks::step(model, scratch, number, size);
        let record = (job.plan.disk_trace.as_ref(), job.cell);
        let resource = self.perform(&step, |journal| {
            DiskFile::make(model, (number, size), record, scratch, journal)
        })?;
        let held = resource.as_ref().map(DiskFile::held);
        let target = resource.as_ref().map_or(path.as_path(), DiskFile::path);
        let release = Step::Unmount {
            target: target.to_owned(),
        };
        self.disks.push(Held { resource, release });
        Ok((path, self.held(held)?))
    }

    fn held(&self, held: Option<io::Result<HeldFile>>) -> Result<Option<HeldFile>, CellEnd> {
        held.transpose().map_err(|error| {
            let what = format!("cannot open the file of a disk: {error}");
            self.notes.halt(what, error.raw_os_error())
        })
    }

    /// Adds a possible cause to a failure on model disks: a disk that is no longer served, or its
    /// injected faults.
    pub(super) fn append_server_error(&mut self, failure: &mut Failure) {
        let mut in_all = Served::default();
        for disk in served(&mut self.disks) {
            match disk.query() {
                Ok(served) => in_all += served,
                Err(why) => {
                    failure.message.push_str("; ");
                    failure.message.push_str(&why);
                }
            }
        }
        failure.message.extend(disks::remark(in_all));
    }

    /// Ends the model disks, and records their requests.
    pub(super) fn end_disks(&mut self, model: Option<&ModelDisk>) -> Result<(), CellEnd> {
        let mut all = Vec::new();
        for disk in std::mem::take(&mut self.disks) {
            all.extend(self.release_resource(disk, DiskFile::end)?);
        }
        let Some(model) = model.filter(|_| !all.is_empty()) else {
            return Ok(());
        };
        ServedDiskReport::add_to(&all, self.notes.samples());
        ServedDiskReport::warn(&all, self.notes);
        let reported = disks::in_real_time(model, ServedDiskReport::total(&all));
        self.notes.effective(Effective::DISK, reported);
        Ok(())
    }

    /// Creates the image of one device, and attaches it.
    fn image(&mut self, job: &Job<'_>, scratch: &Path, number: u32) -> Result<String, CellEnd> {
        let model_disk = job.plan.disk_in_real_time();
        let (path, file) = match model_disk {
            Some(model) => self.model_disk(job, model, scratch, number as usize)?,
            None => self.image_file(job, scratch, number)?,
        };
        let variable = format!("LOOP{number}");
        let attach = Step::AttachLoop {
            image: file.as_ref().map_or(path, |file| file.path().to_owned()),
            variable: variable.clone(),
        };
        let attached = self.perform(&attach, |journal| {
            let file = file.as_ref();
            file.map(|file| Loop::attach(file, journal)).transpose()
        })?;
        let device = attached.flatten();
        let name = device.as_ref().map_or_else(
            || format!("${variable}"),
            |device| device.device().display().to_string(),
        );
        if let Some(device) = &device {
            self.set_up_loop(job, model_disk, device)?;
        }
        let release = Step::DetachLoop {
            device: name.clone(),
        };
        self.loops.push(Held {
            resource: device,
            release,
        });
        Ok(name)
    }

    /// Gives a loop device the properties of its model disk, and reads its counters from now on.
    fn set_up_loop(
        &mut self,
        job: &Job<'_>,
        model: Option<&ModelDisk>,
        device: &Loop,
    ) -> Result<(), CellEnd> {
        if !device.direct_io() && !job.plan.images_in_memory() {
            self.notes.warn(Warning::new(
                WarningKind::Device,
                format!(
                    "the file system under {} has no direct I/O",
                    self.base.display()
                ),
                "its page cache hides the disk: choose another directory with --work-dir",
            ));
        }
        if let Some(model) = model {
            let builder = DiskBuilder::of(model).map_err(|what| self.notes.halt(what, None))?;
            device.copy_properties(builder.kind() == DiskKind::Rotating, builder.discards());
        }
        self.watched.push(device.name().to_owned());
        Ok(())
    }

    /// Combines the devices if their layout does that below the file system.
    fn create_array(
        &mut self,
        job: &Job<'_>,
        devices: Vec<String>,
    ) -> Result<Vec<String>, CellEnd> {
        let name = job.name(&self.machine.tag());
        let Some(joined) = layouts::joined(job.contender, &devices, &name) else {
            return Ok(devices);
        };
        let array = self.declare(|journal| Array::declare(Path::new(&joined.device), journal))?;
        let (device, join) = (joined.device.clone(), joined.join.clone());
        self.array = Some((array, joined));
        for step in &join {
            self.program(&step.argv(), &[0])?;
        }
        Ok(vec![device])
    }

    pub(super) fn stop_array(&mut self) -> Result<(), CellEnd> {
        let Some((mut array, layouts::Array { part: steps, .. })) = self.array.take() else {
            return Ok(());
        };
        for step in &steps {
            if let Step::StopArray { .. } = step {
                let array = array.take();
                self.perform(step, |_| array.map(Array::stop).transpose())?;
            } else {
                self.program(&step.argv(), &[0])?;
            }
        }
        Ok(())
    }
}

/// The model disks that are not only printed.
pub(super) fn served(disks: &mut [Held<DiskFile>]) -> impl Iterator<Item = &mut DiskFile> {
    disks.iter_mut().filter_map(|held| held.resource.as_mut())
}
