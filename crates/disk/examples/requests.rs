//! How many requests a second go through the core, by profile: how much room it leaves to front
//! ends. Run with `cargo run --release -p fsdyno-disk --example requests`.

use fsdyno_disk::profiles::ALL;
use fsdyno_disk::{Disk, Faults, Kind, Memory, Random, Recorder, Request};
use fsdyno_model::{Bytes, Nanos};
use std::time::Instant;

const REQUESTS: u64 = 1_000_000;

fn main() {
    println!("4 KiB at random, half of them writes, with payload, 32 at a time, on 256 MiB");
    for shipped in &ALL {
        let profile = shipped.profile().expect("a profile that comes along");
        for recorded in [false, true] {
            let size = Some(Bytes(256 << 20));
            let mut disk = Disk::new(&profile, size, Box::new(Memory::new()), Faults::none());
            if recorded {
                disk.record(Recorder::figures());
            }
            let mut random = Random::new(1);
            let (mut sent, mut done, mut now) = (0, 0, Nanos(0));
            let mut bytes = [0; 4096];
            let began = Instant::now();
            while done < REQUESTS {
                while sent < REQUESTS && sent - done < 32 {
                    let drawn = random.next_u64();
                    let kind = [Kind::Read, Kind::Write][usize::from(drawn & 1 == 1)];
                    let sector = (drawn >> 8) % (1 << 16) * 8;
                    let request = Request::new(sent, kind, sector, 8);
                    disk.submit(now, request, |into| into.fill(1))
                        .expect("within the disk, in memory");
                    sent += 1;
                }
                now = disk.next_completion().expect("some are under way");
                while let Some(completion) = disk.complete(now).expect("in memory") {
                    if completion.request.kind == Kind::Read {
                        disk.read(completion.request.sector * 512, &mut bytes)
                            .expect("in memory");
                    }
                    done += 1;
                }
            }
            let rate = done as f64 / began.elapsed().as_secs_f64();
            let how = if recorded { "with figures" } else { "" };
            let virtual_s = now.seconds();
            println!(
                "{:18} {rate:>10.0} a second; {virtual_s:.3} s of its own time {how}",
                profile.name
            );
        }
    }
}
