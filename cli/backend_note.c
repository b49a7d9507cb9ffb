/* SPDX-License-Identifier: MIT */
/*
 * Notes of what `iotape backend up` left standing: one file a backend under /run/iotape (root) or
 * $XDG_RUNTIME_DIR/iotape, named as it. A note is also a lock: who stands a backend up or takes it
 * down holds it, so an unlocked note that is not whole is of an `up` that was killed, and the name
 * is free again. Removing such a file by hand loses the way back.
 */
#include "cli_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "iotape/backend.h"

/* The directory of notes, made when it is to be written to. */
static int state_dir(char *dir, size_t cap, bool make)
{
	const char *run = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";
	struct stat st;

	if (!run || !*run)
		return fail(-ENOENT,
			"backend: XDG_RUNTIME_DIR is not set: there is no place to note "
			"what is up; set it or be root");
	if ((size_t)snprintf(dir, cap, "%s/iotape", run) >= cap)
		return fail(-ENAMETOOLONG, "backend: %s is too long", run);
	if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail(-errno, "backend: cannot make %s: %s", dir, strerror(errno));
	if (make && (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
			    st.st_mode & 022))
		return fail(-EPERM, "backend: %s is not a directory of this user alone", dir);
	return 0;
}

int cli_note_path(char *path, size_t cap, const char *name, bool make)
{
	char dir[512];
	int r = state_dir(dir, sizeof(dir), make);

	if (r < 0)
		return r;
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 200)
		return fail(-EINVAL, "backend: '%s' is not a name", name);
	snprintf(path, cap, "%s/%s", dir, name);
	return 0;
}

/* Who holds the lock of a note stands the backend up or takes it down. false: someone else does. */
static bool lock_note(int fd)
{
	const struct timespec nap = {.tv_nsec = 50 * 1000 * 1000};

	for (int i = 0; i < 20; i++) { /* `list` holds it for a moment */
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

static int busy(const char *name)
{
	return fail(-EBUSY,
		"backend: '%s' is being stood up or taken down by another process: try again when "
		"that has ended",
		name);
}

/* What is noted under this name, with its note locked as long as *note is open: 0, or 1 when its
 * `up` was killed; *out may then be NULL. */
int cli_note_resume(struct backend **out, const char *name, FILE **note)
{
	char path[1024];
	struct stat st;
	int r = cli_note_path(path, sizeof(path), name, false);
	FILE *f;

	if (r < 0)
		return r;
	f = fopen(path, "r+e");
	if (!f && errno != ENOENT)
		return fail(-errno, "backend: %s: %s", path, strerror(errno));
	if (f && !lock_note(fileno(f))) {
		fclose(f);
		return busy(name);
	}
	if (!f || fstat(fileno(f), &st) < 0 || !st.st_nlink) {
		if (f)
			fclose(f);
		return fail(-ENOENT,
			"backend: none is up by the name of '%s' (iotape backend list)", name);
	}
	*out = NULL;
	r = st.st_size ? backend_resume(out, f) : 1;
	if (r < 0) {
		fclose(f);
		return fail_in(r, "backend: %s", path);
	}
	*note = f;
	return r;
}

/* fn for every name that is noted; all of them even after a failure, the first is returned. */
int cli_note_each(int (*fn)(void *ctx, const char *name), void *ctx)
{
	char dir[512];
	struct dirent **names;
	int n, first = 0;

	if (state_dir(dir, sizeof(dir), false) < 0)
		return 0;
	n = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			int r = fn(ctx, names[i]->d_name);

			if (r < 0 && !first)
				first = r;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return first;
}

/* A locked, empty note under this name: its descriptor. -EEXIST: it is up. */
static int take_note(const char *name)
{
	char path[1024];
	struct stat st, named;
	int r = cli_note_path(path, sizeof(path), name, true);

	for (int i = 0; !r && i < 10; i++) {
		_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0)
			return fail(-errno, "backend: %s: %s", path, strerror(errno));
		if (!lock_note(fd))
			return busy(name);
		if (fstat(fd, &st) < 0 || stat(path, &named) < 0 || st.st_ino != named.st_ino)
			continue; /* taken down while we waited for the lock */
		if (!st.st_size)
			return STEAL_FD(fd);
		struct backend *b = NULL;
		FILE *f = fdopen(dup(fd), "r");

		r = f ? backend_resume(&b, f) : -errno;
		if (f)
			fclose(f);
		if (!r) {
			backend_forget(b);
			return fail(-EEXIST,
				"backend: '%s' is up already: take it down (iotape backend down "
				"%s) or choose another name",
				name, name);
		}
		if (r < 0)
			return fail_in(r, "backend: %s", path);
		r = backend_down(b); /* what a killed `up` of this name left */
		backend_free(b);
		if (!r && (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0))
			r = fail(-errno, "backend: %s: %s", path, strerror(errno));
		return r < 0 ? r : STEAL_FD(fd);
	}
	return r < 0 ? r : busy(name);
}

/* The kind's name is made unique, a given name is not; *b is renamed. */
int cli_note_new(struct backend **b, const struct backend_policy *pol, bool named)
{
	_free_ char *base = strdup(backend_name(*b)), *spec = strdup(backend_spec(*b));
	char name[256];
	int r, fd;

	if (!base || !spec)
		return fail(-ENOMEM, "out of memory");
	snprintf(name, sizeof(name), "%s", base);
	fd = take_note(name);
	for (unsigned i = 2; (fd == -EEXIST || fd == -EBUSY) && !named && i < 1000; i++) {
		snprintf(name, sizeof(name), "%s-%u", base, i);
		fd = take_note(name);
	}
	if (fd >= 0 && strcmp(name, base)) {
		_free_ char *both = NULL;

		if (asprintf(&both, "%s=%s", name, spec) < 0)
			both = NULL;
		backend_free(*b);
		*b = NULL;
		r = both ? backend_new(b, both, pol) : fail(-ENOMEM, "out of memory");
		if (r < 0) {
			close(fd);
			return r;
		}
	}
	return fd;
}
