/* SPDX-License-Identifier: MIT */
/* Means that the backends stand on: programs, loop devices, limits of the kernel. */
#ifndef TOOL_PRIV_H
#define TOOL_PRIV_H

#include <sys/types.h>

#include "iotape/util.h"

/* run.c */
/* Runs a program found in PATH or the sbin directories, its output caught. It dies with us. */
/* 0 when it exits with 0; else -errno, its output on one line in the fail text. */
int run_tool(const char *const *argv);
/* As run_tool, but its standard output into out; *status is the exit status and any is fine. */
int run_output(const char *const *argv, char *out, size_t cap, int *status);
/* 0, or -ENOENT with a text that names the Debian package. path may be NULL. */
int run_find(const char *tool, char *path, size_t cap);

/* loop.c */
struct loop {
	int fd;     /* -1: none. While it is open the device stays; the last close detaches it */
	int number; /* -1: none */
	bool direct;
};
#define LOOP_NONE ((struct loop){.fd = -1, .number = -1})
/* A free loop device over size bytes (0: all) of the open file from offset on, by direct I/O
 * where its file system can. name: for texts. */
int loop_attach(struct loop *l, int file_fd, const char *name, uint64_t offset, uint64_t size);
/* Lets go; waits until the device is free. -EBUSY when someone still holds it. */
int loop_detach(struct loop *l);
/* Number of a loop device over this file or device, by whatever name; or -1. */
int loop_of_file(const char *path);
/* Is this one attached to the file that has, or had, this very path? */
bool loop_is_over(int number, const char *path);

/* throttle.c */
int backend_throttle_need(void);
int backend_throttle_set(dev_t dev, uint64_t rate_bytes, int64_t delay_ns);
void backend_throttle_reset(dev_t dev); /* also of what a killed run left; never fails */
/* From guard to unguard the rules of these devices (0: none) are reset when this process is killed;
 * fd -1: no guard. */
struct throttle_guard {
	int fd;
	pid_t pid;
};
int backend_throttle_guard(struct throttle_guard *g, const dev_t *devs, size_t n_devs);
void backend_throttle_unguard(struct throttle_guard *g);

#endif
