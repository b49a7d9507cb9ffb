/* SPDX-License-Identifier: MIT */
/* Plans of traces that are written as text. */
#ifndef PLAN_HELP_H
#define PLAN_HELP_H

#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../replay/plan_build_priv.h"

#define ROOT "1 +0.000000000s 1ns q0 L0 snap iid=1 size=4096 = 0 mode=040755 arg=3\n"

static inline struct trace_reader *reader_of(const char *text)
{
	struct trace_reader *r = NULL;
	char *all = NULL;
	FILE *in;
	int fd = memfd_create("trace", 0);

	assert_true(fd >= 0);
	assert_true(asprintf(&all, "#iotape 1\n#chunk\n%s", text) > 0);
	in = fmemopen(all, strlen(all), "r");
	assert_non_null(in);
	if (trace_text_import(in, "test", fd))
		fail_msg("%s", fail_text());
	fclose(in);
	free(all);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_reader_open_fd(&r, fd, "test"), 0);
	return r;
}

static inline struct plan *plan_of(const char *text, enum replay_order order)
{
	struct trace_reader *r = reader_of(text);
	struct plan *p = NULL;

	if (plan_read(&p, r, order, NULL))
		fail_msg("%s", fail_text());
	trace_reader_close(r);
	return p;
}

#endif
