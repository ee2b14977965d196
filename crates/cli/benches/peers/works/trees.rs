//! Whole trees: copied, unpacked, removed, read, searched and walked, with one worker and with two.

use super::{Work, cpu, other, wall};

const TREE: &str = "{fsdyno} make portage --in {d} --scale {tree}; sync -f {d}";
/// The tree of the read-only works is larger, so that the start of a program matters less.
const READ: &str = "{fsdyno} make portage --in {d} --scale {read}; sync -f {d}";
const NO_COPY: &str = "rm -rf {d}/copy-1 {d}/target; sync -f {d}";
const COPY: &str = "rm -rf {d}/copy-1; {fsdyno} phase copy --in {d}; sync -f {d}";

pub(super) static WORKS: &[Work] = &[
    Work {
        name: "copy",
        about: "a tree of small text files, with its metadata, by reading and writing (cpz and xcp keep \
                none; cpz has a worker for each processor)",
        setup: TREE,
        before: NO_COPY,
        ours: "{fsdyno} phase copy --in {d} --until return",
        others: &[
            other(
                "C baseline",
                "{baseline} copy {d}/source {d}/target",
                &[cpu(1.05)],
            ),
            other(
                "GNU cp",
                "cp -a --reflink=never {d}/source {d}/target",
                &[cpu(0.92)],
            ),
            other("rsync", "rsync -a {d}/source/ {d}/target/", &[]),
            other("cpz", "{cpz} {d}/source {d}/target", &[]),
            other(
                "xcp",
                "{xcp} -r --no-progress --reflink=never {d}/source {d}/target",
                &[],
            ),
        ],
    },
    Work {
        name: "copy, two workers",
        about: "the same by two workers",
        setup: TREE,
        before: NO_COPY,
        ours: "{fsdyno} phase copy --in {d} --set workers=2 --until return",
        others: &[
            other(
                "GNU cp",
                "cp -a --reflink=never {d}/source {d}/target",
                &[wall(0.5)],
            ),
            other("rsync", "rsync -a {d}/source/ {d}/target/", &[wall(0.3)]),
            other("cpz", "{cpz} {d}/source {d}/target", &[wall(1.05)]),
            other(
                "xcp",
                "{xcp} -r --no-progress --reflink=never {d}/source {d}/target",
                &[],
            ),
        ],
    },
    Work {
        name: "untar",
        about: "a plain archive of the tree unpacked, with its metadata",
        setup: "{fsdyno} make portage --in {d} --scale {tree}; tar -cf {d}/tree.tar --format=ustar -C {d}/source .; \
              rm -rf {d}/source; sync -f {d}",
        before: "rm -rf {d}/untar-1 {d}/target; sync -f {d}",
        ours: "{fsdyno} phase untar --in {d} --until return",
        others: &[
            other(
                "C baseline",
                "{baseline} untar {d}/tree.tar {d}/target",
                &[cpu(1.10)],
            ),
            other(
                "GNU tar",
                "sh -c 'mkdir {d}/target && exec tar -xf {d}/tree.tar -C {d}/target'",
                &[cpu(0.9)],
            ),
            other(
                "bsdtar",
                "sh -c 'mkdir {d}/target && exec bsdtar -xpf {d}/tree.tar -C {d}/target'",
                &[cpu(0.6)],
            ),
        ],
    },
    Work {
        name: "delete",
        about: "the tree removed (rmz has a worker for each processor)",
        setup: TREE,
        before: COPY,
        ours: "{fsdyno} phase delete --in {d} --until return",
        others: &[
            other("C baseline", "{baseline} delete {d}/copy-1", &[cpu(1.02)]),
            other("GNU rm", "rm -rf {d}/copy-1", &[cpu(0.97)]),
            other("rmz", "{rmz} {d}/copy-1", &[]),
        ],
    },
    Work {
        name: "delete, two workers",
        about: "the same by two workers",
        setup: TREE,
        before: COPY,
        ours: "{fsdyno} phase delete --in {d} --set workers=2 --until return",
        others: &[
            other("GNU rm", "rm -rf {d}/copy-1", &[]),
            other("rmz", "{rmz} {d}/copy-1", &[wall(1.0)]),
        ],
    },
    Work {
        name: "read a tree",
        about: "every file of the cached tree read",
        setup: READ,
        before: "",
        ours: "{fsdyno} phase read --in {d}",
        others: &[
            other("C baseline", "{baseline} read {d}/source", &[cpu(1.05)]),
            other(
                "find and cat",
                "find {d}/source -type f -exec cat {} +",
                &[],
            ),
        ],
    },
    Work {
        name: "grep, expression",
        about: "a simple expression searched in the cached tree",
        setup: READ,
        before: "",
        ours: "{fsdyno} phase grep --in {d} --pattern '[Ll]ibtool'",
        others: &[
            other(
                "GNU grep",
                "grep -rcE '[Ll]ibtool' {d}/source",
                &[cpu(1.05)],
            ),
            other(
                "rg, one thread",
                "rg -j1 -uuu -c '[Ll]ibtool' {d}/source",
                &[cpu(0.85)],
            ),
        ],
    },
    Work {
        name: "grep, fixed string",
        about: "a word searched in the cached tree",
        setup: READ,
        before: "",
        ours: "{fsdyno} phase grep --in {d} --pattern libtool",
        others: &[
            other("GNU grep", "grep -rcF libtool {d}/source", &[cpu(1.05)]),
            other(
                "rg, one thread",
                "rg -j1 -uuu -cF libtool {d}/source",
                &[cpu(0.85)],
            ),
        ],
    },
    Work {
        name: "grep, two workers",
        about: "the expression and the word searched by two workers",
        setup: READ,
        before: "",
        ours: "{fsdyno} phase grep --in {d} --set workers=2 --pattern '[Ll]ibtool'",
        others: &[
            other(
                "rg, expression",
                "rg -j2 -uuu -c '[Ll]ibtool' {d}/source",
                &[wall(1.0)],
            ),
            super::Other {
                ours: Some("{fsdyno} phase grep --in {d} --set workers=2 --pattern libtool"),
                ..other(
                    "rg, fixed string",
                    "rg -j2 -uuu -cF libtool {d}/source",
                    &[wall(1.0)],
                )
            },
        ],
    },
    Work {
        name: "walk and stat",
        about: "stat of every entry of the cached tree",
        setup: READ,
        before: "",
        ours: "{fsdyno} phase stat-walk --in {d}",
        others: &[
            other("C baseline", "{baseline} walk {d}/source", &[cpu(1.05)]),
            other("GNU find", "find {d}/source -size +1000000k", &[cpu(0.95)]),
            other(
                "fd, one thread",
                "fdfind -u -j1 -S +1000000k . {d}/source",
                &[cpu(0.5)],
            ),
        ],
    },
];
