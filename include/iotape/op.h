/* SPDX-License-Identifier: MIT */
/* The operations: one table row each, that drives codec, text, statistics and plan. */
#ifndef IOTAPE_OP_H
#define IOTAPE_OP_H

#include <stddef.h>
#include <stdint.h>

/* Numbers are never reused; a trace's header names them, so a reader maps by name. */
enum op {
	OP_NONE,
	/* names and attributes */
	OP_LOOKUP,
	OP_GETATTR,
	OP_SETATTR,
	OP_READLINK,
	OP_MKNOD,
	OP_MKDIR,
	OP_SYMLINK,
	OP_LINK,
	OP_UNLINK,
	OP_RMDIR,
	OP_RENAME,
	OP_ACCESS,
	OP_STATFS,
	OP_SETXATTR,
	OP_GETXATTR,
	OP_LISTXATTR,
	OP_REMOVEXATTR,
	/* files */
	OP_OPEN,
	OP_CREATE,
	OP_TMPFILE,
	OP_READ,
	OP_WRITE,
	OP_FLUSH,
	OP_RELEASE,
	OP_FSYNC,
	OP_FALLOCATE,
	OP_LSEEK,
	OP_COPY_FILE_RANGE,
	OP_GETLK,
	OP_SETLK,
	OP_FLOCK,
	OP_IOCTL,
	OP_POLL,
	/* directories */
	OP_OPENDIR,
	OP_READDIR,
	OP_READDIRPLUS,
	OP_RELEASEDIR,
	OP_FSYNCDIR,
	/* not calls of an application: initial state, who a lane is, phase marks */
	OP_SNAP,
	OP_SNAP_DATA,
	OP_SNAP_XATTR,
	OP_LANE,
	OP_MARK,
	OP_COUNT
};

enum op_class {
	OPC_RESOLVE, /* what the kernel may issue on the way to another call: lookup, getattr,
			getxattr */
	OPC_NAME,    /* changes or reads the tree */
	OPC_ATTR,    /* attributes and extended attributes */
	OPC_HANDLE,  /* open, close, lock: about a handle */
	OPC_DATA,    /* moves or allocates file data */
	OPC_SYNC,
	OPC_DIR,  /* reading directories */
	OPC_SNAP, /* initial state: input of the preparation, never a step */
	OPC_NOTE  /* lane and mark */
};

/* What an operation does to resources; the plan reads nothing else. Effects hold on success unless
 * said otherwise. */
enum effect {
	EFF_NAME_NEED = 1 << 0,  /* resolves (parent, name), also when it fails */
	EFF_NAME_MAKE = 1 << 1,  /* (parent, name) now stands for iid */
	EFF_NAME_KILL = 1 << 2,  /* (parent, name) stands for nothing any more */
	EFF_NAME2_MAKE = 1 << 3, /* (parent2, name2) now stands for iid */
	EFF_IID_NEW = 1 << 4,    /* iid begins here */
	EFF_OID_NEW = 1 << 5,
	EFF_OID_USE = 1 << 6, /* when oid != 0 */
	EFF_OID_END = 1 << 7,
	EFF_DATA_READ = 1 << 8, /* [offset, offset + size) of iid */
	EFF_DATA_WRITE = 1 << 9,
	EFF_DATA_TRUNC =
		1 << 10, /* [size, infinity) of iid: setattr with size, open with O_TRUNC */
	EFF_DATA_SYNC = 1 << 11,
	EFF_META_WRITE = 1 << 12, /* attributes of iid */
	EFF_META_READ = 1 << 13,
	EFF_DATA2_WRITE = 1 << 14, /* [offset2, offset2 + size) of iid2 */
	EFF_DIR_READ = 1 << 15,    /* entries of iid */
};

/* arg of setattr: FUSE_SET_ATTR_* of libfuse, the protocol's own numbers */
enum event_set {
	EVENT_SET_MODE = 1u << 0,
	EVENT_SET_UID = 1u << 1,
	EVENT_SET_GID = 1u << 2,
	EVENT_SET_SIZE = 1u << 3,
	EVENT_SET_ATIME = 1u << 4,
	EVENT_SET_MTIME = 1u << 5,
	EVENT_SET_ATIME_NOW = 1u << 7,
	EVENT_SET_MTIME_NOW = 1u << 8,
};

struct op_info {
	const char *name;
	enum op_class class;
	uint32_t fields;  /* FIELD_BIT()s, FIELDS_COMMON included */
	uint32_t effects; /* enum effect */
};
extern const struct op_info op_info[OP_COUNT];

/* enum op of a name, or OP_NONE. */
enum op op_by_name(const char *name, size_t n);

#endif
