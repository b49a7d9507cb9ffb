/* SPDX-License-Identifier: MIT */
/* What the files of trace/ share among themselves. Contracts for other folders are in include/. */
#ifndef TRACE_PRIV_H
#define TRACE_PRIV_H

#include <zstd.h>

#include "iotape/trace.h"
#include "msgpack_priv.h"

/* Limits of docs/format.md; anything beyond is -EBADMSG. */
#define TRACE_VERSION        1u
#define TRACE_MAX_PAYLOAD    (64u << 20)
#define TRACE_MAX_ROWS       65536u
#define TRACE_MAX_WINDOW_LOG 23
#define TRACE_MAX_FIELDS     64u   /* in a schema */
#define TRACE_MAX_OPS        1024u /* numbers in a schema */
#define TRACE_ZSTD_MAGIC     0xFD2FB528u
#define TRACE_SKIP_MAGIC     0x184D2A50u /* low four bits are free */

/* gcc vectorizes at -O3 only, clang always. */
#if defined(__clang__)
#define TRACE_VECTORIZE
#else
#define TRACE_VECTORIZE __attribute__((optimize("O3")))
#endif

/* frame.c: whole zstd frames out and in */
struct trace_out {
	int fd;
	ZSTD_CCtx *cctx;
	struct trace_buf z;     /* a compressed frame */
	struct trace_buf index; /* entries of the seekable table */
	uint64_t bytes, frames;
	int level;
};
int trace_out_init(struct trace_out *o, int fd, int level);
void trace_out_fini(struct trace_out *o);
/* One frame; the compressor is flushed at each of ends[] (offsets in the payload). A frame that
 * could not be written whole is cut off again where the file allows. */
int trace_out_frame(
	struct trace_out *o, const struct trace_buf *payload, const uint32_t *ends, size_t n_ends);
/* A frame that is compressed already. */
int trace_out_raw(struct trace_out *o, const void *p, size_t n, size_t payload_size);

struct trace_in {
	int fd;
	bool seekable;
	uint8_t *buf;          /* read ahead */
	size_t pos, len;       /* of buf */
	uint64_t offset;       /* in the file, of buf[pos] */
	struct trace_buf z;    /* the last frame as stored */
	struct trace_buf data; /* its payload */
	uint64_t frame_offset; /* of the last frame */
	uint64_t frame;        /* its number, skippable ones counted */
	bool skippable;        /* the last frame was; then z is empty */
	bool whole;            /* the last frame's end is known, though its content may be bad */
	ZSTD_DCtx *dctx;
};
int trace_in_init(struct trace_in *in, int fd);
void trace_in_fini(struct trace_in *in);
int trace_in_seek(struct trace_in *in, uint64_t offset);
/* 1: the next frame with in->data its payload, or skippable. 0: end of file. -ENODATA: the file
 * ends inside the frame. -EBADMSG: not a frame, or its content is damaged (in->whole tells). */
int trace_in_next(struct trace_in *in);

/* schema.c: which fields and operations a trace has */
enum trace_coding {
	CODING_IMPLIED, /* seq: first of the chunk + row */
	CODING_PLAIN,   /* the value; zigzag when signed */
	CODING_DELTA,   /* zigzag difference to the row before that has the field */
	CODING_FOLLOW,  /* zigzag difference to the end of the handle's previous range */
	CODING_STRING,  /* 0: empty, else number in the chunk's table, from 1 */
	CODING_COUNT
};
extern const uint8_t trace_field_coding[FIELD_COUNT];
#define TRACE_FOLLOW_SLOTS 4096u

struct trace_schema_field {
	char key[32];
	int field; /* enum field, or -1: unknown here, its column is skipped */
	uint8_t type, coding;
};
struct trace_schema {
	size_t n_fields;
	struct trace_schema_field f[TRACE_MAX_FIELDS];
	uint64_t mask[TRACE_MAX_OPS];  /* bit: index in f[]; 0: no such operation */
	uint16_t local[TRACE_MAX_OPS]; /* enum op, OP_NONE: unknown here, its events are skipped */
	uint16_t op_field;             /* index in f[] */
	bool foreign;                  /* some operation has fields that it does not have here */
};
void trace_schema_pack(msgpack_packer *pk);
int trace_schema_unpack(struct trace_mp *mp, struct trace_schema *s);

/* codec_encode.c: events to a chunk's payload */
struct trace_encoder;
int trace_encoder_new(struct trace_encoder **out);
void trace_encoder_free(struct trace_encoder *e);
/* ev->seq is the caller's affair but for the first of a chunk. */
int trace_encoder_put(struct trace_encoder *e, const struct event *ev);
size_t trace_encoder_rows(const struct trace_encoder *e);
bool trace_encoder_full(const struct trace_encoder *e);
/* The payload (valid until the next put) and where its planes end; the encoder is empty again. */
int trace_encoder_take(struct trace_encoder *e, const struct trace_buf **payload,
	const uint32_t **ends, size_t *n_ends);

/* codec_decode.c: a chunk's payload to events */
struct trace_chunk {
	struct event *ev; /* n; op OP_NONE: unknown operation */
	uint32_t n;
	uint64_t first_seq;
	uint32_t cap;
	struct bytes *strings; /* point into the payload */
	uint32_t n_strings, cap_strings;
	uint64_t *follow;
};
int trace_chunk_decode(
	struct trace_chunk *c, const struct trace_schema *s, const uint8_t *p, size_t n);
void trace_chunk_fini(struct trace_chunk *c);

/* header.c: the maps of the header and the trailer frame */
int trace_header_pack(struct trace_buf *b, const struct trace_header *h);
int trace_header_unpack(const uint8_t *p, size_t n, struct trace_header *h, struct trace_schema *s);
int trace_trailer_pack(struct trace_buf *b, const struct trace_trailer *t);
int trace_trailer_unpack(const uint8_t *p, size_t n, struct trace_trailer *t);
enum trace_kind { TRACE_KIND_HEADER, TRACE_KIND_CHUNK, TRACE_KIND_TRAILER, TRACE_KIND_OTHER };
/* What a frame's payload is, or -EBADMSG when it is not one map within the limits. */
int trace_payload_kind(const uint8_t *p, size_t n);

/* index.c: the seekable table */
int trace_index_add(struct trace_buf *index, uint64_t stored, uint64_t payload);
int trace_index_write(struct trace_out *o);
/* 1: the last bytes of the file are a table and it agrees with want; 0: a table that does not;
 * -ENODATA: none */
int trace_index_verify(int fd, uint64_t file_bytes, const struct trace_buf *want);

#endif
