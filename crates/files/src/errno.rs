//! Error numbers by the names that the manuals have for them.

use rustix::io::Errno;

/// The name of an error number, as the manuals have it.
pub fn name(errno: Errno) -> &'static str {
    match errno {
        Errno::PERM => "EPERM",
        Errno::NOENT => "ENOENT",
        Errno::IO => "EIO",
        Errno::NXIO => "ENXIO",
        Errno::TOOBIG => "E2BIG",
        Errno::AGAIN => "EAGAIN",
        Errno::NOMEM => "ENOMEM",
        Errno::ACCESS => "EACCES",
        Errno::NOTBLK => "ENOTBLK",
        Errno::BUSY => "EBUSY",
        Errno::EXIST => "EEXIST",
        Errno::NODEV => "ENODEV",
        Errno::NOTDIR => "ENOTDIR",
        Errno::INVAL => "EINVAL",
        Errno::MFILE => "EMFILE",
        Errno::FBIG => "EFBIG",
        Errno::NOSPC => "ENOSPC",
        Errno::ROFS => "EROFS",
        Errno::RANGE => "ERANGE",
        Errno::NAMETOOLONG => "ENAMETOOLONG",
        Errno::NOSYS => "ENOSYS",
        Errno::LOOP => "ELOOP",
        Errno::DQUOT => "EDQUOT",
        Errno::NOTEMPTY => "ENOTEMPTY",
        Errno::XDEV => "EXDEV",
        Errno::MLINK => "EMLINK",
        Errno::ISDIR => "EISDIR",
        Errno::NFILE => "ENFILE",
        Errno::INTR => "EINTR",
        Errno::NODATA => "ENODATA",
        Errno::NOPKG => "ENOPKG",
        Errno::PROTO => "EPROTO",
        Errno::BADMSG => "EBADMSG (EFSBADCRC)",
        Errno::OVERFLOW => "EOVERFLOW",
        Errno::OPNOTSUPP => "EOPNOTSUPP",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::STALE => "ESTALE",
        Errno::UCLEAN => "EUCLEAN (EFSCORRUPTED)",
        Errno::NOMEDIUM => "ENOMEDIUM",
        _ => "errno",
    }
}

/// The name of an error number; its number if it has no name here.
pub fn text(errno: Errno) -> String {
    match name(errno) {
        "errno" => format!("errno {}", errno.raw_os_error()),
        name => name.to_owned(),
    }
}

/// The name of a raw error number.
pub fn name_of(raw: i32) -> &'static str {
    name(Errno::from_raw_os_error(raw))
}
