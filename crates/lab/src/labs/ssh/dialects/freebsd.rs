//! FreeBSD, after its manual pages: mdconfig(8), mount(8), swapinfo(8), and the counters of the
//! kernel by sysctl(8). No test runs it.

use super::{Dialect, SYSCTL, mount};

pub(super) static FREEBSD: Dialect = Dialect {
    system: "FreeBSD",
    bsd: true,
    attach: |image, variable| {
        format!("unit=$(mdconfig -a -t vnode -f {image}) && {variable}=/dev/$unit")
    },
    detach: |variable| format!("mdconfig -d -u \"${{{variable}#/dev/}}\""),
    // diskinfo(8): the serial number of a disk.
    find_disk: |serial, variable| {
        format!(
            "for disk in $(sysctl -n kern.disks); do \
             [ \"$(diskinfo -s \"/dev/$disk\" 2>/dev/null)\" != {serial} ] || \
             {variable}=/dev/$disk; done"
        )
    },
    mount,
    // mount(8) loads the module if the kernel lacks the file system.
    has_filesystem: |_| "true".to_owned(),
    has_module: |_| "false".to_owned(),
    facts: SYSCTL,
    // user, nice, system, interrupt, idle: in ticks of the statistics clock.
    busy: Some(
        "set -- $(sysctl -n kern.cp_time); echo \"busy $(($1 + $2 + $3 + $4)) \
         $(sysctl -n kern.clockrate | sed 's/.*stathz = \\([0-9]*\\).*/\\1/')\"",
    ),
    // `zpool` would load the module, which no pool needs that is not there.
    uses: "mount; swapinfo 2>/dev/null; ! kldstat -q -m zfs 2>/dev/null || zpool status; :",
    drop_caches: None,
};
