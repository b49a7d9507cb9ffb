# SPDX-License-Identifier: MIT
"""Every global of a library carries a prefix of prefixes.txt, so that libraries cannot collide and
a name tells where it lives; and no library prints or exits. Usage: symbols.py LIBRARY.a..."""
import os
import re
import subprocess
import sys

import lint

HERE = os.path.dirname(os.path.abspath(__file__))
# what only cli/ may call; _exit() in a child before exec is fine
LOUD = re.compile(r"(__)?(v?printf|puts|putchar|perror|v?warnx?|v?errx?|exit|error|stdout|stderr)"
                  r"(_chk|_unlocked)?")


def prefixes():
    out = {}
    with open(os.path.join(HERE, "prefixes.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                lib, names = line.split(":")
                out.setdefault(lib, []).extend(names.split())
    return out


def nm(archive, *options):
    text = subprocess.run(["nm", "-P", *options, archive], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    # sanitizers and coverage put their own beside ours
    return [line.split()[0] for line in text.splitlines()
            if len(line.split()) > 1 and not line.startswith(("__odr_asan", "__asan", "__gcov"))]


def check(*archives):
    out = []
    allowed = prefixes()
    for archive in archives:
        lib = re.fullmatch(r"lib(\w+)\.a", os.path.basename(archive)).group(1)
        for name in nm(archive, "-g", "--defined-only"):
            if not any(name == p or (p.endswith("_") and name.startswith(p))
                       for p in allowed[lib]):
                out.append("lib%s: global %s has none of the prefixes %s" % (
                    lib, name, " ".join(allowed[lib])))
        for name in nm(archive, "-u"):
            if LOUD.fullmatch(name):
                out.append("lib%s: uses %s; libraries neither print nor exit" % (lib, name))
    return out


def build(root):
    """Archives of the planted sources."""
    out = []
    for path in lint.sources(root, lint.FOLDERS):
        lib = os.path.join(root, "lib%s.a" % path.split(os.sep)[0])
        obj = os.path.join(root, "a.o")
        subprocess.run(["cc", "-O0", "-c", "-o", obj, os.path.join(root, path)], check=True)
        subprocess.run(["ar", "rc", lib, obj], check=True)
        out.append(lib)
    return out


lint.main(lambda *a: check(*[p for p in a if p.endswith(".a")]), [
    ("a function without prefix", {"trace/a.c": "int helper(void) { return 0; }\n"}, "helper"),
    ("data without prefix", {"fs/a.c": "int table[2] = {1, 2};\n"}, "table"),
    ("another library's prefix", {"fs/a.c": "int replay_x;\n"}, "replay_x"),
    ("a name that only begins alike", {"trace/a.c": "int failure(void) { return 0; }\n"},
     "failure"),
    ("printing", {"replay/a.c": "#include <stdio.h>\n"
                  "void replay_x(int i) { printf(\"%d\", i); }\n"}, "uses printf"),
    ("printing to stderr", {"replay/a.c": "#include <stdio.h>\n"
                            "void replay_x(void) { fputs(\"x\", stderr); }\n"}, "uses stderr"),
    ("exiting", {"trace/a.c": "#include <stdlib.h>\nvoid trace_x(void) { exit(1); }\n"},
     "uses exit"),
], build)
