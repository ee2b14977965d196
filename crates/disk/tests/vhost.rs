//! The vhost-user-blk transport in real time. A guest reads back its writes. Invalid requests fail.
//! Malformed messages end only the connection of their guest.

#[path = "support/frontend.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod frontend;

use frontend::{DISCARD, FLUSH, Frontend, NAME, READ, WRITE, halves, words};
use fsdyno_disk::transports::real::{Real, ServerEvent};
use fsdyno_disk::{Disk, Faults, Memory, Profile};
use fsdyno_model::{Bytes, CancelToken};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

const SECTORS: u64 = 2048;

/// Stops the server, also if a test fails.
struct Stopping<'a>(&'a CancelToken);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.request();
    }
}

/// Serves a disk while `with` runs. Returns the end of each connection.
fn served(profile: &str, discards: bool, with: impl FnOnce(&Path)) -> Vec<Option<String>> {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("disk");
    let listener = UnixListener::bind(&socket).unwrap();
    let profile = Profile::named(Path::new(profile)).unwrap();
    let (sender, receiver) = mpsc::channel();
    let stop = CancelToken::new();
    thread::scope(|threads| {
        threads.spawn(|| {
            let contents = Box::new(Memory::new());
            let capacity = Some(Bytes(SECTORS * 512));
            let mut disk = Disk::new(&profile, capacity, contents, Faults::default());
            let mut on_event = |event| {
                if let ServerEvent::Ended { why, .. } = event {
                    sender.send(why.map(|why| why.to_string())).unwrap();
                }
            };
            let mut real = Real::new(&mut disk, "model", discards);
            real.serve(&listener, &stop, &mut on_event).unwrap();
        });
        let _stopping = Stopping(&stop);
        with(&socket);
    });
    receiver.try_iter().collect()
}

#[test]
fn a_guest_reads_its_writes_also_after_a_reconnect() {
    let content: Vec<u8> = (0..8192_u32)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    let ends = served("nvme", true, |socket| {
        let mut guest = Frontend::connect(socket, false).unwrap();
        assert_eq!(guest.request(WRITE, 16, &content, 0).unwrap().0, 0);
        assert_eq!(guest.request(FLUSH, 0, &[], 0).unwrap().0, 0);
        assert_eq!(
            guest.request(READ, 16, &[], 8192).unwrap(),
            (0, content.clone())
        );
        let (status, name) = guest.request(NAME, 0, &[], 20).unwrap();
        assert!(status == 0 && name.starts_with(b"model\0"), "{name:?}");
        drop(guest);
        let mut guest = Frontend::connect(socket, false).unwrap();
        assert_eq!(
            guest.request(READ, 17, &[], 512).unwrap().1,
            content[512..1024]
        );
        let mut extent = words(&[16]);
        extent.extend(halves(&[1, 0]));
        assert_eq!(guest.request(DISCARD, 0, &extent, 0).unwrap().0, 0);
        assert_eq!(
            guest.request(READ, 16, &[], 512).unwrap(),
            (0, vec![0; 512])
        );
        // The reply of GET_VRING_BASE carries the number of processed requests.
        let base = guest.question(11, &halves(&[0, 0])).unwrap();
        assert_eq!(base, halves(&[0, 3]));
    });
    assert_eq!(ends, [None, None]);
}

#[test]
fn invalid_requests_fail_and_the_server_continues() {
    served("null", false, |socket| {
        let mut guest = Frontend::connect(socket, false).unwrap();
        for (kind, sector, data, read, status) in [
            (READ, SECTORS, 0, 512, 1),
            (READ, u64::MAX, 0, 512, 1),
            (READ, 0, 0, 511, 1),
            (READ, 0, 0, 0, 1),
            (WRITE, SECTORS - 1, 1024, 0, 1),
            (WRITE, 0, 100, 0, 1),
            (NAME, 0, 0, 19, 1),
            (DISCARD, 0, 15, 0, 1),
            (77, 0, 0, 512, 2),
        ] {
            let answer = guest.request(kind, sector, &vec![0; data], read).unwrap();
            assert_eq!(answer.0, status, "{kind} at {sector}");
        }
        assert_eq!(
            guest.request(WRITE, SECTORS - 1, &[7; 512], 0).unwrap().0,
            0
        );
    });
}

#[test]
fn malformed_messages_end_the_connection_with_an_error() {
    let circle = |guest: &mut Frontend| {
        guest.descriptor(0, 0x1_0000, 16, 1, 1);
        guest.descriptor(1, 0x1_1000, 512, 1, 0);
    };
    let outside = |guest: &mut Frontend| guest.descriptor(0, 1 << 60, 16, 0, 0);
    let backwards = |guest: &mut Frontend| {
        guest.descriptor(0, 0x1_0000, 16, 1 | 2, 1);
        guest.descriptor(1, 0x1_1000, 512, 0, 0);
    };
    let chains = [
        (&circle as &dyn Fn(&mut Frontend), "in a circle"),
        (&outside, "no whole head"),
        (&backwards, "behind what is to be written"),
    ];
    for (lay, expected) in chains {
        let ends = served("null", false, |socket| {
            let mut guest = Frontend::connect(socket, false).unwrap();
            lay(&mut guest);
            guest.offer(0);
            guest.kick().unwrap();
            assert!(guest.wait().is_err());
            // The next connection is served normally.
            let mut other = Frontend::connect(socket, false).unwrap();
            assert_eq!(other.request(READ, 0, &[], 512).unwrap().0, 0);
        });
        let why = ends[0].as_deref().unwrap_or_default();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn invalid_setup_messages_end_the_connection_with_an_error() {
    let messages: [(u32, Vec<u8>, &str); 9] = [
        (99, vec![], "request 99"),
        (2, words(&[u64::MAX]), "not offered"),
        (2, vec![0; 7], "fewer than"),
        (16, words(&[1 << 14]), "not offered"),
        (5, words(&[1, 0, 4096, 0, 0]), "one descriptor each"),
        (8, halves(&[1, 256]), "ring 1"),
        (8, halves(&[0, 77]), "ring"),
        (
            18,
            halves(&[0, 1]),
            "before the table of the guest's memory was set",
        ),
        (24, halves(&[250, 250, 0]), "250 bytes of configuration"),
    ];
    for (number, payload, expected) in messages {
        let ends = served("null", false, |socket| {
            let mut guest = Frontend::bare(socket).unwrap();
            guest.ask(number, &payload, &[]).unwrap();
            assert!(guest.answer().is_err());
        });
        let why = ends[0].as_deref().unwrap_or_default();
        assert!(why.contains(expected), "{number}: {why}");
    }
}
