// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the basic blocks that the kernel executes, by context, and charges their time to the
 * virtual clock. The compiler calls __sanitizer_cov_trace_pc once in every basic block (KCOV).
 *
 * /proc/cpu_charge shows the counts. A line with prices that is written to it begins the count and the
 * charge: picoseconds a block, a system call, a byte of each routine, a request and a wait. The line
 * "stop" ends both. All of it is deterministic, because the counts are.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <asm/cpu_charge.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>

/*
 * A program that reads the clock, yields or polls without a timeout, and does nothing else between,
 * waits. Each call of such a row takes some time, twice as much after every 64, up to 8 us: about
 * what it takes to look something up in memory between two readings. In a row of more than 262,144
 * it is twice as much after every 16,384, up to 8 ms: a wait of seconds ends soon.
 */
#define ROW_FREE 64UL
#define ROW_READING 256ULL
#define ROW_DOUBLED 5UL
#define ROW_LONG 262144UL
#define ROW_LONGER 16384UL
#define ROW_DOUBLED_LONG 10UL

#define PRICES (2 + CPU_CHARGE_ROUTINES)

static const char *const context_names[CPU_CHARGE_CONTEXTS] = {
	"process", "kthread", "interrupt", "idle", "host",
};
static const char *const routine_names[CPU_CHARGE_ROUTINES] = {
	"bytes copy", "bytes clear", "bytes crc32c", "requests", "waits",
};

unsigned long cpu_charge_blocks;
unsigned long cpu_charge_units[CPU_CHARGE_ROUTINES];

static bool counting;
static unsigned long syscalls, units_counted[CPU_CHARGE_ROUTINES];
static unsigned long attributed, units_attributed[CPU_CHARGE_ROUTINES];
static unsigned long by_context[CPU_CHARGE_CONTEXTS];
static unsigned int interrupts, host_interrupts, hidden_interrupt;

/* Of a block, of a system call, of a unit of each routine. */
static unsigned long prices[PRICES];
static unsigned long long pending_ps, charged_ns;

/* CPU_PROFILE_OFF if nothing counts. */
static int context_of(struct task_struct *task)
{
	if (!counting)
		return CPU_PROFILE_OFF;
	if (interrupts || host_interrupts) {
		if (hidden_interrupt)
			return CPU_PROFILE_OFF;
		return host_interrupts ? CPU_CHARGE_HOST : CPU_CHARGE_INTERRUPT;
	}
	if (task->thread.reads_clock || task->thread.hidden)
		return CPU_PROFILE_OFF;
	if (is_idle_task(task))
		return CPU_CHARGE_IDLE;
	return task->flags & PF_KTHREAD ? CPU_CHARGE_KTHREAD : CPU_CHARGE_PROCESS;
}

static void attribute(struct task_struct *task)
{
	unsigned long delta = cpu_charge_blocks - attributed;
	int context = context_of(task);
	int i;

	attributed += delta;
	if (context == CPU_PROFILE_OFF) {
		memcpy(units_attributed, cpu_charge_units, sizeof(units_attributed));
		return;
	}
	by_context[context] += delta;
	if (context == CPU_CHARGE_KTHREAD)
		task->thread.blocks += delta;
	/* Nobody waits for the idle loop. */
	if (context != CPU_CHARGE_IDLE && context != CPU_CHARGE_HOST)
		pending_ps += delta * prices[0];
	for (i = 0; i < CPU_CHARGE_ROUTINES; i++) {
		unsigned long units = cpu_charge_units[i] - units_attributed[i];

		units_attributed[i] += units;
		if (context == CPU_CHARGE_HOST)
			continue;
		if (context != CPU_CHARGE_KTHREAD)
			units_counted[i] += units;
		pending_ps += units * prices[2 + i];
	}
}

void cpu_charge_switch(struct task_struct *from, struct task_struct *to)
{
	/*
	 * A process sleeps, and the processor is idle or runs a kernel thread. The price includes the
	 * waits of that thread. A switch to another process has the price of its blocks.
	 */
	if (READ_ONCE(from->__state) != TASK_RUNNING && !(from->flags & PF_KTHREAD) &&
	    (to->flags & PF_KTHREAD || is_idle_task(to)))
		cpu_charge_units[CPU_CHARGE_WAIT]++;
	if (READ_ONCE(from->__state) != TASK_RUNNING)
		cpu_profile_sleeps(from);
	attribute(from);
	cpu_profile_wakes(to);
	cpu_profile_turn(context_of(to));
}

/* How often hide was called without hidden, by the current task or by an interrupt of it. */
static unsigned int *hidden(void)
{
	return interrupts || host_interrupts ? &hidden_interrupt : &current->thread.hidden;
}

void cpu_charge_hide(void)
{
	unsigned long flags;

	local_irq_save(flags);
	attribute(current);
	++*hidden();
	cpu_profile_turn(context_of(current));
	local_irq_restore(flags);
}

void cpu_charge_hidden(void)
{
	unsigned long flags;

	local_irq_save(flags);
	attribute(current);
	--*hidden();
	cpu_profile_turn(context_of(current));
	local_irq_restore(flags);
}

void cpu_charge_enter(enum cpu_charge_context interrupt)
{
	attribute(current);
	if (interrupt == CPU_CHARGE_HOST)
		host_interrupts++;
	else
		interrupts++;
	if (interrupts + host_interrupts == 1)
		cpu_profile_interrupt(__builtin_frame_address(0));
	cpu_profile_turn(context_of(current));
}

void cpu_charge_leave(enum cpu_charge_context interrupt)
{
	attribute(current);
	if (interrupt == CPU_CHARGE_HOST)
		host_interrupts--;
	else
		interrupts--;
	if (!interrupts && !host_interrupts)
		cpu_profile_interrupt(NULL);
	cpu_profile_turn(context_of(current));
}

unsigned long long cpu_charge_take(void)
{
	unsigned long flags;
	unsigned long long ns;

	local_irq_save(flags);
	attribute(current);
	ns = pending_ps / 1000;
	pending_ps -= ns * 1000;
	charged_ns += ns;
	local_irq_restore(flags);
	return ns;
}

static void reads_clock(bool begins)
{
	unsigned long flags;

	local_irq_save(flags);
	attribute(current);
	current->thread.reads_clock = begins;
	cpu_profile_turn(context_of(current));
	local_irq_restore(flags);
}

void cpu_charge_syscall_begins(struct uml_pt_regs *regs)
{
	switch (UPT_SYSCALL_NR(regs)) {
	case __NR_clock_gettime:
		reads_clock(true);
		break;
	case __NR_gettimeofday:
	case __NR_time:
	case __NR_sched_yield:
		break;
	case __NR_poll:
		if ((int)UPT_SYSCALL_ARG3(regs))
			current->thread.row = 0;
		break;
	case __NR_epoll_wait:
		if ((int)UPT_SYSCALL_ARG4(regs))
			current->thread.row = 0;
		break;
	default:
		current->thread.row = 0;
		return;
	}
	current->thread.row++;
}

unsigned long long cpu_charge_row(void)
{
	unsigned long row = current->thread.row;
	unsigned long doubled;

	if (row <= ROW_FREE)
		return 0;
	doubled = min(row / ROW_FREE, ROW_DOUBLED);
	if (row > ROW_LONG)
		doubled += min((row - ROW_LONG) / ROW_LONGER, ROW_DOUBLED_LONG);
	return ROW_READING << doubled;
}

void cpu_charge_syscall(void)
{
	cpu_charge_waits_in_row();
	if (current->thread.reads_clock) {
		reads_clock(false);
		return;
	}
	if (!counting)
		return;
	syscalls++;
	pending_ps += prices[1];
	cpu_charge_now();
}

static int cpu_charge_show(struct seq_file *file, void *unused)
{
	struct task_struct *task;
	int i;

	for (i = 0; i < CPU_CHARGE_CONTEXTS; i++)
		seq_printf(file, "blocks %s %lu\n", context_names[i], by_context[i]);
	seq_printf(file, "syscalls %lu\n", syscalls);
	for (i = 0; i < CPU_CHARGE_ROUTINES; i++)
		seq_printf(file, "%s %lu\n", routine_names[i], units_counted[i]);
	seq_printf(file, "charged_ns %llu\n", charged_ns);
	rcu_read_lock();
	for_each_process(task)
		if (task->flags & PF_KTHREAD && task->thread.blocks)
			seq_printf(file, "kthread %lu %s\n", task->thread.blocks, task->comm);
	rcu_read_unlock();
	return 0;
}

static int cpu_charge_open(struct inode *inode, struct file *file)
{
	return single_open(file, cpu_charge_show, NULL);
}

static ssize_t cpu_charge_write(struct file *file, const char __user *text, size_t size,
				loff_t *offset)
{
	unsigned long wanted[PRICES];
	char line[160], *rest = line, *word;
	unsigned long flags;
	int i;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, text, size))
		return -EFAULT;
	line[size] = 0;
	if (!strcmp(line, "stop")) {
		local_irq_save(flags);
		attribute(current);
		if (counting)
			cpu_profile_end();
		counting = false;
		/* The rest of a nanosecond is nobody's. */
		pending_ps = 0;
		local_irq_restore(flags);
		return size;
	}
	for (i = 0; i < PRICES; i++) {
		word = strsep(&rest, " \n");
		if (!word || kstrtoul(word, 10, &wanted[i]))
			return -EINVAL;
	}
	local_irq_save(flags);
	attribute(current);
	memcpy(prices, wanted, sizeof(prices));
	if (!counting)
		cpu_profile_begin();
	counting = true;
	cpu_profile_turn(context_of(current));
	local_irq_restore(flags);
	return size;
}

static const struct proc_ops cpu_charge_operations = {
	.proc_open = cpu_charge_open,
	.proc_read = seq_read,
	.proc_write = cpu_charge_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static int __init cpu_charge_proc(void)
{
	proc_create("cpu_charge", 0644, NULL, &cpu_charge_operations);
	cpu_profile_start();
	return 0;
}
fs_initcall(cpu_charge_proc);
