//! `disk serve`: model disks for a user's virtual machine, in real or virtual time.

use super::args::{ServeArgs, Time};
use super::profile;
use crate::exit::{CliError, Code};
use crate::output;
use crate::places;
use fsdyno_disk::transports::calendar::{self, CalendarDisk, CalendarError, Passed, Setting};
use fsdyno_disk::transports::real::{Real, ServerEvent};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, FaultPlan, Faults, Memory, Profile, SparseFile, Store};
use fsdyno_files::refuse_foreign_dir;
use fsdyno_host::signals;
use fsdyno_lab::FileDisk;
use fsdyno_model::{Bytes, CancelToken};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

pub fn serve(args: &ServeArgs) -> Result<Code, CliError> {
    let profile = profile(&args.profile)?;
    if !args.images.is_empty() && args.images.len() != args.sockets.len() {
        let (images, sockets) = (args.images.len(), args.sockets.len());
        let what = format!("{images} images for {sockets} disks; name one for each, or none");
        return Err(CliError::usage(what));
    }
    let faults = args.faults.as_deref().map(FaultPlan::read).transpose();
    let faults = faults.map_err(CliError::usage)?;
    if let Some(directory) = &args.directory {
        return as_file(args, &profile, directory);
    }
    let mut disks = Vec::new();
    for (number, socket) in args.sockets.iter().enumerate() {
        let image = args.images.get(number).map(PathBuf::as_path);
        let faults = match &faults {
            Some(plan) => Faults::new(plan.of_disk(number)),
            None => Faults::none(),
        };
        let disk = disk(&profile, image, args.size, faults)?;
        let name = format!("{}-{number}", profile.name);
        disks.push((name, disk, Socket::bind(socket)?));
    }
    let calendar = args.calendar.as_deref().map(Socket::bind).transpose()?;
    let stop = signals::cancel_token()?;
    output::bytes(attach(args, &profile, &disks)?.as_bytes())?;
    match calendar {
        Some(calendar) if args.time == Time::Virtual => {
            in_virtual_time(&profile, disks, &calendar, &stop)
        }
        _ => in_real_time(&profile, disks, &stop),
    }
}

/// Serves a disk as a file until the user interrupts.
fn as_file(args: &ServeArgs, profile: &Profile, directory: &Path) -> Result<Code, CliError> {
    let mut model = fsdyno_lab::model_disk(&args.profile).map_err(CliError::usage)?;
    model.faults = match &args.faults {
        Some(path) => Some(fsdyno_lab::disk_faults(path).map_err(CliError::usage)?),
        None => None,
    };
    let size = args.size.unwrap_or(profile.capacity);
    let stop = signals::cancel_token()?;
    let journal = places::journal()?;
    let mut served =
        FileDisk::make(&model, size, directory, &journal).map_err(CliError::failure)?;
    let text = format!(
        "{}, {size}: {}\nfile: {}\ndevice: losetup --find --show --direct-io=on {2}\n",
        profile.name,
        profile.title,
        served.path().display()
    );
    output::bytes(text.as_bytes())?;
    while !stop.requested() {
        thread::sleep(Duration::from_millis(200));
        served.check().map_err(CliError::failure)?;
    }
    let all = served.end().map_err(CliError::failure)?;
    output::note(format_args!("{}: {}", profile.name, requests(&all)));
    Ok(Code::Ok)
}

/// A served disk: its name, the disk, and its socket.
type Offered = (String, Disk, Socket);

/// Opens the disk of a profile with the content of its image.
fn disk(
    profile: &Profile,
    image: Option<&Path>,
    size: Option<Bytes>,
    faults: Faults,
) -> Result<Disk, CliError> {
    let made = |store: Box<dyn Store>, capacity| Disk::new(profile, capacity, store, faults);
    let Some(image) = image else {
        return Ok(made(Box::new(Memory::new()), size));
    };
    refuse_foreign_dir(directory_of(image)).map_err(CliError::usage)?;
    let failed = |error: io::Error| CliError::failure(format!("{}: {error}", image.display()));
    let length = match fs::metadata(image) {
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => {
            let what = format!(
                "cannot use {} as an image: it is not a regular file. Name a regular file.",
                image.display()
            );
            return Err(CliError::usage(what));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let capacity = size.unwrap_or(profile.capacity);
            let store = SparseFile::create(image, capacity.0).map_err(failed)?;
            return Ok(made(Box::new(store), Some(capacity)));
        }
        Err(error) => return Err(failed(error)),
    };
    let file = OpenOptions::new().read(true).write(true).open(image);
    let store = SparseFile::over(file.map_err(failed)?);
    Ok(made(Box::new(store), size.or(Some(Bytes(length)))))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A listening socket. Its path is removed on drop.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    fn bind(path: &Path) -> Result<Self, CliError> {
        // Kernels and QEMU would parse the rest as options of their own.
        if path
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| b" ,:\t\n".contains(byte))
        {
            return Err(CliError::usage(format!(
                "cannot use the socket {}: a blank, a comma or a colon cannot be in the command \
                 line of a guest. Choose another path.",
                path.display()
            )));
        }
        refuse_foreign_dir(directory_of(path)).map_err(CliError::usage)?;
        let is_socket = fs::symlink_metadata(path).is_ok_and(|of| of.file_type().is_socket());
        if is_socket && UnixStream::connect(path).is_err() {
            // Removes the stale socket of a process that was killed.
            let _ = fs::remove_file(path);
        }
        let path = std::path::absolute(path)?;
        match UnixListener::bind(&path) {
            Ok(listener) => Ok(Self { listener, path }),
            Err(error) => {
                let what = format!("cannot listen at {}: {error}", path.display());
                Err(CliError::failure(what))
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The options that attach these disks to a guest.
fn attach(args: &ServeArgs, profile: &Profile, disks: &[Offered]) -> Result<String, io::Error> {
    let mut text = String::new();
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    let size = disks
        .first()
        .map_or(Bytes(0), |(_, disk, _)| disk.capacity());
    let count = disks.len();
    let title = &profile.title;
    line(format!("{count} x {}, {size}: {title}", profile.name));
    if let Some(faults) = &args.faults {
        line(format!("With the faults of {}", faults.display()));
    }
    let mut uml = String::new();
    let mut qemu = String::from(
        "-machine memory-backend=ram -object memory-backend-memfd,id=ram,share=on,size=MEMORY",
    );
    if let (Time::Virtual, Some(calendar)) = (args.time, &args.calendar) {
        let calendar = std::path::absolute(calendar)?;
        let _ = write!(uml, "time-travel=ext:{} ", calendar.display());
    }
    for (number, (_, _, socket)) in disks.iter().enumerate() {
        let path = socket.path.display();
        let _ = write!(uml, "virtio_uml.device={path}:2 ");
        let _ = write!(
            qemu,
            " -chardev socket,id=disk{number},path={path} \
             -device vhost-user-blk-pci,chardev=disk{number},num-queues=1"
        );
    }
    line(format!("User-mode Linux: {}", uml.trim_end()));
    if args.time == Time::Real {
        line(format!("QEMU: {qemu}"));
    }
    line("In the guest: /dev/vda and so on".to_owned());
    Ok(text)
}

fn in_real_time(
    profile: &Profile,
    disks: Vec<Offered>,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let discards = profile.timing.discards();
    thread::scope(|threads| {
        let serving = disks.into_iter().map(|(name, mut disk, socket)| {
            threads.spawn(move || {
                let mut on_event = |event| report_event(&name, event);
                let mut real = Real::new(&mut disk, &name, discards);
                let served = real.serve(&socket.listener, stop, &mut on_event);
                if served.is_err() {
                    stop.request();
                }
                served
            })
        });
        // All of them start before the first one is joined.
        let serving: Vec<_> = serving.collect();
        for one in serving {
            let served = one
                .join()
                .map_err(|_| CliError::failure("cannot serve the disk: its thread panicked"))?;
            served.map_err(CliError::failure)?;
        }
        Ok(Code::Ok)
    })
}

/// Prints an event on standard error. An error of the print is ignored.
fn report_event(name: &str, event: ServerEvent) {
    match event {
        ServerEvent::Connected => output::note(format_args!("{name}: guest connected")),
        ServerEvent::Ended { served, why } => {
            let why = why.map_or(String::new(), |why| format!("; ended: {why}"));
            output::note(format_args!(
                "{name}: guest disconnected, {}{why}",
                requests(&served)
            ));
        }
    }
}

fn requests(served: &Served) -> String {
    let Served {
        reads,
        writes,
        flushes,
        others,
        bytes_read,
        bytes_written,
        errors,
    } = *served;
    let mut text = format!(
        "{reads} reads of {}, {writes} writes of {}, {flushes} flushes",
        Bytes(bytes_read),
        Bytes(bytes_written)
    );
    for (count, what) in [(others, "discards and zeros"), (errors, "errors")] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}

fn in_virtual_time(
    profile: &Profile,
    disks: Vec<Offered>,
    calendar: &Socket,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let discards = profile.timing.discards();
    let mut paths = Vec::new();
    let mut calendar_disks = Vec::new();
    for (name, disk, socket) in disks {
        let listener = socket.listener.try_clone()?;
        calendar_disks.push(CalendarDisk::new(name, disk, listener, discards));
        paths.push(socket);
    }
    let (setting, no_marks) = (Setting::default(), &mut Vec::new);
    match calendar::serve(
        &calendar.listener,
        &mut calendar_disks,
        setting,
        no_marks,
        stop,
    ) {
        Ok(passed) => {
            output::bytes(render_summary(&calendar_disks, &passed).as_bytes())?;
            Ok(Code::Ok)
        }
        Err(CalendarError::Stopped) => Ok(Code::Interrupted),
        Err(error) => Err(CliError::failure(error)),
    }
}

fn render_summary(calendar_disks: &[CalendarDisk], passed: &Passed) -> String {
    let seconds = passed.time.0 / 1_000_000_000;
    let rest = passed.time.0 % 1_000_000_000;
    let mut text = format!("{seconds}.{rest:09} s of virtual time\n");
    for (calendar_disk, served) in calendar_disks.iter().zip(&passed.served) {
        let _ = writeln!(text, "{}: {}", calendar_disk.name, requests(served));
    }
    let _ = writeln!(text, "digest {}", passed.digest);
    text
}
