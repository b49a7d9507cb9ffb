# SPDX-License-Identifier: MIT
"""Threads start in two places, the recorder's queue and the executor; and in fs/lock.c, where the
wait for a lock must not hold up the thread that serves other requests."""
import re

import lint

STARTS = re.compile(r"\b((?:pthread_create|thrd_create|clone3?)\s*\(|SIGEV_THREAD\b)")
ALLOWED = re.compile(r"fs/queue\w*\.c|fs/lock\.c|replay/exec\w*\.c")


def check(root):
    out = []
    for path in lint.sources(root, lint.FOLDERS):
        if ALLOWED.fullmatch(path):
            continue
        for n, line in enumerate(lint.without_comments(lint.read(root, path)).split("\n"), 1):
            m = STARTS.search(line)
            if m:
                out.append("%s:%d: %s; threads start in fs/queue*.c and replay/exec*.c" % (
                    path, n, m.group(1).rstrip(" (")))
    return out


lint.main(check, [
    ("a thread of the writer", {"trace/w.c": "void f(void)\n{\n\tpthread_create(0, 0, 0, 0);\n}\n"},
     "trace/w.c:3: pthread_create"),
    ("a thread of a command", {"cli/c.c": "int x = thrd_create (a, b, c);\n"}, "thrd_create"),
    ("a thread beside the queue", {"fs/mirror.c": "/* x */ pthread_create(a);\n"}, "fs/mirror.c:1"),
])
