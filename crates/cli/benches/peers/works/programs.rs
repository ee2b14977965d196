//! The overhead of the programs: their start, and the creation of a file system.

use super::{Goal, Most, Of, Other, Work, other, wall};

const fn more(seconds: f64) -> Goal {
    Goal {
        of: Of::Wall,
        most: Most::More(seconds),
    }
}

pub(super) static WORKS: &[Work] = &[
    Work {
        name: "start to first operation",
        about: "one file created by a new process",
        setup: "",
        before: "rm -rf {d}/op {d}/fio; mkdir {d}/fio",
        ours: "{fsdyno} phase op-create --in {d} --set files=1 --until return",
        others: &[
            other(
                "C baseline",
                "{baseline} create {d} 1 100 0",
                &[more(0.005)],
            ),
            other(
                "fio",
                "fio --name=fio --directory={d}/fio --ioengine=filecreate --fallocate=none --nrfiles=1 \
                 --filesize=4k --output=/dev/null",
                &[wall(0.02)],
            ),
        ],
    },
    Work {
        name: "fresh cycle",
        about: "the cost of one more repeat: make, mount, measure one cell, clean up, and wait for an idle \
                device; compared with mkfs alone",
        setup: "",
        before: "rm -f {store}* {image}",
        ours: "{fsdyno} run --fs {fs} --store {store} --work-dir {base} --on loop:4G --phases op-create --set op-create.files=1 \
               --repeats 2",
        others: &[Other {
            less: Some(
                "{fsdyno} run --fs {fs} --store {store} --work-dir {base} --on loop:4G --phases op-create \
                 --set op-create.files=1 --repeats 1",
            ),
            pairs: 2,
            ..other(
                "mkfs",
                "sh -c 'truncate -s 4G {image} && exec {mkfs}'",
                &[more(0.010)],
            )
        }],
    },
];
