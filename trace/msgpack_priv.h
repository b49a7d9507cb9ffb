/* SPDX-License-Identifier: MIT */
/* msgpack.c: bytes out (a growing buffer behind msgpack's packer) and in (a checked cursor). */
#ifndef MSGPACK_PRIV_H
#define MSGPACK_PRIV_H

#include <msgpack/pack.h>
#include <stdbool.h>
#include <stdint.h>

#include "iotape/util.h"

#define TRACE_MAX_STRING  65536u
#define TRACE_MAX_NESTING 4

struct trace_buf {
	uint8_t *p;
	size_t n, cap;
	bool oom; /* sticky; looked at once, at the end */
};
void trace_buf_fini(struct trace_buf *b);
/* Room for n more bytes at the end; NULL (and oom) when there is none. Does not change b->n. */
uint8_t *trace_buf_room(struct trace_buf *b, size_t n);
void trace_buf_put(struct trace_buf *b, const void *p, size_t n);
void trace_pack_init(msgpack_packer *pk, struct trace_buf *b);
void trace_pack_key(msgpack_packer *pk, const char *key);
/* str when it is UTF-8, else bin; nil for NULL. */
void trace_pack_text(msgpack_packer *pk, const char *s);
void trace_pack_bin(msgpack_packer *pk, const void *p, size_t n);

struct trace_mp {
	const uint8_t *p, *end;
};
/* Exactly one object, nested at most TRACE_MAX_NESTING deep, every length within the payload. */
int trace_mp_check(const uint8_t *p, size_t n);
int trace_mp_map(struct trace_mp *mp, uint32_t *n);
int trace_mp_array(struct trace_mp *mp, uint32_t *n);
int trace_mp_bytes(struct trace_mp *mp, struct bytes *b); /* str or bin */
int trace_mp_u64(struct trace_mp *mp, uint64_t *v);
int trace_mp_i64(struct trace_mp *mp, int64_t *v);
int trace_mp_text(struct trace_mp *mp, char **s); /* nil: NULL; replaces and frees *s */
int trace_mp_skip(struct trace_mp *mp);
bool trace_mp_is(struct bytes b, const char *s);

#endif
