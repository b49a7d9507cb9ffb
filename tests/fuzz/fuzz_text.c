/* SPDX-License-Identifier: MIT */
/* libFuzzer target: any bytes as a text twin to import. Run as fuzz_reader.c says. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "iotape/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_close_ int out = memfd_create("fuzz", 0);
	FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;

	if (!in || out < 0)
		return 0;
	trace_text_import(in, "fuzz", out);
	fclose(in);
	return 0;
}
