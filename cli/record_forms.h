/* SPDX-License-Identifier: MIT */
/* What cmd_record.c parses and record_forms.c does. */
#ifndef RECORD_FORMS_H
#define RECORD_FORMS_H

#include "cli_priv.h"

#include "iotape/record.h"

struct record_job {
	struct record_opts r;
	enum cli_format format;
	const char *pid_file;
	char **command; /* NULL: none */
};

/* Exit status, or -errno with fail text. */
int record_command(const struct record_job *o);
int record_foreground(const struct record_job *o);
int record_background(struct record_job *o);

#endif
