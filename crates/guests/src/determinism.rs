//! Makes a guest of User-mode Linux the same at every start: no varying property of this host
//! reaches it. The calendar keeps its time.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Offset of the system call number in the data of a seccomp filter (`struct seccomp_data`).
const NUMBER_AT: u32 = 0;

/// Gives the program no random bytes from the host's kernel, and places its segments at the same
/// addresses each time. The guest then collects its entropy from its own virtual time.
///
/// Programs inside the guest are not affected: their system calls go to the guest's kernel.
pub fn make_deterministic(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes three system calls and allocates nothing.
    unsafe { command.pre_exec(make_deterministic_in_child) };
}

fn make_deterministic_in_child() -> io::Result<()> {
    // SAFETY: it takes a number, and changes the address layout of this process at its exec.
    let personality = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    if personality == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it takes numbers; without it only root may set a filter.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut filter = filter();
    let program = libc::sock_fprog {
        len: filter.len().try_into().unwrap_or_default(),
        filter: filter.as_mut_ptr(),
    };
    let place = std::ptr::from_ref(&program);
    // SAFETY: the filter outlives the call and has the length that it states.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, place) };
    if set == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Fails getrandom(2) with `ENOSYS` and allows all other calls (seccomp(2), BPF).
fn filter() -> [libc::sock_filter; 4] {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code.try_into().unwrap_or_default(),
        jt: 0,
        jf: 0,
        k,
    };
    let number = u32::try_from(libc::SYS_getrandom).unwrap_or_default();
    let refused = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::ENOSYS).unwrap_or_default();
    [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER_AT),
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number)
        },
        statement(libc::BPF_RET | libc::BPF_K, refused),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_no_entropy_of_the_kernel_and_the_same_addresses_each_time() {
        let written = || {
            let mut command = Command::new("sh");
            let script = "grep -e Seccomp: -e NoNewPrivs: /proc/self/status; \
                          grep -F '[stack]' /proc/self/maps";
            make_deterministic(command.args(["-c", script]));
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let first = written();
        assert!(first.contains("Seccomp:\t2"), "{first}");
        assert!(first.contains("NoNewPrivs:\t1"), "{first}");
        assert_eq!(first, written());
    }
}
