//! Input files of the user. Anything but a regular file of moderate size is refused at once. An
//! interrupt ends the read of a large file.

use crate::support::{Home, Printed, interruptible, printed, until};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Waits for the end of a process. A process that does not end fails the test.
fn ended(mut child: Child, what: &str) -> Printed {
    let deadline = Instant::now() + Duration::from_secs(300);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it does not end: {what}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    printed(&child.wait_with_output().unwrap())
}

#[test]
fn devices_fifos_directories_and_huge_files_are_refused_at_once() {
    let home = Home::new();
    let fifo = home.path("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let huge = home.path("huge");
    fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    let (fifo, huge) = (fifo.display().to_string(), huge.display().to_string());
    let work = home.work().display().to_string();
    let on = format!("dir:{work}");
    for file in [fifo.as_str(), "/dev/zero", &work, &huge] {
        let tar = format!("tar:{file}");
        for args in [
            &["run", "--plan", file][..],
            &["run", "--disk", file],
            &["run", "--disk", "laptop-4200-2004", "--disk-faults", file],
            &["run", "--on", &on, "--dataset", &tar],
            &["make", "--in", &work, &tar],
            &["disk", "show", file],
            &["disk", "trace", file],
            &["disk", "check", "laptop-4200-2004", "--seek-curve", file],
            &["--store", file, "runs"],
            &["merge", file],
            &["lab", "setup", "--source", file],
            &["lab", "setup", "--from", file],
            &["run", "--lab", "uml", "--guest-kernel", file],
            &["run", "--disk", "nvme", "--cpu", file],
            &["run", "--on", &on, "--workload-trace", file],
            &[
                "run",
                "--on",
                &on,
                "--phases",
                "fio",
                "--set",
                &format!("fio.job={file}"),
            ],
            &["crash", "--fs", "tmpfs", "--ops", file],
            &["record", "show", file],
            &["cpu", "show", file],
        ] {
            let printed = ended(home.command(args).spawn().unwrap(), &format!("{args:?}"));
            assert_ne!(printed.code, Some(0), "{args:?}");
            assert!(!printed.err.is_empty(), "{args:?}");
        }
    }
}

#[test]
fn a_tree_with_fifos_and_sockets_is_copied_and_read() {
    let home = Home::new();
    let tree = home.path("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), "text").unwrap();
    mknodat(
        CWD,
        tree.join("fifo"),
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(tree.join("socket")).unwrap();
    let on = format!("dir:{}", home.work().display());
    let dataset = format!("tree:{}", tree.display());
    let args = [
        "run",
        "--on",
        &on,
        "--dataset",
        &dataset,
        "--repeats",
        "1",
        "--phases",
    ];
    let child = home
        .command(&[&args[..], &["copy,read,grep,stat-walk,delete"]].concat())
        .spawn()
        .unwrap();
    let printed = ended(child, "run");
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
}

#[test]
fn an_interrupt_ends_the_read_of_an_archive() {
    let home = Home::new();
    // One sparse member with a quarter of the free space: it takes seconds to read.
    let free = rustix::fs::statvfs(home.work()).unwrap();
    let size = (free.f_bavail * free.f_frsize / 4).min(200 << 30) & !511;
    let mut header = [0_u8; 512];
    header[0] = b'f';
    header[100..108].copy_from_slice(b"0000644\0");
    for number in [108, 116, 136] {
        header[number..number + 8].copy_from_slice(b"0000000\0");
    }
    header[124] = 0x80;
    header[128..136].copy_from_slice(&size.to_be_bytes());
    header[257..265].copy_from_slice(b"ustar  \0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let archive = home.path("x.tar");
    fs::write(&archive, header).unwrap();
    let file = fs::File::options().write(true).open(&archive).unwrap();
    file.set_len(512 + size + 1024).unwrap();
    let (tar, work) = (format!("tar:{}", archive.display()), home.work());
    let on = format!("dir:{}", work.display());
    let make = work.display().to_string();
    for args in [
        &["make", "--in", &make, &tar][..],
        &["run", "--on", &on, "--dataset", &tar],
    ] {
        let mut command = interruptible(&home.command(args));
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = child.id();
        until(Duration::from_secs(60), "the archive is open", || {
            let fds = fs::read_dir(format!("/proc/{id}/fd")).unwrap();
            fds.flatten()
                .any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == archive))
        });
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let printed = ended(child, &format!("{args:?}"));
        assert_eq!(
            printed.code,
            Some(130),
            "{args:?}: {}{}",
            printed.out,
            printed.err
        );
        assert!(printed.err.contains("nothing was made"), "{}", printed.err);
        assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
    }
}
