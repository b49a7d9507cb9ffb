/* SPDX-License-Identifier: MIT */
/*
 * Files that commands write. The one idea: what is being written stands beside its target under
 * another name and takes the target's at the end; standard output, pipes and devices are written in
 * place.
 */
#include "cli_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int cli_not_to_terminal(const char *command)
{
	return isatty(STDOUT_FILENO) ? fail(-EINVAL,
					       "%s: a trace is binary: not written to a terminal; "
					       "name a file with -o",
					       command)
				     : 0;
}

static int failed(const struct cli_output *t)
{
	return fail(-errno, "%s: %s", t->path, strerror(errno));
}

static int open_beside(struct cli_output *t)
{
	if (asprintf(&t->temp, "%s.tmp%ld", t->path, (long)getpid()) < 0) {
		t->temp = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	t->fd = open(t->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (t->fd < 0) {
		failed(t);
		free(STEAL(t->temp));
		return -EIO;
	}
	return 0;
}

int cli_output_open(struct cli_output *t, const char *path, bool replace)
{
	struct stat st;
	int r = 0;

	*t = (struct cli_output){
		.path = path, .fd = -1, .replace = replace, .to_stdout = !strcmp(path, "-")};
	if (t->to_stdout)
		t->path = "standard output";
	if (t->to_stdout)
		t->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (stat(path, &st) < 0)
		r = open_beside(t);
	else if (S_ISDIR(st.st_mode))
		r = fail(-EISDIR, "%s: is a directory; name a file", path);
	else if (S_ISREG(st.st_mode) && !replace)
		r = fail(-EEXIST, "%s: exists; --force replaces it", path);
	else if (S_ISREG(st.st_mode))
		r = open_beside(t);
	else
		t->fd = open(path, O_WRONLY | O_CLOEXEC);
	if (!r && t->fd < 0)
		r = failed(t);
	if (r)
		t->path = NULL;
	return r;
}

int cli_output_stream(struct cli_output *t)
{
	t->stream = fdopen(t->fd, "w");
	if (!t->stream)
		return failed(t);
	t->fd = -1; /* the stream's */
	return 0;
}

/* What is not written yet. */
static int close_file(struct cli_output *t)
{
	FILE *f = STEAL(t->stream);
	bool bad = f && ferror(f);

	errno = 0;
	if (f ? fclose(f) : t->fd >= 0 && close(STEAL_FD(t->fd)))
		bad = true;
	return bad ? fail(-EIO, "%s: could not be written whole: %s", t->path,
			     errno ? strerror(errno) : "is the disk full?")
		   : 0;
}

int cli_output_close(struct cli_output *t, int r)
{
	int closed;

	if (!t->path)
		return r;
	closed = close_file(t);
	if (r >= 0 && closed)
		r = closed;
	if (r == -EPIPE && t->to_stdout)
		r = cli_stdout_failed(r);
	if (t->temp && r >= 0 &&
		(t->replace ? rename(t->temp, t->path)
			    : renameat2(AT_FDCWD, t->temp, AT_FDCWD, t->path, RENAME_NOREPLACE)))
		r = failed(t);
	if (t->temp && r < 0)
		unlink(t->temp);
	free(STEAL(t->temp));
	t->path = NULL;
	return r;
}
