/* SPDX-License-Identifier: MIT */
/*
 * When are two events of different traces the same call? When the operation, its arguments and its
 * result agree, less what another run or another kernel may change: times, numbers of inodes and
 * handles (paired one to one at their first meeting), bits that the C library or kernel adds, owner
 * of who called, figures about free space. Decides about one pair; order is the caller's.
 */
#include "diff_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define OPEN_BITS   (O_ACCMODE | O_TRUNC | O_EXCL | O_DIRECT | O_SYNC | O_DSYNC)
#define SET_VALUES  (EVENT_SET_MODE | EVENT_SET_UID | EVENT_SET_GID | EVENT_SET_SIZE)
#define SET_TIMES   (EVENT_SET_ATIME | EVENT_SET_MTIME)
#define SET_NOW_BIT 3 /* EVENT_SET_ATIME_NOW = EVENT_SET_ATIME << 3 */

void diff_ids_init(struct diff_ids *ids)
{
	u64map_init(&ids->iid_ab);
	u64map_init(&ids->iid_ba);
	u64map_init(&ids->oid_ab);
	u64map_init(&ids->oid_ba);
}

void diff_ids_fini(struct diff_ids *ids)
{
	u64map_fini(&ids->iid_ab);
	u64map_fini(&ids->iid_ba);
	u64map_fini(&ids->oid_ab);
	u64map_fini(&ids->oid_ba);
}

/* Are a and b paired, or both free to be? */
static bool id_match(const struct u64map *ab, const struct u64map *ba, uint64_t a, uint64_t b)
{
	uint64_t of_a = 0, of_b = 0;

	if (!a || !b)
		return a == b;
	u64map_get(ab, a, &of_a);
	u64map_get(ba, b, &of_b);
	return (!of_a && !of_b) || (of_a == b && of_b == a);
}

static int id_pair(struct u64map *ab, struct u64map *ba, uint64_t a, uint64_t b)
{
	uint64_t old;

	if (!a || !b || u64map_get(ab, a, &old) || u64map_get(ba, b, &old))
		return 0;
	if (u64map_put(ab, a, b) || u64map_put(ba, b, a))
		return fail(-ENOMEM, "out of memory");
	return 0;
}

int diff_pair(struct diff_ids *ids, const struct event *a, const struct event *b)
{
	int r = id_pair(&ids->iid_ab, &ids->iid_ba, a->iid, b->iid);

	if (!r)
		r = id_pair(&ids->iid_ab, &ids->iid_ba, a->iid2, b->iid2);
	if (!r)
		r = id_pair(&ids->iid_ab, &ids->iid_ba, a->parent, b->parent);
	if (!r)
		r = id_pair(&ids->iid_ab, &ids->iid_ba, a->parent2, b->parent2);
	if (!r)
		r = id_pair(&ids->oid_ab, &ids->oid_ba, a->oid, b->oid);
	if (!r)
		r = id_pair(&ids->oid_ab, &ids->oid_ba, a->oid2, b->oid2);
	return r;
}

static bool iids_match(const struct diff_ids *ids, const struct event *a, const struct event *b)
{
	if (a->op == OP_STATFS)
		return true; /* any inode will do */
	if (!id_match(&ids->iid_ab, &ids->iid_ba, a->parent, b->parent) ||
		!id_match(&ids->iid_ab, &ids->iid_ba, a->parent2, b->parent2))
		return false;
	/* what failed may or may not have known the inode */
	if (a->result < 0 && (!a->iid || !b->iid))
		return true;
	if (!id_match(&ids->iid_ab, &ids->iid_ba, a->iid, b->iid))
		return false;
	return (a->result < 0 && (!a->iid2 || !b->iid2)) ||
	       id_match(&ids->iid_ab, &ids->iid_ba, a->iid2, b->iid2);
}

/* Attributes may be set by name or by handle; a lock belongs to its owner and the inode. */
static bool oids_match(const struct diff_ids *ids, const struct event *a, const struct event *b)
{
	if (op_info[a->op].class == OPC_ATTR || op_info[a->op].class == OPC_RESOLVE)
		return true;
	if (a->op == OP_SETLK || a->op == OP_GETLK)
		return true;
	return id_match(&ids->oid_ab, &ids->oid_ba, a->oid, b->oid) &&
	       id_match(&ids->oid_ab, &ids->oid_ba, a->oid2, b->oid2);
}

static uint32_t set_mask(const struct event *ev)
{
	uint32_t arg = (uint32_t)ev->arg;

	/* a truncation sets times, too, as the kernel likes */
	if (arg & EVENT_SET_SIZE)
		return arg & SET_VALUES;
	return (arg & (SET_VALUES | SET_TIMES)) | (arg >> SET_NOW_BIT & SET_TIMES);
}

static bool setattr_match(const struct event *a, const struct event *b)
{
	uint32_t mask = set_mask(a);

	return mask == set_mask(b) && (!(mask & 1) || ((a->mode ^ b->mode) & 07777) == 0) &&
	       (!(mask & 2) || a->uid == b->uid) && (!(mask & 4) || a->gid == b->gid) &&
	       (!(mask & EVENT_SET_SIZE) || a->size == b->size) && a->result == b->result;
}

static bool errno_match(const struct event *a, const struct event *b)
{
	return MIN(a->result, 0) == MIN(b->result, 0);
}

static bool is_device(uint32_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* Everything but ids. */
static bool values_match(const struct event *a, const struct event *b)
{
	switch (a->op) {
	case OP_SETATTR:
		return setattr_match(a, b);
	case OP_STATFS:
	case OP_POLL:
	case OP_LISTXATTR:
		return errno_match(a, b);
	case OP_IOCTL:
		return errno_match(a, b) && a->arg == b->arg;
	case OP_GETLK:
		return errno_match(a, b) && a->offset == b->offset && a->size == b->size;
	case OP_OPEN:
	case OP_CREATE:
	case OP_TMPFILE:
		if ((a->flags ^ b->flags) & OPEN_BITS)
			return false;
		return a->mode == b->mode && a->result == b->result &&
		       bytes_equal(a->name, b->name);
	case OP_OPENDIR:
		return a->result == b->result;
	case OP_MKNOD:
		if (is_device(a->mode) && a->rdev != b->rdev)
			return false;
		break;
	case OP_LOOKUP:
		return a->result == b->result && bytes_equal(a->name, b->name);
	}
	return a->result == b->result && a->offset == b->offset && a->offset2 == b->offset2 &&
	       a->size == b->size && a->mode == b->mode && a->flags == b->flags &&
	       bytes_equal(a->name, b->name) && bytes_equal(a->name2, b->name2) &&
	       bytes_equal(a->target, b->target);
}

bool diff_match(const struct diff_ids *ids, const struct event *a, const struct event *b)
{
	return a->op == b->op && values_match(a, b) && iids_match(ids, a, b) &&
	       oids_match(ids, a, b);
}

bool diff_match_kernel(const struct diff_ids *ids, const struct event *a, const struct event *b)
{
	return a->op == b->op && values_match(a, b) && iids_match(ids, a, b);
}
