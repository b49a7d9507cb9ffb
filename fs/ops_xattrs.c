/* SPDX-License-Identifier: MIT */
/*
 * Operations on extended attributes, all namespaces (POSIX ACLs are two of them). They go by
 * /proc/self/fd, which reaches the inode itself, symlinks too. The first one on an inode that was
 * there before puts its attributes into the trace.
 */
#include "mirror_priv.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>

static struct inode *begin(struct probe *p, struct inode_path *path, fuse_req_t req, fuse_ino_t ino,
	enum op op, const char *name)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);

	probe_begin(p, fs, req, op);
	cred_daemon(fs);
	snap_xattrs(fs, in);
	inode_path(in, path);
	p->ev.iid = in->iid;
	if (name)
		p->ev.name = BYTES_STR(name);
	return in;
}

void mirror_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	struct inode_path path;
	struct probe p;
	int err;

	begin(&p, &path, req, ino, OP_SETXATTR, name);
	p.ev.size = size;
	p.ev.flags = (uint32_t)flags;
	if (!strncmp(name, "system.", 7) || !strncmp(name, "security.", 9))
		p.ev.target = (struct bytes){value, (uint32_t)MIN(size, EVENT_NAME_MAX)};
	if (!strncmp(name, "system.", 7))
		cred_maker(p.fs, req); /* an ACL set by one outside the group clears set-gid */
	probe_call(&p);
	err = setxattr(path.s, name, value, size, flags) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	fuse_reply_err(req, err);
}

/* Replies to a query or with a value. */
static void reply(fuse_req_t req, struct probe *p, size_t asked, const char *value, ssize_t n)
{
	probe_end(p);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else if (!asked)
		fuse_reply_xattr(req, (size_t)n);
	else
		fuse_reply_buf(req, value, (size_t)n);
}

void mirror_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct inode_path path;
	char *value = size ? mirror_buffer(size) : NULL;
	struct probe p;
	ssize_t n;

	begin(&p, &path, req, ino, OP_GETXATTR, name);
	p.ev.size = size;
	probe_call(&p);
	n = size && !value ? (errno = ENOMEM, -1) : getxattr(path.s, name, value, size);
	n = n < 0 ? -errno : n;
	probe_done(&p, n);
	reply(req, &p, size, value, n);
}

/* Without privilege the list does not show trusted.* names. */
static ssize_t hide_trusted(char *list, ssize_t n)
{
	ssize_t in = 0, out = 0;

	while (in < n) {
		ssize_t len = (ssize_t)strlen(list + in) + 1;

		if (strncmp(list + in, "trusted.", 8)) {
			memmove(list + out, list + in, (size_t)len);
			out += len;
		}
		in += len;
	}
	return out;
}

void mirror_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	bool all = !fuse_req_ctx(req)->uid;
	struct inode_path path;
	size_t room = all ? size : XATTR_LIST_MAX;
	char *list = room ? mirror_buffer(room) : NULL;
	struct probe p;
	ssize_t n;

	begin(&p, &path, req, ino, OP_LISTXATTR, NULL);
	p.ev.size = size;
	probe_call(&p);
	n = room && !list ? (errno = ENOMEM, -1) : listxattr(path.s, list, room);
	n = n < 0 ? -errno : n;
	if (n > 0 && !all)
		n = hide_trusted(list, n);
	if (size && n > (ssize_t)size)
		n = -ERANGE;
	probe_done(&p, n);
	reply(req, &p, size, list, n);
}

void mirror_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct inode_path path;
	struct probe p;
	int err;

	begin(&p, &path, req, ino, OP_REMOVEXATTR, name);
	probe_call(&p);
	err = removexattr(path.s, name) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	fuse_reply_err(req, err);
}
