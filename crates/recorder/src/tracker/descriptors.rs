//! Calls that change what a process has: descriptors, working and root directory, mappings.

use super::arguments::{Skip, descriptor, flags, has, offset};
use super::files::{Description, Region, last};
use super::{Tracker, ended, install};
use crate::calls::Call;
use fsdyno_trace::{Action, Handle, Mapping, ThreadId};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

impl<W: Write> Tracker<W> {
    pub(super) fn open(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let none = [None; 4];
        let (directory, bits, mode) = match call.name {
            "open" => (None, call.args[1], call.args[2]),
            "creat" => {
                let bits = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                (None, u64::from(bits.unsigned_abs()), call.args[1])
            }
            "openat2" => {
                let [bits, mode, ..] = if call.args[2] == 0 {
                    none
                } else {
                    call.numbers
                };
                (Some(0), bits.unwrap_or(0), mode.unwrap_or(0))
            }
            _ => (Some(0), call.args[2], call.args[3]),
        };
        let creates = has(bits, libc::O_CREAT);
        let unnamed =
            flags(bits) & libc::O_TMPFILE.unsigned_abs() == libc::O_TMPFILE.unsigned_abs();
        let mode = if creates || unnamed {
            flags(mode) & 0o7777
        } else {
            0
        };
        let exclusive = creates && has(bits, libc::O_EXCL);
        let follow = !has(bits, libc::O_NOFOLLOW) && !exclusive;
        let found = self.found(call, 0, directory, follow);
        // A name of /proc for a descriptor opens its file, which may have no name any more.
        let reopened = found.as_ref().ok().and_then(|found| {
            let (pid, number) = found.descriptor?;
            self.description(pid, number)
        });
        if let Some(of) = reopened {
            return self.reopen(call, thread, flags(bits), &of);
        }
        let number = i32::try_from(call.result)
            .ok()
            .filter(|number| *number >= 0);
        let real = found
            .as_ref()
            .map_or_else(|_| Vec::new(), |found| found.real.clone());
        let inside = match found {
            Ok(found) => self.in_tree(found)?,
            Err(skip) => Err(skip),
        };
        if inside == Err(Skip::Outside) {
            self.outside += 1;
        }
        let handle = match (number, &inside) {
            (Some(_), Ok(_)) => Some(Handle(self.handles.next())),
            _ => None,
        };
        if let Ok(inside) = &inside {
            let (path, flags) = (inside.id, flags(bits));
            let action = Action::Open {
                path,
                flags,
                mode,
                handle,
            };
            self.write(thread, call.start_ns, call.end_ns, action, call.result)?;
            if creates && handle.is_some() && exclusive {
                self.links.removed(&inside.relative);
            }
        }
        if let Some(number) = number {
            let description = self.describe(handle, real);
            self.install(
                call,
                thread,
                number,
                description,
                has(bits, libc::O_CLOEXEC),
            )?;
        }
        Ok(())
    }

    /// An open of `/proc/self/fd/N`.
    fn reopen(
        &mut self,
        call: &Call,
        thread: ThreadId,
        flags: u32,
        of: &Description,
    ) -> io::Result<()> {
        let number = i32::try_from(call.result).ok();
        let number = number.filter(|number| *number >= 0);
        let handle = match (number, of.handle) {
            (Some(_), Some(_)) => Some(Handle(self.handles.next())),
            _ => None,
        };
        match of.handle {
            Some(of) => {
                let action = Action::Reopen { of, flags, handle };
                self.write(thread, call.start_ns, call.end_ns, action, call.result)?;
            }
            None => self.outside += 1,
        }
        if let Some(number) = number {
            let path = of.path.borrow().clone();
            let description = self.describe(handle, path);
            let closes = has(flags.into(), libc::O_CLOEXEC);
            self.install(call, thread, number, description, closes)?;
        }
        Ok(())
    }

    /// Puts a description in the table of the caller. One that is still there was closed by a call
    /// that will be observed later.
    fn install(
        &mut self,
        call: &Call,
        thread: ThreadId,
        number: i32,
        description: Rc<Description>,
        close_on_exec: bool,
    ) -> io::Result<()> {
        let task = &self.tasks[&call.tid];
        let former = install(task, number, description, close_on_exec, call.end_ns);
        if let Some(former) = former {
            let mut files = task.files.borrow_mut();
            if let Some(now) = files.0.get_mut(&number) {
                now.closes_expected = former.closes_expected + 1;
            }
            drop(files);
            self.release(thread, former.description, call.end_ns)?;
        }
        Ok(())
    }

    pub(super) fn close(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let task = &self.tasks[&call.tid];
        if call.name == "close" {
            let number = descriptor(call.args[0]);
            let mut files = task.files.borrow_mut();
            let Some(found) = files.0.get_mut(&number) else {
                self.outside += 1;
                return Ok(());
            };
            if found.closes_expected > 0 && call.start_ns < found.since_ns {
                found.closes_expected -= 1;
                return Ok(());
            }
            let found = files.0.remove(&number);
            drop(files);
            let Some(found) = found else { return Ok(()) };
            let handle = found.description.handle;
            // Only the last descriptor closes the file.
            match (handle, Rc::into_inner(found.description)) {
                (Some(handle), Some(_)) => {
                    let action = Action::Close { handle };
                    return self.write(thread, call.start_ns, call.end_ns, action, call.result);
                }
                (None, _) => self.outside += 1,
                _ => {}
            }
            return Ok(());
        }
        if call.result < 0 {
            return Ok(());
        }
        let range = flags(call.args[0])..=flags(call.args[1]);
        let inside = |number: &i32| u32::try_from(*number).is_ok_and(|n| range.contains(&n));
        // CLOSE_RANGE_UNSHARE and CLOSE_RANGE_CLOEXEC
        if call.args[2] & 2 != 0 {
            self.unshare_files(call.tid);
        }
        let mut files = self.tasks[&call.tid].files.borrow_mut();
        let numbers: Vec<i32> = files.0.keys().copied().filter(inside).collect();
        let mut closed = Vec::new();
        for number in numbers {
            if call.args[2] & 4 == 0 {
                closed.extend(files.0.remove(&number));
            } else if let Some(found) = files.0.get_mut(&number) {
                found.close_on_exec = true;
            }
        }
        drop(files);
        closed.sort_by_key(|found| found.description.handle);
        for found in closed {
            self.release(thread, found.description, call.end_ns)?;
        }
        Ok(())
    }

    pub(super) fn duplicate(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let (from, command) = (descriptor(call.args[0]), descriptor(call.args[1]));
        let Ok(to) = i32::try_from(call.result) else {
            return Ok(());
        };
        if to < 0 {
            return Ok(());
        }
        let close_on_exec = match (call.name, command) {
            ("fcntl", libc::F_SETFD) => {
                let mut files = self.tasks[&call.tid].files.borrow_mut();
                if let Some(found) = files.0.get_mut(&from) {
                    found.close_on_exec = has(call.args[2], libc::FD_CLOEXEC);
                }
                return Ok(());
            }
            ("fcntl", libc::F_DUPFD) | ("dup" | "dup2", _) => false,
            ("fcntl", libc::F_DUPFD_CLOEXEC) => true,
            ("dup3", _) => has(call.args[2], libc::O_CLOEXEC),
            _ => return Ok(()),
        };
        let Some(description) = self.description(call.tid, from) else {
            // A pipe or socket takes the place of a file.
            if call.name != "dup" && from != to {
                let former = self.tasks[&call.tid].files.borrow_mut().0.remove(&to);
                if let Some(former) = former {
                    self.release(thread, former.description, call.end_ns)?;
                }
            }
            return Ok(());
        };
        if from == to && call.name != "fcntl" {
            return Ok(());
        }
        let task = &self.tasks[&call.tid];
        let former = install(task, to, description, close_on_exec, call.end_ns);
        match former {
            Some(former) => self.release(thread, former.description, call.end_ns),
            None => Ok(()),
        }
    }

    fn unshare_files(&mut self, tid: i32) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            let own = task.files.borrow().clone();
            task.files = Rc::new(RefCell::new(own));
        }
    }

    pub(super) fn change_place(&mut self, call: &Call) {
        if call.result < 0 {
            return;
        }
        if call.name == "unshare" {
            if has(call.args[0], libc::CLONE_FILES) {
                self.unshare_files(call.tid);
            }
            if has(call.args[0], libc::CLONE_FS | libc::CLONE_NEWNS)
                && let Some(task) = self.tasks.get_mut(&call.tid)
            {
                let own = task.directories.borrow().clone();
                task.directories = Rc::new(RefCell::new(own));
            }
            return;
        }
        let path = if call.name == "fchdir" {
            let found = self.description(call.tid, descriptor(call.args[0]));
            found.map(|found| found.path.borrow().clone())
        } else {
            self.found(call, 0, None, true).ok().map(|found| found.real)
        };
        let Some(mut path) = path else {
            self.not_known("changes of a working directory to an unknown place");
            return;
        };
        let mut directories = self.tasks[&call.tid].directories.borrow_mut();
        if call.name == "chroot" {
            if path == b"/" {
                path.clear();
            }
            directories.root = path;
        } else {
            directories.working = path;
        }
    }

    pub(super) fn wait(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let pid = match call.name {
            "wait4" => i32::try_from(call.result).unwrap_or(0),
            // waitid returns the process in a structure; known if it waits for one (P_PID).
            _ if call.result == 0 && call.args[0] == 1 => descriptor(call.args[1]),
            _ => 0,
        };
        match self.processes.get(&pid) {
            Some(process) => {
                let action = Action::Wait { process: *process };
                self.write(thread, call.start_ns, call.end_ns, action, call.result)
            }
            None => Ok(()),
        }
    }

    pub(super) fn map(&mut self, call: &Call, thread: ThreadId) -> io::Result<()> {
        let [address, length, ..] = call.args;
        let memory = self.tasks[&call.tid].memory.clone();
        // The kernel maps whole pages.
        let pages = |length: u64| length.saturating_add(4095) & !4095;
        let start = call.result.cast_unsigned();
        match call.name {
            "munmap" if call.result == 0 => {
                for mapping in ended(&memory, address, pages(length)) {
                    let action = Action::Unmap { mapping };
                    self.write(thread, call.start_ns, call.end_ns, action, 0)?;
                }
            }
            "mremap" if call.result >= 0 => {
                let Some((_, offset)) = memory.borrow().find(address) else {
                    return Ok(());
                };
                let region = memory.borrow_mut().0.remove(&address);
                let new = pages(call.args[2]);
                if let Some(region) = region {
                    let region = Region {
                        length: new,
                        offset,
                        ..region
                    };
                    memory.borrow_mut().0.insert(start, region);
                }
            }
            "msync" => {
                let found = memory.borrow().find(address);
                let Some((mapping, at)) = found else {
                    self.outside += 1;
                    return Ok(());
                };
                let action = Action::SyncMap {
                    mapping,
                    offset: at,
                    length: offset(length),
                    flags: flags(call.args[2]),
                };
                self.write(thread, call.start_ns, call.end_ns, action, call.result)?;
            }
            "mmap" => return self.map_file(call, thread, pages(length.max(1))),
            _ => {}
        }
        Ok(())
    }

    fn map_file(&mut self, call: &Call, thread: ThreadId, length: u64) -> io::Result<()> {
        let [_, length_passed, protection, bits, _, from] = call.args;
        let start = call.result.cast_unsigned();
        let memory = self.tasks[&call.tid].memory.clone();
        let failed = (-4095..0).contains(&call.result);
        if !failed {
            // MAP_FIXED replaces what was there.
            for mapping in ended(&memory, start, length) {
                let action = Action::Unmap { mapping };
                self.write(thread, call.start_ns, call.start_ns, action, 0)?;
            }
        }
        if has(bits, libc::MAP_ANONYMOUS) {
            return Ok(());
        }
        let Ok(handle) = self.handle(call, 4) else {
            self.outside += 1;
            return Ok(());
        };
        let mapping = (!failed).then(|| Mapping(self.mappings.next()));
        if let Some(mapping) = mapping {
            let region = Region {
                length,
                offset: 0,
                mapping: Rc::new(mapping),
            };
            let former = memory.borrow_mut().0.insert(start, region);
            debug_assert!(former.is_none_or(|former| last(former).is_none()));
        }
        let action = Action::Map {
            handle,
            offset: offset(from),
            length: offset(length_passed),
            protection: flags(protection),
            flags: flags(bits),
            mapping,
        };
        // The address is not recorded.
        let result = call.result.min(0);
        self.write(thread, call.start_ns, call.end_ns, action, result)
    }
}
