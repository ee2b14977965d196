//! Operations on many files.

use super::{Goal, Other, Work, cpu, other};

const NO_FILES: &str = "rm -rf {d}/op; sync -f {d}";
const MANY: &str = "{fsdyno} phase op-create --in {d} --set files={n}; sync -f {d}";
const AS_BASELINE: &[Goal] = &[cpu(1.05)];

const fn baseline(command: &'static str) -> Other {
    other("C baseline", command, AS_BASELINE)
}

pub(super) static WORKS: &[Work] = &[
    Work {
        name: "create, tree",
        about: "empty files, 100 in a directory",
        setup: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} create {d} {n} 100 0")],
    },
    Work {
        name: "create, one directory",
        about: "empty files, all in one directory",
        setup: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --set files-per-dir={n} --until return",
        others: &[baseline("{baseline} create {d} {n} {n} 0")],
    },
    Work {
        name: "small-file write",
        about: "files of 2 KiB created and written, 100 in a directory",
        setup: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --set bytes=2048 --until return",
        others: &[baseline("{baseline} create {d} {n} 100 2048")],
    },
    Work {
        name: "stat, tree",
        about: "stat of files in the order of their names, 100 in a directory",
        setup: "{fsdyno} phase op-create --in {d} --set files={many}; sync -f {d}",
        before: "",
        ours: "{fsdyno} phase op-stat --in {d} --set files={many}",
        others: &[other(
            "C baseline",
            "{baseline} stat {d} {many} 100 0",
            &[cpu(1.08)],
        )],
    },
    Work {
        name: "stat, one directory",
        about: "stat of files in the order of their names, all in one directory",
        setup: "{fsdyno} phase op-create --in {d} --set files={many} --set files-per-dir={many}; sync -f {d}",
        before: "",
        ours: "{fsdyno} phase op-stat --in {d} --set files={many} --set files-per-dir={many}",
        others: &[other(
            "C baseline",
            "{baseline} stat {d} {many} {many} 0",
            &[cpu(1.08)],
        )],
    },
    Work {
        name: "open, read, close",
        about: "files of 2 KiB opened, read and closed",
        setup: "{fsdyno} phase op-create --in {d} --set files={many} --set bytes=2048; sync -f {d}",
        before: "",
        ours: "{fsdyno} phase op-open --in {d} --set files={many} --set bytes=2048",
        others: &[baseline("{baseline} open {d} {many} 100 2048")],
    },
    Work {
        name: "rename",
        about: "files renamed, and renamed back",
        setup: MANY,
        before: "sync -f {d}",
        ours: "{fsdyno} phase op-rename --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} rename {d} {n} 100 0")],
    },
    Work {
        name: "link",
        about: "hard links to files",
        setup: "{fsdyno} phase op-create --in {d} --set files={n}; {baseline} link {d} {n} 100 0",
        before: "{baseline} unlink-links {d} {n} 100 0; sync -f {d}",
        ours: "{fsdyno} phase op-link --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} link {d} {n} 100 0")],
    },
    Work {
        name: "mkdir",
        about: "directories created, 100 in a directory",
        setup: "{fsdyno} phase op-create --in {d} --set files={n}; {baseline} mkdir {d} {n} 100 0",
        before: "{baseline} rmdir {d} {n} 100 0; sync -f {d}",
        ours: "{fsdyno} phase op-mkdir --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} mkdir {d} {n} 100 0")],
    },
    Work {
        name: "rmdir",
        about: "empty directories removed",
        setup: MANY,
        before: "{baseline} mkdir {d} {n} 100 0; sync -f {d}",
        ours: "{fsdyno} phase op-rmdir --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} rmdir {d} {n} 100 0")],
    },
    Work {
        name: "unlink, tree",
        about: "empty files unlinked in the order of their names, 100 in a directory",
        setup: "",
        before: "rm -rf {d}/op; {fsdyno} phase op-create --in {d} --set files={n}; sync -f {d}",
        ours: "{fsdyno} phase op-unlink --in {d} --set files={n} --until return",
        others: &[baseline("{baseline} unlink {d} {n} 100 0")],
    },
    Work {
        name: "unlink, one directory",
        about: "empty files unlinked in the order of their names, all in one directory",
        setup: "",
        before: "rm -rf {d}/op; {fsdyno} phase op-create --in {d} --set files={n} --set files-per-dir={n}; sync -f {d}",
        ours: "{fsdyno} phase op-unlink --in {d} --set files={n} --set files-per-dir={n} --until return",
        others: &[baseline("{baseline} unlink {d} {n} {n} 0")],
    },
    Work {
        name: "six file phases",
        about: "create, stat and delete in one directory, twice, each in a process and made durable \
                (bonnie++ in one process, the second time in another order)",
        setup: "",
        before: "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}",
        ours: "sh -c 'n=$(({k} * 1024)); for turn in 1 2; do for p in create stat unlink; do \
               {fsdyno} phase op-$p --in {d} --set files=$n --set files-per-dir=$n; done; done'",
        others: &[other(
            "bonnie++",
            "bonnie++ -q -u root -d {d} -s 0 -n {k} -r 0",
            &[cpu(0.81)],
        )],
    },
];
