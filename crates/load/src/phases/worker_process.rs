//! Worker processes: each is forked after its memory is allocated, works on a copy, and sends its
//! result through a pipe.
//!
//! Threads share one address space and its lock in the kernel; processes share only the file
//! system.

use crate::error::LoadError;
use crate::stack;
use fsdyno_files::{poll, uninterrupted};
use fsdyno_model::cancel::CancelToken;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid, kill_process,
    set_parent_process_death_signal, waitid, waitpid,
};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::ops::Deref;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The time between two checks of cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The exit status of a worker that panicked; its pipe contains the message.
const PANICKED: i32 = 101;

/// The descriptor of the pipe in a worker; negative in other processes.
static PIPE_OF_WORKER: AtomicI32 = AtomicI32::new(-1);

/// Installs a hook that ends a worker after a panic, with the message in its pipe.
///
/// Another thread may have held the lock of standard error or of the unwinder during the fork, and
/// the default hook would wait forever. Call this before the fork, since installing a hook also
/// takes a lock.
fn panic_through_pipe() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let pipe = PIPE_OF_WORKER.load(Ordering::Relaxed);
            if pipe < 0 {
                return before(info);
            }
            let message = info.to_string();
            // SAFETY: a worker keeps its pipe open until it exits.
            let pipe = unsafe { BorrowedFd::borrow_raw(pipe) };
            let mut rest = message.as_bytes();
            while let Ok(count) = uninterrupted(|| rustix::io::write(pipe, rest)) {
                rest = rest.get(count..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
            }
            // SAFETY: the child runs no destructors; the parent owns the resources.
            unsafe { libc::_exit(PANICKED) }
        }));
    });
}

fn refused<E: Into<io::Error>>(call: &'static str) -> impl Fn(E) -> LoadError {
    move |source| LoadError::io(call, "(a worker)", source.into())
}

/// Runs a function on each of these items in parallel, each in its own process; returns the results
/// in order.
pub(super) fn run_processes<W>(
    workers: &mut [W],
    stop: &CancelToken,
    work: impl Fn(&mut W) -> Vec<u8>,
) -> Result<Vec<Vec<u8>>, LoadError> {
    let mut all = Vec::with_capacity(workers.len());
    for worker in workers {
        all.push(Worker::fork(|| work(worker))?);
    }
    while all.iter().any(|worker| worker.pipe.is_some()) {
        stop.check()?;
        listen(&mut all)?;
    }
    Ok(all
        .iter_mut()
        .map(|worker| std::mem::take(&mut worker.output))
        .collect())
}

/// Reads the data that arrive within one poll interval.
fn listen(all: &mut [Worker]) -> Result<(), LoadError> {
    let mut talking: Vec<&mut Worker> = all
        .iter_mut()
        .filter(|worker| worker.pipe.is_some())
        .collect();
    let pipes = talking.iter().filter_map(|worker| worker.pipe.as_ref());
    let mut polled: Vec<PollFd<'_>> = pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN)).collect();
    poll(&mut polled, Some(POLL_INTERVAL)).map_err(refused("poll"))?;
    let received: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
    let mut output = talking
        .iter_mut()
        .zip(received)
        .filter(|(_, received)| *received);
    output.try_for_each(|(worker, _)| worker.receive())
}

/// A worker process; it is killed when fsdyno exits or this is dropped.
struct Worker {
    pid: Pid,
    /// The read end of its output; none after it has sent everything.
    pipe: Option<PipeReader>,
    output: Vec<u8>,
}

impl Worker {
    fn fork(work: impl FnOnce() -> Vec<u8>) -> Result<Self, LoadError> {
        panic_through_pipe();
        let (ours, theirs) = io::pipe().map_err(refused("pipe2"))?;
        let parent = getpid();
        // SAFETY: the child continues with only a copy of this thread, and exits in this function.
        // Other threads may have held locks. The child takes only that of the allocator, which the
        // C library releases in the child (`fork(2)`, `malloc(3)`). The hook above handles a panic.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            drop(ours);
            live(parent, theirs, work);
        }
        let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 0) else {
            return Err(refused("fork")(io::Error::last_os_error()));
        };
        Ok(Self {
            pid,
            pipe: Some(ours),
            output: Vec::new(),
        })
    }

    /// Reads the available data; a worker that exits without a result has failed.
    fn receive(&mut self) -> Result<(), LoadError> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        let mut part = [0; 16 * 1024];
        match uninterrupted(|| pipe.read(&mut part)) {
            Ok(0) => self.pipe = None,
            Ok(count) => self.output.extend_from_slice(&part[..count]),
            Err(error) => return Err(refused("read")(error)),
        }
        if self.pipe.is_some() {
            return Ok(());
        }
        let reason = match self.exit_status().map_err(refused("waitpid"))? {
            Some(PANICKED) => {
                let message = String::from_utf8_lossy(&self.output);
                format!("a worker process panicked: {}", message.trim())
            }
            Some(0) if !self.output.is_empty() => return Ok(()),
            Some(status) => format!("a worker process ended with status {status} and no result"),
            None => "a worker process was killed by a signal".to_owned(),
        };
        let errno = None;
        Err(LoadError::Worker { reason, errno })
    }

    /// Waits for its exit, which follows the end of its pipe; none if a signal killed it. `drop`
    /// reaps it.
    fn exit_status(&self) -> Result<Option<i32>, Errno> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let end = uninterrupted(|| waitid(WaitId::Pid(self.pid), options))?;
        Ok(end.and_then(|end| end.exit_status()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // An exited process keeps its number until it is reaped.
        let _ = kill_process(self.pid, Signal::KILL);
        let _ = uninterrupted(|| waitpid(Some(self.pid), WaitOptions::empty()));
    }
}

/// The main function of the worker.
fn live(parent: Pid, mut pipe: PipeWriter, work: impl FnOnce() -> Vec<u8>) -> ! {
    stack::touch();
    PIPE_OF_WORKER.store(pipe.as_raw_fd(), Ordering::Relaxed);
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have exited before that.
    if getppid() == Some(parent)
        && let Ok(output) = catch_unwind(AssertUnwindSafe(work))
    {
        // A failure means that the parent has exited.
        let _ = pipe.write_all(&output);
    }
    // SAFETY: the child runs no destructors; the parent owns the resources.
    unsafe { libc::_exit(0) }
}

/// A value that is shared with processes forked later. It must consist only of atomics. All
/// processes have it at the same address.
pub(super) struct SharedMemory<T> {
    place: NonNull<T>,
}

impl<T: Sync> SharedMemory<T> {
    pub fn new(value: T) -> Result<Self, LoadError> {
        let (size, both) = (size_of::<T>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, which overlaps no other memory.
        let place = unsafe { mm::mmap_anonymous(ptr::null_mut(), size, both, MapFlags::SHARED) };
        let place = place.map_err(refused("mmap"))?.cast::<T>();
        // No mapping is at address zero.
        let place = NonNull::new(place).ok_or_else(|| refused("mmap")(Errno::NOMEM))?;
        // SAFETY: the mapping is large enough, page-aligned, and exclusive.
        unsafe { place.write(value) };
        Ok(Self { place })
    }
}

impl<T: Sync> Deref for SharedMemory<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the value was initialised at creation, and is mapped for the life of `self`.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Drop for SharedMemory<T> {
    fn drop(&mut self) {
        // SAFETY: it is this mapping, and no reference into it is left.
        let _ = unsafe { mm::munmap(self.place.as_ptr().cast(), size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn workers_are_processes_with_shared_memory() {
        let sum = SharedMemory::new(AtomicU64::new(0)).unwrap();
        let mut own = [1, 2, 3];
        let output = run_processes(&mut own, &CancelToken::new(), |number| {
            *number *= 10;
            sum.fetch_add(*number, Ordering::SeqCst);
            // More than the capacity of a pipe.
            let mut output = vec![u8::try_from(*number).unwrap(); 100_000];
            output.extend(getpid().as_raw_nonzero().get().to_le_bytes());
            output
        });
        let output = output.unwrap();
        assert_eq!(sum.load(Ordering::SeqCst), 60);
        assert_eq!(own, [1, 2, 3], "what each changes is a copy");
        let mut processes: Vec<&[u8]> = output.iter().map(|output| &output[100_000..]).collect();
        assert!(
            output
                .iter()
                .zip([10, 20, 30])
                .all(|(output, of)| output[..100_000].iter().all(|b| *b == of))
        );
        processes.sort_unstable();
        processes.dedup();
        assert_eq!(processes.len(), 3);
    }

    #[test]
    fn a_worker_that_dies_is_reported_and_the_others_end() {
        let mut workers = [0, 1];
        let end = run_processes(&mut workers, &CancelToken::new(), |number| {
            if *number == 1 {
                let _ = kill_process(getpid(), Signal::KILL);
            }
            std::thread::sleep(std::time::Duration::from_secs(600));
            Vec::new()
        });
        assert!(matches!(end, Err(LoadError::Worker { .. })), "{end:?}");
    }

    #[test]
    fn a_panic_is_reported_while_standard_error_is_locked() {
        let (locked, wait_for_lock) = std::sync::mpsc::channel();
        let (done, wait_until_done) = std::sync::mpsc::channel::<()>();
        let holder = std::thread::spawn(move || {
            let _lock = io::stderr().lock();
            locked.send(()).unwrap();
            let _ = wait_until_done.recv();
        });
        wait_for_lock.recv().unwrap();
        let mut workers = [0, 1];
        let end = run_processes(&mut workers, &CancelToken::new(), |number| {
            assert_ne!(*number, 1, "the second worker fails");
            b"done".to_vec()
        });
        drop(done);
        holder.join().unwrap();
        let reason = end.unwrap_err().to_string();
        assert!(reason.contains("the second worker fails"), "{reason}");
        assert!(reason.contains(file!()), "{reason}");
    }

    #[test]
    fn cancellation_ends_them() {
        let stop = CancelToken::new();
        stop.request();
        let end = run_processes(&mut [()], &stop, |()| {
            std::thread::sleep(std::time::Duration::from_secs(600));
            Vec::new()
        });
        assert!(matches!(end, Err(LoadError::Stopped)), "{end:?}");
    }
}
