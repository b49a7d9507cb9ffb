/* SPDX-License-Identifier: MIT */
/* What the two files of compare's text have in common. */
#ifndef REPORT_PRIV_H
#define REPORT_PRIV_H

#include "iotape/compare.h"

#define REPORT_WIDTH 120

/* report_table.c */
/* Three significant digits, no more than a reader can use; "-" for what does not exist. */
void report_number(char *out, size_t cap, double v);
void report_ratio_number(char *out, size_t cap, double v);
/* One workload: a row a backend, in the columns of the published tests. */
void report_table(const struct compare *c, size_t workload, FILE *out);

#endif
