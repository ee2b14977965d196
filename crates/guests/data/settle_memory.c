// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the free memory of a guest the same, whatever ran in it before. A number of bytes that is
 * written to /proc/settle_memory is the free memory that remains, in blocks of the largest order. The
 * rest is never used: neither pages, nor objects of partial slabs. So the next objects and pages come
 * from new slabs and blocks, and reclaim begins after the same number of them.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include "../../../mm/internal.h"
#include "../../../mm/slab.h"

#define LARGEST (ARRAY_SIZE(((struct zone *)NULL)->free_area) - 1)

static void fill_slabs(void)
{
	struct kmem_cache *cache;

	mutex_lock(&slab_mutex);
	list_for_each_entry(cache, &slab_caches, list) {
		struct slabinfo about = {};
		unsigned long count;

		__kmem_cache_shrink(cache);
		get_slabinfo(cache, &about);
		for (count = about.num_objs - about.active_objs; count; count--)
			if (!kmem_cache_alloc(cache, GFP_KERNEL))
				break;
	}
	mutex_unlock(&slab_mutex);
}

static bool take_block(struct zone *zone, unsigned int order, int type)
{
	struct list_head *list = &zone->free_area[order].free_list[type];

	return !list_empty(list) &&
	       __isolate_free_page(list_last_entry(list, struct page, buddy_list), order);
}

/* Keeps this number of blocks of the largest order, and no smaller one. */
static int keep_blocks(struct zone *zone, unsigned long kept)
{
	struct free_area *largest = &zone->free_area[LARGEST];
	struct per_cpu_pages *pages;
	unsigned int order;
	unsigned long flags;
	int type, result = 0;

	drain_all_pages(zone);
	spin_lock_irqsave(&zone->lock, flags);
	for (type = 0; type < MIGRATE_TYPES; type++)
		for (order = 0; order <= LARGEST; order++)
			while ((order < LARGEST || type != MIGRATE_MOVABLE) &&
			       take_block(zone, order, type))
				;
	if (largest->nr_free < kept)
		result = -ENOMEM;
	while (largest->nr_free > kept)
		if (!take_block(zone, LARGEST, MIGRATE_MOVABLE))
			break;
	spin_unlock_irqrestore(&zone->lock, flags);

	/* As if no page had been taken or given back for long. */
	pages = this_cpu_ptr(zone->per_cpu_pageset);
	pages->high = pages->high_min;
	pages->alloc_factor = 0;
	pages->free_count = 0;
	pages->flags = 0;
	return result;
}

static ssize_t settle_memory_write(struct file *file, const char __user *text, size_t size,
				   loff_t *offset)
{
	unsigned long bytes;
	int result = kstrtoul_from_user(text, size, 10, &bytes);

	if (result)
		return result;
	lru_add_drain_all();
	rcu_barrier();
	fill_slabs();
	result = keep_blocks(page_zone(virt_to_page(current)), (bytes >> PAGE_SHIFT) >> LARGEST);
	return result ?: size;
}

static const struct proc_ops settle_memory_operations = {
	.proc_write = settle_memory_write,
};

static int __init settle_memory_proc(void)
{
	proc_create("settle_memory", 0200, NULL, &settle_memory_operations);
	return 0;
}
fs_initcall(settle_memory_proc);
