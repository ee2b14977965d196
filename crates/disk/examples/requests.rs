//! Measures how many requests per second the core processes, by profile. The rest of the time is
//! available to transports.
//!
//! `cargo run --release -p fsdyno-disk --example requests [PROFILE]`

use fsdyno_disk::profiles::ALL;
use fsdyno_disk::{Disk, Faults, Kind, Memory, Profile, Recorder, Request};
use fsdyno_model::random::Random;
use fsdyno_model::{Bytes, Nanos};
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;

/// Work per request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Reads without data transfer: the core alone.
    Core,
    /// Half reads and half writes, with data transfer.
    Payload,
    /// The same with the recorder's counters.
    Figures,
}

fn main() {
    println!("4 KiB at random, 32 at a time, on 256 MiB in memory; requests a second");
    let only = std::env::args().nth(1);
    let requested = |name: &str| only.as_deref().is_none_or(|only| only == name);
    for shipped in ALL.iter().filter(|one| requested(one.name)) {
        let profile = Profile::try_from(shipped).expect("a built-in profile");
        for what in [What::Core, What::Payload, What::Figures] {
            let began = Instant::now();
            let own = run(&profile, what);
            let rate = REQUESTS as f64 / began.elapsed().as_secs_f64();
            let how = format!("{what:?}").to_lowercase();
            println!(
                "{:18} {how:8} {rate:>10.0}   {:.3} s of its own time",
                profile.name,
                own.seconds()
            );
        }
    }
}

/// Sends all requests. Returns the time by the disk's own clock.
fn run(profile: &Profile, what: What) -> Nanos {
    let size = Some(Bytes(256 << 20));
    let mut disk = Disk::new(profile, size, Box::new(Memory::new()), Faults::none());
    if what == What::Figures {
        disk.record(Recorder::figures());
    }
    let mut random = Random::new(1);
    let (mut sent, mut done, mut now) = (0, 0, Nanos(0));
    let mut bytes = [0; 4096];
    while done < REQUESTS {
        while sent < REQUESTS && sent - done < 32 {
            let drawn = random.next_u64();
            let writes = what != What::Core && drawn & 1 == 1;
            let kind = if writes { Kind::Write } else { Kind::Read };
            let request = Request::new(sent, kind, (drawn >> 8) % (1 << 16) * 8, 8);
            disk.submit(now, request, |into| into.fill(1))
                .expect("within the disk, in memory");
            sent += 1;
        }
        now = disk.next_completion().expect("some are in flight");
        while let Some(completion) = disk.complete(now).expect("in memory") {
            if what != What::Core && completion.request.kind == Kind::Read {
                disk.read(completion.request.sector * 512, &mut bytes)
                    .expect("in memory");
            }
            done += 1;
        }
    }
    now
}
