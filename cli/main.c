/* SPDX-License-Identifier: MIT */
/*
 * The command table. Finds the command, runs it, prints the failure's text once and turns it into
 * the exit status of docs/iotape.1: 0 fine, 1 differs, 2 usage or trouble.
 */
#include "cli_priv.h"

#include <errno.h>
#include <string.h>

static const struct command *const commands[] = {
	&cmd_record,
	&cmd_replay,
	&cmd_compare,
	&cmd_diff,
	&cmd_info,
	&cmd_stat,
	&cmd_dump,
	&cmd_check,
	&cmd_import,
	&cmd_backend,
};

int main(int argc, char **argv)
{
	int r = -EINVAL;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i]->name))
			r = commands[i]->run(argc - 1, argv + 1);
	if (r < 0) {
		fprintf(stderr, "iotape: %s\n", fail_text());
		return CLI_TROUBLE;
	}
	return r;
}
