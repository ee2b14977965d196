//! The monitor of QEMU (QMP, docs/interop/qmp-spec.txt): the counters of its disks, and the port of
//! its forward.

use fsdyno_model::{Bytes, DeviceUse, Nanos, Waits};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// How long QEMU may take to answer, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
/// More than any answer.
const LONGEST: u64 = 4 << 20;

#[derive(Debug)]
pub(super) struct Monitor {
    stream: BufReader<UnixStream>,
}

impl Monitor {
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut monitor = Self {
            stream: BufReader::new(stream),
        };
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// The port of this machine that is forwarded to the guest.
    pub fn forwarded_port(&mut self) -> io::Result<u16> {
        let arguments = json!({ "command-line": "info usernet" });
        let printed = self.execute("human-monitor-command", &arguments)?;
        let printed = printed.as_str().unwrap_or_default();
        port(printed).ok_or_else(|| io::Error::other(format!("no forward in `{printed}`")))
    }

    /// The counters of the disks with these names.
    pub fn counters(&mut self, disks: &[String]) -> io::Result<DeviceUse> {
        let printed = self.execute("query-blockstats", &json!({}))?;
        counters(&printed, disks)
            .ok_or_else(|| io::Error::other("QEMU reports no counters of its disks"))
    }

    fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let request = json!({ "execute": command, "arguments": arguments });
        self.stream
            .get_mut()
            .write_all(format!("{request}\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if (&mut self.stream).take(LONGEST).read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let answer: Value = serde_json::from_str(&line)?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            }
            if let Some(error) = answer.get("error") {
                return Err(io::Error::other(format!("QEMU refuses {command}: {error}")));
            }
            // A greeting, or an event.
        }
    }
}

/// The port in the table of `info usernet`: state, descriptor, address, port, and those of the guest.
fn port(printed: &str) -> Option<u16> {
    let mut lines = printed.lines();
    let line = lines.find(|line| line.contains("HOST_FORWARD"))?;
    line.split_whitespace().nth(3)?.parse().ok()
}

fn counters(printed: &Value, disks: &[String]) -> Option<DeviceUse> {
    let mut used = DeviceUse {
        busy_unknown: true,
        ..DeviceUse::default()
    };
    let mut waits = Waits::default();
    for disk in disks {
        let mut all = printed.as_array()?.iter();
        let stats = all.find(|one| one["device"] == **disk)?.get("stats")?;
        let number = |name: &str| stats.get(name)?.as_u64();
        used.reads += number("rd_operations")?;
        used.read_bytes.0 += number("rd_bytes")?;
        used.writes += number("wr_operations")?;
        used.written_bytes.0 += number("wr_bytes")?;
        used.flushes += number("flush_operations")?;
        // Since QEMU 4.2.
        used.discards += number("unmap_operations").unwrap_or(0);
        used.discarded_bytes.0 += number("unmap_bytes").unwrap_or(0);
        waits.reads.0 += number("rd_total_time_ns")?;
        waits.writes.0 += number("wr_total_time_ns")?;
        waits.flushes.0 += number("flush_total_time_ns")?;
        waits.discards.0 += number("unmap_total_time_ns").unwrap_or(0);
    }
    used.waits = Some(waits);
    Some(used)
}

/// The use between two readings of the counters, which only grow.
pub fn used_between(before: &DeviceUse, after: &DeviceUse) -> DeviceUse {
    let less = |after: u64, before: u64| after.saturating_sub(before);
    let bytes = |after: Bytes, before: Bytes| Bytes(less(after.0, before.0));
    let time = |after: Nanos, before: Nanos| Nanos(less(after.0, before.0));
    let (then, now) = (
        before.waits.unwrap_or_default(),
        after.waits.unwrap_or_default(),
    );
    DeviceUse {
        reads: less(after.reads, before.reads),
        read_bytes: bytes(after.read_bytes, before.read_bytes),
        writes: less(after.writes, before.writes),
        written_bytes: bytes(after.written_bytes, before.written_bytes),
        discards: less(after.discards, before.discards),
        discarded_bytes: bytes(after.discarded_bytes, before.discarded_bytes),
        flushes: less(after.flushes, before.flushes),
        waits: Some(Waits {
            reads: time(now.reads, then.reads),
            writes: time(now.writes, then.writes),
            flushes: time(now.flushes, then.flushes),
            discards: time(now.discards, then.discards),
        }),
        ..*after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_and_the_counters_are_read_as_qemu_prints_them() {
        let printed = "Hub -1 (net):\r\n  Protocol[State]    FD  Source Address  Port   Dest. \
            Address  Port RecvQ SendQ\r\n  TCP[HOST_FORWARD]  14       127.0.0.1 39049       \
            10.0.2.15    22     0     0\r\n";
        assert_eq!(port(printed), Some(39049));
        assert_eq!(port(""), None);
        let stats = |flushes: u64| {
            json!({
                "device": "disk0",
                "stats": {
                    "rd_operations": 3, "rd_bytes": 4096, "wr_operations": 5, "wr_bytes": 8192,
                    "flush_operations": flushes, "rd_total_time_ns": 7, "wr_total_time_ns": 8,
                    "flush_total_time_ns": 9, "unmap_operations": 0, "unmap_bytes": 0,
                    "unmap_total_time_ns": 0
                }
            })
        };
        let disks = ["disk0".to_owned()];
        let before = counters(&json!([{ "device": "system" }, stats(1)]), &disks).unwrap();
        let after = counters(&json!([stats(4)]), &disks).unwrap();
        assert_eq!((before.writes, before.written_bytes), (5, Bytes(8192)));
        let used = used_between(&before, &after);
        assert_eq!((used.writes, used.flushes, used.busy()), (0, 3, None));
        assert_eq!(counters(&json!([]), &disks), None);
        assert_eq!(counters(&json!([{ "device": "disk0" }]), &disks), None);
    }
}
