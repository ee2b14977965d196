//! The description of a rank and its host: the provenance of its figures.

use fsdyno_host::command;
use fsdyno_host::mounts::mountinfo;
use fsdyno_model::{CancelToken, Effective};
use fsdyno_observe::provenance;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub rank: usize,
    pub host: String,
    pub pid: u32,
    /// Kernel, processors and memory.
    pub machine: String,
    /// Each directory with its mount, its options, and the version of the client.
    pub mounts: Vec<String>,
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ({}, PID {})", self.rank, self.host, self.pid)
    }
}

pub fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

impl Member {
    pub fn here(rank: usize, directories: &[PathBuf], version: Option<&str>) -> Self {
        let provenance = provenance::collect(&[], &[]);
        Self {
            rank,
            host: host_name(),
            pid: std::process::id(),
            machine: format!(
                "{}, {}, {} processors ({}), {} MiB",
                provenance.kernel,
                provenance.distribution,
                provenance.processors,
                provenance.processor,
                provenance.memory_bytes >> 20
            ),
            mounts: directories
                .iter()
                .map(|directory| mount(directory, version))
                .collect(),
        }
    }
}

/// The mount of a directory, and the version of its client.
fn mount(directory: &Path, version: Option<&str>) -> String {
    let shown = directory.display();
    let mount = match mountinfo(directory) {
        Ok(mount) => mount,
        Err(error) => return format!("{shown}: unknown mount: {error}"),
    };
    let argv = match version {
        Some(command) => vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
        None => version_command(&mount.fstype)
            .iter()
            .map(|word| (*word).to_owned())
            .collect(),
    };
    let client = if argv.is_empty() {
        None
    } else {
        let finished = command::query(&argv, &CancelToken::new()).ok();
        finished.and_then(|finished| {
            let text = if finished.stdout.trim().is_empty() {
                finished.stderr
            } else {
                finished.stdout
            };
            text.lines().next().map(str::to_owned)
        })
    };
    match client {
        Some(client) => format!("{shown}: {mount}; client {client}"),
        None => format!("{shown}: {mount}"),
    }
}

/// The command that prints the version of the client of a file system; empty if it is a part of
/// the kernel.
fn version_command(fstype: &str) -> &'static [&'static str] {
    match fstype {
        "fuse.glusterfs" => &["glusterfs", "--version"],
        "fuse.ceph" | "fuse.ceph-fuse" => &["ceph-fuse", "--version"],
        "ceph" => &["mount.ceph", "--version"],
        "lustre" => &["lctl", "--version"],
        "nfs" | "nfs4" => &["mount.nfs", "-V"],
        "beegfs" => &["beegfs-ctl", "--version"],
        "fuse.juicefs" => &["juicefs", "--version"],
        _ => &[],
    }
}

/// The hosts of these ranks in the order of their first ranks, each with its ranks.
pub fn hosts(members: &[Member]) -> Vec<(&str, Vec<usize>)> {
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for member in members {
        match hosts.iter_mut().find(|(host, _)| *host == member.host) {
            Some((_, ranks)) => ranks.push(member.rank),
            None => hosts.push((&member.host, vec![member.rank])),
        }
    }
    hosts
}

/// Whether a rank is the first of its host, which does what is done once a host.
pub fn leads(members: &[Member], rank: usize) -> bool {
    let host = &members[rank].host;
    members[..rank].iter().all(|member| member.host != *host)
}

/// The hosts as they are recorded with a cell: ranks, machine, and the mount of its directory.
pub fn provenance_of(members: &[Member], directory: usize) -> Vec<Effective> {
    let facts = hosts(members).into_iter().map(|(host, ranks)| {
        let first = &members[ranks[0]];
        let list: Vec<String> = ranks.iter().map(ToString::to_string).collect();
        let mount = first.mounts.get(directory).map_or("", String::as_str);
        Effective {
            source: format!("host {host}"),
            text: format!(
                "{} ranks: {}\n{}\n{mount}\n",
                ranks.len(),
                list.join(" "),
                first.machine
            ),
        }
    });
    facts.collect()
}
