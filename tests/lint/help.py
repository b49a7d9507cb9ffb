# SPDX-License-Identifier: MIT
"""Help, parser and man page say the same: every long option that a command takes is in its --help
and in its section of docs/iotape.1, none is in the help that is not taken, and every command is in
the man page. What is taken is found by asking the program. An option whose table row bears the
comment 'hidden' is for tests and stays out. Usage: help.py SOURCE IOTAPE"""
import os
import re
import subprocess

import lint

HIDDEN = {"no-record"}  # the mirror alone, to measure what recording costs
OPTION = re.compile(r"(?<![-\w])--([a-z][-a-z0-9]*)")


def run(iotape, *args):
    return subprocess.run([iotape, *args], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def commands(iotape):
    text = run(iotape, "help").stdout.split("commands:\n", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^    (\w+) ", text, re.M)


def takes(iotape, command, option):
    """Parsing fails for sure, so nothing is done; the message tells at which option."""
    r = run(iotape, command, "--%s=1" % option, "--no-such-option=1")
    return r.returncode == 2 and not re.search(r"unknown option --%s\b(?!-)" % option, r.stderr)


def known_options(root):
    """Names in all option tables, and those marked hidden."""
    names, hidden = set(), set(HIDDEN)
    for path in lint.sources(root, ["cli"]):
        for m in re.finditer(r'\{"([a-z][-a-z0-9]*)",\s*(?:no|required|optional)_argument[^\n]*',
                             lint.read(root, path)):
            names.add(m.group(1))
            if "hidden" in m.group(0):
                hidden.add(m.group(1))
    return names, hidden


def man_sections(root):
    """'.SS' headings that name commands, to the options below each."""
    path = os.path.join(root, "docs", "iotape.1")
    text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    text = text.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
    sections = {}
    for part in re.split(r"^\.SS ", text, flags=re.M)[1:]:
        heading, _, body = re.split(r"^\.SH ", part, flags=re.M)[0].partition("\n")
        for word in re.findall(r"\w+", heading):
            sections.setdefault(word, set()).update(OPTION.findall(body))
    return sections


def check_command(iotape, command, known, hidden, man):
    r = run(iotape, command, "--help")
    if r.returncode or r.stderr or r.stdout != run(iotape, "help", command).stdout:
        yield "%s: --help and `help %s` differ or fail" % (command, command)
    if not r.stdout.startswith("usage: iotape %s" % command):
        yield "%s: help does not begin with its usage line" % command
    if "built without" in r.stdout:
        return  # a stand-in that takes nothing
    # a line that shows another program or command is an example, not a promise
    text = "\n".join(line for line in r.stdout.splitlines()
                     if not re.match(r"    .*iotape (?!%s\b)" % command, line))
    text = re.sub(r"`[^`]*`", "", text)
    told = set(OPTION.findall(text)) - {"help"}
    for option in sorted(told):
        if not takes(iotape, command, option):
            yield "%s: help tells of --%s, which is not taken" % (command, option)
    for option in sorted(known - {"help"} - told - hidden):
        longer = any(t.startswith(option) for t in told)
        if not longer and takes(iotape, command, option):
            yield "%s: takes --%s, of which help does not tell" % (command, option)
    if command not in man:
        yield "%s: has no section (.SS) in docs/iotape.1" % command
        return
    for option in sorted(told - man[command]):
        yield "%s: --%s is not in its section of docs/iotape.1" % (command, option)


def check(root, iotape):
    out = []
    known, hidden = known_options(root)
    man = man_sections(root)
    for command in commands(iotape):
        out += check_command(iotape, command, known, hidden, man)
    return out


# A program of one command that takes --good and --quiet, and tells what $HELP holds
FAKE = r"""#!/bin/sh
if [ "$1" = help ] && [ $# = 1 ]; then printf 'commands:\n%s\n'; exit 0; fi
case "$1 $2" in "help run"|"run --help") printf 'usage: iotape run\n%s\n'; exit 0;; esac
for a; do case $a in run|--good=1|--quiet=1) ;; *)
	echo "iotape: run: unknown option ${a%%=1}" >&2; exit 2;; esac; done
"""
TABLE = 'struct option o[] = {{"good", no_argument, 0, 1},\n{"quiet", no_argument, 0, 2}%s\n'
MAN = ".SH COMMANDS\n.SS run\n\\-\\-good \\-\\-quiet\n.SH FILES\n"


def planted(listed, told, table, man):
    return {"fake": FAKE % ("    run  does it" if listed else "", told), "cli/t.c": table,
            "docs/iotape.1": man}


def fake(root):
    path = os.path.join(root, "fake")
    if not os.path.exists(path):
        lint.write(root, "fake", FAKE % ("", ""))
    os.chmod(path, 0o755)
    return [path]


lint.main(check, [
    ("a right one", planted(True, "--good --quiet", TABLE % "", MAN), None),
    ("an option that help forgot", planted(True, "--good", TABLE % "", MAN),
     "takes --quiet, of which"),
    ("a hidden one that help does not tell of",
     planted(True, "--good", TABLE % " /* hidden */", MAN), None),
    ("an option that is promised only", planted(True, "--good --quiet --fast", TABLE % "", MAN),
     "--fast, which is not taken"),
    ("an option that the man page forgot",
     planted(True, "--good --quiet", TABLE % "", MAN.replace("\\-\\-good", "")),
     "--good is not in its section"),
    ("a command that the man page forgot",
     planted(True, "--good --quiet", TABLE % "", ".SH COMMANDS\n.SS walk\n"), "has no section"),
], fake)
