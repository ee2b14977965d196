//! One large file, with sequential and random access.

use super::{Work, by_own_clocks, cpu, other, wall};

/// One file, with links under the names that the programs expect.
const LARGE: &str = "{fsdyno} phase op-write --in {d} --set size={mib}M; \
                     ln {d}/op/large000 {d}/large; ln {d}/large {d}/test_file.0; \
                     cat {d}/large > /dev/null";

pub(super) static WORKS: &[Work] = &[
    Work {
        name: "sequential write",
        about: "one file in calls of 128 KiB, and fsync",
        setup: "",
        before: "rm -rf {d}/op {d}/large {d}/fio.*; sync -f {d}",
        ours: "{fsdyno} phase op-write --in {d} --set size={mib}M --until return",
        others: &[
            other(
                "C baseline",
                "{baseline} seq-write {d}/large {mib}M 128K",
                &[cpu(1.03)],
            ),
            other(
                "fio",
                "fio --name=fio --directory={d} --rw=write --bs=128k --size={mib}m --ioengine=psync \
                 --end_fsync=1 --fallocate=none --output=/dev/null",
                &[cpu(0.9)],
            ),
            by_own_clocks(
                "fio",
                "fio --name=fio --directory={d} --rw=write --bs=128k --size={mib}m --ioengine=psync \
                 --end_fsync=1 --fallocate=none --output-format=json",
                "{fsdyno} phase op-write --in {d} --set size={mib}M --until return --json",
                &[],
            ),
            other(
                "GNU dd",
                "sh -c 'exec dd if=/dev/zero of={d}/large bs=128K count=$(({mib} * 8)) conv=fsync \
                 status=none'",
                &[],
            ),
        ],
    },
    Work {
        name: "sequential read",
        about: "one file in the cache, in calls of 128 KiB",
        setup: LARGE,
        before: "",
        ours: "{fsdyno} phase op-read --in {d} --set size={mib}M",
        others: &[
            other(
                "C baseline",
                "{baseline} seq-read {d}/large {mib}M 128K",
                &[cpu(1.03)],
            ),
            by_own_clocks(
                "fio",
                "fio --name=fio --filename={d}/large --rw=read --bs=128k --size={mib}m --ioengine=psync \
                 --invalidate=0 --output-format=json",
                "{fsdyno} phase op-read --in {d} --set size={mib}M --json",
                &[],
            ),
            other(
                "GNU dd",
                "dd if={d}/large of=/dev/null bs=128K status=none",
                &[],
            ),
        ],
    },
    Work {
        name: "random read, cached",
        about: "4 KiB at random offsets of one file in the cache",
        setup: LARGE,
        before: "",
        ours: "{fsdyno} phase op-random-read --in {d} --set size={mib}M --set operations={ops}",
        others: &[
            other(
                "C baseline",
                "{baseline} random-read {d}/large {ops} 4K cached",
                &[cpu(1.08)],
            ),
            other(
                "fio",
                "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --ioengine=psync \
                 --invalidate=0 --norandommap --io_size={opskib}k --output=/dev/null",
                &[cpu(0.65)],
            ),
            by_own_clocks(
                "fio",
                "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --ioengine=psync \
                 --invalidate=0 --norandommap --io_size={opskib}k --output-format=json",
                "{fsdyno} phase op-random-read --in {d} --set size={mib}M --set operations={ops} --json",
                &[],
            ),
            other(
                "sysbench",
                "sh -c 'cd {d} && exec sysbench fileio --file-num=1 --file-total-size={mib}M \
                 --file-test-mode=rndrd --file-block-size=4096 --events={ops} --time=0 --verbosity=0 run'",
                &[],
            ),
        ],
    },
    Work {
        name: "random read, direct, queue depth 1",
        about: "4 KiB at random offsets past the cache, one after the other, through a ring; a loop device answers \
                by a thread of the kernel, and on few processors the time is mostly that to wake it",
        setup: LARGE,
        before: "",
        ours: "{fsdyno} phase op-random-read --in {d} --engine uring --set size={mib}M \
               --set operations={few} --set cache=direct --set depth=1 --json",
        others: &[by_own_clocks(
            "fio, tuned",
            "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --direct=1 \
             --ioengine=io_uring --iodepth=1 --fixedbufs=1 --registerfiles=1 --norandommap \
             --io_size={fewkib}k --output-format=json",
            "{fsdyno} phase op-random-read --in {d} --engine uring --set size={mib}M \
             --set operations={few} --set cache=direct --set depth=1 --json",
            &[wall(1.0), cpu(1.0)],
        )],
    },
    Work {
        name: "random read, direct, queue depth 32",
        about: "4 KiB at random offsets past the cache, through a ring",
        setup: LARGE,
        before: "",
        ours: "{fsdyno} phase op-random-read --in {d} --engine uring --set size={mib}M \
               --set operations={ops} --set cache=direct --set depth=32 --json",
        others: &[by_own_clocks(
            "fio, tuned",
            "fio --name=fio --filename={d}/large --rw=randread --bs=4k --size={mib}m --direct=1 \
             --ioengine=io_uring --iodepth=32 --fixedbufs=1 --registerfiles=1 --norandommap \
             --iodepth_batch_complete_max=32 --io_size={opskib}k --output-format=json",
            "{fsdyno} phase op-random-read --in {d} --engine uring --set size={mib}M \
             --set operations={ops} --set cache=direct --set depth=32 --json",
            &[wall(1.0), cpu(1.0)],
        )],
    },
    Work {
        name: "random write, cached",
        about: "4 KiB at random offsets of one file in the cache, and fsync",
        setup: LARGE,
        before: "sync -f {d}",
        ours: "{fsdyno} phase op-random-write --in {d} --set size={mib}M --set operations={ops} --until return",
        others: &[other(
            "C baseline",
            "{baseline} random-write {d}/large {ops} 4K cached",
            &[cpu(1.08)],
        )],
    },
];
