//! The work that the kernel of a guest counts, and its charge to virtual time: `/proc/cpu_charge`
//! of the lab kernel.

use fsdyno_model::{Bytes, KernelWork, Nanos, Point, ThreadWork};
use rustix::io::writev;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::param::page_size;
use rustix::system::sysinfo;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::os::unix::fs::FileExt;

/// The file of the counts; a line of prices that is written to it begins the count and the charge.
const COUNTS: &str = "/proc/cpu_charge";

/// The place of the price of a byte copied.
const COPY: usize = 2;

#[derive(Debug)]
pub struct WorkCounter {
    file: File,
    prices: String,
    before: Counts,
}

/// All that was counted since the kernel started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counts {
    /// By name: `blocks process`, `syscalls`, `bytes copy` ...
    numbers: BTreeMap<String, u64>,
    /// Blocks of kernel threads, by name.
    threads: BTreeMap<String, u64>,
}

impl WorkCounter {
    /// Opens the counter with these prices in picoseconds; none if the kernel has no counter.
    pub fn open(prices: &[u64]) -> io::Result<Option<Self>> {
        let file = match OpenOptions::new().read(true).write(true).open(COUNTS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let prices: Vec<String> = prices.iter().map(u64::to_string).collect();
        Ok(Some(Self {
            file,
            prices: prices.join(" "),
            before: Counts::default(),
        }))
    }

    /// Locks all pages of this program in memory if it charges. Otherwise their first faults would count
    /// in the phases, and which pages a phase touches first depends on how the program was built.
    ///
    /// Changed mappings leave the kernel something to free, for which the next process waits. Called some
    /// time before `begin`, that is no part of the phase.
    pub fn lock_memory(&self) -> io::Result<()> {
        if self.charges() && is_small() {
            mlockall(MlockAllFlags::CURRENT)?;
        }
        Ok(())
    }

    /// Counts from now on, and charges.
    pub fn begin(&mut self) -> io::Result<()> {
        self.before = self.read()?;
        self.charge()
    }

    /// Whether work has a price.
    fn charges(&self) -> bool {
        self.prices.split(' ').any(|price| price != "0")
    }

    /// Counts and charges again after `pause`.
    pub fn charge(&self) -> io::Result<()> {
        (&self.file).write_all(self.prices.as_bytes())
    }

    /// Counts and charges nothing until `charge`, and returns the work since `begin`.
    pub fn pause(&self, until: Point) -> io::Result<KernelWork> {
        (&self.file).write_all(b"stop")?;
        Ok(self.read()?.since(&self.before, until))
    }

    /// Charges time of this program itself, which no kernel counts; none if work has no price.
    pub fn user_charge(&self) -> io::Result<Option<UserCharge>> {
        if !self.charges() {
            return Ok(None);
        }
        Ok(Some(UserCharge {
            file: self.file.try_clone()?,
            prices: self.prices.clone(),
        }))
    }

    fn read(&self) -> io::Result<Counts> {
        let mut bytes = vec![0; 32 << 10];
        let mut length = 0;
        while length < bytes.len() {
            match self.file.read_at(&mut bytes[length..], length as u64)? {
                0 => break,
                more => length += more,
            }
        }
        Ok(Counts::parse(&String::from_utf8_lossy(&bytes[..length])))
    }
}

/// Charges the time of this program itself to virtual time, from any of its threads.
#[derive(Debug)]
pub struct UserCharge {
    file: File,
    prices: String,
}

impl UserCharge {
    /// Advances the virtual clock by this time, and by that of one system call.
    ///
    /// One `writev` sets a price for each byte copied, and then the usual prices: the kernel charges
    /// the copy of the second line at the price of the first. No other process runs in between.
    pub fn charge(&self, time: Nanos) -> io::Result<()> {
        let usual = self.prices.as_bytes();
        // On the stack: a phase that is measured allocates nothing.
        let mut buffer = [0; LINE];
        let once = prices_once(
            &mut buffer,
            time,
            self.prices.split(' ').count(),
            usual.len(),
        )?;
        let written = writev(&self.file, &[IoSlice::new(once), IoSlice::new(usual)])?;
        if written == once.len() + usual.len() {
            return Ok(());
        }
        Err(io::ErrorKind::WriteZero.into())
    }
}

/// The size of a buffer for a line of prices, bytes: the kernel accepts no longer one.
const LINE: usize = 160;

/// A line of prices that make a copy of this number of bytes as long as a time: all are 0, but for
/// that of a byte copied.
fn prices_once(
    buffer: &mut [u8; LINE],
    time: Nanos,
    prices: usize,
    bytes: usize,
) -> io::Result<&[u8]> {
    let each = time.0.saturating_mul(1000) / bytes.max(1) as u64;
    let mut rest = &mut buffer[..];
    for place in 0..prices {
        write!(rest, "{} ", if place == COPY { each } else { 0 })?;
    }
    let left = rest.len();
    Ok(&buffer[..LINE - left])
}

/// Whether this program, whole in memory, leaves half of it to others.
fn is_small() -> bool {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|size| size.parse().ok());
    let size = pages.unwrap_or(u64::MAX).saturating_mul(page_size() as u64);
    let memory = sysinfo();
    size <= memory.totalram.saturating_mul(memory.mem_unit.into()) / 2
}

impl Counts {
    fn parse(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            if let Some((blocks, name)) = line
                .strip_prefix("kthread ")
                .and_then(|rest| rest.split_once(' '))
            {
                let blocks = blocks.parse().unwrap_or(0);
                *counts.threads.entry(kind_of(name)).or_insert(0) += blocks;
            } else if let Some((name, number)) = line.rsplit_once(' ')
                && let Ok(number) = number.parse()
            {
                counts.numbers.insert(name.to_owned(), number);
            }
        }
        counts
    }

    fn since(&self, before: &Self, until: Point) -> KernelWork {
        let number = |name: &str| {
            let of = |counts: &Self| counts.numbers.get(name).copied().unwrap_or(0);
            of(self).saturating_sub(of(before))
        };
        let mut threads: Vec<ThreadWork> = self
            .threads
            .iter()
            .map(|(name, blocks)| ThreadWork {
                name: name.clone(),
                blocks: blocks.saturating_sub(before.threads.get(name).copied().unwrap_or(0)),
            })
            .filter(|thread| thread.blocks > 0)
            .collect();
        threads.sort_by(|a, b| b.blocks.cmp(&a.blocks).then_with(|| a.name.cmp(&b.name)));
        KernelWork {
            until,
            process_blocks: number("blocks process"),
            kthread_blocks: number("blocks kthread"),
            interrupt_blocks: number("blocks interrupt"),
            system_calls: number("syscalls"),
            copied: Bytes(number("bytes copy")),
            cleared: Bytes(number("bytes clear")),
            checksummed: Bytes(number("bytes crc32c")),
            disk_requests: number("requests"),
            waits: number("waits"),
            charged_ns: Nanos(number("charged_ns")),
            threads,
        }
    }
}

/// The name of a kernel thread without the numbers of worker and device: `kworker/0:1` and
/// `kworker/u2:3` are `kworker`, `jbd2/vda-8` is `jbd2`.
fn kind_of(name: &str) -> String {
    let end = name.find(['/', ':']).unwrap_or(name.len());
    name[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_charged_as_the_price_of_a_copied_byte() {
        let line = |time, bytes| {
            let mut buffer = [0; LINE];
            let line = prices_once(&mut buffer, time, 6, bytes).unwrap();
            String::from_utf8_lossy(line).into_owned()
        };
        assert_eq!(line(Nanos(5_000), 50), "0 0 100000 0 0 0 ");
        assert_eq!(line(Nanos(1), 3), "0 0 333 0 0 0 ");
    }

    #[test]
    fn work_is_the_difference_of_two_readings_with_threads_of_one_kind_added_up() {
        let before = "blocks process 100\nblocks kthread 7\nblocks interrupt 1\nblocks idle 9\n\
                      syscalls 5\nbytes copy 10\ncharged_ns 0\nkthread 7 jbd2/vda-8\n";
        let after = "blocks process 350\nblocks kthread 57\nblocks interrupt 4\nblocks idle 90\n\
                     syscalls 8\nbytes copy 4106\nbytes crc32c 512\nrequests 3\nwaits 2\ncharged_ns 900\n\
                     kthread 17 jbd2/vda-8\nkthread 30 kworker/0:1\nkthread 10 kworker/u2:0\n";
        let work = Counts::parse(after).since(&Counts::parse(before), Point::Returned);
        assert_eq!(
            (
                work.process_blocks,
                work.kthread_blocks,
                work.interrupt_blocks
            ),
            (250, 50, 3)
        );
        assert_eq!(
            (work.system_calls, work.copied.0, work.cleared.0),
            (3, 4096, 0)
        );
        assert_eq!(
            (work.checksummed.0, work.disk_requests, work.waits),
            (512, 3, 2)
        );
        assert_eq!(work.charged_ns.0, 900);
        let threads: Vec<_> = work.threads.iter().map(|t| (&*t.name, t.blocks)).collect();
        assert_eq!(threads, [("kworker", 40), ("jbd2", 10)]);
    }
}
