/* SPDX-License-Identifier: MIT */
/*
 * A filter expression to a list of terms, and an event against it. Every number of an event fits a
 * signed 128-bit integer, so one comparison serves all widths and signs. A field that the event's
 * operation does not have matches no term, whatever the operator.
 */
#include "iotape/filter.h"
#include "text_priv.h"

#include <errno.h>
#include <fnmatch.h>

#define TERMS_MAX  64
#define VALUES_MAX 256

/* Keys beyond those of field_info[] */
enum { KEY_ERRNO = FIELD_COUNT, KEY_CLASS, KEY_COUNT };

enum cmp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LIKE, CMP_UNLIKE };

static const char *const class_names[] = {
	[OPC_RESOLVE] = "resolve",
	[OPC_NAME] = "name",
	[OPC_ATTR] = "attr",
	[OPC_HANDLE] = "handle",
	[OPC_DATA] = "data",
	[OPC_SYNC] = "sync",
	[OPC_DIR] = "dir",
	[OPC_SNAP] = "snap",
	[OPC_NOTE] = "note",
};

struct value {
	__int128 number;
	char *text; /* owned, NUL-terminated; NULL for numbers */
	uint32_t n;
};

struct term {
	unsigned key; /* enum field or KEY_* */
	enum cmp cmp;
	struct value *values;
	size_t n_values;
};

struct filter {
	struct term terms[TERMS_MAX];
	size_t n_terms;
};

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_terms; i++) {
		for (size_t v = 0; v < f->terms[i].n_values; v++)
			free(f->terms[i].values[v].text);
		free(f->terms[i].values);
	}
	free(f);
}

static bool is_text(unsigned key)
{
	return key < FIELD_COUNT && field_info[key].type == FIELD_BYTES;
}

static int by_name(const char *s, const char *const *names, size_t n, __int128 *v)
{
	struct util_nearest best = {0};

	for (size_t i = 0; i < n; i++) {
		if (!names[i])
			continue;
		if (!strcmp(names[i], s)) {
			*v = (int)i;
			return 0;
		}
		util_nearest(&best, s, names[i]);
	}
	return fail_hint(fail(-EINVAL, "'%s' is none of its names", s), best.word);
}

static int no_operation(const char *s)
{
	struct util_nearest best = {0};

	for (unsigned op = OP_NONE + 1; op < OP_COUNT; op++)
		util_nearest(&best, s, op_info[op].name);
	return fail_hint(fail(-EINVAL, "'%s' is no operation", s), best.word);
}

static int no_field(const char *s)
{
	struct util_nearest best = {0};
	_free_ char *typed = strndup(s, MIN(strcspn(s, " =<>!~;"), 40u));

	if (!typed)
		return fail(-ENOMEM, "out of memory");
	util_nearest(&best, typed, "errno");
	util_nearest(&best, typed, "class");
	for (unsigned f = 0; f < FIELD_COUNT; f++)
		if (f != FIELD_RATIO)
			util_nearest(&best, typed, field_info[f].key);
	fail(-EINVAL,
		"'%s' is no field; they are the keys of `iotape dump --format=json`, errno and "
		"class",
		typed);
	return fail_hint(-EINVAL, best.word);
}

static bool ends_in(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

/* A number as its field takes it: sizes and durations with suffix, modes in octal. */
static int parse_unsigned(unsigned key, const char *s, uint64_t *v)
{
	int64_t ns;
	int r;

	if (key < FIELD_COUNT && field_info[key].octal && s[0] == '0' && s[1]) {
		if (!trace_text_number(BYTES_STR(s), 8, v))
			return fail(-EINVAL, "'%s' is no octal number", s);
		return 0;
	}
	if (!util_parse_u64(s, v))
		return 0;
	if (key == FIELD_OFFSET || key == FIELD_OFFSET2 || key == FIELD_SIZE || key == FIELD_RESULT)
		return util_parse_size(s, v);
	if (key < FIELD_COUNT && ends_in(field_info[key].key, "_ns")) {
		r = util_parse_duration(s, &ns);
		*v = (uint64_t)ns;
		return r;
	}
	return -EINVAL; /* with the text of util_parse_u64 */
}

static int parse_value(unsigned key, const char *s, __int128 *v)
{
	bool minus = s[0] == '-';
	int e = util_errno_value(s);
	uint64_t u = 0;
	int r;

	if (key == FIELD_OP) {
		*v = op_by_name(s, strlen(s));
		return *v ? 0 : no_operation(s);
	}
	if (key == FIELD_CONTENT)
		return by_name(s, trace_content_name, EVENT_CONTENT_COUNT, v);
	if (key == KEY_CLASS)
		return by_name(s, class_names, ARRAY_SIZE(class_names), v);
	if (e && (key == KEY_ERRNO || key == FIELD_RESULT)) {
		*v = key == KEY_ERRNO ? e : -e;
		return 0;
	}
	r = parse_unsigned(key, s + minus, &u);
	*v = minus ? -(__int128)u : (__int128)u;
	return r;
}

/* One value up to ',' or ';', spaces around it dropped; "quoted" takes the text twin's escapes.
 * Written to out, which has room for all of s; returns what follows, NULL with fail text. */
static const char *read_value(const char *s, char *out, size_t *n)
{
	size_t len;
	int r;

	s += strspn(s, " \t");
	if (*s != '"') {
		len = strcspn(s, ",;");
		memcpy(out, s, len);
		s += len;
		while (len && (out[len - 1] == ' ' || out[len - 1] == '\t'))
			len--;
		out[len] = '\0';
		*n = len;
		return s;
	}
	for (len = 1; s[len] && s[len] != '"'; len++)
		if (s[len] == '\\' && s[len + 1])
			len++;
	if (!s[len]) {
		fail(-EINVAL, "a \"string\" has no end");
		return NULL;
	}
	memcpy(out, s + 1, len - 1);
	r = bytes_unescape(out, len - 1);
	if (r < 0)
		return NULL;
	out[r] = '\0';
	*n = (size_t)r;
	s += len + 1;
	s += strspn(s, " \t");
	if (*s && *s != ',' && *s != ';') {
		fail(-EINVAL, "only ',' or ';' may stand behind a \"string\"");
		return NULL;
	}
	return s;
}

static int add_value(struct term *t, const char *s, size_t n)
{
	struct value *v, *more;

	if (t->n_values == VALUES_MAX)
		return fail(-EINVAL, "more than %d values", VALUES_MAX);
	more = reallocarray(t->values, t->n_values + 1, sizeof(*more));
	if (!more)
		return fail(-ENOMEM, "out of memory");
	t->values = more;
	v = &t->values[t->n_values];
	*v = (struct value){0};
	if (!is_text(t->key)) {
		t->n_values++;
		return n ? parse_value(t->key, s, &v->number) : fail(-EINVAL, "no value");
	}
	v->text = malloc(n + 1);
	if (!v->text)
		return fail(-ENOMEM, "out of memory");
	memcpy(v->text, s, n + 1);
	v->n = (uint32_t)n;
	t->n_values++;
	return 0;
}

static const char *read_operator(const char *s, enum cmp *cmp)
{
	static const struct {
		const char *text;
		enum cmp cmp;
	} ops[] = {
		{"!=", CMP_NE},
		{"!~", CMP_UNLIKE},
		{"<=", CMP_LE},
		{">=", CMP_GE},
		{"==", CMP_EQ},
		{"=", CMP_EQ},
		{"<", CMP_LT},
		{">", CMP_GT},
		{"~", CMP_LIKE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (!strncmp(s, ops[i].text, strlen(ops[i].text))) {
			*cmp = ops[i].cmp;
			return s + strlen(ops[i].text);
		}
	return NULL;
}

static int check_operator(const struct term *t, const char *key)
{
	bool like = t->cmp == CMP_LIKE || t->cmp == CMP_UNLIKE;
	bool equal = t->cmp == CMP_EQ || t->cmp == CMP_NE;

	if (is_text(t->key) && !like && !equal)
		return fail(-EINVAL, "%s is a string: it takes = != ~ !~", key);
	if (!is_text(t->key) && like)
		return fail(-EINVAL, "%s is no string: it takes = != < <= > >=", key);
	if ((t->key == FIELD_OP || t->key == FIELD_CONTENT || t->key == KEY_CLASS) && !equal)
		return fail(-EINVAL, "%s has no order: it takes = and !=", key);
	return 0;
}

static unsigned find_key(const char *key)
{
	unsigned f = trace_field_by_name(key, strlen(key));

	if (f == FIELD_RATIO)
		return KEY_COUNT;
	if (!strcmp(key, "errno"))
		return KEY_ERRNO;
	if (!strcmp(key, "class"))
		return KEY_CLASS;
	return f == FIELD_COUNT ? KEY_COUNT : f;
}

/* KEY OP VALUE[,VALUE...]; *s moves to the ';' or the end. */
static int parse_term(struct term *t, const char **s, char *scratch)
{
	char key[16];
	size_t n = strspn(*s, "abcdefghijklmnopqrstuvwxyz0123456789_");
	const char *p;
	int r;

	snprintf(key, sizeof(key), "%.*s", (int)MIN(n, sizeof(key) - 1), *s);
	t->key = n < sizeof(key) ? find_key(key) : KEY_COUNT;
	if (t->key == KEY_COUNT)
		return no_field(*s);
	p = *s + n;
	p = read_operator(p + strspn(p, " \t"), &t->cmp);
	if (!p)
		return fail(-EINVAL, "no operator behind %s: = != < <= > >= ~ !~", key);
	r = check_operator(t, key);
	if (r < 0)
		return r;
	do {
		p = read_value(p + (t->n_values && *p == ','), scratch, &n);
		r = p ? add_value(t, scratch, n) : -EINVAL;
		if (r < 0)
			return fail_in(r, "%s", key);
	} while (*p == ',');
	*s = p;
	return 0;
}

static int parse_terms(struct filter *f, const char *expr)
{
	_free_ char *scratch = malloc(strlen(expr) + 1);
	int r;

	if (!scratch)
		return fail(-ENOMEM, "out of memory");
	for (const char *s = expr;;) {
		s += strspn(s, " \t;");
		if (!*s)
			break;
		if (f->n_terms == TERMS_MAX)
			return fail(-EINVAL, "more than %d terms", TERMS_MAX);
		r = parse_term(&f->terms[f->n_terms++], &s, scratch);
		if (r < 0)
			return r;
	}
	return f->n_terms ? 0 : fail(-EINVAL, "empty; write for example op=write; size>=64K");
}

int filter_parse(struct filter **out, const char *expr)
{
	struct filter *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	r = parse_terms(f, expr);
	if (r < 0) {
		filter_free(f);
		return fail_in(r, "filter");
	}
	*out = f;
	return 0;
}

static __int128 number_of(const struct event *ev, unsigned key)
{
	if (key == KEY_ERRNO)
		return ev->result < 0 ? -(__int128)ev->result : 0;
	if (key == KEY_CLASS)
		return op_info[ev->op].class;
	if (field_info[key].type == FIELD_I64)
		return (int64_t)trace_field_get(ev, key);
	return trace_field_get(ev, key);
}

static bool number_holds(__int128 a, enum cmp cmp, __int128 b)
{
	switch (cmp) {
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	default:
		return a == b; /* CMP_NE is turned around for the whole term */
	}
}

static bool text_holds(struct bytes b, enum cmp cmp, const struct value *v)
{
	char s[EVENT_NAME_MAX + 1];

	if (cmp == CMP_EQ || cmp == CMP_NE)
		return bytes_equal(b, (struct bytes){v->text, v->n});
	if (b.n >= sizeof(s) || (b.n && memchr(b.p, 0, b.n)))
		return false; /* no pattern can say NUL */
	if (b.n)
		memcpy(s, b.p, b.n);
	s[b.n] = '\0';
	return !fnmatch(v->text, s, 0);
}

static bool term_holds(const struct term *t, const struct event *ev)
{
	bool any = false;

	if (t->key < FIELD_COUNT && !(op_info[ev->op].fields & FIELD_BIT(t->key)))
		return false;
	for (size_t i = 0; i < t->n_values && !any; i++)
		any = is_text(t->key)
			      ? text_holds(*(const struct bytes *)(const void *)((const char *)ev +
										 field_info[t->key]
											 .offset),
					t->cmp, &t->values[i])
			      : number_holds(number_of(ev, t->key), t->cmp, t->values[i].number);
	return t->cmp == CMP_NE || t->cmp == CMP_UNLIKE ? !any : any;
}

bool filter_match(const struct filter *f, const struct event *ev)
{
	if (!f)
		return true;
	if (ev->op >= OP_COUNT)
		return false;
	for (size_t i = 0; i < f->n_terms; i++)
		if (!term_holds(&f->terms[i], ev))
			return false;
	return true;
}
