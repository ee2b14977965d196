//! Patches: changes to the kernel sources before the build.

use crate::console::HOST_REFUSES_PAGES;
use std::path::Path;
use std::{fs, io};

/// A text in one source file, and its replacement.
pub(super) struct Patch {
    pub file: &'static str,
    pub text: &'static str,
    pub instead: &'static str,
}

/// User-mode Linux reads the registers of a process with all processor state by `ptrace(2)`. On a
/// processor with AMX that is 11,008 bytes, where versions 6.1 and 6.12 have room for 2,696, so no
/// program starts. With the patch the host uses as much room as it needs. The buffer is on the
/// kernel stack, which the fragment enlarges.
const AMX: [Patch; 1] = [Patch {
    file: "arch/x86/um/user-offsets.c",
    text: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
    instead: "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
}];

/// Files that are added to the sources, for the count of the kernel's work.
const ADDED: [(&str, &str); 4] = [
    (
        "arch/um/kernel/cpu_charge.c",
        include_str!("../../data/cpu_charge.c"),
    ),
    (
        "arch/um/kernel/cpu_profile.c",
        include_str!("../../data/cpu_profile.c"),
    ),
    (
        "arch/um/kernel/settle_memory.c",
        include_str!("../../data/settle_memory.c"),
    ),
    (
        "arch/um/include/asm/cpu_charge.h",
        include_str!("../../data/cpu_charge.h"),
    ),
];

/// The count of the kernel's work and its charge to virtual time: the hook of KCOV counts, and the
/// points of entry, exit, copy and idle call `cpu_charge.c`. The drivers of User-mode Linux replace
/// hardware and are not counted; strings are copied by its user access in another way than on
/// hardware. All patches apply, or none: without them, the kernel counts nothing.
///
/// The counts do not depend on the program that measures. Its size decides which memory is free, so
/// nothing that depends on addresses is counted: allocators, lookups of names (the hash of a name
/// contains the address of its directory), of memory areas, and the merge of adjacent pages into
/// one segment, which is off. Random numbers depend on nothing but the draws before, because file
/// systems place data by them.
///
/// Inodes of the host have other numbers in each directory and on each machine, so they have their own
/// half of the hash table of inodes. A worker is found by the function that it executes, and not by the
/// address of its work: both must match.
const CPU_CHARGE: &[Patch] = &[
    Patch {
        file: "kernel/kcov.c",
        text: "#include <asm/setup.h>\n",
        instead: "#include <asm/setup.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "kernel/kcov.c",
        text: "\tt = current;\n\
              \tif (!check_kcov_mode(KCOV_MODE_TRACE_PC, t))\n\
              \t\treturn;\n\
              \n\
              \tarea = t->kcov_area;\n\
              \t/* The first 64-bit word is the number of subsequent PCs. */",
        instead: "\tcpu_charge_blocks++;\n\
              \tif (unlikely(cpu_profile_context != CPU_PROFILE_OFF))\n\
              \t\tcpu_profile_block(_RET_IP_, *(void **)__builtin_frame_address(0));\n\
              \treturn;\n\
              \n\
              \tt = current;\n\
              \tarea = t->kcov_area;\n\
              \t/* The first 64-bit word is the number of subsequent PCs. */",
    },
    Patch {
        file: "arch/um/kernel/Makefile",
        text: "obj-y += load_file.o\n",
        instead: "obj-y += load_file.o cpu_charge.o cpu_profile.o settle_memory.o\n",
    },
    Patch {
        file: "arch/um/os-Linux/main.c",
        text: "int __init main(int argc, char **argv, char **envp)\n",
        instead: concat!(
            include_str!("../../data/cpu_profile_host.c"),
            "int __init main(int argc, char **argv, char **envp)\n"
        ),
    },
    Patch {
        file: "arch/um/drivers/Makefile",
        text: "slip-objs := slip_kern.o slip_user.o\n",
        instead: "KCOV_INSTRUMENT := n\n\
              slip-objs := slip_kern.o slip_user.o\n",
    },
    Patch {
        file: "arch/um/kernel/skas/syscall.c",
        text: "#include <asm/delay.h>\n",
        instead: "#include <asm/delay.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "arch/um/kernel/skas/syscall.c",
        text: "\tUPT_SYSCALL_NR(r) = PT_SYSCALL_NR(r->gp);\n",
        instead: "\tUPT_SYSCALL_NR(r) = PT_SYSCALL_NR(r->gp);\n\
              \tcpu_charge_syscall_begins(r);\n",
    },
    Patch {
        file: "arch/um/kernel/skas/syscall.c",
        text: "\tsyscall_trace_leave(regs);\n",
        instead: "\tsyscall_trace_leave(regs);\n\
              \tcpu_charge_syscall();\n",
    },
    Patch {
        file: "arch/um/kernel/process.c",
        text: "#include <linux/elfcore.h>\n",
        instead: "#include <linux/elfcore.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "arch/um/kernel/process.c",
        text: "\tto->thread.prev_sched = from;\n",
        instead: "\tcpu_charge_switch(from, to);\n\
              \tto->thread.prev_sched = from;\n",
    },
    Patch {
        file: "arch/um/kernel/process.c",
        text: "\tif (time_travel_mode != TT_MODE_OFF)\n\
              \t\ttime_travel_sleep();\n",
        instead: "\t/* What came due meanwhile is delivered before the next sleep. */\n\
              \tif (cpu_charge_now())\n\
              \t\treturn;\n\
              \tif (time_travel_mode != TT_MODE_OFF)\n\
              \t\ttime_travel_sleep();\n",
    },
    Patch {
        file: "arch/um/include/asm/processor-generic.h",
        text: "\tstruct task_struct *prev_sched;\n",
        instead: "\tstruct task_struct *prev_sched;\n\
              \tunsigned long blocks;\n\
              \tunsigned long row;\n\
              \tbool reads_clock;\n\
              \tunsigned int hidden;\n",
    },
    Patch {
        file: "arch/um/kernel/irq.c",
        text: "#include <linux/time-internal.h>\n",
        instead: "#include <linux/time-internal.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "arch/um/kernel/irq.c",
        text: "\t\tirq->active = false;\n",
        instead: "\t\tirq->active = false;\n\
              \t\tcpu_charge_enter(CPU_CHARGE_HOST);\n",
    },
    Patch {
        file: "arch/um/kernel/irq.c",
        text: "\t\tirq->active = true;\n",
        instead: "\t\tcpu_charge_leave(CPU_CHARGE_HOST);\n\
              \t\tirq->active = true;\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "#include <shared/init.h>\n",
        instead: "#include <shared/init.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "\tirq_enter();\n",
        instead: "\tcpu_charge_enter(CPU_CHARGE_INTERRUPT);\n\
              \tirq_enter();\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "\tirq_exit();\n",
        instead: "\tirq_exit();\n\
              \tcpu_charge_leave(CPU_CHARGE_INTERRUPT);\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "\tdo_IRQ(TIMER_IRQ, regs);\n",
        instead: "\tcpu_charge_enter(CPU_CHARGE_INTERRUPT);\n\
              \tdo_IRQ(TIMER_IRQ, regs);\n\
              \tcpu_charge_leave(CPU_CHARGE_INTERRUPT);\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "void time_travel_ndelay(unsigned long nsec)\n",
        instead: "bool cpu_charge_now(void)\n\
              {\n\
              \tunsigned long long ns;\n\
              \n\
              \tif (time_travel_mode != TT_MODE_EXTERNAL || in_interrupt() || time_travel_ext_waiting)\n\
              \t\treturn false;\n\
              \tns = cpu_charge_take();\n\
              \tif (!ns)\n\
              \t\treturn false;\n\
              \ttime_travel_update_time_rel(ns);\n\
              \treturn true;\n\
              }\n\
              \n\
              unsigned long long cpu_profile_time(void)\n\
              {\n\
              \treturn time_travel_time;\n\
              }\n\
              \n\
              void cpu_charge_waits_in_row(void)\n\
              {\n\
              \tunsigned long long ns = cpu_charge_row();\n\
              \n\
              \tif (ns && time_travel_mode == TT_MODE_EXTERNAL && !in_interrupt() && !time_travel_ext_waiting)\n\
              \t\ttime_travel_update_time_rel(ns);\n\
              }\n\
              \n\
              void time_travel_ndelay(unsigned long nsec)\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "time_travel_update_time_rel(TIMER_MULTIPLIER);",
        instead: "time_travel_update_time_rel(TIMER_MULTIPLIER + cpu_charge_take());",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "\tstatic unsigned long long last_propagated;\n",
        instead: "\tstatic unsigned long long last_propagated;\n\
              \n\
              \tif (!irqs_disabled())\n\
              \t\tcpu_charge_now();\n",
    },
    Patch {
        file: "arch/um/kernel/skas/uaccess.c",
        text: "#include <os.h>\n",
        instead: "#include <os.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "arch/um/kernel/skas/uaccess.c",
        text: "\tmemcpy((void *) to, (void *) from, len);\n",
        instead: "\tcpu_charge_units[CPU_CHARGE_COPY] += len;\n\
              \tmemcpy((void *) to, (void *) from, len);\n",
    },
    Patch {
        file: "arch/um/kernel/skas/uaccess.c",
        text: "\tmemset((void *) addr, 0, len);\n",
        instead: "\tcpu_charge_units[CPU_CHARGE_CLEAR] += len;\n\
              \tmemset((void *) addr, 0, len);\n",
    },
    Patch {
        file: "arch/um/include/asm/page.h",
        text: "#define clear_page(page)\tmemset((void *)(page), 0, PAGE_SIZE)\n\
              #define copy_page(to,from)\tmemcpy((void *)(to), (void *)(from), PAGE_SIZE)\n",
        instead: "#include <asm/cpu_charge.h>\n\
              \n\
              #define clear_page(page) \\\n\
              \t(cpu_charge_units[CPU_CHARGE_CLEAR] += PAGE_SIZE, memset((void *)(page), 0, PAGE_SIZE))\n\
              #define copy_page(to, from) \\\n\
              \t(cpu_charge_units[CPU_CHARGE_COPY] += PAGE_SIZE, memcpy((void *)(to), (void *)(from), PAGE_SIZE))\n",
    },
    Patch {
        file: "block/blk-mq.c",
        text: "#include \"blk-mq.h\"\n",
        instead: "#include \"blk-mq.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "block/blk-mq.c",
        text: "\ttrace_block_rq_issue(rq);\n",
        instead: "\tcpu_charge_units[CPU_CHARGE_REQUEST]++;\n\
              \ttrace_block_rq_issue(rq);\n",
    },
    Patch {
        file: "lib/crc32.c",
        text: "#include <linux/crc32.h>\n",
        instead: "#include <linux/crc32.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "lib/crc32.c",
        text: "u32 __pure __weak __crc32c_le(u32 crc, unsigned char const *p, size_t len)\n\
              {\n",
        instead: "u32 __pure __weak __crc32c_le(u32 crc, unsigned char const *p, size_t len)\n\
              {\n\
              \tcpu_charge_units[CPU_CHARGE_CRC32C] += len;\n",
    },
    Patch {
        file: "lib/Makefile",
        text: "obj-$(CONFIG_CRC32)\t+= crc32.o\n",
        instead: "KCOV_INSTRUMENT_crc32.o := n\n\
              KCOV_INSTRUMENT_maple_tree.o := n\n\
              KCOV_INSTRUMENT_radix-tree.o := n\n\
              obj-$(CONFIG_CRC32)\t+= crc32.o\n",
    },
    Patch {
        file: "lib/Makefile",
        text: "KCOV_INSTRUMENT_rbtree.o := n\n",
        instead: "",
    },
    Patch {
        file: "lib/Makefile",
        text: "KCOV_INSTRUMENT_find_bit.o := n\n",
        instead: "",
    },
    Patch {
        file: "mm/slub.c",
        text: "\treturn allocate_slab(s,\n\
              \t\tflags & (GFP_RECLAIM_MASK | GFP_CONSTRAINT_MASK), node);\n",
        instead: "\t{\n\
              \t\tstruct slab *slab;\n\
              \n\
              \t\tcpu_charge_hide();\n\
              \t\tslab = allocate_slab(s,\n\
              \t\t\tflags & (GFP_RECLAIM_MASK | GFP_CONSTRAINT_MASK), node);\n\
              \t\tcpu_charge_hidden();\n\
              \t\treturn slab;\n\
              \t}\n",
    },
    Patch {
        file: "block/Makefile",
        text: "obj-y\t\t:= bdev.o",
        instead: "KCOV_INSTRUMENT_bio.o := n\n\
              KCOV_INSTRUMENT_blk-merge.o := n\n\
              KCOV_INSTRUMENT_blk-mq.o := n\n\
              obj-y\t\t:= bdev.o",
    },
    Patch {
        file: "block/bio.c",
        text: "\t\tif (IS_ENABLED(CONFIG_KMSAN))\n\
              \t\t\treturn false;\n",
        instead: "\t\treturn false;\n",
    },
    Patch {
        file: "fs/Makefile",
        text: "obj-y :=\topen.o",
        instead: "KCOV_INSTRUMENT_dcache.o := n\n\
              obj-y :=\topen.o",
    },
    Patch {
        file: "fs/dcache.c",
        text: "#include \"internal.h\"\n",
        instead: "#include \"internal.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "fs/dcache.c",
        text: "d_hash(unsigned long hashlen)\n\
              {\n",
        instead: "d_hash(unsigned long hashlen)\n\
              {\n\
              \tcpu_charge_blocks += CPU_CHARGE_LOOKUP;\n",
    },
    Patch {
        file: "fs/dcache.c",
        text: "\tdentry = kmem_cache_alloc_lru(dentry_cache, &sb->s_dentry_lru,\n",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_DENTRY;\n\
              \tdentry = kmem_cache_alloc_lru(dentry_cache, &sb->s_dentry_lru,\n",
    },
    Patch {
        file: "fs/inode.c",
        text: "\ttmp = (hashval * (unsigned long)sb) ^",
        instead: "\ttmp = hashval ^",
    },
    Patch {
        file: "fs/inode.c",
        text: "#include \"internal.h\"\n",
        instead: "#include <linux/magic.h>\n\
              #include \"internal.h\"\n",
    },
    Patch {
        file: "fs/inode.c",
        text: "\treturn tmp & i_hash_mask;\n",
        instead: "\ttmp &= i_hash_mask >> 1;\n\
              \treturn sb->s_magic == HOSTFS_SUPER_MAGIC ? tmp : tmp + (i_hash_mask >> 1) + 1;\n",
    },
    Patch {
        file: "kernel/workqueue.c",
        text: "\t\t\t       (unsigned long)work)\n",
        instead: "\t\t\t       (unsigned long)work->func)\n",
    },
    Patch {
        file: "kernel/workqueue.c",
        text: "\thash_add(pool->busy_hash, &worker->hentry, (unsigned long)work);\n",
        instead: "\thash_add(pool->busy_hash, &worker->hentry, (unsigned long)work->func);\n",
    },
    Patch {
        file: "kernel/fork.c",
        text: "\tadd_latent_entropy();\n",
        instead: "",
    },
    Patch {
        file: "kernel/irq/handle.c",
        text: "\tadd_interrupt_randomness(desc->irq_data.irq);\n",
        instead: "",
    },
    Patch {
        file: "drivers/char/random.c",
        text: "\t\tblock.rdseed[i++] = random_get_entropy();\n",
        instead: "\t\tblock.rdseed[i++] = 0;\n",
    },
    Patch {
        file: "mm/slub.c",
        text: "#include \"internal.h\"\n",
        instead: "#include \"internal.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "mm/slub.c",
        text: "\ts = slab_pre_alloc_hook(s, gfpflags);\n\
              \tif (unlikely(!s))\n\
              \t\treturn NULL;\n",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_OBJECT;\n\
              \ts = slab_pre_alloc_hook(s, gfpflags);\n\
              \tif (unlikely(!s))\n\
              \t\treturn NULL;\n",
    },
    Patch {
        file: "mm/page_alloc.c",
        text: "#include \"internal.h\"\n",
        instead: "#include \"internal.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "mm/page_alloc.c",
        text: "\treturn page_rmappable_folio(page);\n",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_FOLIO;\n\
              \treturn page_rmappable_folio(page);\n",
    },
];

/// The time stamp counter in virtual time. `rdtsc` and `rdtscp` read the clock of the host, so they
/// trap in processes of the guest (`PR_SET_TSC`, prctl(2)), and the kernel returns the virtual time
/// in nanoseconds. The C library reads the counter when a program starts. So a reading is free, but
/// belongs to a row like one of the clock: a program that waits by reading ends. In kernels that do not
/// count, each takes as long as a reading of the clock.
const COUNTER: &[Patch] = &[
    Patch {
        file: "arch/um/os-Linux/skas/process.c",
        text: "#include <sys/wait.h>\n",
        instead: "#include <sys/prctl.h>\n\
              #include <sys/wait.h>\n",
    },
    Patch {
        file: "arch/um/os-Linux/skas/process.c",
        text: "static void handle_trap(int pid, struct uml_pt_regs *regs)\n",
        instead: concat!(
            include_str!("../../data/counter.c"),
            "\nstatic void handle_trap(int pid, struct uml_pt_regs *regs)\n"
        ),
    },
    Patch {
        file: "arch/um/os-Linux/skas/process.c",
        text: "\tsignal(SIGWINCH, SIG_IGN);\n",
        instead: "\tsignal(SIGWINCH, SIG_IGN);\n\
              \thide_counter();\n",
    },
    Patch {
        file: "arch/um/os-Linux/skas/process.c",
        text: "\t\t\tcase SIGSEGV:\n\
              \t\t\t\tif (PTRACE_FULL_FAULTINFO) {\n",
        instead: "\t\t\tcase SIGSEGV:\n\
              \t\t\t\tif (si.si_code == SI_KERNEL && emulate_counter(pid, regs))\n\
              \t\t\t\t\tbreak;\n\
              \t\t\t\tif (PTRACE_FULL_FAULTINFO) {\n",
    },
    Patch {
        file: "arch/um/kernel/time.c",
        text: "static u64 timer_read(struct clocksource *cs)\n",
        instead: "unsigned long long time_travel_counter(void);\n\
              \n\
              unsigned long long time_travel_counter(void)\n\
              {\n\
              #ifdef __UM_CPU_CHARGE_H\n\
              \tcurrent->thread.row++;\n\
              \tcpu_charge_waits_in_row();\n\
              #else\n\
              \tif (!time_travel_ext_waiting)\n\
              \t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);\n\
              #endif\n\
              \treturn time_travel_time;\n\
              }\n\
              \n\
              static u64 timer_read(struct clocksource *cs)\n",
    },
];

/// Patches of kernels that count, applied only if their text exists.
///
/// Random numbers do not depend on the version of the kernel either: a commit that changes nothing
/// would place directories elsewhere. tmpfs keeps the order of a directory in a maple tree since Linux
/// 6.10. A change of it takes about 1 us on a processor of 2.6 ns a block: measured for link, unlink,
/// mkdir and rmdir, and twice that for rename.
/// Btrfs reads a tree block by another path if its pages happen to be adjacent in memory; here it
/// always takes the path for pages that are not. Waiters for a page are found by its index, and not by
/// its address. A mount is found by addresses: how many others are passed in its chain is not counted.
/// A maple tree takes more or fewer nodes by addresses and by what was in it before.
const OPTIONAL: &[Patch] = &[
    Patch {
        file: "lib/maple_tree.c",
        text: "#include <linux/maple_tree.h>\n",
        instead: "#include <linux/maple_tree.h>\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "lib/maple_tree.c",
        text: "\treturn kmem_cache_alloc(maple_node_cache, gfp);\n",
        instead: "\tcpu_charge_blocks -= CPU_CHARGE_OBJECT;\n\
              \treturn kmem_cache_alloc(maple_node_cache, gfp);\n",
    },
    Patch {
        file: "drivers/char/random.c",
        text: "\t_mix_pool_bytes(init_utsname(), sizeof(*(init_utsname())));\n",
        instead: "",
    },
    Patch {
        file: "fs/btrfs/extent_io.c",
        text: "\tbool page_contig = true;\n",
        instead: "\tbool page_contig = false;\n",
    },
    Patch {
        file: "mm/filemap.c",
        text: "\treturn &folio_wait_table[hash_ptr(folio, PAGE_WAIT_TABLE_BITS)];\n",
        instead: "\treturn &folio_wait_table[hash_long(folio->index, PAGE_WAIT_TABLE_BITS)];\n",
    },
    Patch {
        file: "fs/namespace.c",
        text: "#include \"internal.h\"\n",
        instead: "#include \"internal.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "fs/namespace.c",
        text: "\tstruct mount *p;\n\
              \n\
              \thlist_for_each_entry_rcu(p, head, mnt_hash)\n\
              \t\tif (&p->mnt_parent->mnt == mnt && p->mnt_mountpoint == dentry)\n\
              \t\t\treturn p;\n\
              \treturn NULL;\n",
        instead: "\tstruct mount *p;\n\
              \n\
              \tcpu_charge_hide();\n\
              \thlist_for_each_entry_rcu(p, head, mnt_hash)\n\
              \t\tif (&p->mnt_parent->mnt == mnt && p->mnt_mountpoint == dentry)\n\
              \t\t\tbreak;\n\
              \tcpu_charge_hidden();\n\
              \treturn p;\n",
    },
    Patch {
        file: "fs/libfs.c",
        text: "#include \"internal.h\"\n",
        instead: "#include \"internal.h\"\n\
              #include <asm/cpu_charge.h>\n",
    },
    Patch {
        file: "fs/libfs.c",
        text: "\tret = mtree_alloc_cyclic(&octx->mt, &offset,",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_OFFSET;\n\
              \tret = mtree_alloc_cyclic(&octx->mt, &offset,",
    },
    Patch {
        file: "fs/libfs.c",
        text: "\tret = mtree_store(&octx->mt, offset, dentry, GFP_KERNEL);\n",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_OFFSET;\n\
              \tret = mtree_store(&octx->mt, offset, dentry, GFP_KERNEL);\n",
    },
    Patch {
        file: "fs/libfs.c",
        text: "\tmtree_erase(&octx->mt, offset);\n",
        instead: "\tcpu_charge_blocks += CPU_CHARGE_OFFSET;\n\
              \tmtree_erase(&octx->mt, offset);\n",
    },
];

/// All changes of existing files.
fn all() -> impl Iterator<Item = &'static Patch> {
    AMX.iter().chain(CPU_CHARGE).chain(OPTIONAL).chain(COUNTER)
}

/// Options of the count. Without its patches, their hook runs before the kernel has a current
/// process, and the kernel does not start.
const COUNT_OPTIONS: [&str; 2] = ["CONFIG_KCOV=", "CONFIG_KCOV_INSTRUMENT_ALL="];

/// The option of a kernel that counts, as its configuration has it.
pub(super) const COUNT_OPTION: &str = "CONFIG_KCOV_INSTRUMENT_ALL=y";

/// Whether these sources count the kernel's work.
pub(super) fn counts_work(sources: &Path) -> bool {
    ADDED.iter().all(|(file, _)| sources.join(file).exists())
}

/// A config fragment without the options of the count.
pub(super) fn without_count(fragment: &str) -> String {
    let lines = fragment.lines();
    let lines = lines.filter(|line| !COUNT_OPTIONS.iter().any(|name| line.starts_with(name)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The files that patches change or add.
pub(super) fn files() -> impl Iterator<Item = &'static str> {
    let changed = all().map(|one| one.file);
    changed.chain(ADDED.iter().map(|(file, _)| *file))
}

/// A patch whose text these sources do not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the patch of {file} finds no text `{line}`")]
pub struct Unfit {
    pub file: &'static str,
    /// The first line of the text.
    pub line: &'static str,
}

/// The first patch of the count that does not fit these sources; none if they can count.
pub(super) fn unfit(sources: &Path) -> io::Result<Option<Unfit>> {
    first_unfit(sources, CPU_CHARGE)
}

/// The first patch that does not fit these sources.
pub(super) fn first_unfit(sources: &Path, patches: &'static [Patch]) -> io::Result<Option<Unfit>> {
    for one in patches {
        if !read(&sources.join(one.file))?.contains(one.text) {
            let mut lines = one.text.lines().map(str::trim);
            return Ok(Some(Unfit {
                file: one.file,
                line: lines.find(|line| line.len() > 1).unwrap_or_default(),
            }));
        }
    }
    Ok(None)
}

/// Applies the patches to these sources.
pub(super) fn make(sources: &Path) -> io::Result<()> {
    apply(sources, &AMX)?;
    if unfit(sources)?.is_none() {
        apply(sources, CPU_CHARGE)?;
        apply(sources, OPTIONAL)?;
        for (file, text) in ADDED {
            fs::write(sources.join(file), text)?;
        }
    }
    if first_unfit(sources, COUNTER)?.is_none() {
        apply(sources, COUNTER)?;
    }
    Ok(())
}

/// A source file; empty if these sources have none of that name.
fn read(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        text => text,
    }
}

/// Applies the patches that fit.
pub(super) fn apply(sources: &Path, patches: &[Patch]) -> io::Result<()> {
    for one in patches {
        let file = sources.join(one.file);
        let text = read(&file)?;
        if text.contains(one.text) {
            fs::write(&file, text.replace(one.text, one.instead))?;
        }
    }
    Ok(())
}

/// Whether the processor has AMX.
pub fn has_amx() -> bool {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    about.contains(" amx_tile")
}

/// The cause of a crash with these lines on the console, with a remedy; none if it is unknown.
pub fn explain_crash(words: &str) -> Option<String> {
    if words.contains(HOST_REFUSES_PAGES) {
        let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        return Some(format!(
            "the host refused to map another page of a program of the guest: User-mode Linux maps \
             pages one by one, and the host allows {} mappings in a process. Raise that limit: \
             sysctl vm.max_map_count=1048576",
            limit.trim()
        ));
    }
    // The first process ended with a fault. So would every other program.
    let faulted = words.contains("Attempted to kill init! exitcode=0x0000000b");
    (faulted && has_amx()).then(|| {
        "the processor has AMX, for whose registers this kernel of User-mode Linux has no room; the \
         lab kernel has: fsdyno lab setup, and --guest-kernel lab"
            .to_owned()
    })
}

/// The text of all patches, for the identity of a kernel.
pub(super) fn reported() -> String {
    let changed = all().map(|one| format!("{}: {}", one.file, one.instead));
    let added = ADDED.iter().map(|(file, text)| format!("{file}: {text}"));
    changed.chain(added).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes sources in which every patch finds its text.
    fn sources(patches: &[&Patch], folder: &Path) {
        for one in patches {
            let file = folder.join(one.file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let before = read(&file).unwrap();
            fs::write(&file, format!("{before}a\n{}b\n", one.text)).unwrap();
        }
    }

    #[test]
    fn a_patch_changes_the_named_lines_of_the_sources_only() {
        let work_dir = tempfile::tempdir().unwrap();
        make(work_dir.path()).unwrap();
        sources(&[&AMX[0]], work_dir.path());
        make(work_dir.path()).unwrap();
        let expected = format!("a\n{}b\n", AMX[0].instead);
        let file = work_dir.path().join(AMX[0].file);
        assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        assert!(reported().contains(AMX[0].instead));
    }

    #[test]
    fn a_kernel_without_the_count_is_built_without_its_hook() {
        let fragment = crate::kernels::fragment::TEXT;
        let without = without_count(fragment);
        assert!(fragment.contains("CONFIG_KCOV=y") && !without.contains("CONFIG_KCOV"));
        assert_eq!(without.lines().count() + 2, fragment.lines().count());
    }

    #[test]
    fn the_count_of_work_is_added_whole_or_not_at_all() {
        for missing in [None, Some(3)] {
            let work_dir = tempfile::tempdir().unwrap();
            let has = |at: &usize| Some(*at) != missing;
            let kept: Vec<&Patch> = (0..CPU_CHARGE.len())
                .filter(has)
                .map(|at| &CPU_CHARGE[at])
                .collect();
            sources(&kept, work_dir.path());
            make(work_dir.path()).unwrap();
            let whole = missing.is_none();
            let unfit = unfit(work_dir.path()).unwrap();
            let named = missing.map(|at| CPU_CHARGE[at].file);
            // Patched sources lack the texts that the patches replace.
            assert!(whole || unfit.map(|one| one.file) == named);
            assert_eq!(work_dir.path().join(ADDED[0].0).exists(), whole);
            let file = work_dir.path().join(CPU_CHARGE[1].file);
            let text = fs::read_to_string(file).unwrap();
            assert_eq!(text.contains(CPU_CHARGE[1].instead), whole);
            assert_eq!(counts_work(work_dir.path()), whole);
        }
    }

    #[test]
    fn the_counter_is_hidden_only_where_it_is_emulated() {
        let work_dir = tempfile::tempdir().unwrap();
        let file = work_dir.path().join(COUNTER[0].file);
        let all: Vec<&Patch> = COUNTER.iter().collect();
        for (present, whole) in [(&all[1..], false), (&all[..1], true)] {
            sources(present, work_dir.path());
            make(work_dir.path()).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            for part in ["PR_SET_TSC", "&& emulate_counter("] {
                assert_eq!(text.contains(part), whole, "{part}");
            }
        }
    }
}
