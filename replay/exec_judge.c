/* SPDX-License-Identifier: MIT */
/*
 * Is the result of a replayed call the recorded one? A call that failed must fail with the same
 * errno; reads and writes must return the same length; of calls whose value depends on the file
 * system (listings, statfs, lseek for holes, attribute lists) only success is compared. Failures
 * that say something about the machine and not about the workload are "environmental".
 */
#include "exec_priv.h"

#include <string.h>

static bool of_the_machine(int err)
{
	return err == ENOSPC || err == EDQUOT || err == EIO || err == EINTR || err == ESTALE ||
	       err == ENOMEM || err == EFBIG;
}

static bool not_supported(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS || err == ENOTTY;
}

/* Operations that a file system may simply not have. */
static bool optional(const struct plan_step *s)
{
	switch (s->op) {
	case OP_FALLOCATE:
	case OP_COPY_FILE_RANGE:
	case OP_SETXATTR:
	case OP_GETXATTR:
	case OP_LISTXATTR:
	case OP_REMOVEXATTR:
	case OP_IOCTL:
	case OP_TMPFILE:
	case OP_LSEEK:
		return true;
	case OP_RENAME:
		return s->flags != 0;
	default:
		return false;
	}
}

static bool user_attr(const struct plan_step *s)
{
	return s->ext && s->ext->attr.n >= 5 && !memcmp(s->ext->attr.p, "user.", 5);
}

/* Attributes that the system keeps for itself may be there on one file system and not on another.
 */
static bool system_attr(const struct plan_step *s)
{
	return s->op == OP_GETXATTR && !user_attr(s);
}

static bool same_value(const struct plan_step *s, int64_t result)
{
	switch (s->op) {
	case OP_READ:
	case OP_WRITE:
	case OP_COPY_FILE_RANGE:
		return result == s->result;
	case OP_GETXATTR:
		return !user_attr(s) || result == s->result;
	default:
		return true;
	}
}

static bool environmental(const struct exec *x, const struct plan_step *s, int64_t result)
{
	int was = s->result < 0 ? (int)-s->result : 0, is = result < 0 ? (int)-result : 0;

	if (of_the_machine(was) || of_the_machine(is))
		return true;
	if (was == EACCES || was == EPERM)
		return true;
	if (!x->root && (is == EACCES || is == EPERM))
		return true;
	if (optional(s) && (not_supported(was) || not_supported(is)))
		return true;
	if (s->op == OP_RENAME && s->flags && is == EINVAL)
		return true;
	if (s->op == OP_LSEEK) /* a file system may say that holes are data */
		return was == ENXIO || is == ENXIO;
	return system_attr(s);
}

enum exec_verdict exec_judge(
	const struct exec *x, const struct plan_step *s, int64_t result, bool unequal)
{
	bool same = s->result < 0 || result < 0 ? s->result == result
						: same_value(s, result) && !unequal;

	if (same)
		return EXEC_MATCHED;
	return environmental(x, s, result) ? EXEC_ENVIRONMENT : EXEC_MISMATCHED;
}
