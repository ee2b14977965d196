//! The works, as data: how each is laid out, and who does it by which command.
//!
//! Words in braces: `{d}` is the file system, `{n}` so many files, `{k}` as many in units of 1024,
//! `{mib}` the size of large files, `{ops}` operations all over one, `{tree}` the scale of the tree.

/// One work on one file system.
#[derive(Debug)]
pub struct Work {
    pub name: &'static str,
    pub about: &'static str,
    /// What is laid once, by lines of a shell.
    pub lay: &'static str,
    /// What is done untimed before each run.
    pub before: &'static str,
    /// What fsdyno runs.
    pub ours: &'static str,
    pub others: &'static [Other],
}

/// Somebody else who does the same.
#[derive(Debug)]
pub struct Other {
    pub name: &'static str,
    pub command: &'static str,
    /// What fsdyno runs against this one, where it is something else.
    pub ours: Option<&'static str>,
    /// Whether wall time is what is to be compared, rather than processor time.
    pub wall: bool,
    /// The ratio to be reached.
    pub goal: Option<f64>,
}

const fn other(name: &'static str, command: &'static str, goal: f64) -> Other {
    Other {
        name,
        command,
        ours: None,
        wall: false,
        goal: Some(goal),
    }
}

/// Before each work: nothing is left of the one before.
pub const CLEAR: &str = "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}";

const MANY: &str = "{floor} create {d} {n} 100 0";
const NO_FILES: &str = "rm -rf {d}/op {d}/large; sync -f {d}";
const FILES: &str = "rm -rf {d}/op; {floor} create {d} {n} 100 0; sync -f {d}";
const LARGE: &str = "mkdir -p {d}/op; {fsdyno} phase op-write --in {d} --set size={mib}M; \
                     cp {d}/op/large000 {d}/large; cat {d}/large {d}/op/large000 > /dev/null";
const TREE: &str = "{fsdyno} make portage --in {d} --scale {tree}; sync -f {d}";
const NO_COPY: &str = "rm -rf {d}/copy-1 {d}/target; sync -f {d}";
const COPY: &str = "rm -rf {d}/copy-1; cp -a {d}/source {d}/copy-1; sync -f {d}";

/// The works.
pub static ALL: &[Work] = &[
    Work {
        name: "create, tree",
        about: "empty files, 100 in a directory",
        lay: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} create {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "create, one directory",
        about: "empty files, all in one directory",
        lay: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --set each={n} --until return",
        others: &[other("floor", "{floor} create {d} {n} {n} 0", 1.05)],
    },
    Work {
        name: "small-file write",
        about: "files of 2 KiB made and written, 100 in a directory",
        lay: "",
        before: NO_FILES,
        ours: "{fsdyno} phase op-create --in {d} --set files={n} --set bytes=2048 --until return",
        others: &[other("floor", "{floor} create {d} {n} 100 2048", 1.05)],
    },
    Work {
        name: "stat",
        about: "files looked at in the order of their names, 100 in a directory",
        lay: MANY,
        before: "",
        ours: "{fsdyno} phase op-stat --in {d} --set files={n}",
        others: &[other("floor", "{floor} stat {d} {n} 100 0", 1.08)],
    },
    Work {
        name: "open-read-close",
        about: "files of 2 KiB opened, read and closed",
        lay: "{floor} create {d} {n} 100 2048",
        before: "",
        ours: "{fsdyno} phase op-open --in {d} --set files={n} --set bytes=2048",
        others: &[other("floor", "{floor} open {d} {n} 100 2048", 1.05)],
    },
    Work {
        name: "rename",
        about: "files given another name, and their old one again",
        lay: MANY,
        before: "sync -f {d}",
        ours: "{fsdyno} phase op-rename --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} rename {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "link",
        about: "files given a second name",
        lay: "",
        before: FILES,
        ours: "{fsdyno} phase op-link --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} link {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "mkdir",
        about: "directories made, 100 in a directory",
        lay: "",
        before: FILES,
        ours: "{fsdyno} phase op-mkdir --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} mkdir {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "rmdir",
        about: "empty directories removed",
        lay: "",
        before: "rm -rf {d}/op; {floor} create {d} {n} 100 0; {floor} mkdir {d} {n} 100 0; sync -f {d}",
        ours: "{fsdyno} phase op-rmdir --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} rmdir {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "unlink, tree",
        about: "empty files unlinked in the order of their names, 100 in a directory",
        lay: "",
        before: FILES,
        ours: "{fsdyno} phase op-unlink --in {d} --set files={n} --until return",
        others: &[other("floor", "{floor} unlink {d} {n} 100 0", 1.05)],
    },
    Work {
        name: "unlink, one directory",
        about: "empty files unlinked in the order of their names, all in one directory",
        lay: "",
        before: "rm -rf {d}/op; {floor} create {d} {n} {n} 0; sync -f {d}",
        ours: "{fsdyno} phase op-unlink --in {d} --set files={n} --set each={n} --until return",
        others: &[other("floor", "{floor} unlink {d} {n} {n} 0", 1.05)],
    },
    Work {
        name: "six file phases",
        about: "create, stat and delete in one directory, twice, each in a process and made durable \
                (bonnie++ in one process, the second time in another order)",
        lay: "",
        before: "find {d} -mindepth 1 -maxdepth 1 -exec rm -rf {} + ; sync -f {d}",
        ours: "sh -c 'n=$(({k} * 1024)); for turn in 1 2; do for p in create stat unlink; do \
               {fsdyno} phase op-$p --in {d} --set files=$n --set each=$n; done; done'",
        others: &[other(
            "bonnie++",
            "bonnie++ -q -u root -d {d} -s 0 -n {k} -r 0",
            0.81,
        )],
    },
    Work {
        name: "write in order",
        about: "one file in calls of 128 KiB, and fsync",
        lay: "",
        before: "rm -rf {d}/op {d}/large {d}/fio.*; sync -f {d}",
        ours: "{fsdyno} phase op-write --in {d} --set size={mib}M --until return",
        others: &[
            other("floor", "{floor} seq-write {d}/large {mib}M 128K", 1.03),
            other(
                "fio",
                "fio --name=fio --directory={d} --rw=write --bs=128k --size={mib}m --ioengine=psync \
                 --end_fsync=1 --fallocate=none --output=/dev/null",
                0.9,
            ),
            other(
                "GNU dd",
                "dd if=/dev/zero of={d}/large bs=128K count={mib}0 iflag=fullblock \
                   conv=fsync status=none",
                1.0,
            ),
        ],
    },
    Work {
        name: "read in order",
        about: "one file in the cache, in calls of 128 KiB",
        lay: LARGE,
        before: "",
        ours: "{fsdyno} phase op-read --in {d} --set size={mib}M",
        others: &[
            other("floor", "{floor} seq-read {d}/large {mib}M 128K", 1.03),
            other(
                "fio",
                "fio --name=fio --filename={d}/large --rw=read --bs=128k --size={mib}m --ioengine=psync \
                 --invalidate=0 --output=/dev/null",
                1.0,
            ),
            other(
                "GNU dd",
                "dd if={d}/large of=/dev/null bs=128K status=none",
                1.0,
            ),
        ],
    },
    Work {
        name: "read all over, cached",
        about: "4 KiB at random offsets of one file in the cache",
        lay: LARGE,
        before: "",
        ours: "{fsdyno} phase op-random-read --in {d} --set size={mib}M --set operations={ops}",
        others: &[
            other(
                "floor",
                "{floor} random-read {d}/large {ops} 4K cached",
                1.08,
            ),
            other(
                "fio",
                "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --ioengine=psync \
                 --invalidate=0 --norandommap --number_ios={ops} --output=/dev/null",
                0.65,
            ),
        ],
    },
    Work {
        name: "read all over, direct",
        about: "4 KiB at random offsets past the cache, 32 under way; the start of the programs included",
        lay: LARGE,
        before: "",
        ours: "{fsdyno} phase op-random-read --in {d} --engine uring --set size={mib}M \
               --set operations={ops} --set cache=direct --set depth=32",
        others: &[Other {
            name: "fio, tuned",
            command: "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --direct=1 \
                      --ioengine=io_uring --iodepth=32 --fixedbufs=1 --registerfiles=1 --norandommap \
                      --iodepth_batch_complete_max=32 --number_ios={ops} --output=/dev/null",
            ours: None,
            wall: true,
            goal: Some(1.0),
        }],
    },
    Work {
        name: "write all over, cached",
        about: "4 KiB at random offsets of one file in the cache, and fsync",
        lay: LARGE,
        before: "sync -f {d}",
        ours: "{fsdyno} phase op-random-write --in {d} --set size={mib}M --set operations={ops} --until return",
        others: &[other(
            "floor",
            "{floor} random-write {d}/large {ops} 4K cached",
            1.08,
        )],
    },
    Work {
        name: "copy",
        about: "a tree of small text files, with its metadata, by reading and writing",
        lay: TREE,
        before: NO_COPY,
        ours: "{fsdyno} phase copy --in {d} --until return",
        others: &[
            other("floor", "{floor} copy {d}/source {d}/target", 1.05),
            other(
                "GNU cp",
                "cp -a --reflink=never {d}/source {d}/target",
                0.92,
            ),
            other("rsync", "rsync -a {d}/source/ {d}/target/", 0.5),
            other("cpz", "{cpz} {d}/source {d}/target", 1.0),
            other("xcp", "{xcp} -r --no-progress {d}/source {d}/target", 1.0),
        ],
    },
    Work {
        name: "untar",
        about: "a plain archive of the tree unpacked, with its metadata",
        lay: "{fsdyno} make portage --in {d} --scale {tree}; tar -cf {d}/tree.tar --format=ustar -C {d}/source .; \
              rm -rf {d}/source; sync -f {d}",
        before: "rm -rf {d}/untar-1 {d}/target; sync -f {d}",
        ours: "{fsdyno} phase untar --in {d} --until return",
        others: &[
            other("floor", "{floor} untar {d}/tree.tar {d}/target", 1.10),
            other(
                "GNU tar",
                "sh -c 'mkdir {d}/target && tar -xf {d}/tree.tar -C {d}/target'",
                0.9,
            ),
            other(
                "bsdtar",
                "sh -c 'mkdir {d}/target && bsdtar -xf {d}/tree.tar -C {d}/target'",
                0.6,
            ),
        ],
    },
    Work {
        name: "delete",
        about: "the tree removed",
        lay: TREE,
        before: COPY,
        ours: "{fsdyno} phase delete --in {d} --until return",
        others: &[
            other("floor", "{floor} delete {d}/copy-1", 1.02),
            other("GNU rm", "rm -rf {d}/copy-1", 0.97),
            other("rmz", "{rmz} {d}/copy-1", 1.0),
        ],
    },
    Work {
        name: "read a tree",
        about: "every file of the tree in the cache read",
        lay: TREE,
        before: "",
        ours: "{fsdyno} phase read --in {d}",
        others: &[
            other("floor", "{floor} read {d}/source", 1.05),
            other(
                "find and cat",
                "find {d}/source -type f -exec cat {} +",
                1.0,
            ),
        ],
    },
    Work {
        name: "grep, expression",
        about: "a simple expression sought in the tree in the cache",
        lay: TREE,
        before: "",
        ours: "{fsdyno} phase grep --in {d} --pattern '[Ll]ibtool'",
        others: &[
            other("GNU grep", "grep -rcE '[Ll]ibtool' {d}/source", 1.05),
            other(
                "rg, one thread",
                "rg -j1 -uuu -c '[Ll]ibtool' {d}/source",
                0.85,
            ),
        ],
    },
    Work {
        name: "grep, fixed string",
        about: "a word sought in the tree in the cache",
        lay: TREE,
        before: "",
        ours: "{fsdyno} phase grep --in {d} --pattern libtool",
        others: &[
            other("GNU grep", "grep -rcF libtool {d}/source", 1.05),
            other("rg, one thread", "rg -j1 -uuu -cF libtool {d}/source", 0.85),
        ],
    },
    Work {
        name: "walk and stat",
        about: "everything in the tree in the cache looked at",
        lay: TREE,
        before: "",
        ours: "{fsdyno} phase stat-walk --in {d}",
        others: &[
            other("floor", "{floor} walk {d}/source", 1.05),
            other("GNU find", "find {d}/source -size +1000000k", 0.95),
            other(
                "fd, one thread",
                "fdfind -u -j1 -S +1000000k . {d}/source",
                0.5,
            ),
        ],
    },
    Work {
        name: "start to first operation",
        about: "one file made, by a program that is started for it",
        lay: "",
        before: "rm -rf {d}/op {d}/fio; mkdir {d}/fio",
        ours: "{fsdyno} phase op-create --in {d} --set files=1 --until return",
        others: &[Other {
            name: "fio",
            command: "fio --name=fio --directory={d}/fio --ioengine=filecreate --fallocate=none --nrfiles=1 \
                      --filesize=4k --output=/dev/null",
            ours: None,
            wall: true,
            goal: Some(0.02),
        }],
    },
];
