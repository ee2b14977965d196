//! System calls as observers report them, and the table of those that are observed.

#[derive(Debug, Clone, Default)]
pub struct Call {
    pub tid: i32,
    /// Its name, as in [`TABLE`].
    pub name: &'static str,
    /// Its arguments, as in registers. Pointers count only as zero or not.
    pub args: [u64; 6],
    /// The strings that its arguments at [`Syscall::texts`] point to.
    pub texts: [Option<Vec<u8>>; 2],
    /// The numbers that its arguments at [`Syscall::pointers`] point to, before the call.
    pub numbers: [Option<u64>; 4],
    /// Return value; an error as its negative number.
    pub result: i64,
    /// Start, ns since the start of the recording.
    pub start_ns: u64,
    /// Return, ns since the start of the recording.
    pub end_ns: u64,
}

/// The data that an argument points to, except for strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointers {
    /// No data is read.
    None,
    /// One or two file offsets, at these arguments. The kernel advances them.
    Offsets(&'static [u8]),
    /// Up to four numbers of 8 bytes: a structure, at this argument.
    Structure(u8),
}

/// Operations of `io_uring_register(2)` on the table of registered files of a ring.
pub const REGISTER_FILES: i32 = 2;
pub const UNREGISTER_FILES: i32 = 3;
pub const UPDATE_FILES: i32 = 6;
pub const REGISTER_FILES_2: i32 = 13;
pub const UPDATE_FILES_2: i32 = 14;

/// A system call that is observed.
#[derive(Debug, Clone, Copy)]
pub struct Syscall {
    pub name: &'static str,
    /// Its number on this processor.
    pub number: u32,
    /// Positions of its arguments that are strings: paths, and names of extended attributes.
    pub texts: &'static [u8],
    /// Further data that its arguments point to.
    pub pointers: Pointers,
}

pub fn find(name: &str) -> Option<&'static Syscall> {
    TABLE.iter().find(|call| call.name == name)
}

macro_rules! calls {
    ($($(#[$only:meta])? $($number:literal)? $name:ident $texts:expr $(, $pointers:expr)?;)*) => {
        /// All system calls that are observed.
        pub static TABLE: &[Syscall] = &[
            $($(#[$only])? Syscall {
                name: name(stringify!($name)),
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                number: calls!(= $name $($number)?),
                texts: &$texts,
                pointers: calls!(@ $($pointers)?),
            },)*
        ];
    };
    (= $name:ident) => { libc::$name as u32 };
    // A call that the crate `libc` does not have.
    (= $name:ident $number:literal) => { $number };
    (@) => { Pointers::None };
    (@ $pointers:expr) => { $pointers };
}

/// The name without `SYS_`.
const fn name(constant: &'static str) -> &'static str {
    constant.split_at(4).1
}

calls! {
    #[cfg(target_arch = "x86_64")] SYS_open [0];
    #[cfg(target_arch = "x86_64")] SYS_creat [0];
    SYS_openat [1];
    SYS_openat2 [1], Pointers::Structure(2);
    SYS_close [];
    SYS_close_range [];
    SYS_read [];
    SYS_write [];
    SYS_pread64 [];
    SYS_pwrite64 [];
    SYS_readv [];
    SYS_writev [];
    SYS_preadv [];
    SYS_pwritev [];
    SYS_preadv2 [];
    SYS_pwritev2 [];
    SYS_lseek [];
    SYS_fsync [];
    SYS_fdatasync [];
    SYS_sync_file_range [];
    SYS_syncfs [];
    SYS_sync [];
    SYS_truncate [0];
    SYS_ftruncate [];
    SYS_fallocate [];
    SYS_fadvise64 [];
    SYS_readahead [];
    SYS_copy_file_range [], Pointers::Offsets(&[1, 3]);
    SYS_sendfile [], Pointers::Offsets(&[2]);
    SYS_splice [], Pointers::Offsets(&[1, 3]);
    SYS_ioctl [], Pointers::Structure(2);
    #[cfg(target_arch = "x86_64")] SYS_rename [0, 1];
    SYS_renameat [1, 3];
    SYS_renameat2 [1, 3];
    #[cfg(target_arch = "x86_64")] SYS_link [0, 1];
    SYS_linkat [1, 3];
    #[cfg(target_arch = "x86_64")] SYS_symlink [0, 1];
    SYS_symlinkat [0, 2];
    #[cfg(target_arch = "x86_64")] SYS_unlink [0];
    SYS_unlinkat [1];
    #[cfg(target_arch = "x86_64")] SYS_rmdir [0];
    #[cfg(target_arch = "x86_64")] SYS_mkdir [0];
    SYS_mkdirat [1];
    #[cfg(target_arch = "x86_64")] SYS_mknod [0];
    SYS_mknodat [1];
    #[cfg(target_arch = "x86_64")] SYS_getdents [];
    SYS_getdents64 [];
    #[cfg(target_arch = "x86_64")] SYS_stat [0];
    #[cfg(target_arch = "x86_64")] SYS_lstat [0];
    SYS_fstat [];
    SYS_newfstatat [1];
    SYS_statx [1];
    #[cfg(target_arch = "x86_64")] SYS_access [0];
    SYS_faccessat [1];
    SYS_faccessat2 [1];
    #[cfg(target_arch = "x86_64")] SYS_readlink [0];
    SYS_readlinkat [1];
    SYS_statfs [0];
    SYS_fstatfs [];
    #[cfg(target_arch = "x86_64")] SYS_chmod [0];
    SYS_fchmod [];
    SYS_fchmodat [1];
    #[cfg(target_arch = "x86_64")] SYS_chown [0];
    #[cfg(target_arch = "x86_64")] SYS_lchown [0];
    SYS_fchown [];
    SYS_fchownat [1];
    #[cfg(target_arch = "x86_64")] SYS_utime [0];
    #[cfg(target_arch = "x86_64")] SYS_utimes [0];
    #[cfg(target_arch = "x86_64")] SYS_futimesat [1];
    SYS_utimensat [1];
    SYS_getxattr [0, 1];
    SYS_lgetxattr [0, 1];
    SYS_fgetxattr [1];
    SYS_setxattr [0, 1], Pointers::Structure(2);
    SYS_lsetxattr [0, 1], Pointers::Structure(2);
    SYS_fsetxattr [1], Pointers::Structure(2);
    SYS_listxattr [0];
    SYS_llistxattr [0];
    SYS_flistxattr [];
    SYS_removexattr [0, 1];
    SYS_lremovexattr [0, 1];
    SYS_fremovexattr [1];
    SYS_mmap [];
    SYS_munmap [];
    SYS_mremap [];
    SYS_msync [];
    SYS_dup [];
    #[cfg(target_arch = "x86_64")] SYS_dup2 [];
    SYS_dup3 [];
    SYS_fcntl [];
    SYS_chdir [0];
    SYS_fchdir [];
    SYS_chroot [0];
    SYS_wait4 [];
    SYS_waitid [];
    SYS_io_uring_enter [];
    SYS_io_uring_register [], Pointers::Structure(2);
    SYS_io_submit [];
    SYS_io_getevents [];
    #[cfg(target_arch = "x86_64")] 333 SYS_io_pgetevents [];
    #[cfg(target_arch = "aarch64")] 292 SYS_io_pgetevents [];
    SYS_unshare [];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_the_system() {
        let openat = find("openat").unwrap();
        assert_eq!(i64::from(openat.number), libc::SYS_openat);
        assert!(find("SYS_openat").is_none());
        let mut numbers: Vec<u32> = TABLE.iter().map(|call| call.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), TABLE.len());
        // The programs in the kernel have a table of this length.
        assert!(numbers.iter().all(|number| *number < 512));
    }
}
