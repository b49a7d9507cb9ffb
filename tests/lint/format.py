# SPDX-License-Identifier: MIT
"""Every source is as clang-format with the project's .clang-format leaves it."""
import os
import shutil
import subprocess
import sys

import lint

HERE = os.path.dirname(os.path.abspath(__file__))
STYLE = os.path.join(HERE, "..", "..", ".clang-format")


def check(root):
    paths = lint.sources(root, ["include", "tests"] + lint.FOLDERS)
    if not paths:
        return []
    r = subprocess.run(["clang-format", "--style=file:" + STYLE, "--dry-run", "-Werror", *paths],
                       cwd=root, text=True, stderr=subprocess.PIPE)
    wrong = sorted({line.split(":")[0] for line in r.stderr.splitlines() if ": error:" in line})
    if r.returncode and not wrong:
        return [r.stderr]
    return ["%s: not formatted; run clang-format -i %s" % (p, p) for p in wrong]


if not shutil.which("clang-format"):
    print("SKIP: clang-format is missing (Debian package clang-format)")
    sys.exit(77)
lint.main(check, [
    ("spaces for tabs", {"trace/a.c": "int f(void)\n{\n    return 0;\n}\n"}, "trace/a.c"),
    ("a brace out of place", {"tests/unit/a.h": "int f(void) {\n\treturn 0;\n}\n"}, "a.h"),
])
