/* SPDX-License-Identifier: MIT */
/*
 * The event model: one struct for everything that is recorded, replayed, imported, printed or
 * compared, and one table of its fields. Operations are in op.h.
 */
#ifndef IOTAPE_EVENT_H
#define IOTAPE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "iotape/op.h"
#include "iotape/util.h"

/*
 * What happens to the tree and to data; `result` >= 0 is success. Units: ns since the trace's start
 * for start_ns, plain ns for the others, bytes for offset and size, `st_mode` bits for mode,
 * Linux's numbers for flags. Fields that an operation does not have (op_info[].fields) are 0 or
 * empty. Byte strings are borrowed from the source and valid until its next event.
 *
 * By operation, beyond the obvious:
 * - lookup: (parent, name) -> iid, mode of what was found; result 0 or -errno
 * - setattr: arg = EVENT_SET_* bits (op.h) that say which of mode uid gid size atime_ns mtime_ns
 * are set; oid if by handle
 * - mknod mkdir symlink create tmpfile: uid, gid of the caller; mode as the kernel sent it (umask
 *   applied)
 * - link: iid gets the new entry (parent, name)
 * - unlink rmdir: iid is what the name stood for
 * - rename: (parent, name), iid -> (parent2, name2), which stood for iid2 (0: nothing); flags of
 *   renameat2
 * - read write: size as asked for, result as returned; offset is the effective one (O_APPEND)
 * - readdir(plus): offset = cookie asked for, size of the buffer, result = entries returned
 * - setxattr, getxattr, ..: name is the attribute's; target holds the value for system.* and
 *   security.*, else only its size is kept
 * - fallocate: mode = FALLOC_FL_* bits
 * - lseek: flags = whence, result = new offset
 * - copy_file_range: (iid, oid, offset) -> (iid2, oid2, offset2)
 * - getlk setlk: flags = F_RDLCK, F_WRLCK or F_UNLCK, plus EVENT_LOCK_WAIT; size 0 = to the end of
 *   the file; arg = lock owner, a small number; flush: arg = owner whose locks on iid it drops
 * - flock: flags = LOCK_SH, LOCK_EX or LOCK_UN, plus LOCK_NB
 * - fsync fsyncdir: flags = 1 for data only
 * - ioctl: arg = command
 * - access: mode = mask
 * - snap: (parent, name) stood for iid before the workload touched it: mode uid gid size rdev
 *   atime_ns mtime_ns target, arg = link count, flags = EVENT_SNAP_*. A later snap of the same
 *   entry replaces it (LISTED -> full); the same iid under another entry is a hard link. The
 *   root is parent 0, name empty, iid EVENT_ROOT_IID.
 * - snap_data: a range of iid that held data (only for EVENT_SNAP_SPARSE; else [0, size) did)
 * - snap_xattr: iid had attribute name of size bytes (value in target as for setxattr)
 * - lane: the lane's thread: arg = thread id, size = process id, name = its comm
 * - mark: a phase of the workload begins; name
 */
struct event {
	uint64_t seq;        /* position in order of completion, from 1 */
	int64_t start_ns;    /* start of the backing call */
	uint64_t dur_ns;     /* of the backing call alone */
	uint64_t queue_ns;   /* time in the daemon around the backing call */
	uint32_t lane;       /* recorded thread, from 1; 0: the kernel on nobody's behalf */
	uint16_t op;         /* enum op */
	uint8_t first_touch; /* write: 1 if any byte of the range was not allocated before */
	uint8_t content;     /* enum event_content */
	uint8_t ratio[2];    /* CONTENT_SAMPLE: 255 * compressed / plain size at zstd -5 and 1 */
	uint64_t iid, iid2;  /* inode generation, from 1, never reused; 0: none */
	uint64_t oid, oid2;  /* open handle, from 1, never reused; 0: none */
	uint64_t parent, parent2; /* iid of a directory */
	struct bytes name, name2, target;
	uint64_t offset, offset2, size;
	int64_t result; /* value, or -errno */
	uint32_t flags, mode, uid, gid;
	uint64_t rdev, arg;
	int64_t atime_ns, mtime_ns; /* since the epoch; setattr: of EVENT_SET_ATIME / MTIME */
};

enum event_content {
	EVENT_CONTENT_NONE,   /* not looked at */
	EVENT_CONTENT_ZERO,   /* every byte is zero */
	EVENT_CONTENT_LIKE,   /* not zero; like the last sample of the same iid */
	EVENT_CONTENT_SAMPLE, /* not zero; ratio[] measured on a sample of this write */
	EVENT_CONTENT_COUNT
};

#define EVENT_LOCK_WAIT   0x100u /* flags of setlk: F_SETLKW */
#define EVENT_SNAP_SPARSE 1u     /* flags of snap: snap_data follows, the rest were holes */
#define EVENT_SNAP_LISTED 2u     /* seen in a listing only: mode holds the type, the rest unknown */
#define EVENT_ROOT_IID    1u
#define EVENT_NAME_MAX    65535u /* bytes in a string of an event */

/* The columns of an event that can be stored, printed and compared. Order is that of text and JSON.
 */
enum field {
	FIELD_SEQ,
	FIELD_LANE,
	FIELD_OP,
	FIELD_START_NS,
	FIELD_DUR_NS,
	FIELD_QUEUE_NS,
	FIELD_IID,
	FIELD_OID,
	FIELD_PARENT,
	FIELD_NAME,
	FIELD_PARENT2,
	FIELD_NAME2,
	FIELD_TARGET,
	FIELD_IID2,
	FIELD_OID2,
	FIELD_OFFSET,
	FIELD_OFFSET2,
	FIELD_SIZE,
	FIELD_RESULT,
	FIELD_FLAGS,
	FIELD_MODE,
	FIELD_UID,
	FIELD_GID,
	FIELD_RDEV,
	FIELD_ARG,
	FIELD_ATIME_NS,
	FIELD_MTIME_NS,
	FIELD_FIRST_TOUCH,
	FIELD_CONTENT,
	FIELD_RATIO,
	FIELD_COUNT
};
#define FIELD_BIT(f) (UINT32_C(1) << (f))
/* seq lane op start_ns dur_ns queue_ns result: every operation has them */
#define FIELDS_COMMON                                                                              \
	(FIELD_BIT(FIELD_SEQ) | FIELD_BIT(FIELD_LANE) | FIELD_BIT(FIELD_OP) |                      \
		FIELD_BIT(FIELD_START_NS) | FIELD_BIT(FIELD_DUR_NS) | FIELD_BIT(FIELD_QUEUE_NS) |  \
		FIELD_BIT(FIELD_RESULT))

enum field_type { FIELD_U8, FIELD_U16, FIELD_U32, FIELD_U64, FIELD_I64, FIELD_BYTES, FIELD_U8X2 };

struct field_info {
	const char *key; /* in text, JSON and the header's schema */
	enum field_type type;
	uint16_t offset; /* in struct event */
	bool octal;      /* mode bits are printed in octal (text only) */
};
extern const struct field_info field_info[FIELD_COUNT];

/* Checks what a trace from anywhere must keep to: op in range, names of one path component that are
 * neither empty nor "." nor ".." nor hold '/' or NUL, offsets and sizes within INT64_MAX, result in
 * range. 0, or -EBADMSG with fail text. */
int event_check(const struct event *ev);
/* Bytes that the event moved (read, write, copy_file_range: max(result, 0)); 0 for others. */
uint64_t event_bytes(const struct event *ev);
/* The one type that joins the stages. 0 to go on; anything else stops the source, which returns it.
 */
typedef int (*event_fn)(void *ctx, const struct event *ev);

#endif
