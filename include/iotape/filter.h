/* SPDX-License-Identifier: MIT */
/*
 * Selects events: "op=write,read; lane=3; size>=4096; name~*.db; start_ns<2s". Terms are joined by
 * ';' (all must hold), the values of a term by ',' (any may). Keys are those of field_info[] and
 * `errno` and `class`. ~ and !~ are shell patterns (fnmatch) on byte strings; = != < <= > >=
 * elsewhere; sizes and durations take their suffixes. With != and !~ none of the values may hold. A
 * value may stand in "quotes" with the escapes of the text twin. A term on a field that the event's
 * operation does not have does not hold.
 */
#ifndef IOTAPE_FILTER_H
#define IOTAPE_FILTER_H

#include "iotape/event.h"

struct filter;
int filter_parse(struct filter **out, const char *expr);
bool filter_match(const struct filter *f, const struct event *ev); /* NULL matches all */
void filter_free(struct filter *f);

#endif
