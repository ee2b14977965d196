/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts of the kernel's work, and their price in virtual time. See arch/um/kernel/cpu_charge.c.
 */
#ifndef __UM_CPU_CHARGE_H
#define __UM_CPU_CHARGE_H

#include <linux/types.h>

struct task_struct;
struct uml_pt_regs;

/* Work that is counted in other units: bytes of routines that handle many of them in one block. */
enum {
	CPU_CHARGE_COPY,
	CPU_CHARGE_CLEAR,
	CPU_CHARGE_CRC32C,
	CPU_CHARGE_REQUEST,	/* counted in requests to disks, not in bytes */
	CPU_CHARGE_WAIT,	/* counted in waits: a process sleeps, and no other runs */
	CPU_CHARGE_ROUTINES
};

/* Who executes. */
enum cpu_charge_context {
	CPU_CHARGE_PROCESS,
	CPU_CHARGE_KTHREAD,
	CPU_CHARGE_INTERRUPT,
	CPU_CHARGE_IDLE,
	CPU_CHARGE_HOST,	/* interrupts at moments that the host chooses: never charged */
	CPU_CHARGE_CONTEXTS
};

/*
 * What an allocation executes depends on the free memory, and with it on the program that measures.
 * The time of a lookup in the cache of names depends on addresses. Neither is instrumented. These
 * blocks stand for an object of a slab and for a folio, allocated and freed, for a lookup of a name,
 * and for a name that comes into the cache and leaves it. The maple tree is not instrumented either,
 * because memory areas are looked up in it: a change of a directory of tmpfs has its own constant.
 */
#define CPU_CHARGE_OBJECT 25
#define CPU_CHARGE_FOLIO 50
#define CPU_CHARGE_LOOKUP 20
#define CPU_CHARGE_DENTRY 80
#define CPU_CHARGE_OFFSET 370

/* Nothing is profiled. */
#define CPU_PROFILE_OFF -1

extern unsigned long cpu_charge_blocks;
extern unsigned long cpu_charge_units[CPU_CHARGE_ROUTINES];

/* Attributes what was counted to the task that ran until now. */
void cpu_charge_switch(struct task_struct *from, struct task_struct *to);
/* What a task executes from hide to hidden is nobody's; others and interrupts between them keep theirs. */
void cpu_charge_hide(void);
void cpu_charge_hidden(void);
/* The count until the matching leave is that of an interrupt. */
void cpu_charge_enter(enum cpu_charge_context interrupt);
void cpu_charge_leave(enum cpu_charge_context interrupt);
/*
 * A system call begins. The work of a reading of the clock is not counted: a machine reads it without
 * the kernel.
 */
void cpu_charge_syscall_begins(struct uml_pt_regs *regs);
/* A system call ends. */
void cpu_charge_syscall(void);
/* Nanoseconds that are due; they count as charged. */
unsigned long long cpu_charge_take(void);
/* Nanoseconds that the next call of a row takes in which a program only waits. */
unsigned long long cpu_charge_row(void);
/* In time.c: advances the virtual clock by them. */
void cpu_charge_waits_in_row(void);
/* In time.c: advances the virtual clock by what is due, where events may be delivered. */
bool cpu_charge_now(void);

/* The context of the blocks that follow, or CPU_PROFILE_OFF. */
extern int cpu_profile_context;

void cpu_profile_start(void);
/* A block of the function with this frame was executed, and counted. */
void cpu_profile_block(unsigned long block, const void *frame);
/* What follows is of another task or context. */
void cpu_profile_turn(int context);
/* Frames from this one on are not of the path; none ends it. */
void cpu_profile_interrupt(const void *frame);
void cpu_profile_sleeps(struct task_struct *task);
void cpu_profile_wakes(struct task_struct *task);
void cpu_profile_begin(void);
/* Writes the segment. */
void cpu_profile_end(void);
/* In time.c: nanoseconds. */
unsigned long long cpu_profile_time(void);
/* In os-Linux/main.c. */
void *cpu_profile_memory(unsigned long size);
long cpu_profile_write(const void *bytes, unsigned long size);
#endif
