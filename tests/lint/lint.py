# SPDX-License-Identifier: MIT
"""What the lints share: walking the sources, saying what is wrong, and the proof that each lint
sees what it is there for: `--negative` plants one violation after another in a scratch tree and
demands that the lint names it."""
import os
import re
import sys
import tempfile

FOLDERS = ["trace", "fs", "replay", "cli"]


def sources(root, folders, endings=(".c", ".h")):
    """Paths relative to root, sorted."""
    found = []
    for folder in folders:
        for where, dirs, names in os.walk(os.path.join(root, folder)):
            dirs[:] = [d for d in dirs if not d.startswith((".", "build", "subprojects"))]
            found += [os.path.relpath(os.path.join(where, n), root)
                      for n in names if n.endswith(endings)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as f:
        return f.read()


def without_comments(text):
    """Comments and strings blanked, line numbers kept."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group(0)) if m.group(0)[0] == "/" else '""'
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(check, negatives, args=None):
    """check(root, *args) gives a list of complaints. negatives: (what, {path: text}, word): in a
    tree of these files check must complain with that word, and without them about nothing."""
    if sys.argv[1:] == ["--negative"]:
        sys.exit(run_negatives(check, negatives, args))
    complaints = check(*sys.argv[1:])
    for c in complaints:
        print(c)
    print("%d complaints" % len(complaints))
    sys.exit(1 if complaints else 0)


def run_negatives(check, negatives, args):
    failed = 0
    for what, files, word in [("an empty tree", {}, None)] + negatives:
        with tempfile.TemporaryDirectory(prefix="iotape-lint-") as root:
            for path, text in files.items():
                write(root, path, text)
            complaints = check(root, *(args(root) if args else []))
        seen = any(word in c for c in complaints) if word else not complaints
        print("%s: %s%s" % ("ok" if seen else "FAILED", what,
                            " is caught" if word else " is fine"))
        if not seen:
            print("    complaints: %s" % complaints)
            failed = 1
    return failed
