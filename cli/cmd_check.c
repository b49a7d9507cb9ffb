/* SPDX-License-Identifier: MIT */
/* Not written yet. */
#include "cli_priv.h"

#include <errno.h>

static int run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return fail(-ENOSYS, "check: not written yet");
}

const struct command cmd_check = {"check", "", "", run};
