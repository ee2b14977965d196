// SPDX-License-Identifier: GPL-2.0
/*
 * The profile of what is counted: blocks, units and sleeps by call path.
 *
 * It exists if the host names a file for it. Its tables are memory of the host, and writing them takes no
 * virtual time, so that the guest executes the same with a profile and without. A path is found by frame
 * pointers: a shadow of the stack holds the frames that were found before, so that only new ones are read.
 *
 * The file has one segment for each count that ended: struct segment, its paths and its entries.
 */
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <asm/cpu_charge.h>
#include <os.h>

#define MAGIC 0x314c464f52504446UL	/* "FDPROFL1" */
#define TABLE_BITS 20
#define TABLE (1U << TABLE_BITS)
#define INDEX_BITS (TABLE_BITS + 1)
#define INDEX (1U << INDEX_BITS)
#define DEPTH 128
#define SLEEPERS 65536

/* A call in the kernel: where it returns to, and the path of its caller. Path 0 is the root. */
struct path {
	u32 caller;
	u32 returns_to;
};

/* What a block of a path did. */
struct entry {
	u32 path;
	u32 context;
	u64 block;
	u64 blocks;
	u64 units[CPU_CHARGE_ROUTINES];
	u64 sleeps;
	u64 slept_ns;
};

struct segment {
	u64 magic;
	u64 routines;
	u64 paths;
	u64 entries;
	/* Blocks that found no room in the tables. */
	u64 lost;
};

struct tables {
	struct path paths[TABLE];
	struct entry entries[TABLE];
	u32 path_index[INDEX];
	u32 entry_index[INDEX];
	struct {
		pid_t pid;
		u32 entry;
		u64 since;
	} sleepers[SLEEPERS];
};

struct frame {
	unsigned long caller;
	unsigned long returns_to;
};

int cpu_profile_context = CPU_PROFILE_OFF;

static struct tables *tables;
static struct segment now = { .magic = MAGIC, .routines = CPU_CHARGE_ROUTINES };
static struct entry *last;
static unsigned long seen, units_seen[CPU_CHARGE_ROUTINES];

static struct {
	const struct frame *frame;
	unsigned long returns_to;
	u32 path;
} shadow[DEPTH];
static unsigned int shadow_depth;
static unsigned long shadow_stack;
/* Frames of what an interrupt interrupted are not its callers. */
static const void *interrupted;

static u32 path_of(u32 caller, unsigned long returns_to)
{
	u64 key = (u64)caller << 32 | (u32)returns_to;
	u32 at = hash_64(key, INDEX_BITS), path;

	for (; (path = tables->path_index[at]); at = (at + 1) % INDEX)
		if (tables->paths[path].caller == caller &&
		    tables->paths[path].returns_to == (u32)returns_to)
			return path;
	if (now.paths == TABLE)
		return 0;
	path = now.paths++;
	tables->paths[path].caller = caller;
	tables->paths[path].returns_to = returns_to;
	tables->path_index[at] = path;
	return path;
}

/* Entry 0 holds what has no room. */
static struct entry *entry_of(u32 path, u32 context, unsigned long block)
{
	u64 key = block << 32 ^ (u64)context << 29 ^ path;
	u32 at = hash_64(key, INDEX_BITS), index;
	struct entry *entry;

	for (; (index = tables->entry_index[at]); at = (at + 1) % INDEX) {
		entry = &tables->entries[index];
		if (entry->path == path && entry->context == context && entry->block == block)
			return entry;
	}
	if (now.entries == TABLE) {
		now.lost++;
		return &tables->entries[0];
	}
	tables->entry_index[at] = now.entries;
	entry = &tables->entries[now.entries++];
	entry->path = path;
	entry->context = context;
	entry->block = block;
	return entry;
}

/* What was counted since the last block is that of its path. */
static void settle(void)
{
	struct entry *entry = last;
	int i;

	if (cpu_profile_context == CPU_PROFILE_OFF)
		return;
	if (!entry)
		entry = entry_of(0, cpu_profile_context, 0);
	entry->blocks += cpu_charge_blocks - seen;
	seen = cpu_charge_blocks;
	for (i = 0; i < CPU_CHARGE_ROUTINES; i++) {
		entry->units[i] += cpu_charge_units[i] - units_seen[i];
		units_seen[i] = cpu_charge_units[i];
	}
}

static unsigned long stack_of(const void *address)
{
	return (unsigned long)address & ~(THREAD_SIZE - 1);
}

void cpu_profile_block(unsigned long block, const void *of)
{
	const struct frame *walked[DEPTH], *frame = of, *before = NULL;
	unsigned long stack = stack_of(frame);
	unsigned int found = 0, count;
	unsigned long flags;
	u32 path = 0;

	raw_local_irq_save(flags);
	count = shadow_depth;
	/* Everything but this block. */
	if (last) {
		cpu_charge_blocks--;
		settle();
		cpu_charge_blocks++;
	}
	if (stack != shadow_stack) {
		shadow_stack = stack;
		count = 0;
	}
	while (frame > before && stack_of(frame) == stack && found < DEPTH &&
	       (stack_of(interrupted) != stack || (const void *)frame < interrupted)) {
		while (count && shadow[count - 1].frame < frame)
			count--;
		if (count && shadow[count - 1].frame == frame &&
		    shadow[count - 1].returns_to == frame->returns_to) {
			path = shadow[count - 1].path;
			goto matched;
		}
		walked[found++] = frame;
		before = frame;
		frame = (const struct frame *)frame->caller;
	}
	count = 0;
matched:
	while (found && count < DEPTH) {
		frame = walked[--found];
		path = path_of(path, frame->returns_to);
		shadow[count].frame = frame;
		shadow[count].returns_to = frame->returns_to;
		shadow[count++].path = path;
	}
	shadow_depth = count;
	last = entry_of(path, cpu_profile_context, block);
	settle();
	raw_local_irq_restore(flags);
}

void cpu_profile_turn(int context)
{
	settle();
	last = NULL;
	seen = cpu_charge_blocks;
	memcpy(units_seen, cpu_charge_units, sizeof(units_seen));
	cpu_profile_context = tables ? context : CPU_PROFILE_OFF;
}

void cpu_profile_interrupt(const void *frame)
{
	interrupted = frame;
	shadow_depth = 0;
}

void cpu_profile_sleeps(struct task_struct *task)
{
	if (cpu_profile_context == CPU_PROFILE_OFF || is_idle_task(task))
		return;
	settle();
	if (!last)
		return;
	tables->sleepers[task->pid % SLEEPERS].pid = task->pid;
	tables->sleepers[task->pid % SLEEPERS].entry = last - tables->entries;
	tables->sleepers[task->pid % SLEEPERS].since = cpu_profile_time();
}

void cpu_profile_wakes(struct task_struct *task)
{
	typeof(tables->sleepers[0]) *sleeper;
	struct entry *entry;

	if (!tables)
		return;
	sleeper = &tables->sleepers[task->pid % SLEEPERS];
	if (!sleeper->since || sleeper->pid != task->pid)
		return;
	entry = &tables->entries[sleeper->entry];
	entry->sleeps++;
	entry->slept_ns += cpu_profile_time() - sleeper->since;
	sleeper->since = 0;
}

static void write_all(const void *bytes, u64 size)
{
	while (size) {
		long part = cpu_profile_write(bytes, size);

		if (part <= 0) {
			pr_err("the profile cannot be written: error %ld\n", -part);
			return;
		}
		bytes += part;
		size -= part;
	}
}

void cpu_profile_begin(void)
{
	if (!tables)
		return;
	memset(tables->path_index, 0, sizeof(tables->path_index));
	memset(tables->entry_index, 0, sizeof(tables->entry_index));
	memset(tables->sleepers, 0, sizeof(tables->sleepers));
	memset(tables->entries, 0, max(now.entries, 1ULL) * sizeof(*tables->entries));
	/* The root, and the entry of what has no room. */
	now.paths = 1;
	now.entries = 1;
	now.lost = 0;
	shadow_depth = 0;
	last = NULL;
}

void cpu_profile_end(void)
{
	if (!tables)
		return;
	cpu_profile_turn(CPU_PROFILE_OFF);
	write_all(&now, sizeof(now));
	write_all(tables->paths, now.paths * sizeof(*tables->paths));
	write_all(tables->entries, now.entries * sizeof(*tables->entries));
}

void __init cpu_profile_start(void)
{
	tables = cpu_profile_memory(sizeof(*tables));
}
