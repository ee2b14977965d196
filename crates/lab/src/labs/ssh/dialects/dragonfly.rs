//! `DragonFly`, after its manual pages and handbook: vnconfig(8), disklabel(8), mount(8). No test
//! runs it. If its newfs refuses the device of an image file, name a partition with `--on`, or
//! compare directories.

use super::{Dialect, SYSCTL, USES, mount};

pub(super) static DRAGONFLY: Dialect = Dialect {
    system: "DragonFly",
    bsd: true,
    // vnconfig(8) clones `vn` and prints the name of the clone. newfs(8) needs a labelled disk;
    // partition `c` covers the whole disk.
    attach: |image, variable| {
        format!(
            "unit=$(vnconfig -s labels -c vn {image}) && unit=${{unit#/dev/}} && \
             {variable}=/dev/${{unit}}c && disklabel -r -w \"$unit\" auto"
        )
    },
    detach: |variable| format!("unit=${{{variable}#/dev/}}; vnconfig -u \"${{unit%c}}\""),
    // Its disks are named in /dev/serno.
    find_disk: |serial, variable| {
        format!("[ ! -e /dev/serno/{serial} ] || {variable}=/dev/serno/{serial}")
    },
    mount,
    has_filesystem: |_| "true".to_owned(),
    has_module: |_| "false".to_owned(),
    facts: SYSCTL,
    // Its kern.cp_time is not text.
    busy: None,
    uses: USES,
    drop_caches: None,
};
