/* SPDX-License-Identifier: MIT */
/*
 * The one place that runs other programs (mkfs, qemu-img, blkid). What they print is caught and, on
 * failure, becomes the fail text on one line. A child dies with us (PDEATHSIG), reads nothing and
 * prints nothing on the user's terminal. No shell is ever involved.
 */
#include "tool_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct {
	const char *tool, *package;
} packages[] = {
	{"mkfs.ext4", "e2fsprogs"},
	{"mkfs.xfs", "xfsprogs"},
	{"mkfs.btrfs", "btrfs-progs"},
	{"qemu-img", "qemu-utils"},
	{"blkid", "util-linux"},
	{"wipefs", "util-linux"},
};

static bool try_path(const char *dir, size_t n, const char *tool, char *path, size_t cap)
{
	int len = snprintf(path, cap, "%.*s/%s", (int)n, dir, tool);

	return len > 0 && (size_t)len < cap && !access(path, X_OK);
}

int run_find(const char *tool, char *path, size_t cap)
{
	static const char *const sbin[] = {"/usr/sbin", "/sbin", "/usr/local/sbin"};
	const char *p = getenv("PATH"), *package = NULL;
	char buf[512];

	if (!path) {
		path = buf;
		cap = sizeof(buf);
	}
	while (p && *p) {
		size_t n = strcspn(p, ":");

		if (n && try_path(p, n, tool, path, cap))
			return 0;
		p += n + (p[n] == ':');
	}
	for (size_t i = 0; i < ARRAY_SIZE(sbin); i++)
		if (try_path(sbin[i], strlen(sbin[i]), tool, path, cap))
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (!strcmp(packages[i].tool, tool))
			package = packages[i].package;
	return package ? fail(-ENOENT, "%s is not installed: apt-get install %s", tool, package)
		       : fail(-ENOENT, "%s is not installed", tool);
}

static void child(const char *path, const char *const *argv, int out, int err, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0); /* the terminal's Ctrl-C is for us: a wipefs cut short would do harm */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	dup2(null, 0);
	dup2(out >= 0 ? out : null, 1);
	dup2(err, 2);
	setenv("LC_ALL", "C", 1);
	execv(path, (char *const *)argv);
	_exit(127);
}

/* All of the pipe; what does not fit is read and dropped. */
static void drain(int fd, char *buf, size_t cap)
{
	char rest[512];
	size_t n = 0;

	for (;;) {
		bool full = n + 1 >= cap;
		ssize_t r = read(fd, full ? rest : buf + n, full ? sizeof(rest) : cap - 1 - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		if (!full)
			n += r;
	}
	buf[n] = '\0';
}

/* Lines become one, with "; " between; blank ones vanish. */
static void one_line(char *out, size_t cap, const char *s)
{
	size_t n = 0;

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '\n' || c == '\r') {
			s += strspn(s, "\n\r \t") - 1;
			if (n && s[1])
				n += (size_t)snprintf(out + n, cap - n, "; ");
		} else {
			n += (size_t)snprintf(
				out + n, cap - n, "%c", c < ' ' || c == 127 ? ' ' : c);
		}
		if (n + 3 >= cap)
			break;
	}
	out[n] = '\0';
}

static int wait_for(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "cannot wait for a program: %s", strerror(errno));
	return 0;
}

/* stdout and stderr into one text, or stdout alone (stderr is dropped). */
static int spawn(const char *const *argv, bool only_stdout, char *buf, size_t cap, int *status)
{
	char path[512];
	int fds[2], r = run_find(argv[0], path, sizeof(path));
	pid_t pid, self = getpid();

	if (r < 0)
		return r;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail(-errno, "no pipe for %s: %s", argv[0], strerror(errno));
	pid = fork();
	if (pid < 0) {
		r = fail(-errno, "cannot start %s: %s", argv[0], strerror(errno));
		close(fds[0]);
		close(fds[1]);
		return r;
	}
	if (!pid) {
		int null = only_stdout ? open("/dev/null", O_WRONLY) : fds[1];

		child(path, argv, fds[1], null, self);
	}
	close(fds[1]);
	drain(fds[0], buf, cap);
	close(fds[0]);
	return wait_for(pid, status);
}

int run_output(const char *const *argv, char *out, size_t cap, int *status)
{
	int st, r = spawn(argv, true, out, cap, &st);

	if (r < 0)
		return r;
	if (!WIFEXITED(st))
		return fail(-EINTR, "%s was killed by signal %d", argv[0], WTERMSIG(st));
	*status = WEXITSTATUS(st);
	return 0;
}

int run_tool(const char *const *argv)
{
	char raw[640], text[720];
	int st, r = spawn(argv, false, raw, sizeof(raw), &st);

	if (r < 0)
		return r;
	if (WIFEXITED(st) && !WEXITSTATUS(st))
		return 0;
	if (!WIFEXITED(st))
		return fail(-EINTR, "%s was killed by signal %d", argv[0], WTERMSIG(st));
	one_line(text, sizeof(text), raw);
	if (!text[0])
		return fail(-EIO, "%s failed with status %d", argv[0], WEXITSTATUS(st));
	if (!strncmp(text, argv[0], strlen(argv[0])))
		return fail(-EIO, "%s", text);
	return fail(-EIO, "%s: %s", argv[0], text);
}
