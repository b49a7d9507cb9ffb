/* SPDX-License-Identifier: MIT */
/*
 * Processor time during a run: of all cores from /proc/stat, because what a backend costs is spent
 * in kernel threads too, and of this process alone. Waiting for I/O counts as idle.
 */
#include "exec_priv.h"

#include <stdio.h>
#include <sys/resource.h>

void exec_cpu_now(struct cpu_times *t)
{
	unsigned long long v[8] = {0};
	struct rusage ru = {0};
	FILE *f = fopen("/proc/stat", "re");

	*t = (struct cpu_times){0};
	if (f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			 &v[3], &v[4], &v[5], &v[6], &v[7]) == 8) {
		for (int i = 0; i < 8; i++)
			t->total += v[i];
		t->busy = t->total - v[3] - v[4]; /* idle, iowait */
	}
	if (f)
		fclose(f);
	getrusage(RUSAGE_SELF, &ru);
	t->self_seconds = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
			  (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

double exec_cpu_percent(const struct cpu_times *from, const struct cpu_times *to)
{
	if (to->total <= from->total || to->busy < from->busy)
		return 0;
	return 100.0 * (double)(to->busy - from->busy) / (double)(to->total - from->total);
}
