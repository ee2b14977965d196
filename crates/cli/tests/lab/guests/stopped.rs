//! A system call in another process, which is stopped for it.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;
use std::thread;
use std::time::Duration;

/// How often a process is stopped until it waits for a signal, and the time between two stops.
const ATTEMPTS: u32 = 3000;
const PAUSE: Duration = Duration::from_millis(20);

/// `syscall`, then `int3`.
const CALL: [u8; 3] = [0x0f, 0x05, 0xcc];

/// Disarms the first timer of a process that waits for a signal of it, as if that signal were lost.
pub fn disarm_timer(process: i32) {
    let memory = File::options()
        .read(true)
        .write(true)
        .open(format!("/proc/{process}/mem"))
        .unwrap();
    let mut others = Vec::new();
    let saved = (0..ATTEMPTS).find_map(|_| {
        trace(libc::PTRACE_ATTACH, process, null_mut());
        wait_for_stop(process, libc::SIGSTOP, &mut others);
        let saved = registers(process);
        if saved.orig_rax == libc::SYS_rt_sigsuspend.cast_unsigned() {
            return Some(saved);
        }
        trace(libc::PTRACE_DETACH, process, null_mut());
        thread::sleep(PAUSE);
        None
    });
    let saved = saved.expect("it never waits for a signal");
    let setting = (saved.rsp - 1024) & !15;
    let (mut code, mut stack) = ([0; CALL.len()], [0; size_of::<libc::itimerspec>()]);
    memory.read_exact_at(&mut code, saved.rip).unwrap();
    memory.read_exact_at(&mut stack, setting).unwrap();
    memory.write_all_at(&CALL, saved.rip).unwrap();
    memory
        .write_all_at(&[0; size_of::<libc::itimerspec>()], setting)
        .unwrap();
    let call = libc::user_regs_struct {
        rax: libc::SYS_timer_settime.cast_unsigned(),
        orig_rax: u64::MAX, // no call that the kernel would restart
        rdi: 0,
        rsi: 0,
        rdx: setting,
        r10: 0,
        ..saved
    };
    set_registers(process, call);
    trace(libc::PTRACE_CONT, process, null_mut());
    wait_for_stop(process, libc::SIGTRAP, &mut others);
    let returned = registers(process).rax;
    memory.write_all_at(&code, saved.rip).unwrap();
    memory.write_all_at(&stack, setting).unwrap();
    set_registers(process, saved);
    trace(libc::PTRACE_DETACH, process, null_mut());
    assert_eq!(returned, 0, "timer_settime");
    for signal in others.into_iter().filter(|signal| *signal != libc::SIGALRM) {
        let signal = Signal::from_named_raw(signal).unwrap();
        kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
    }
}

fn registers(process: i32) -> libc::user_regs_struct {
    // SAFETY: it consists of integers.
    let mut all: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    trace(libc::PTRACE_GETREGS, process, (&raw mut all).cast());
    all
}

fn set_registers(process: i32, mut all: libc::user_regs_struct) {
    trace(libc::PTRACE_SETREGS, process, (&raw mut all).cast());
}

fn trace(request: libc::c_uint, process: i32, data: *mut libc::c_void) {
    // SAFETY: the data of these requests is registers or none.
    let result = unsafe { libc::ptrace(request, process, null_mut::<libc::c_void>(), data) };
    assert_eq!(result, 0, "ptrace: {}", std::io::Error::last_os_error());
}

/// Waits until the process stops with this signal. Notes the others, which it does not get.
fn wait_for_stop(process: i32, expected: i32, others: &mut Vec<i32>) {
    loop {
        let mut status = 0;
        // SAFETY: the status is writable.
        let waited = unsafe { libc::waitpid(process, &raw mut status, libc::__WALL) };
        assert!(waited == process && libc::WIFSTOPPED(status), "{status:x}");
        match libc::WSTOPSIG(status) {
            signal if signal == expected => return,
            other => others.push(other),
        }
        trace(libc::PTRACE_CONT, process, null_mut());
    }
}
