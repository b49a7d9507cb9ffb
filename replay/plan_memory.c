/* SPDX-License-Identifier: MIT */
/*
 * A plan is in memory as a whole, and so is what became of its steps. A trace that is too long for
 * this machine is refused while it is read, with a line that says so, because the kernel would end
 * the process otherwise. What is looked at is the process itself, now and then, and not what each
 * part of the plan asked for.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EVERY      16384u /* events between two looks */
#define STEP_BYTES 64u    /* of a step in the executor and its report */

static uint64_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (f && fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The number behind a word in a file of such lines; the first number when word is "". */
static bool number_of(const char *path, const char *word, uint64_t *v)
{
	FILE *f = fopen(path, "re");
	unsigned long long n;
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, word, strlen(word)) &&
			sscanf(line + strlen(word), "%llu", &n) == 1;
	if (f)
		fclose(f);
	if (found)
		*v = n;
	return found;
}

/* What control groups (v2) leave to this process, itself and those above it. */
static uint64_t group_bytes(uint64_t room)
{
	char group[1024] = "", path[1200];
	FILE *f = fopen("/proc/self/cgroup", "re");
	uint64_t max, used;

	while (f && fgets(group, sizeof(group), f) && strncmp(group, "0::/", 4))
		*group = '\0';
	if (f)
		fclose(f);
	group[strcspn(group, "\n")] = '\0';
	for (char *at = *group ? group + 3 : group; *at; *strrchr(at, '/') = '\0') {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", at);
		if (number_of(path, "", &max)) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.stat", at);
			if (number_of(path, "anon ", &used))
				room = MIN(room, max - MIN(max, used));
		}
	}
	return room;
}

uint64_t plan_memory_limit(void)
{
	uint64_t kib;

	if (!number_of("/proc/meminfo", "MemAvailable:", &kib))
		return 0;
	return group_bytes(kib * 1024) / 4 * 3;
}

void plan_memory_begin(struct plan *p, uint64_t limit)
{
	p->memory_limit = limit;
	p->memory_before = resident_bytes();
}

int plan_memory_check(struct plan *p, uint64_t events)
{
	uint64_t now, used;

	if (!p->memory_limit || events % EVERY)
		return 0;
	now = resident_bytes();
	used = now - MIN(now, p->memory_before) + p->info.steps * STEP_BYTES;
	if (used <= p->memory_limit)
		return 0;
	return fail(-ENOMEM,
		"the trace is too long to be replayed here: after %" PRIu64
		" events its plan needs %" PRIu64 " MiB of memory, and it may have %" PRIu64
		" MiB (three quarters of what is free); leave some out with --filter",
		events, (used >> 20) + 1, p->memory_limit >> 20);
}
