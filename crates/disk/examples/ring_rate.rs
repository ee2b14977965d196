//! Measures how many 4 KiB requests per second a vhost-user-blk server completes: random reads,
//! then writes, at a queue depth. It compares `fsdyno disk serve null` with other servers in pairs:
//!
//! `ring_rate SOCKET [DEPTH [SECONDS]]`

#[path = "../tests/support/frontend.rs"]
#[expect(dead_code, reason = "a part of it is for tests")]
mod frontend;

use frontend::{Frontend, READ, WRITE};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const BYTES: u32 = 4096;

/// Range of the requests: the first 256 MiB, which the disk must have.
const BLOCKS: u64 = (256 << 20) / 4096;

fn main() -> io::Result<()> {
    let mut words = std::env::args_os().skip(1);
    let socket = words.next().map(PathBuf::from);
    let socket = socket.ok_or_else(|| io::Error::other("ring_rate SOCKET [DEPTH [SECONDS]]"))?;
    let mut number = |default: u64| {
        let word = words.next().and_then(|word| word.to_str()?.parse().ok());
        word.unwrap_or(default)
    };
    let depth = number(32).min(frontend::QUEUE_SIZE.into());
    let span = Duration::from_secs(number(3));
    let mut guest = Frontend::connect(&socket, false)?;
    for (name, kind) in [("reads", READ), ("writes", WRITE)] {
        let rate = rate(&mut guest, kind, depth, span)?;
        println!("{rate:.0} {name} of 4 KiB a second, {depth} at a time");
    }
    Ok(())
}

fn rate(guest: &mut Frontend, kind: u32, depth: u64, span: Duration) -> io::Result<f64> {
    let data = [0x5a; BYTES as usize];
    let mut drawn = 1_u64;
    let mut put = |guest: &mut Frontend| {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        drawn ^= drawn << 17;
        let sector = drawn % BLOCKS * 8;
        match kind {
            WRITE => guest.put(kind, sector, &data, 0),
            _ => guest.put(kind, sector, &[], BYTES),
        }
    };
    let begin = Instant::now();
    for _ in 0..depth {
        put(guest);
    }
    guest.kick()?;
    let (mut done, mut open) = (0_u64, depth);
    while open > 0 {
        let completed = guest.completed(0);
        if completed.is_empty() {
            guest.wait()?;
            continue;
        }
        for (_, status, _) in completed {
            if status != 0 {
                return Err(io::Error::other("a request failed"));
            }
            done += 1;
            open -= 1;
            if begin.elapsed() < span {
                put(guest);
                open += 1;
            }
        }
        guest.kick()?;
    }
    Ok(done as f64 / begin.elapsed().as_secs_f64())
}
