/* SPDX-License-Identifier: MIT */
/*
 * The table of frames at the end of a trace, in the seekable format of zstd's contrib/ (a skippable
 * frame: entries of stored and plain size, then a footer that is found from the end of the file).
 * Nothing here needs it to read a trace; it is for other tools, and is checked and made anew.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

#define TABLE_MAGIC  (TRACE_SKIP_MAGIC | 0xEu)
#define FOOTER_MAGIC 0x8F92EAB1u
#define FOOTER       9u
#define MAX_FRAMES   0x8000000u

static void put_u32(struct trace_buf *b, uint32_t v)
{
	uint8_t le[] = {v, v >> 8, v >> 16, v >> 24};

	trace_buf_put(b, le, sizeof(le));
}

int trace_index_add(struct trace_buf *index, uint64_t stored, uint64_t payload)
{
	put_u32(index, stored);
	put_u32(index, payload);
	return index->oom ? fail(-ENOMEM, "no memory for the index") : 0;
}

static void table(struct trace_buf *b, const struct trace_buf *index)
{
	put_u32(b, TABLE_MAGIC);
	put_u32(b, index->n + FOOTER);
	trace_buf_put(b, index->p, index->n);
	put_u32(b, index->n / 8);
	trace_buf_put(b, "", 1); /* descriptor: no checksums in the entries */
	put_u32(b, FOOTER_MAGIC);
}

int trace_index_write(struct trace_out *o)
{
	struct trace_buf b = {0};
	int r = 0;

	if (o->index.n / 8 <= MAX_FRAMES) { /* more than the format can say: leave it out */
		table(&b, &o->index);
		r = b.oom ? fail(-ENOMEM, "no memory for the index")
			  : util_write_all(o->fd, b.p, b.n);
		o->bytes += r ? 0 : b.n;
	}
	trace_buf_fini(&b);
	return r;
}

int trace_index_verify(int fd, uint64_t file_bytes, const struct trace_buf *want)
{
	struct trace_buf b = {0}, is = {0};
	uint8_t footer[FOOTER];
	ssize_t got = 0;
	int r;

	if (file_bytes < FOOTER ||
		util_pread_all(fd, footer, FOOTER, file_bytes - FOOTER) != FOOTER ||
		memcmp(footer + 5, "\xB1\xEA\x92\x8F", 4) != 0)
		return -ENODATA;
	table(&b, want);
	if (b.n <= file_bytes && trace_buf_room(&is, b.n))
		got = util_pread_all(fd, is.p, b.n, file_bytes - b.n);
	r = !b.oom && got == (ssize_t)b.n && !memcmp(is.p, b.p, b.n);
	trace_buf_fini(&b);
	trace_buf_fini(&is);
	return r;
}
