# SPDX-License-Identifier: MIT
"""Files and functions stay small enough to be read at one sitting, and every file says what it is."""
import lint

C_LINES, H_LINES, FUNCTION_LINES, COLUMNS = 600, 150, 100, 100
# a private header holds the prototypes of several files
PRIVATE_LINES = 180


def columns(line):
    return len(line.expandtabs(8))


def functions(lines):
    """(first line, number of lines) of every body that opens with { in the first column."""
    begin = None
    for n, line in enumerate(lines, 1):
        if line.startswith("{"):
            begin = n
        elif line.startswith("}") and begin:
            yield begin, n - begin + 1
            begin = None


def check_file(path, text):
    lines = text.split("\n")
    count = text.count("\n")
    # helpers of tests are code in a header
    limit = (C_LINES if path.endswith(".c") or path.startswith("tests") else
             PRIVATE_LINES if path.endswith("_priv.h") else H_LINES)
    if count > limit:
        yield "%s: %d lines; the limit is %d" % (path, count, limit)
    if not text.startswith("/* SPDX-License-Identifier: MIT */\n/*"):
        yield "%s: opens with neither licence nor what it is" % path
    for n, line in enumerate(lines, 1):
        if columns(line) > COLUMNS:
            yield "%s:%d: more than %d columns" % (path, n, COLUMNS)
    for begin, size in functions(lines):
        if size > FUNCTION_LINES:
            yield "%s:%d: a function of %d lines; the limit is %d" % (
                path, begin, size, FUNCTION_LINES)


def check(root):
    out = []
    for path in lint.sources(root, ["include", "tests"] + lint.FOLDERS):
        out += check_file(path, lint.read(root, path))
    return out


HEAD = "/* SPDX-License-Identifier: MIT */\n/* Planted. */\n"
lint.main(check, [
    ("a long .c", {"fs/a.c": HEAD + "\n" * 599}, "601 lines"),
    ("a long .h", {"include/iotape/a.h": HEAD + "\n" * 149}, "151 lines"),
    ("a long private header", {"fs/a_priv.h": HEAD + "\n" * 179}, "181 lines"),
    ("a long function", {"cli/a.c": HEAD + "int f(void)\n{\n" + "\tx;\n" * 99 + "}\n"},
     "a function of 101 lines"),
    ("a long line", {"cli/a.c": HEAD + "\t" + "x" * 93 + "\n"}, "more than 100 columns"),
    ("no licence", {"trace/a.c": "/* Planted. */\n"}, "licence"),
    ("no word of what it is", {"trace/a.c": "/* SPDX-License-Identifier: MIT */\nint x;\n"},
     "licence"),
])
