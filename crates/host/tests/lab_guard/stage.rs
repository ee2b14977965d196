//! Loop devices for lab tests to make dangerous, and everything undone afterwards.

use fsdyno_host::guard::Consent;
use fsdyno_host::probe;
use fsdyno_model::{Availability, Need};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub const SIZE: u64 = 64 << 20;
/// A name with blanks, one at its end, to be taken as it is.
const BACKING: &str = "backing file ";

/// A loop device over a sparse file, taken down on drop with all that was put on it.
pub struct Stage {
    pub folder: TempDir,
    pub node: PathBuf,
    pub undo: Vec<Vec<String>>,
}

impl Stage {
    pub fn new() -> Self {
        Self::of_size(SIZE)
    }

    pub fn of_size(bytes: u64) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let file = folder.path().join(BACKING);
        File::create(&file)
            .and_then(|file| file.set_len(bytes))
            .expect("a sparse file");
        let file = text(&file);
        let node = PathBuf::from(run(&["losetup", "--show", "-f", &file]).trim());
        let undo = vec![vec!["losetup".into(), "-d".into(), text(&node)]];
        Self { folder, node, undo }
    }

    pub fn backing(&self) -> PathBuf {
        self.folder.path().join(BACKING)
    }

    pub fn name(&self) -> String {
        self.node.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Runs a command on the stage, with one that undoes it.
    pub fn with(&mut self, command: &[&str], undo: &[&str]) {
        run(command);
        self.undo
            .push(undo.iter().map(|word| (*word).to_owned()).collect());
    }

    /// A label of the kind given, with two partitions, known to the kernel.
    pub fn partition(&mut self, kind: &str) -> [PathBuf; 2] {
        let node = text(&self.node);
        let mut child = Command::new(program("sfdisk"))
            .args(["-q", "--no-reread", "-X", kind, &node])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sfdisk");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"2048,49152\n51200,49152\n")
            .unwrap();
        assert!(child.wait().unwrap().success(), "sfdisk on {node}");
        // By ioctl: the kernel may have been built without partition tables.
        for (number, start) in [("1", "2048"), ("2", "51200")] {
            self.with(
                &["addpart", &node, number, start, "49152"],
                &["delpart", &node, number],
            );
        }
        ["p1", "p2"].map(|suffix| PathBuf::from(format!("{node}{suffix}")))
    }

    /// Mounts a device read-only and untouched, so that the contents stay as they are.
    pub fn mount(&mut self, device: &Path) -> PathBuf {
        let point = self.folder.path().join("mount point");
        fs::create_dir(&point).unwrap();
        let (device, shown) = (text(device), text(&point));
        self.with(&["mount", "-o", "ro", &device, &shown], &["umount", &shown]);
        point
    }

    pub fn consent(&self, signatures: &[&str]) -> Vec<Consent> {
        vec![Consent {
            identity: self.name(),
            signatures: signatures.iter().map(|kind| (*kind).to_owned()).collect(),
            configured: false,
        }]
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for command in self.undo.iter().rev() {
            let done = Command::new(program(&command[0]))
                .args(&command[1..])
                .output();
            if !done.as_ref().is_ok_and(|output| output.status.success()) {
                eprintln!("could not undo: {command:?}: {done:?}");
            }
        }
    }
}

/// A process that is killed on drop.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn text(path: &Path) -> String {
    path.to_str()
        .expect("paths of this test are plain")
        .to_owned()
}

pub fn program(name: &str) -> PathBuf {
    fsdyno_files::programs::find(name).unwrap_or_else(|| PathBuf::from(name))
}

/// Runs a command that must succeed; returns what it printed.
pub fn run(command: &[&str]) -> String {
    let output = Command::new(program(command[0]))
        .args(&command[1..])
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether all requirements are met; else prints why the test is skipped.
pub fn ready(test: &str, programs: &[&str]) -> bool {
    let programs = ["losetup", "wipefs", "blkid", "mount"]
        .iter()
        .chain(programs);
    let needs = [Need::Root, Need::LoopDevices]
        .into_iter()
        .chain(programs.map(|name| Need::Program {
            name: (*name).to_owned(),
            package: String::new(),
        }));
    for need in needs {
        if let Availability::Missing { .. } = probe::probe(&need) {
            println!("SKIP {}: {test}", need.name());
            return false;
        }
    }
    true
}

/// The checksum of the backing file, with all that was written through the device flushed to it.
pub fn checksum(stage: &Stage) -> String {
    let node = text(&stage.node);
    // Each node has a cache of its own.
    for part in ["", "p1", "p2"].map(|part| format!("{node}{part}")) {
        if Path::new(&part).exists() {
            run(&["sync", &part]);
        }
    }
    run(&["sha256sum", &text(&stage.backing())])
}

/// Waits until a process has printed a line.
pub fn wait_for(process: &mut Process, line: &str) {
    let output = process.0.stdout.take().unwrap();
    let printed = BufReader::new(output)
        .lines()
        .map_while(Result::ok)
        .any(|printed| printed == line);
    assert!(printed, "the process ended without printing `{line}`");
}
