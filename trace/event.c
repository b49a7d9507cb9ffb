/* SPDX-License-Identifier: MIT */
/*
 * The two tables that everything else is driven by: op_info[] says what an operation is, which
 * fields it has and what it does to resources; field_info[] says where a field lives in struct
 * event and what it is called in text, JSON and the log. Adding an operation is one row here. No
 * behaviour lives here but looking rows up and checking an event against them.
 */
#include "iotape/event.h"

#include <errno.h>
#include <string.h>

#define B(f)   FIELD_BIT(FIELD_##f)
#define COMMON FIELDS_COMMON
#define HANDLE (B(IID) | B(OID))
#define ENTRY  (B(IID) | B(PARENT) | B(NAME))
#define OWNER  (B(MODE) | B(UID) | B(GID))
#define RANGE  (B(OFFSET) | B(SIZE))

const struct op_info op_info[OP_COUNT] = {
	[OP_NONE] = {"none", OPC_NOTE, 0, 0},
	[OP_LOOKUP] = {"lookup", OPC_RESOLVE, COMMON | ENTRY | B(MODE), EFF_NAME_NEED},
	[OP_GETATTR] = {"getattr", OPC_RESOLVE, COMMON | HANDLE, EFF_META_READ | EFF_OID_USE},
	[OP_SETATTR] = {"setattr", OPC_ATTR,
		COMMON | HANDLE | OWNER | B(SIZE) | B(ARG) | B(ATIME_NS) | B(MTIME_NS),
		EFF_META_WRITE | EFF_DATA_TRUNC | EFF_OID_USE},
	[OP_READLINK] = {"readlink", OPC_NAME, COMMON | B(IID), EFF_META_READ},
	[OP_MKNOD] = {"mknod", OPC_NAME, COMMON | ENTRY | OWNER | B(RDEV),
		EFF_NAME_NEED | EFF_NAME_MAKE | EFF_IID_NEW},
	[OP_MKDIR] = {"mkdir", OPC_NAME, COMMON | ENTRY | OWNER,
		EFF_NAME_NEED | EFF_NAME_MAKE | EFF_IID_NEW},
	[OP_SYMLINK] = {"symlink", OPC_NAME, COMMON | ENTRY | B(TARGET) | B(UID) | B(GID),
		EFF_NAME_NEED | EFF_NAME_MAKE | EFF_IID_NEW},
	[OP_LINK] = {"link", OPC_NAME, COMMON | ENTRY,
		EFF_NAME_NEED | EFF_NAME_MAKE | EFF_META_WRITE},
	[OP_UNLINK] = {"unlink", OPC_NAME, COMMON | ENTRY,
		EFF_NAME_NEED | EFF_NAME_KILL | EFF_META_WRITE},
	[OP_RMDIR] = {"rmdir", OPC_NAME, COMMON | ENTRY,
		EFF_NAME_NEED | EFF_NAME_KILL | EFF_META_WRITE},
	[OP_RENAME] = {"rename", OPC_NAME,
		COMMON | ENTRY | B(PARENT2) | B(NAME2) | B(IID2) | B(FLAGS),
		EFF_NAME_NEED | EFF_NAME_KILL | EFF_NAME2_MAKE},
	[OP_ACCESS] = {"access", OPC_ATTR, COMMON | B(IID) | B(MODE), EFF_META_READ},
	[OP_STATFS] = {"statfs", OPC_ATTR, COMMON | B(IID), 0},
	[OP_SETXATTR] = {"setxattr", OPC_ATTR,
		COMMON | B(IID) | B(NAME) | B(TARGET) | B(SIZE) | B(FLAGS), EFF_META_WRITE},
	[OP_GETXATTR] = {"getxattr", OPC_RESOLVE, COMMON | B(IID) | B(NAME) | B(SIZE),
		EFF_META_READ},
	[OP_LISTXATTR] = {"listxattr", OPC_ATTR, COMMON | B(IID) | B(SIZE), EFF_META_READ},
	[OP_REMOVEXATTR] = {"removexattr", OPC_ATTR, COMMON | B(IID) | B(NAME), EFF_META_WRITE},
	[OP_OPEN] = {"open", OPC_HANDLE, COMMON | HANDLE | B(FLAGS), EFF_OID_NEW | EFF_DATA_TRUNC},
	[OP_CREATE] = {"create", OPC_HANDLE, COMMON | ENTRY | B(OID) | B(FLAGS) | OWNER,
		EFF_NAME_NEED | EFF_NAME_MAKE | EFF_IID_NEW | EFF_OID_NEW},
	[OP_TMPFILE] = {"tmpfile", OPC_HANDLE, COMMON | HANDLE | B(PARENT) | B(FLAGS) | OWNER,
		EFF_IID_NEW | EFF_OID_NEW},
	[OP_READ] = {"read", OPC_DATA, COMMON | HANDLE | RANGE, EFF_DATA_READ | EFF_OID_USE},
	[OP_WRITE] = {"write", OPC_DATA,
		COMMON | HANDLE | RANGE | B(FIRST_TOUCH) | B(CONTENT) | B(RATIO),
		EFF_DATA_WRITE | EFF_OID_USE},
	[OP_FLUSH] = {"flush", OPC_HANDLE, COMMON | HANDLE | B(ARG), EFF_OID_USE},
	[OP_RELEASE] = {"release", OPC_HANDLE, COMMON | HANDLE, EFF_OID_END},
	[OP_FSYNC] = {"fsync", OPC_SYNC, COMMON | HANDLE | B(FLAGS), EFF_DATA_SYNC | EFF_OID_USE},
	[OP_FALLOCATE] = {"fallocate", OPC_DATA, COMMON | HANDLE | RANGE | B(MODE),
		EFF_DATA_WRITE | EFF_OID_USE},
	[OP_LSEEK] = {"lseek", OPC_DATA, COMMON | HANDLE | B(OFFSET) | B(FLAGS),
		EFF_META_READ | EFF_OID_USE},
	[OP_COPY_FILE_RANGE] = {"copy_file_range", OPC_DATA,
		COMMON | HANDLE | RANGE | B(IID2) | B(OID2) | B(OFFSET2) | B(FLAGS),
		EFF_DATA_READ | EFF_DATA2_WRITE | EFF_OID_USE},
	[OP_GETLK] = {"getlk", OPC_HANDLE, COMMON | HANDLE | RANGE | B(FLAGS) | B(ARG),
		EFF_OID_USE},
	[OP_SETLK] = {"setlk", OPC_HANDLE, COMMON | HANDLE | RANGE | B(FLAGS) | B(ARG),
		EFF_OID_USE},
	[OP_FLOCK] = {"flock", OPC_HANDLE, COMMON | HANDLE | B(FLAGS) | B(ARG), EFF_OID_USE},
	[OP_IOCTL] = {"ioctl", OPC_HANDLE, COMMON | HANDLE | B(SIZE) | B(ARG), EFF_OID_USE},
	[OP_POLL] = {"poll", OPC_HANDLE, COMMON | HANDLE | B(FLAGS), EFF_OID_USE},
	[OP_OPENDIR] = {"opendir", OPC_DIR, COMMON | HANDLE | B(FLAGS), EFF_OID_NEW},
	[OP_READDIR] = {"readdir", OPC_DIR, COMMON | HANDLE | RANGE, EFF_DIR_READ | EFF_OID_USE},
	[OP_READDIRPLUS] = {"readdirplus", OPC_DIR, COMMON | HANDLE | RANGE,
		EFF_DIR_READ | EFF_OID_USE},
	[OP_RELEASEDIR] = {"releasedir", OPC_DIR, COMMON | HANDLE, EFF_OID_END},
	[OP_FSYNCDIR] = {"fsyncdir", OPC_SYNC, COMMON | HANDLE | B(FLAGS),
		EFF_DATA_SYNC | EFF_OID_USE},
	[OP_SNAP] = {"snap", OPC_SNAP,
		COMMON | ENTRY | OWNER | B(TARGET) | B(SIZE) | B(FLAGS) | B(RDEV) | B(ARG) |
			B(ATIME_NS) | B(MTIME_NS),
		0},
	[OP_SNAP_DATA] = {"snap_data", OPC_SNAP, COMMON | B(IID) | RANGE | B(CONTENT) | B(RATIO),
		0},
	[OP_SNAP_XATTR] = {"snap_xattr", OPC_SNAP, COMMON | B(IID) | B(NAME) | B(TARGET) | B(SIZE),
		0},
	[OP_LANE] = {"lane", OPC_NOTE, COMMON | B(NAME) | B(SIZE) | B(ARG), 0},
	[OP_MARK] = {"mark", OPC_NOTE, COMMON | B(NAME), 0},
};

#define F(e, k, t, m) [FIELD_##e] = {k, FIELD_##t, offsetof(struct event, m), false}

const struct field_info field_info[FIELD_COUNT] = {
	F(SEQ, "seq", U64, seq),
	F(LANE, "lane", U32, lane),
	F(OP, "op", U16, op),
	F(START_NS, "start_ns", I64, start_ns),
	F(DUR_NS, "dur_ns", U64, dur_ns),
	F(QUEUE_NS, "queue_ns", U64, queue_ns),
	F(IID, "iid", U64, iid),
	F(OID, "oid", U64, oid),
	F(PARENT, "parent", U64, parent),
	F(NAME, "name", BYTES, name),
	F(PARENT2, "parent2", U64, parent2),
	F(NAME2, "name2", BYTES, name2),
	F(TARGET, "target", BYTES, target),
	F(IID2, "iid2", U64, iid2),
	F(OID2, "oid2", U64, oid2),
	F(OFFSET, "offset", U64, offset),
	F(OFFSET2, "offset2", U64, offset2),
	F(SIZE, "size", U64, size),
	F(RESULT, "result", I64, result),
	F(FLAGS, "flags", U32, flags),
	[FIELD_MODE] = {"mode", FIELD_U32, offsetof(struct event, mode), true},
	F(UID, "uid", U32, uid),
	F(GID, "gid", U32, gid),
	F(RDEV, "rdev", U64, rdev),
	F(ARG, "arg", U64, arg),
	F(ATIME_NS, "atime_ns", I64, atime_ns),
	F(MTIME_NS, "mtime_ns", I64, mtime_ns),
	F(FIRST_TOUCH, "first_touch", U8, first_touch),
	F(CONTENT, "content", U8, content),
	F(RATIO, "ratio", U8X2, ratio),
};

enum op op_by_name(const char *name, size_t n)
{
	for (unsigned i = 1; i < OP_COUNT; i++)
		if (strlen(op_info[i].name) == n && !memcmp(op_info[i].name, name, n))
			return i;
	return OP_NONE;
}
