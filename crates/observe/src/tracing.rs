//! Block requests as the kernel traces them: metadata or data, with or without FUA, flushes. From
//! the tracepoint `block_bio_queue` in a separate instance below `instances/` of tracefs.
//!
//! An instance has its own ring buffer and switches, so that other tracers are not disturbed. A
//! filter passes only metadata, FUA and flush requests of the given devices. The ring buffer is
//! read after the phase.

use fsdyno_host::clean_up::{TRACEFS, remove_trace_instance};
use fsdyno_host::journal::{self, Entry, Journal, Undo};
use fsdyno_model::Traced;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const EVENT: &str = "events/block/block_bio_queue";

/// The prefix of the kernel before the fields of the event.
const EVENT_PREFIX: &str = ": block_bio_queue: ";

/// The size of all ring buffers, KiB: an event takes about 60 bytes.
const RINGS_KIB: usize = 16 << 10;

/// A tracefs instance for some devices, removed on drop.
#[derive(Debug)]
pub struct Tracing {
    directory: PathBuf,
    entry: Option<Entry>,
}

/// Starts to trace the requests of devices, by the kernel's names; or returns why that is not
/// possible.
pub fn start(devices: &[String], journal: &Journal) -> Result<Tracing, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let place = place()?;
    let filter = filter(devices)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fsdyno-{}-{number}", journal.name());
    let directory = place.join("instances").join(name);
    let entry = journal
        .declare(journal::Kind::Trace.at(&directory))
        .map_err(|error| format!("tracepoints: {error}"))?;
    if let Err(error) = fs::create_dir(&directory) {
        let _ = entry.done();
        let path = directory.display();
        return Err(format!("tracepoints: cannot make {path}: {error}"));
    }
    let made = Tracing {
        directory,
        entry: Some(entry),
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let each = (RINGS_KIB / processors).clamp(64, 4 << 10);
    made.write("tracing_on", "0")?;
    made.write("buffer_size_kb", &each.to_string())?;
    made.write(&format!("{EVENT}/filter"), &filter)?;
    made.write(&format!("{EVENT}/enable"), "1")?;
    Ok(made)
}

impl Tracing {
    /// Discards earlier events, and starts.
    pub fn begin(&self) -> Result<(), String> {
        let ring = self.directory.join("trace");
        // To open it so is what empties it.
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&ring)
            .map_err(|error| reported("empty", &ring, &error))?;
        self.write("tracing_on", "1")
    }

    /// Stops, and returns the events since the start; or why they are incomplete.
    pub fn end(&self) -> Result<Traced, String> {
        self.write("tracing_on", "0")?;
        let lost = self.lost()?;
        if lost > 0 {
            return Err(format!(
                "tracepoints: the ring lost {lost} requests, so that what it holds is not all"
            ));
        }
        let ring = self.directory.join("trace");
        let text = fs::read(&ring).map_err(|error| reported("read", &ring, &error))?;
        Ok(tally(&String::from_utf8_lossy(&text)))
    }

    /// Events that were overwritten or dropped in the ring buffer.
    fn lost(&self) -> Result<u64, String> {
        let rings = self.directory.join("per_cpu");
        let each = fs::read_dir(&rings).map_err(|error| reported("list", &rings, &error))?;
        let mut lost = 0;
        for ring in each.flatten() {
            let path = ring.path().join("stats");
            let stats =
                fs::read_to_string(&path).map_err(|error| reported("read", &path, &error))?;
            lost += lost_of(&stats);
        }
        Ok(lost)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.directory.join(name);
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| reported("write", &path, &error))
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // If it cannot be removed, it stays in the journal.
        if !matches!(remove_trace_instance(&self.directory), Undo::Failed(_))
            && let Some(entry) = self.entry.take()
        {
            let _ = entry.done();
        }
    }
}

fn reported(act: &str, path: &Path, error: &io::Error) -> String {
    format!("tracepoints: cannot {act} {}: {error}", path.display())
}

/// The directory of instances.
fn place() -> Result<&'static Path, String> {
    let mut places = TRACEFS.into_iter().map(Path::new);
    let mut why = format!(
        "tracepoints: no tracefs at {} (mount -t tracefs none {})",
        TRACEFS[0], TRACEFS[0]
    );
    let found = places.find(|place| match fs::metadata(place.join("instances")) {
        Ok(_) => true,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            why = format!(
                "tracepoints: {} may not be entered: {error} (run as root)",
                place.display()
            );
            false
        }
        Err(_) => false,
    });
    let place = found.ok_or(why)?;
    if place.join(EVENT).join("filter").exists() {
        return Ok(place);
    }
    Err(format!(
        "tracepoints: {} has no {EVENT} (a kernel with CONFIG_BLK_DEV and CONFIG_EVENT_TRACING, as root)",
        place.display()
    ))
}

/// The filter of events: metadata, FUA and flushes of these devices.
fn filter(devices: &[String]) -> Result<String, String> {
    if devices.is_empty() {
        return Err("tracepoints: there is no block device to trace".to_owned());
    }
    let mut each = Vec::new();
    for name in devices {
        each.push(of_device(name)?);
    }
    // A set of letters, so that the kernel matches to the end of the string. A pattern of one
    // letter is searched in the whole field, where old letters remain after the end.
    Ok(format!("({}) && rwbs ~ \"*[MF]*\"", each.join(" || ")))
}

/// The filter for one device. Requests of a partition have the number of the partition or, on older
/// kernels, that of the disk; their sectors are those of the disk.
fn of_device(name: &str) -> Result<String, String> {
    let folder = Path::new("/sys/class/block").join(name);
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|error| reported("read", path, &error));
    let number = |folder: &Path| {
        let path = folder.join("dev");
        let text = read(&path)?;
        number_of(text.trim())
            .ok_or_else(|| format!("tracepoints: {} reads `{text}`", path.display()))
    };
    let own = format!("dev == {}", number(&folder)?);
    if !folder.join("partition").exists() {
        return Ok(own);
    }
    let figure = |name: &str| {
        let text = read(&folder.join(name))?;
        let figure = text.trim().parse::<u64>();
        figure.map_err(|error| format!("tracepoints: {name} of {}: {error}", folder.display()))
    };
    let (start, size) = (figure("start")?, figure("size")?);
    let canonical = folder
        .canonicalize()
        .map_err(|error| reported("find", &folder, &error))?;
    let disk = number(canonical.parent().unwrap_or(&canonical))?;
    let end = start.saturating_add(size);
    Ok(format!(
        "{own} || (dev == {disk} && sector >= {start} && sector < {end})"
    ))
}

/// `7:3` as the kernel stores it: twenty bits of minor number (`MINORBITS` of `linux/kdev_t.h`).
fn number_of(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    let (major, minor): (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
    Some(major << 20 | minor)
}

/// `overrun`, `commit overrun` and `dropped events` of `per_cpu/cpuN/stats`.
fn lost_of(stats: &str) -> u64 {
    let lines = stats.lines().filter_map(|line| line.split_once(':'));
    let lost =
        lines.filter(|(name, _)| ["overrun", "commit overrun", "dropped events"].contains(name));
    lost.filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

fn tally(ring: &str) -> Traced {
    let mut traced = Traced::default();
    for line in ring.lines() {
        let Some((_, event)) = line.split_once(EVENT_PREFIX) else {
            continue;
        };
        note(&mut traced, event);
    }
    traced
}

/// Adds `7,0 WFSM 1234 + 8 [name]`: the device, what kind of request, where, and how many sectors.
fn note(traced: &mut Traced, event: &str) {
    let mut words = event.split(' ');
    let (Some(kind), Some(sectors)) = (words.nth(1), words.nth(2)) else {
        return;
    };
    let Some(kind) = Kind::parse(kind) else {
        return;
    };
    let bytes = sectors.parse::<u64>().unwrap_or(0) * 512;
    traced.flushes += u64::from(kind.flush);
    match kind.act {
        'R' if kind.metadata => {
            traced.metadata_reads += 1;
            traced.metadata_read_bytes.0 += bytes;
        }
        // The kernel counts a flush without data as an empty write.
        'W' if bytes > 0 => {
            if kind.metadata {
                traced.metadata_writes += 1;
                traced.metadata_written_bytes.0 += bytes;
            }
            if kind.forced {
                traced.forced_writes += 1;
                traced.forced_bytes.0 += bytes;
            }
        }
        _ => {}
    }
}

/// The letters of a request, as `blk_fill_rwbs` (kernel/trace/blktrace.c) puts them: a flush before
/// it, what it does, and how.
struct Kind {
    flush: bool,
    act: char,
    forced: bool,
    metadata: bool,
}

impl Kind {
    fn parse(letters: &str) -> Option<Self> {
        let (before, rest) = match letters.strip_prefix('F') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, letters),
        };
        let act = rest.chars().next()?;
        let how = rest.get(act.len_utf8()..)?;
        Some(Self {
            flush: before || act == 'F',
            act,
            forced: how.contains('F'),
            metadata: how.contains('M'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Bytes;

    #[test]
    fn requests_are_classified_by_their_letters() {
        let ring = "# tracer: nop\n\
            a-1 [000] ..... 1.0: block_bio_queue: 7,0 WSM 40 + 8 [a]\n\
            a b-2 [001] ..... 1.1: block_bio_queue: 7,0 FWFSM 48 + 16 [a b]\n\
            c-3 [001] ..... 1.2: block_bio_queue: 7,0 FWS 0 + 0 [c]\n\
            c-3 [001] ..... 1.3: block_bio_queue: 7,0 RM 8 + 8 [c]\n\
            c-3 [001] ..... 1.4: block_bio_queue: 7,0 WFS 8 + 1 [c]\n\
            c-3 [001] ..... 1.5: block_bio_queue: 7,0 FF 0 + 0 [c]\n\
            c-3 [001] ..... 1.6: block_rq_issue: 7,0 WSM 4096 () 8 + 8 none,0,0 [c]\n\
            c-3 [001] ..... 1.7: block_bio_queue: \n";
        let traced = tally(ring);
        assert_eq!(
            traced,
            Traced {
                metadata_reads: 1,
                metadata_read_bytes: Bytes(4096),
                metadata_writes: 2,
                metadata_written_bytes: Bytes(24 * 512),
                forced_writes: 2,
                forced_bytes: Bytes(17 * 512),
                flushes: 3,
            }
        );
    }

    #[test]
    fn what_the_ring_lost_is_counted_and_numbers_are_those_of_the_kernel() {
        let stats = "entries: 5\noverrun: 3\ncommit overrun: 1\nbytes: 9\ndropped events: 2\n";
        assert_eq!(lost_of(stats), 6);
        assert_eq!(number_of("7:3"), Some(7_340_035));
        assert_eq!(number_of("7"), None);
        assert!(filter(&[]).unwrap_err().contains("no block device"));
        assert!(filter(&["no-such-device".to_owned()]).is_err());
    }
}
