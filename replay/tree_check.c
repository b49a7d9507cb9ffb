/* SPDX-License-Identifier: MIT */
/*
 * After a replay: is the tree what the trace must have left? Directories are walked and held
 * against the entries that the plan expects of them, both ways, since nothing is there that
 * preparation and replay did not make. Types, sizes, link texts, link counts and which names are
 * one inode are compared; modes and times are not, and not data: that it was written is what
 * results tell.
 */
#include "replay_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "iotape/map.h"
#include "tree_priv.h"

struct want {
	struct plan_final e; /* strings point behind the struct */
	struct want *sibling;
	struct want *same_hash;
	struct tree_dir dir;
	bool seen;
	char text[];
};

struct check {
	struct u64map children; /* iid of a directory -> first want */
	struct u64map entries;  /* tree_entry_hash -> first want */
	struct u64map iid_of;   /* inode number -> iid */
	struct u64map ino_of;
	struct tree_dirs dirs;
	dev_t dev;
	uint64_t differences;
	char *text;
	size_t cap;
	struct want **todo; /* directories to walk */
	size_t n_todo, n_wants;
};

static void differs(struct check *c, const struct tree_dir *dir, struct bytes name, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));

/* Counts; the first is described: "path: what". */
static void differs(
	struct check *c, const struct tree_dir *dir, struct bytes name, const char *fmt, ...)
{
	char path[200], esc[TREE_NAME_CAP * 4], what[160];
	size_t at = sizeof(path) - 1;
	bool whole = false;
	va_list ap;

	if (c->differences++ || !c->cap)
		return;
	path[at] = '\0';
	for (; name.n; dir = dir->parent) {
		size_t n = bytes_escape(esc, sizeof(esc), name);

		if (n + 1 > at)
			break;
		at -= n;
		memcpy(path + at, esc, n);
		name = dir->name;
		if (dir->parent)
			path[--at] = '/';
		whole = !dir->parent;
		if (whole)
			break;
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(c->text, c->cap, "%s%s: %s", whole ? "" : "..", path + at, what);
}

/* ---- what is expected ---- */
static int expect(void *ctx, const struct plan_final *e)
{
	struct check *c = ctx;
	struct want *w = calloc(1, sizeof(*w) + e->name.n + e->target.n + 1);
	uint64_t hash = tree_entry_hash(e->parent, e->name);

	if (!w)
		return fail(-ENOMEM, "out of memory for the expected tree");
	w->e = *e;
	if (e->name.n)
		memcpy(w->text, e->name.p, e->name.n);
	if (e->target.n)
		memcpy(w->text + e->name.n, e->target.p, e->target.n);
	w->e.name.p = w->dir.name.p = w->text;
	w->dir.name.n = e->name.n;
	w->e.target.p = w->text + e->name.n;
	w->sibling = u64map_ptr(&c->children, e->parent);
	w->same_hash = u64map_ptr(&c->entries, hash);
	if (u64map_put_ptr(&c->children, e->parent, w)) {
		free(w);
		return fail(-ENOMEM, "out of memory for the expected tree");
	}
	c->n_wants++;
	if (u64map_put_ptr(&c->entries, hash, w))
		return fail(-ENOMEM, "out of memory for the expected tree");
	return 0;
}

static struct want *find(struct check *c, uint64_t parent, struct bytes name)
{
	struct want *w = u64map_ptr(&c->entries, tree_entry_hash(parent, name));

	while (w && (w->e.parent != parent || !bytes_equal(w->e.name, name)))
		w = w->same_hash;
	return w;
}

/* ---- one entry ---- */
static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symlink";
	case S_IFIFO:
		return "a fifo";
	case S_IFSOCK:
		return "a socket";
	}
	return "a device";
}

/* Names of one inode stay names of one inode, and no others join them. */
static int check_identity(
	struct check *c, const struct tree_dir *dir, const struct want *w, const struct stat *st)
{
	uint64_t iid, ino;

	if (!w->e.iid || S_ISDIR(st->st_mode) || st->st_dev != c->dev)
		return 0;
	if (u64map_get(&c->iid_of, st->st_ino, &iid) && iid != w->e.iid)
		differs(c, dir, w->e.name, "is one with another name, and should not be");
	if (u64map_get(&c->ino_of, w->e.iid, &ino) && ino != st->st_ino)
		differs(c, dir, w->e.name, "should be a hard link of another name, and is not");
	else if (w->e.links && st->st_nlink != w->e.links)
		differs(c, dir, w->e.name, "has %ju links, not %u", (uintmax_t)st->st_nlink,
			w->e.links);
	if (u64map_put(&c->iid_of, st->st_ino, w->e.iid) ||
		u64map_put(&c->ino_of, w->e.iid, st->st_ino))
		return fail(-ENOMEM, "out of memory for the expected tree");
	return 0;
}

static void check_target(
	struct check *c, const struct tree_dir *dir, const struct want *w, int fd, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(fd, name, target, sizeof(target));

	if (n < 0)
		differs(c, dir, w->e.name, "cannot be read: %s", strerror(errno));
	else if (!bytes_equal(w->e.target, (struct bytes){target, (uint32_t)n}))
		differs(c, dir, w->e.name, "the symlink has another text");
}

static bool is_device(mode_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

static int check_entry(
	struct check *c, const struct tree_dir *dir, struct want *w, int fd, const char *name)
{
	mode_t want = w->e.mode & S_IFMT;
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return fail(-errno, "cannot look at the replayed tree: %s", strerror(errno));
	w->dir.parent = dir;
	w->dir.depth = dir->depth + 1;
	if (!want || (is_device(want) && S_ISREG(st.st_mode)))
		return 0; /* not known, or a plain file stands in for a device */
	if (want != (st.st_mode & S_IFMT)) {
		differs(c, dir, w->e.name, "is %s, not %s", type_name(st.st_mode), type_name(want));
		return 0;
	}
	if (want == S_IFDIR && w->dir.depth <= TREE_DEPTH_MAX)
		c->todo[c->n_todo++] = w;
	if (want == S_IFREG && w->e.size_known && (uint64_t)st.st_size != w->e.size)
		differs(c, dir, w->e.name, "has %ju bytes, not %" PRIu64, (uintmax_t)st.st_size,
			w->e.size);
	if (want == S_IFLNK && w->e.target.n)
		check_target(c, dir, w, fd, name);
	return check_identity(c, dir, w, &st);
}

/* ---- directories ---- */
static int check_present(struct check *c, const struct tree_dir *dir, uint64_t iid, DIR *d)
{
	struct dirent *de;
	int r = 0;

	while (!r && (errno = 0, de = readdir(d))) {
		struct want *w;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		w = find(c, iid, BYTES_STR(de->d_name));
		if (w && !w->seen) {
			w->seen = true;
			r = check_entry(c, dir, w, dirfd(d), de->d_name);
		} else if (!w && (dir->parent || strcmp(de->d_name, "lost+found"))) {
			differs(c, dir, BYTES_STR(de->d_name), "is there, and should not be");
		}
	}
	if (!r && errno)
		r = fail(-errno, "cannot read the replayed tree: %s", strerror(errno));
	return r;
}

static int check_dir(struct check *c, const struct tree_dir *dir, uint64_t iid)
{
	int fd = tree_dirs_fd(&c->dirs, dir), r, own;
	DIR *d;

	if (fd == -EACCES)
		return 0; /* closed to this user, as recorded */
	if (fd < 0)
		return fail(fd, "cannot open a directory of the replayed tree: %s", strerror(-fd));
	own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = own < 0 ? NULL : fdopendir(own);
	if (!d) {
		r = -errno;
		if (own >= 0)
			close(own);
		return r == -EACCES ? 0
				    : fail(r, "cannot read a directory of the replayed tree: %s",
					      strerror(-r));
	}
	r = check_present(c, dir, iid, d);
	closedir(d);
	for (struct want *w = u64map_ptr(&c->children, iid); w && !r; w = w->sibling)
		if (!w->seen && w->e.mode && !is_device(w->e.mode)) /* may have been left out */
			differs(c, dir, w->e.name, "is missing; it should be %s",
				type_name(w->e.mode));
	return r;
}

static void check_fini(struct check *c)
{
	uint64_t key, value;
	size_t pos = 0;

	while (u64map_next(&c->children, &pos, &key, &value)) {
		struct want *next, *w = (struct want *)(uintptr_t)value;

		for (; w; w = next) {
			next = w->sibling;
			free(w);
		}
	}
	u64map_fini(&c->children);
	u64map_fini(&c->entries);
	u64map_fini(&c->iid_of);
	u64map_fini(&c->ino_of);
	tree_dirs_fini(&c->dirs);
	free(c->todo);
}

static int check_all(struct check *c, int root_fd)
{
	struct tree_dir root = {0};
	struct stat st;
	int r;

	c->todo = calloc(c->n_wants + 1, sizeof(*c->todo));
	if (!c->todo)
		return fail(-ENOMEM, "out of memory for the expected tree");
	if (fstat(root_fd, &st))
		return fail(-errno, "cannot look at the replayed tree: %s", strerror(errno));
	c->dev = st.st_dev;
	r = check_dir(c, &root, EVENT_ROOT_IID);
	/* depth first, so that the next directory is near an open one */
	while (!r && c->n_todo) {
		struct want *w = c->todo[--c->n_todo];

		r = check_dir(c, &w->dir, w->e.iid);
	}
	return r;
}

int replay_check_tree(
	const struct plan *p, int root_fd, uint64_t *differences, char *text, size_t cap)
{
	struct check c = {.text = text, .cap = cap};
	int r;

	if (cap)
		*text = '\0';
	*differences = 0;
	u64map_init(&c.children);
	u64map_init(&c.entries);
	u64map_init(&c.iid_of);
	u64map_init(&c.ino_of);
	tree_dirs_init(&c.dirs, root_fd);
	r = plan_final(p, expect, &c);
	if (!r && root_fd >= 0)
		r = check_all(&c, root_fd);
	*differences = c.differences;
	check_fini(&c);
	return r;
}
