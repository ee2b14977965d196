//! Releases devices to be erased: compares their description with the consent of the user.

use super::configured;
use super::consent::{Consent, consent_for, covers_configured, flag};
use super::saved::{self, SaveError};
use super::{DeviceDescription, GuardError, Identity, Signature, signatures, users};
use crate::sysfs::{Block, split};
use fsdyno_model::Bytes;
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A device that will not be erased, with all reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The device, as it was named.
    pub device: PathBuf,
    /// The reasons, one sentence each.
    pub reasons: Vec<String>,
    pub remedy: String,
}

/// A device that may be erased. Its disk stays locked until this value is dropped.
#[derive(Debug)]
pub struct Released {
    description: DeviceDescription,
    /// Whether it may contain data; true for every device.
    holds: bool,
    /// Holds the `flock` of a disk; never read from nor written to.
    _lock: Option<OwnedFd>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} will not be erased:", self.device.display())?;
        for reason in &self.reasons {
            writeln!(f, "  - {reason}")?;
        }
        write!(f, "{}", self.remedy)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub(super) fn new(device: &Path, reasons: Vec<String>, remedy: impl Into<String>) -> Self {
        Self {
            device: device.to_owned(),
            reasons,
            remedy: remedy.into(),
        }
    }
}

/// Releases devices to be erased: all of them, or none.
///
/// `need` is the smallest size of each device. The module describes the order of the checks.
pub fn release(
    paths: &[PathBuf],
    consents: &[Consent],
    need: Bytes,
) -> Result<Vec<Released>, Refusal> {
    let mut named: Vec<(&Path, Identity)> = Vec::new();
    for path in paths {
        let (identity, _) = Identity::of(path).map_err(|error| unfit(path, &error))?;
        refuse_shared_disk(path, &identity, &named)?;
        named.push((path, identity));
    }
    let identities: Vec<Identity> = named.iter().map(|(_, named)| named.clone()).collect();
    named
        .iter()
        .map(|(path, identity)| release_one(path, identity, &identities, consents, need))
        .collect()
}

/// Locks and examines one device; all findings are read under the lock.
fn release_one(
    path: &Path,
    identity: &Identity,
    named: &[Identity],
    consents: &[Consent],
    need: Bytes,
) -> Result<Released, Refusal> {
    let fail = |error: GuardError| unfit(path, &error);
    let gone = |error| fail(GuardError::unreadable(&identity.name)(error));
    let block = Block::numbered(identity.number).map_err(gone)?;
    let disk = block.whole().map_err(gone)?;
    let held = lock(&disk);
    let users = users::find(&block);
    // The users explain more than the error of a lock or a read: they are always reported.
    let refuse = |error: GuardError| {
        let mut refusal = unfit(path, &error);
        let known = users.iter().flatten().map(ToString::to_string);
        refusal.reasons.splice(0..0, known);
        refusal
    };
    let lock = held.map_err(refuse)?;
    let signatures = signatures::find(&block).map_err(refuse)?;
    let configured = configured::find(&block, &signatures).map_err(refuse)?;
    let (now, _) = Identity::of(path).map_err(refuse)?;
    // The lock is on the disk that was found first: the examined device must be on it.
    if let Some(change) = identity.difference(&now) {
        return Err(refusal(path, vec![change]));
    }
    let description = DeviceDescription {
        identity: now,
        users: users.map_err(fail)?,
        signatures,
        configured,
    };
    judge(path, &description, named, consents, need)?;
    Ok(Released {
        description,
        holds: true,
        _lock: Some(lock),
    })
}

/// Two devices on one disk would erase each other, or measure each other's traffic.
fn refuse_shared_disk(
    path: &Path,
    identity: &Identity,
    before: &[(&Path, Identity)],
) -> Result<(), Refusal> {
    let Some((other, twin)) = before.iter().find(|(_, twin)| twin.disk == identity.disk) else {
        return Ok(());
    };
    let reason = if twin.number == identity.number {
        format!("it is named twice: {} is the same device", other.display())
    } else {
        format!(
            "it is on the same disk ({}) as {}",
            identity.disk,
            other.display()
        )
    };
    let remedy = "name each device once, each on a disk of its own";
    Err(Refusal::new(path, vec![reason], remedy))
}

/// Takes the lock of the whole disk. It retries for a moment, since udev holds the lock while it
/// probes.
fn lock(disk: &Block) -> Result<OwnedFd, GuardError> {
    const TRIES: u32 = 20;
    let node = disk.node();
    let unreadable =
        |error: Errno| GuardError::unreadable(node.display().to_string())(error.into());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(&node, flags, Mode::empty()).map_err(unreadable)?;
    if split(rustix::fs::fstat(&device).map_err(unreadable)?.st_rdev) != disk.number {
        // A stale node, of another device.
        return Err(unreadable(Errno::NODEV));
    }
    for _ in 0..TRIES {
        match fsdyno_files::flock(&device, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(device),
            Err(Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(unreadable(error)),
        }
    }
    Err(GuardError::Locked { node })
}

/// Whether this process holds the lock of the disk of a device, by `proc_locks(5)`.
pub fn is_locked_by(path: &Path, pid: u32) -> bool {
    let disk = Block::named_by(path).ok().flatten();
    let node = disk.and_then(|block| rustix::fs::stat(block.whole().ok()?.node()).ok());
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    node.is_some_and(|node| {
        let (major, minor) = split(node.st_dev);
        let file = format!("{major:02x}:{minor:02x}:{}", node.st_ino);
        let holder = pid.to_string();
        locks.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            matches!(&words[..], [_, "FLOCK", _, _, by, on, ..] if *by == holder && *on == file)
        })
    })
}

/// Refuses a device with a user, or with a signature without consent.
pub(super) fn judge(
    path: &Path,
    description: &DeviceDescription,
    named: &[Identity],
    consents: &[Consent],
    need: Bytes,
) -> Result<(), Refusal> {
    let identity = &description.identity;
    let mut reasons = obstacles(description, need);
    let free = reasons.is_empty();
    let consent = match consent_for(identity, named, consents) {
        Ok(kinds) => Some(kinds),
        Err(reason) => {
            reasons.push(reason);
            None
        }
    };
    let acknowledged = |signature: &Signature| {
        consent.is_some_and(|kinds| {
            kinds
                .iter()
                .any(|kind| kind.eq_ignore_ascii_case(&signature.kind))
        })
    };
    for signature in &description.signatures {
        if !acknowledged(signature) {
            let holder = if signature.device == identity.name {
                "it".to_owned()
            } else {
                format!("its partition {}", signature.device)
            };
            reasons.push(format!("{holder} holds {signature}"));
        }
    }
    if !covers_configured(identity, consents) {
        reasons.extend(description.configured.iter().map(ToString::to_string));
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let mut refusal = refusal(path, reasons);
    if free {
        refusal.remedy = format!("if all of it may be lost, add {}", flag(description));
    }
    Err(refusal)
}

/// Reasons for a refusal that no consent removes.
fn obstacles(description: &DeviceDescription, need: Bytes) -> Vec<String> {
    let identity = &description.identity;
    let mut reasons: Vec<String> = description.users.iter().map(ToString::to_string).collect();
    if identity.read_only {
        reasons.push("it is read-only".to_owned());
    }
    if identity.size.0 == 0 {
        reasons.push("there is no medium in it, or nothing is attached to it".to_owned());
    } else if identity.size < need {
        reasons.push(format!(
            "it is too small: {}, and {need} are needed",
            identity.size
        ));
    }
    reasons
}

/// A refusal for reasons that no consent can lift.
fn refusal(path: &Path, reasons: Vec<String>) -> Refusal {
    let remedy = "free it first or name another device; --on loop compares on image files instead";
    Refusal::new(path, reasons, remedy)
}

/// A refusal of a path that is no device or cannot be checked.
pub(super) fn unfit(path: &Path, error: &GuardError) -> Refusal {
    let remedy = match error {
        GuardError::NotADevice { .. } | GuardError::Absent { .. } => {
            "name a block device (lsblk lists them); for image files use --on loop, with \
            --work-dir DIR for their directory; for a directory --on dir:PATH"
        }
        GuardError::Unreadable { source, .. }
            if source.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) =>
        {
            "run as root (sudo), or compare directories with --on dir:PATH"
        }
        GuardError::Unreadable { source, .. }
            if source.raw_os_error() == Some(Errno::PERM.raw_os_error()) =>
        {
            "a container or a security policy forbids it; --on loop compares on image files instead"
        }
        GuardError::Unreadable { .. } | GuardError::Undecided { .. } => {
            "a device that cannot be checked is not erased; --on loop compares on image files \
            instead"
        }
        GuardError::Locked { .. } => "wait until that program has ended, or name another device",
    };
    Refusal::new(path, vec![error.to_string()], remedy)
}

impl Released {
    /// A file, which has no disk to lock.
    pub(super) fn of_file(description: DeviceDescription, holds: bool) -> Self {
        Self {
            description,
            holds,
            _lock: None,
        }
    }

    /// Whether it may contain data.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Whether an open device is the one that was released.
    pub fn is(&self, device: impl AsFd) -> bool {
        rustix::fs::fstat(device)
            .is_ok_and(|about| split(about.st_rdev) == self.description.identity.number)
    }

    /// The device to format, with all links followed.
    pub fn device(&self) -> &Path {
        &self.description.identity.path
    }

    /// The description of the device at its release.
    pub fn description(&self) -> &DeviceDescription {
        &self.description
    }

    /// Checks again right before a mkfs: the same device, and still not in use.
    pub fn recheck(&self) -> Result<(), Refusal> {
        let path = self.device();
        let fail = |error: GuardError| unfit(path, &error);
        let (now, block) = Identity::of(path).map_err(fail)?;
        let mut reasons: Vec<String> = self
            .description
            .identity
            .difference(&now)
            .into_iter()
            .collect();
        if now.read_only {
            reasons.push("it became read-only".to_owned());
        }
        let users = users::find(&block).map_err(fail)?;
        reasons.extend(users.iter().map(ToString::to_string));
        if reasons.is_empty() {
            return Ok(());
        }
        Err(refusal(path, reasons))
    }

    /// Copies the signatures of the device to `directory` before the first mkfs: its first and last
    /// mebibyte and the location of each signature. Returns the path of the description; the copies
    /// are in the same directory.
    pub fn save_signatures(&self, directory: &Path) -> Result<PathBuf, SaveError> {
        saved::save(&self.description, directory)
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::tests::disk;
    use super::super::{Configured, How, Use};
    use super::*;

    fn signature(device: &str, kind: &str, usage: &str) -> Signature {
        Signature {
            device: device.to_owned(),
            kind: kind.to_owned(),
            usage: Some(usage.to_owned()),
            offset: 0,
            label: None,
        }
    }

    fn signed() -> DeviceDescription {
        DeviceDescription {
            identity: disk("sdb", Some("S1")),
            users: Vec::new(),
            signatures: vec![
                signature("sdb", "gpt", "partition-table"),
                signature("sdb1", "ext4", "filesystem"),
            ],
            configured: Vec::new(),
        }
    }

    fn judged(description: &DeviceDescription, consents: &[&str]) -> Result<(), Refusal> {
        let consents: Vec<Consent> = consents.iter().map(|text| Consent::parse(text)).collect();
        let named = [description.identity.clone()];
        let path = Path::new("/dev/sdb");
        judge(path, description, &named, &consents, Bytes(1 << 20))
    }

    #[test]
    fn consent_is_needed_for_the_identity_and_for_each_signature() {
        let description = signed();
        for (consents, expected) in [
            (vec![], "no --erase names it"),
            (vec!["S1"], "it holds a gpt partition table"),
            (
                vec!["S1:gpt"],
                "its partition sdb1 holds an ext4 file system",
            ),
            (
                vec!["S2:gpt,ext4"],
                "`S2` is not its identity, which is `S1`",
            ),
            (vec!["sdb:gpt,ext4"], "`sdb` is not its identity"),
            (vec!["S1:gpt,ext"], "its partition sdb1 holds an ext4"),
        ] {
            let refusal = judged(&description, &consents).expect_err("no consent to all of it");
            let text = refusal.to_string();
            assert!(text.contains(expected), "{consents:?}: {text}");
            assert!(text.contains("--erase 'S1:gpt,ext4'"), "{text}");
        }
        assert_eq!(judged(&description, &["S1:ext4,gpt"]), Ok(()));
        assert_eq!(judged(&description, &["S9", "S1:GPT, ext4"]), Ok(()));
    }

    #[test]
    fn a_device_that_fstab_names_needs_a_consent_of_its_own() {
        let mut description = signed();
        description.configured = vec![Configured {
            subject: "its partition sdb1".into(),
            file: "/etc/fstab",
            spec: "UUID=1".into(),
            purpose: "/home".into(),
            certain: true,
        }];
        let refusal = judged(&description, &["S1:gpt,ext4"]).expect_err("fstab names it");
        let text = refusal.to_string();
        let reason = "its partition sdb1 is named in /etc/fstab as UUID=1, for /home";
        assert!(text.contains(reason), "{text}");
        assert!(
            text.contains("--erase 'S1:gpt,ext4' --erase-fstab 'S1'"),
            "{text}"
        );
        let own = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        let consents = Consent::parse_all(&own(&["S1:gpt,ext4"]), &own(&["S1"])).unwrap();
        let named = [description.identity.clone()];
        let path = Path::new("/dev/sdb");
        assert_eq!(
            judge(path, &description, &named, &consents, Bytes(1)),
            Ok(())
        );
        // Alone it releases nothing.
        assert!(Consent::parse_all(&own(&["S2:gpt"]), &own(&["S1"])).is_err());
    }

    #[test]
    fn no_consent_lifts_a_use() {
        let mut description = signed();
        description.users = vec![Use {
            subject: "its partition sdb1".into(),
            how: How::Mounted {
                point: "/home".into(),
                kind: "ext4".into(),
            },
        }];
        let refusal = judged(&description, &["S1:gpt,ext4"]).expect_err("it is mounted");
        assert_eq!(
            refusal.to_string(),
            "/dev/sdb will not be erased:\n  \
             - its partition sdb1 is mounted at /home (ext4)\n\
             free it first or name another device; --on loop compares on image files instead"
        );
        // The message names no option that bypasses it.
        let bare = judged(&description, &[]).expect_err("it is mounted");
        assert!(!bare.remedy.contains("--erase"), "{bare}");
    }

    #[test]
    fn read_only_empty_and_small_devices_are_refused() {
        let mut description = signed();
        description.identity.read_only = true;
        description.identity.size = Bytes(4096);
        let text = judged(&description, &["S1:gpt,ext4"])
            .expect_err("unfit")
            .to_string();
        assert!(text.contains("it is read-only"), "{text}");
        assert!(
            text.contains("too small: 4.00 KiB, and 1.00 MiB are needed"),
            "{text}"
        );
        description.identity.size = Bytes(0);
        let text = judged(&description, &["S1:gpt,ext4"])
            .expect_err("unfit")
            .to_string();
        assert!(text.contains("nothing is attached"), "{text}");
    }

    #[test]
    fn the_same_device_or_disk_twice_is_refused() {
        let first = Path::new("/dev/sda");
        let before = disk("sda", None);
        let mut part = disk("sda", None);
        part.name = "sda1".into();
        part.number = (8, 1);
        for (identity, expected) in [(&before, "named twice"), (&part, "same disk (sda)")] {
            let pairs = [(first, before.clone())];
            let refusal =
                refuse_shared_disk(Path::new("/dev/x"), identity, &pairs).expect_err(expected);
            assert!(refusal.to_string().contains(expected), "{refusal}");
        }
        assert!(
            refuse_shared_disk(Path::new("/dev/x"), &disk("sdb", None), &[(first, before)]).is_ok()
        );
    }
}
