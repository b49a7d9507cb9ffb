/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer target: any bytes as a trace file. The reader and the damage check must end with an
 * answer, never with a crash, a hang or a huge allocation. CC=clang meson setup build-fuzz
 * -Dfuzz=true -Dtests=false && ninja -C build-fuzz build-fuzz/tests/fuzz/fuzz_reader
 * -rss_limit_mb=512 -max_total_time=600 CORPUS samples/
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "iotape/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_reader *r = NULL;
	struct trace_damage damage;
	struct event ev;
	char path[64];
	_close_ int fd = memfd_create("fuzz", 0);

	if (fd < 0 || util_write_all(fd, data, size) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return 0;
	if (trace_reader_open_fd(&r, fd, "fuzz") == 0) {
		while (trace_reader_next(r, &ev) == 1)
			;
		trace_reader_close(r);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	trace_check(path, &damage, -1);
	return 0;
}
