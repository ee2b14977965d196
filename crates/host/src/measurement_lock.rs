//! The machine-wide lock of measurements in real time: two at once drop each other's caches and
//! compete for processors and devices.
//!
//! It is a listening socket in the abstract namespace (`unix(7)`). It has no file that another user
//! could plant, the kernel closes it when its holder ends, and reports the holder (`SO_PEERCRED`,
//! `socket(7)`). Each network namespace has a separate lock.

use crate::processes::parent_and_start;
use fsdyno_model::{CancelToken, Nanos};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{bind, connect, listen, socket_with};
use rustix::process::{geteuid, getppid};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

const NAME: &[u8] = b"fsdyno-measures";

/// How often the lock is tried while another process holds it.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum length of the command of a lock holder that is shown.
const SHOWN: usize = 100;

/// The lock, held until it is dropped or the process ends.
#[derive(Debug)]
#[must_use = "the lock is held only as long as this lives"]
pub struct MeasurementLock {
    _socket: OwnedFd,
}

/// The holder of the lock, as the kernel reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// Its process; none if it is not visible from here.
    pub pid: Option<u32>,
    pub uid: Option<u32>,
}

/// How a measurement may proceed.
#[derive(Debug)]
pub enum Grant {
    Locked(MeasurementLock),
    /// As a part of the measurement of a parent process.
    PartOf(Holder),
    /// Without the lock: this is root, and another user held it for all of the time.
    Overridden(Holder),
}

/// The reason why a measurement may not proceed.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process held the lock for all of the time.
    #[error("{holder} measures on this machine")]
    Busy { holder: Holder },
    /// The user interrupted the wait.
    #[error("interrupted")]
    Stopped,
    /// The kernel has no such sockets.
    #[error("cannot take the lock of measurements: {0}")]
    Socket(#[from] Errno),
}

impl MeasurementLock {
    /// The process that holds the lock, unless nobody does or this process is part of its
    /// measurement.
    pub fn holder() -> Option<Holder> {
        let address = SocketAddrUnix::new_abstract_name(NAME).ok()?;
        let holder = holder(&address);
        let is_other = holder.pid.is_some_and(|pid| !is_ancestor(pid));
        (is_other && holder.pid != Some(std::process::id())).then_some(holder)
    }

    /// Takes the lock of this machine; waits as long as `timeout`. `waiting` is called once, before
    /// the wait.
    ///
    /// Root overrides a holder that is not root after the timeout: another user must not prevent
    /// root from measuring.
    pub fn take(
        timeout: Duration,
        stop: &CancelToken,
        waiting: &mut dyn FnMut(&Holder),
    ) -> Result<Grant, LockError> {
        take_named(NAME, timeout, stop, waiting)
    }
}

fn take_named(
    name: &[u8],
    timeout: Duration,
    stop: &CancelToken,
    waiting: &mut dyn FnMut(&Holder),
) -> Result<Grant, LockError> {
    let address = SocketAddrUnix::new_abstract_name(name)?;
    let began = Instant::now();
    let mut announced = false;
    loop {
        if let Some(lock) = attempt(&address)? {
            return Ok(Grant::Locked(lock));
        }
        if !announced {
            announced = true;
            let holder = holder(&address);
            if holder.pid.is_some_and(is_ancestor) {
                return Ok(Grant::PartOf(holder));
            }
            if !timeout.is_zero() {
                waiting(&holder);
            }
        }
        if stop.requested() {
            return Err(LockError::Stopped);
        }
        let left = timeout.saturating_sub(began.elapsed());
        if left.is_zero() {
            let holder = holder(&address);
            return if geteuid().is_root() && holder.uid != Some(0) {
                Ok(Grant::Overridden(holder))
            } else {
                Err(LockError::Busy { holder })
            };
        }
        std::thread::sleep(POLL_INTERVAL.min(left));
    }
}

/// Takes the lock; none if another process holds it.
fn attempt(address: &SocketAddrUnix) -> Result<Option<MeasurementLock>, Errno> {
    let socket = stream()?;
    match bind(&socket, address) {
        Ok(()) => {}
        Err(Errno::ADDRINUSE) => return Ok(None),
        Err(errno) => return Err(errno),
    }
    listen(&socket, 128)?;
    Ok(Some(MeasurementLock { _socket: socket }))
}

fn stream() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// The process that holds the socket; unknown if it does not respond.
fn holder(address: &SocketAddrUnix) -> Holder {
    let peer = stream().and_then(|socket| {
        connect(&socket, address)?;
        socket_peercred(&socket)
    });
    peer.map_or_else(
        |_| Holder::default(),
        |peer| Holder {
            // Zero means a process of another PID namespace.
            pid: u32::try_from(peer.pid.as_raw_pid())
                .ok()
                .filter(|pid| *pid > 0),
            uid: Some(peer.uid.as_raw()),
        },
    )
}

/// Whether this process is a descendant of that one.
fn is_ancestor(pid: u32) -> bool {
    let mut at = getppid().map(|parent| parent.as_raw_pid().unsigned_abs());
    while let Some(number) = at.filter(|number| *number > 1) {
        if number == pid {
            return true;
        }
        at = parent_and_start(number).map(|(parent, _)| parent);
    }
    false
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else {
            return f.write_str("a process that is not visible from here");
        };
        write!(f, "process {pid} (")?;
        match self.uid {
            Some(0) => f.write_str("root")?,
            Some(uid) => write!(f, "uid {uid}")?,
            None => f.write_str("unknown user")?,
        }
        if let Some(command) = command_of(pid) {
            write!(f, ", `{command}`")?;
        }
        if let Some(age) = age_of(pid) {
            write!(f, ", started {} ago", age.clock())?;
        }
        f.write_str(")")
    }
}

/// The command line of a process, with nothing in it that a terminal obeys.
fn command_of(pid: u32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = text.split('\0').filter(|word| !word.is_empty()).collect();
    let mut shown = String::new();
    for letter in words.join(" ").chars().take(SHOWN) {
        if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    (!shown.is_empty()).then_some(shown)
}

fn age_of(pid: u32) -> Option<Nanos> {
    let (_, start_ns) = parent_and_start(pid)?;
    let now = clock_gettime(ClockId::Boottime);
    let now = Duration::new(now.tv_sec.try_into().ok()?, now.tv_nsec.try_into().ok()?);
    let now_ns = u64::try_from(now.as_nanos()).ok()?;
    Some(Nanos(now_ns.saturating_sub(start_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::Uid;
    use rustix::thread::set_thread_res_uid;

    fn try_take(name: &str, stop: &CancelToken) -> Result<Grant, LockError> {
        take_named(name.as_bytes(), Duration::ZERO, stop, &mut |_| {
            panic!("it waits");
        })
    }

    fn name(test: &str) -> String {
        format!("fsdyno-{test}-{}", std::process::id())
    }

    #[test]
    fn one_process_holds_the_lock_and_it_is_free_when_that_ends() {
        let (name, stop) = (name("one"), CancelToken::new());
        let Ok(Grant::Locked(held)) = try_take(&name, &stop) else {
            panic!("it is free");
        };
        let Err(LockError::Busy { holder }) = try_take(&name, &stop) else {
            panic!("it is held");
        };
        assert_eq!(holder.pid, Some(std::process::id()));
        assert_eq!(holder.uid, Some(geteuid().as_raw()));
        let shown = holder.to_string();
        let command = std::env::args().next().unwrap();
        let begins: String = command.chars().take(20).collect();
        assert!(
            shown.contains(&begins) && shown.contains(" ago)"),
            "{shown}"
        );
        // The waiting process notices cancellation.
        let mut announced = 0;
        let token = stop.clone();
        let waited = take_named(
            name.as_bytes(),
            Duration::from_secs(600),
            &stop,
            &mut |_| {
                announced += 1;
                token.request();
            },
        );
        assert!(matches!(waited, Err(LockError::Stopped)), "{waited:?}");
        assert_eq!(announced, 1);
        drop(held);
        assert!(matches!(try_take(&name, &stop), Ok(Grant::Locked(_))));
    }

    #[test]
    fn another_user_does_not_keep_root_from_measuring() {
        if !geteuid().is_root() {
            println!("SKIP root: another_user_does_not_keep_root_from_measuring");
            return;
        }
        let (name, stop) = (name("user"), CancelToken::new());
        let (root, nobody) = (Uid::ROOT, Uid::from_raw(65_534));
        // Only this thread becomes another user.
        set_thread_res_uid(root, nobody, root).unwrap();
        let held = try_take(&name, &stop);
        let refused = try_take(&name, &stop);
        set_thread_res_uid(root, root, root).unwrap();
        assert!(matches!(held, Ok(Grant::Locked(_))), "{held:?}");
        assert!(
            matches!(refused, Err(LockError::Busy { .. })),
            "{refused:?}"
        );
        let Ok(Grant::Overridden(holder)) = try_take(&name, &stop) else {
            panic!("root overrides it");
        };
        assert_eq!(holder.uid, Some(65_534));
    }

    #[test]
    fn a_socket_that_does_not_respond_has_an_unknown_holder() {
        let (name, stop) = (name("mute"), CancelToken::new());
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        let unresponsive = stream().unwrap();
        bind(&unresponsive, &address).unwrap();
        let found = try_take(&name, &stop);
        let holder = match found {
            Err(LockError::Busy { holder }) if !geteuid().is_root() => holder,
            Ok(Grant::Overridden(holder)) if geteuid().is_root() => holder,
            other => panic!("{other:?}"),
        };
        assert_eq!(holder, Holder::default());
        assert!(holder.to_string().contains("not visible"));
    }
}
