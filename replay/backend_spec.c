/* SPDX-License-Identifier: MIT */
/*
 * "[NAME=]SPEC" into the fields of a backend. A spec is a bare directory or KIND:PATH[,PATH]
 * [,key=value]...; which kinds take how many paths and which keys stands in their ops. A comma in a
 * path is written "\,"; after dir: everything is the path. Looks at no file but one: whether a bare
 * word that looks like a kind is a directory.
 */
#include "backend_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE_DEFAULT ((uint64_t)8 << 30)
#define SIZE_MIN     ((uint64_t)1 << 20)
#define DELAY_MAX    1000000000 /* the throttle counts whole I/Os a second */

static const struct {
	const char *name, *example;
	enum backend_key key;
} keys[] = {
	{"size", "size=8G", BACKEND_KEY_SIZE},
	{"fs", "fs=ext4|xfs|btrfs", BACKEND_KEY_FS},
	{"provision", "provision=thin|lazy|eager", BACKEND_KEY_PROVISION},
	{"degraded", "degraded", BACKEND_KEY_DEGRADED},
	{"engine", "engine=btrfs", BACKEND_KEY_ENGINE},
	{"delay", "delay=5ms", BACKEND_KEY_DELAY},
	{"rate", "rate=50M", BACKEND_KEY_RATE},
};

static const char *known_keys(const struct backend *b, char *buf, size_t cap)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys) && n < cap; i++)
		if (b->ops->keys & keys[i].key)
			n += snprintf(buf + n, cap - n, "%s%s", n ? ", " : "", keys[i].example);
	return buf;
}

/* Cuts the next comma-separated piece off in place; "\," stands for a comma. NULL at the end. */
static char *next_piece(char **rest)
{
	char *start = *rest, *out = start, *p = start;

	if (!p)
		return NULL;
	for (; *p && *p != ','; p++) {
		if (p[0] == '\\' && (p[1] == ',' || p[1] == '\\'))
			p++;
		*out++ = *p;
	}
	*rest = *p ? p + 1 : NULL;
	*out = '\0';
	return start;
}

static int set_key(struct backend *b, enum backend_key key, const char *name, const char *v)
{
	static const char *const fs[] = {"ext4", "xfs", "btrfs", NULL};
	static const char *const provision[] = {"thin", "lazy", "eager", NULL};
	static const char *const engine[] = {"btrfs", "md", NULL};
	int r = 0;

	switch (key) {
	case BACKEND_KEY_SIZE:
		r = util_parse_size(v, &b->size_bytes);
		if (!r && b->size_bytes < SIZE_MIN)
			r = fail(-EINVAL, "size=%s: at least 1M", v);
		if (!r && b->size_bytes > (uint64_t)1 << 50)
			r = fail(-EINVAL, "size=%s: at most 1024T", v);
		b->size_bytes &= ~(uint64_t)4095;
		break;
	case BACKEND_KEY_FS:
		r = util_choice(name, v, fs);
		if (r >= 0)
			b->fs = fs[r];
		break;
	case BACKEND_KEY_PROVISION:
		r = util_choice(name, v, provision);
		if (r >= 0)
			b->provision = (enum backend_provision)r;
		break;
	case BACKEND_KEY_DEGRADED:
		b->degraded = true;
		break;
	case BACKEND_KEY_ENGINE:
		r = util_choice(name, v, engine);
		b->engine_md = r == 1;
		break;
	case BACKEND_KEY_DELAY:
		r = util_parse_duration(v, &b->delay_ns);
		if (!r && (b->delay_ns <= 0 || b->delay_ns > DELAY_MAX))
			r = fail(-EINVAL, "delay=%s: more than 0 and at most 1s", v);
		break;
	case BACKEND_KEY_RATE:
		r = util_parse_size(v, &b->rate_bytes);
		if (!r && !b->rate_bytes)
			r = fail(-EINVAL, "rate=0: leave it out for no limit");
		break;
	}
	return MIN(r, 0);
}

static int parse_key(struct backend *b, char *piece, unsigned *seen)
{
	struct util_nearest best = {0};
	char all[256], *v = strchr(piece, '=');

	if (v)
		*v++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!(b->ops->keys & keys[i].key))
			continue;
		util_nearest(&best, piece, keys[i].name);
		if (strcmp(keys[i].name, piece) != 0)
			continue;
		if (!v != (keys[i].key == BACKEND_KEY_DEGRADED))
			return fail(-EINVAL, "%s: write %s", piece, keys[i].example);
		if (*seen & keys[i].key)
			return fail(-EINVAL, "%s= is given twice", piece);
		*seen |= keys[i].key;
		b->size_given = b->size_given || keys[i].key == BACKEND_KEY_SIZE;
		return set_key(b, keys[i].key, piece, v);
	}
	fail(-EINVAL, "unknown key '%s'; %s: takes %s", piece, b->ops->kind,
		known_keys(b, all, sizeof(all)));
	return fail_hint(-EINVAL, best.word);
}

static int parse_parts(struct backend *b, char *text)
{
	unsigned seen = 0;
	char *piece;
	int r = 0;

	for (unsigned i = 0; i < b->ops->paths; i++) {
		piece = next_piece(&text);
		if (!piece || !*piece)
			return fail(-EINVAL, "a path is missing; write %s", b->ops->syntax);
		if (i && !strchr(piece, '/') && strchr(piece, '='))
			return fail(-EINVAL, "a path is missing before '%s'; write %s", piece,
				b->ops->syntax);
		b->disk[i].path = strdup(piece);
		if (!b->disk[i].path)
			return fail(-ENOMEM, "out of memory");
	}
	while (!r && (piece = next_piece(&text)))
		r = parse_key(b, piece, &seen);
	return r;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The kind that the first n characters of s name, else NULL. */
static const struct backend_ops *named_kind(const char *s, size_t n)
{
	for (int i = 0; backend_table[i]; i++)
		if (strlen(backend_table[i]->kind) == n && !strncmp(s, backend_table[i]->kind, n))
			return backend_table[i];
	return NULL;
}

static int unknown_kind(const char *s, size_t n)
{
	_free_ char *typed = strndup(s, n);
	struct util_nearest best = {0};
	char all[64] = "";
	size_t len = 0;

	for (int i = 0; backend_table[i]; i++) {
		const char *kind = backend_table[i]->kind;

		if (typed)
			util_nearest(&best, typed, kind);
		len += snprintf(all + len, sizeof(all) - len, "%s%s:", len ? ", " : "", kind);
	}
	fail(-EINVAL, "unknown kind '%.*s:'; it is one of %s (a directory of that name: dir:%s)",
		(int)n, s, all, s);
	return fail_hint(-EINVAL, best.word);
}

/* The kind and where its text begins; a bare path is dir:. */
/* "a name=rdm:..." is taken for a path; most likely it is not meant so. */
static bool odd_name(const char *s)
{
	const char *eq = strchr(s, '=');

	if (!eq || is_directory(s) || !named_kind(eq + 1, strcspn(eq + 1, ":/,=")))
		return false;
	fail(-EINVAL, "'%.*s' is no name: letters, digits, '.', '_' and '-' (a directory: dir:%s)",
		(int)(eq - s), s, s);
	return true;
}

static const char *find_kind(struct backend *b, const char *s)
{
	size_t n = strcspn(s, ":/,=");
	const struct backend_ops *ops = named_kind(s, n);

	if (s[n] != ':' && odd_name(s))
		return NULL;

	b->ops = s[n] == ':' && ops ? ops : &backend_dir_ops;
	if (s[n] == ':' && ops)
		return s + n + 1;
	if (s[n] == ':' && n && !is_directory(s)) {
		unknown_kind(s, n);
		return NULL;
	}
	if (!s[n] && ops && !is_directory(s)) {
		fail(-EINVAL, "'%s' is no directory; the kind of storage is written %s", s,
			ops->syntax);
		return NULL;
	}
	return s;
}

static size_t name_length(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return s[n] == '=' ? n : 0;
}

int backend_spec_parse(struct backend *b, const char *spec)
{
	const char *s = spec, *text;
	size_t n = name_length(s);
	_free_ char *copy = NULL;
	int r;

	if (s[0] == '=')
		return fail(-EINVAL, "backend '%s': the name before '=' is missing", spec);
	if (n) {
		b->name = strndup(s, n);
		s += n + 1;
	}
	if (!*s)
		return fail(-EINVAL, "backend '%s' is empty: name a directory or KIND:PATH", spec);
	text = find_kind(b, s);
	if (!text)
		return fail_in(-EINVAL, "backend '%s'", spec);
	b->spec = strdup(s);
	copy = strdup(text);
	if (!n)
		b->name = strdup(b->ops->kind);
	if (!b->spec || !copy || !b->name)
		return fail(-ENOMEM, "out of memory");
	b->size_bytes = SIZE_DEFAULT;
	b->fs = b->ops->default_fs;
	if (b->ops == &backend_dir_ops) { /* no keys: all of it is the path */
		if (!*copy)
			return fail(-EINVAL, "backend '%s': a path is missing; write %s", spec,
				b->ops->syntax);
		b->disk[0].path = STEAL(copy);
		return 0;
	}
	if (!b->ops->paths && *copy)
		return fail(
			-EINVAL, "backend '%s': %s takes nothing behind it", spec, b->ops->syntax);
	r = b->ops->paths ? parse_parts(b, copy) : 0;
	return r < 0 ? fail_in(r, "backend '%s'", spec) : 0;
}
