/* SPDX-License-Identifier: MIT */
/*
 * Facts about the machine that a reader of a result needs to judge it: system, kernel, processor,
 * memory, load. What cannot be found out stays empty. No host name, no serial numbers: a result
 * can be passed on.
 */
#include "iotape/report.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Copies what follows the first `key` at the start of a line of path, less quotes, blanks, ':' and
 * '=' in front. */
static void value_of(char *out, size_t cap, const char *path, const char *key)
{
	char line[512];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		const char *v = line + strlen(key);

		if (strncmp(line, key, strlen(key)))
			continue;
		v += strspn(v, " \t:=\"");
		snprintf(out, cap, "%.*s", (int)strcspn(v, "\"\n"), v);
		break;
	}
	if (f)
		fclose(f);
}

void report_machine(struct report_machine *m)
{
	struct utsname u;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES),
	     page = sysconf(_SC_PAGESIZE);

	memset(m, 0, sizeof(*m));
	if (!uname(&u)) {
		snprintf(m->kernel, sizeof(m->kernel), "%s %s", u.sysname, u.release);
		snprintf(m->arch, sizeof(m->arch), "%s", u.machine);
	}
	value_of(m->os, sizeof(m->os), "/etc/os-release", "PRETTY_NAME=");
	value_of(m->cpu, sizeof(m->cpu), "/proc/cpuinfo", "model name");
	m->cpus = cpus > 0 ? (unsigned)cpus : 0;
	if (pages > 0 && page > 0)
		m->memory_bytes = (uint64_t)pages * (uint64_t)page;
	if (getloadavg(&m->load, 1) != 1)
		m->load = 0;
}

void report_machine_json(struct json *j, const char *key, const struct report_machine *m)
{
	json_object(j, key);
	json_str(j, "os", *m->os ? m->os : NULL);
	json_str(j, "kernel", *m->kernel ? m->kernel : NULL);
	json_str(j, "arch", *m->arch ? m->arch : NULL);
	json_str(j, "cpu", *m->cpu ? m->cpu : NULL);
	json_u64(j, "cpus", m->cpus);
	json_u64(j, "memory_bytes", m->memory_bytes);
	json_f64(j, "load", m->load);
	json_end(j, '}');
}
