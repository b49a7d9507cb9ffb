/* SPDX-License-Identifier: MIT */
/*
 * One step: the case of its operation, and what is given back after it. The table is the only place
 * that knows which function issues which operation.
 */
#include "exec_priv.h"

static const exec_fn cases[OP_COUNT] = {
	[OP_LOOKUP] = exec_lookup,
	[OP_GETATTR] = exec_getattr,
	[OP_SETATTR] = exec_setattr,
	[OP_READLINK] = exec_readlink,
	[OP_MKNOD] = exec_mknod,
	[OP_MKDIR] = exec_mkdir,
	[OP_SYMLINK] = exec_symlink,
	[OP_LINK] = exec_link,
	[OP_UNLINK] = exec_unlink,
	[OP_RMDIR] = exec_rmdir,
	[OP_RENAME] = exec_rename,
	[OP_ACCESS] = exec_access,
	[OP_STATFS] = exec_statfs,
	[OP_SETXATTR] = exec_xattr,
	[OP_GETXATTR] = exec_xattr,
	[OP_LISTXATTR] = exec_xattr,
	[OP_REMOVEXATTR] = exec_xattr,
	[OP_OPEN] = exec_open,
	[OP_CREATE] = exec_open,
	[OP_TMPFILE] = exec_open,
	[OP_READ] = exec_read,
	[OP_WRITE] = exec_write,
	[OP_FLUSH] = exec_close,
	[OP_RELEASE] = exec_close,
	[OP_FSYNC] = exec_fsync,
	[OP_FALLOCATE] = exec_fallocate,
	[OP_LSEEK] = exec_lseek,
	[OP_COPY_FILE_RANGE] = exec_copy_range,
	[OP_GETLK] = exec_lock,
	[OP_SETLK] = exec_lock,
	[OP_FLOCK] = exec_flock,
	[OP_IOCTL] = exec_ioctl,
	[OP_POLL] = exec_poll,
	[OP_OPENDIR] = exec_open,
	[OP_READDIR] = exec_readdir,
	[OP_READDIRPLUS] = exec_readdir,
	[OP_RELEASEDIR] = exec_close,
	[OP_FSYNCDIR] = exec_fsync,
};

static void give_back(struct exec *x, const struct plan_step *s)
{
	if (!(op_info[s->op].effects & EFF_OID_NEW))
		exec_handle_put(x, s->handle);
	if (s->ext)
		exec_handle_put(x, s->ext->handle2);
	if (s->bits & STEP_SKIP)
		return;
	exec_dir_put(x, s->dir);
	if (s->ext)
		exec_dir_put(x, s->ext->dir2);
}

/* Refused to another user: root would do it, and leave a tree that the trace never had. */
static bool not_for_root(const struct exec *x, const struct plan_step *s)
{
	enum op_class c = op_info[s->op].class;

	return x->root && (s->result == -EACCES || s->result == -EPERM) &&
	       (c == OPC_NAME || c == OPC_ATTR || c == OPC_HANDLE || c == OPC_DIR);
}

bool exec_withheld(const struct exec *x, const struct plan_step *s)
{
	return (s->bits & STEP_PRIVILEGED) && !(x->o->privileged && x->root);
}

bool exec_step(struct exec_worker *w, const struct plan_step *s, struct exec_rec *rec)
{
	struct exec *x = w->x;
	int64_t r = s->result;

	w->t0 = w->t1 = 0;
	w->unequal = false;
	if (x->null) {
		rec->start_ns = util_now_ns();
		rec->end_ns = util_now_ns();
		rec->verdict = s->bits & STEP_SKIP ? EXEC_SKIPPED : EXEC_MATCHED;
		rec->result = r;
		rec->done = true;
		return true;
	}
	if ((s->bits & STEP_SKIP) || !cases[s->op] || exec_withheld(x, s)) {
		rec->verdict = EXEC_SKIPPED;
	} else if (not_for_root(x, s)) {
		rec->verdict = EXEC_ENVIRONMENT;
	} else {
		r = cases[s->op](w, s);
		if (r == EXEC_AGAIN) {
			if (!rec->start_ns)
				rec->start_ns = w->t0;
			return false;
		}
		rec->verdict = r == EXEC_SKIP ? EXEC_SKIPPED : exec_judge(x, s, r, w->unequal);
	}
	if (!w->t0 || w->t1 < w->t0)
		w->t0 = w->t1 = util_now_ns();
	if (!rec->start_ns) /* else it was tried before */
		rec->start_ns = w->t0;
	rec->end_ns = w->t1;
	rec->result = r;
	rec->done = true;
	give_back(x, s);
	return true;
}
