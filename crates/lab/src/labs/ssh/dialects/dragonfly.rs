//! `DragonFly`, after its manual pages and handbook: vnconfig(8), disklabel(8), mount(8). No test
//! runs it; where its newfs refuses the device of an image file, name a partition with `--on`, or
//! compare directories.

use super::{Dialect, SYSCTL, USES, mount};

pub(super) static DRAGONFLY: Dialect = Dialect {
    system: "DragonFly",
    bsd: true,
    // `vn` is cloned, and the name of the clone printed. newfs(8) needs a labelled disk; `c` is all
    // of it.
    attach: |image, variable| {
        format!(
            "unit=$(vnconfig -s labels -c vn {image}) && unit=${{unit#/dev/}} && \
             {variable}=/dev/${{unit}}c && disklabel -r -w \"$unit\" auto"
        )
    },
    detach: |variable| format!("unit=${{{variable}#/dev/}}; vnconfig -u \"${{unit%c}}\""),
    mount,
    has_filesystem: |_| "true".to_owned(),
    has_module: |_| "false".to_owned(),
    facts: SYSCTL,
    // Its kern.cp_time is no text.
    busy: None,
    uses: USES,
    drop_caches: None,
};
