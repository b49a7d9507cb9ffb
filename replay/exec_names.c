/* SPDX-License-Identifier: MIT */
/*
 * Operations on names. Each has the directory and the single name that the plan resolved for its
 * place in the trace; only the call itself is timed.
 */
#include "exec_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

uint32_t exec_mode(const struct exec *x, uint32_t mode)
{
	mode &= 07777;
	return x->o->privileged ? mode : mode & ~(uint32_t)(S_ISUID | S_ISGID);
}

int64_t exec_lookup(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_dir(w->x, s->dir);
	struct stat st;

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, fstatat(fd, s->name->s, &st, AT_SYMLINK_NOFOLLOW));
}

int64_t exec_mknod(struct exec_worker *w, const struct plan_step *s)
{
	uint32_t type = s->mode & S_IFMT;
	int fd = exec_dir(w->x, s->dir);

	if ((S_ISCHR(type) || S_ISBLK(type)) && !w->x->o->privileged)
		return EXEC_SKIP;
	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, mknodat(fd, s->name->s, type | exec_mode(w->x, s->mode), s->ext->rdev));
}

int64_t exec_mkdir(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_dir(w->x, s->dir);

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, mkdirat(fd, s->name->s, exec_mode(w->x, s->mode)));
}

int64_t exec_symlink(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_dir(w->x, s->dir);

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, symlinkat(s->ext->target.p, fd, s->name->s));
}

int64_t exec_link(struct exec_worker *w, const struct plan_step *s)
{
	const struct plan_ext *e = s->ext;
	int to = exec_dir(w->x, s->dir), from;
	char path[32];

	if (to < 0)
		return to;
	if (e->handle2) { /* a file without a name: by its descriptor */
		from = exec_handle_fd(w->x, e->handle2);
		if (from < 0)
			return from;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", from);
		exec_begin(w);
		return exec_end(w, linkat(AT_FDCWD, path, to, s->name->s, AT_SYMLINK_FOLLOW));
	}
	from = exec_dir(w->x, e->dir2);
	if (from < 0 || !e->name2)
		return from < 0 ? from : -EPERM;
	exec_begin(w);
	return exec_end(w, linkat(from, e->name2->s, to, s->name->s, 0));
}

/* Others will ask for the file when the name is gone (plan_pin.c). */
static void pin(struct exec_worker *w, const struct plan_step *s, int dir, const char *name)
{
	int fd;

	if (!s->ext || !s->ext->handle2)
		return;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		exec_handle_set(w->x, s->ext->handle2, fd);
}

int64_t exec_unlink(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_dir(w->x, s->dir);

	if (fd < 0)
		return fd;
	pin(w, s, fd, s->name->s);
	exec_begin(w);
	return exec_end(w, unlinkat(fd, s->name->s, 0));
}

int64_t exec_rmdir(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_dir(w->x, s->dir);

	if (fd < 0)
		return fd;
	exec_dir_keep(w->x, s->node);
	exec_begin(w);
	return exec_end(w, unlinkat(fd, s->name->s, AT_REMOVEDIR));
}

int64_t exec_rename(struct exec_worker *w, const struct plan_step *s)
{
	int from = exec_dir(w->x, s->dir), to = exec_dir(w->x, s->ext->dir2);

	if ((s->flags & RENAME_WHITEOUT) && !w->x->o->privileged)
		return EXEC_SKIP; /* leaves a device node behind */
	if (from < 0 || to < 0)
		return from < 0 ? from : to;
	exec_dir_keep(w->x, s->node);
	exec_dir_keep(w->x, s->ext->node2);
	pin(w, s, to, s->ext->name2->s);
	exec_begin(w);
	return exec_end(w, renameat2(from, s->name->s, to, s->ext->name2->s, s->flags));
}

int64_t exec_readlink(struct exec_worker *w, const struct plan_step *s)
{
	int fd = s->handle ? exec_handle_fd(w->x, s->handle) : exec_dir(w->x, s->dir);
	char buf[4096];

	if (fd < 0 || (!s->name && !s->handle))
		return fd < 0 ? fd : -EINVAL;
	exec_begin(w);
	return exec_end(w, readlinkat(fd, s->name ? s->name->s : "", buf, sizeof(buf)));
}
