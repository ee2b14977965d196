//! Linux, with the programs of util-linux or of busybox.

use super::{Dialect, mount};
use std::path::Path;

pub(super) static LINUX: Dialect = Dialect {
    system: "Linux",
    bsd: false,
    attach,
    detach,
    find_disk: |serial, variable| {
        format!(
            "for disk in /sys/block/*; do \
             [ \"$(cat \"$disk/serial\" 2>/dev/null)\" != {serial} ] || \
             {variable}=/dev/${{disk##*/}}; done"
        )
    },
    mount: by_itself,
    has_filesystem: |name| {
        format!("grep -qw {name} /proc/filesystems || modprobe -q {name} 2>/dev/null")
    },
    has_module: |name| format!("[ -d /sys/module/{name} ] || modprobe -q {name} 2>/dev/null"),
    facts: "echo \"processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)\"\n\
        echo \"processors=$(grep -c '^processor' /proc/cpuinfo)\"\n\
        m=$(sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo)\n\
        echo \"memory=$((m * 1024))\"\n\
        d=; for one in /sys/block/*; do case $one in */loop*|*/ram*) ;; *) d=\"$d ${one##*/}\";; esac; done\n\
        echo \"disks=${d# }\"",
    // In ticks of USER_HZ, which is 100 (proc(5)).
    busy: Some("read -r _ u n s _ _ q f _ </proc/stat; echo \"busy $((u + n + s + q + f)) 100\""),
    // Holders of a device or of its partitions.
    uses: "mount; cat /proc/swaps; name=$(readlink -f \"$DEVICE\"); name=${name##*/}; \
        for holder in /sys/class/block/\"$name\"/holders/* /sys/class/block/\"$name\"/*/holders/*; \
        do [ ! -e \"$holder\" ] || echo \"$DEVICE is part of ${holder##*/}\"; done",
    drop_caches: Some("echo 3 >/proc/sys/vm/drop_caches"),
};

/// Avoids `--find --show`, which busybox lacks. Another process may take the device first; then the
/// next one is tried.
fn attach(image: &str, variable: &str) -> String {
    format!(
        "for try in 1 2 3 4 5; do free=$(losetup -f) || break; \
         if losetup --direct-io=on \"$free\" {image} 2>/dev/null || losetup \"$free\" {image}; \
         then {variable}=$free; break; fi; done; [ -n \"${variable}\" ]"
    )
}

fn detach(variable: &str) -> String {
    format!("losetup -d \"${variable}\"")
}

/// `-i`: without a mount helper, like the system call of the host lab.
fn by_itself(fstype: &str, source: &str, target: &Path, options: &[String]) -> Vec<String> {
    let mut words = mount(fstype, source, target, options);
    words.insert(1, "-i".to_owned());
    words
}
