/* SPDX-License-Identifier: MIT */
/*
 * Acting as the caller. What makes an entry must give it the caller's owner, group, set-gid
 * inheritance and umask, and what changes data must clear set-id bits as it would natively. Each
 * thread carries its own file-system ids (setfsuid drops the capabilities that matter, in one
 * call), groups (by the raw system call: glibc's would change every thread) and umask (after
 * unshare(CLONE_FS)). The state is remembered per thread, so that a workload of one user costs no
 * system call. A daemon that is not root acts as itself.
 */
#include "fs_priv.h"

#include <sched.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

static _Thread_local struct {
	uid_t uid;
	gid_t gid;
	bool groups;   /* other groups than the daemon's are set */
	bool unshared; /* the umask is the thread's own */
	mode_t mask;
} now;

static void drop_groups(void)
{
	if (!now.groups)
		return;
	syscall(SYS_setgroups, (size_t)0, NULL);
	now.groups = false;
}

static void set_ids(uid_t uid, gid_t gid)
{
	if (now.gid != gid) {
		setfsgid(gid);
		now.gid = gid;
	}
	if (now.uid != uid) {
		setfsuid(uid);
		now.uid = uid;
	}
}

void cred_daemon(struct fs *fs)
{
	if (!fs->root)
		return;
	set_ids(0, 0);
	drop_groups();
}

void cred_caller(struct fs *fs, fuse_req_t req)
{
	const struct fuse_ctx *c = fuse_req_ctx(req);

	if (!fs->root)
		return;
	set_ids(c->uid, c->gid);
}

static void set_groups(fuse_req_t req)
{
	gid_t few[64], *list = few;
	int n = fuse_req_getgroups(req, (int)ARRAY_SIZE(few), few);

	if (n > (int)ARRAY_SIZE(few)) {
		list = malloc((size_t)n * sizeof(*list));
		if (list)
			n = fuse_req_getgroups(req, n, list);
	}
	if (list && n >= 0 && syscall(SYS_setgroups, (size_t)n, list) == 0)
		now.groups = n > 0;
	if (list != few)
		free(list);
}

void cred_maker(struct fs *fs, fuse_req_t req)
{
	const struct fuse_ctx *c = fuse_req_ctx(req);

	if (!now.unshared) {
		unshare(CLONE_FS);
		now.unshared = true;
		now.mask = (mode_t)-1;
	}
	if (now.mask != c->umask) {
		umask(c->umask);
		now.mask = c->umask;
	}
	if (!fs->root)
		return;
	if (c->uid)
		set_groups(req);
	else
		drop_groups();
	set_ids(c->uid, c->gid);
}
