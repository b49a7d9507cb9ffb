/* SPDX-License-Identifier: MIT */
/* Directory reading, and the calls of which only success is compared. */
#include "exec_priv.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>

#define DENTS_BYTES        32768u
#define READDIR_ROUNDS_MAX 1000000u

struct dent { /* struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static int64_t count_entries(const char *buf, int64_t n)
{
	int64_t entries = 0, at = 0;

	while (at < n) {
		const struct dent *d = (const void *)(buf + at);

		if (d->len < sizeof(*d) - 5)
			break;
		at += d->len;
		entries++;
	}
	return entries;
}

/* Entries of a call differ between file systems, so they are compared in sum: when the recording
 * came to the end, the replay goes there too. */
static int64_t read_entries(struct exec_worker *w, struct exec_handle *h, int fd, bool to_end)
{
	int64_t r = 0, entries = 0;

	if (!exec_buffer(w, DENTS_BYTES))
		return -ENOMEM;
	exec_begin(w);
	for (unsigned i = 0; !h->ended && i < READDIR_ROUNDS_MAX; i++) {
		r = syscall(SYS_getdents64, fd, w->buf, DENTS_BYTES);
		if (r < 0)
			break;
		h->ended = r == 0;
		entries += count_entries(w->buf, r);
		if (!to_end)
			break;
	}
	r = exec_end(w, r);
	return r < 0 ? r : entries;
}

int64_t exec_readdir(struct exec_worker *w, const struct plan_step *s)
{
	struct exec_handle *h = &w->x->handles[s->handle];
	int fd = exec_handle_fd(w->x, s->handle);
	int64_t r;

	if (fd < 0)
		return fd;
	if (!s->offset && (h->recorded_entries || h->replayed_entries || h->ended)) {
		lseek(fd, 0, SEEK_SET);
		h->recorded_entries = h->replayed_entries = 0;
		h->ended = h->partial = false;
	} else if (s->offset && !h->recorded_entries) {
		h->partial =
			true; /* seekdir(3) to a place that only the recorded file system knows */
	}
	r = read_entries(w, h, fd, s->result == 0);
	if (r < 0 || s->result < 0)
		return r;
	h->recorded_entries += (uint64_t)s->result;
	h->replayed_entries += (uint64_t)r;
	if (s->result == 0 && !h->partial && h->recorded_entries != h->replayed_entries)
		w->unequal = true;
	return r;
}

/* Only requests that ask and cannot change anything are issued. */
int64_t exec_ioctl(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_handle_fd(w->x, s->handle);

	switch (s->ext->arg) {
	case FS_IOC_GETFLAGS:
	case FS_IOC_GETVERSION:
	case FS_IOC_FSGETXATTR:
	case FIONREAD:
	case TCGETS:
	case TIOCGWINSZ:
		break;
	default:
		return EXEC_SKIP;
	}
	if (fd < 0)
		return fd;
	if (!exec_buffer(w, 4096))
		return -ENOMEM;
	exec_begin(w);
	return exec_end(w, ioctl(fd, s->ext->arg, w->buf));
}

int64_t exec_poll(struct exec_worker *w, const struct plan_step *s)
{
	struct pollfd p = {.fd = exec_handle_fd(w->x, s->handle), .events = (short)s->flags};

	if (p.fd < 0)
		return p.fd;
	exec_begin(w);
	return exec_end(w, poll(&p, 1, 0));
}
