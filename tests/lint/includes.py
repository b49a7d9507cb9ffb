# SPDX-License-Identifier: MIT
"""Who may include what. A folder sees the contracts in include/, its own headers and the system's;
msgpack, zstd and xxhash are trace/'s, libfuse is fs/'s; contracts include only contracts below."""
import os
import re

import lint

# contract: what it may include directly or through those
LAYERS = {
    "util": [], "op": [], "map": [],
    "json": ["util"], "event": ["op", "util"], "backend": ["util"],
    "trace": ["event"], "filter": ["event"], "stats": ["event"],
    "record": ["trace"], "replay": ["filter", "stats", "trace"],
    "report": ["json", "replay"],
    "compare": ["backend", "replay", "report"],
}
GROUND = ["util", "op", "map", "json", "event"]
# folder: contracts it may see; record.h tells replay/ how to set marks, nothing else
MAY_SEE = {
    "trace": GROUND + ["trace", "filter"],
    "fs": GROUND + ["trace", "record"],
    "replay": GROUND + ["trace", "filter", "stats", "replay", "backend", "report", "compare",
                        "record"],
    "cli": list(LAYERS),
}
OWNED = [(r"msgpack|zstd|xxh", "trace"), (r"fuse", "fs")]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def below(name):
    seen = set()
    todo = list(LAYERS[name])
    while todo:
        n = todo.pop()
        if n not in seen:
            seen.add(n)
            todo += LAYERS[n]
    return seen


def check_contract(path, name, kind, target):
    m = re.fullmatch(r"iotape/(\w+)\.h", target)
    if kind == "<":
        return None
    if not m:
        return "%s: includes \"%s\"; a contract includes only iotape/*.h" % (path, target)
    if m.group(1) not in below(name):
        return "%s: includes %s, which is not below it (LAYERS)" % (path, target)
    return None


def check_folder(root, path, folder, kind, target):
    for pattern, owner in OWNED:
        if re.match(pattern, target) and folder != owner:
            return "%s: includes %s; only %s/ may" % (path, target, owner)
    if kind == "<":
        return None
    m = re.fullmatch(r"iotape/(\w+)\.h", target)
    if m:
        if m.group(1) not in MAY_SEE[folder]:
            return "%s: includes %s, which %s/ may not see" % (path, target, folder)
        return None
    if "/" in target or not os.path.exists(os.path.join(root, folder, target)):
        return "%s: includes \"%s\", which is neither a contract nor %s/'s own" % (
            path, target, folder)
    return None


def check(root):
    out = []
    for path in lint.sources(root, ["include"] + lint.FOLDERS):
        folder = path.split(os.sep)[0]
        name = os.path.basename(path)[:-2]
        if folder == "include" and name not in LAYERS:
            out.append("%s: a new contract; say in LAYERS what is below it" % path)
            continue
        for m in INCLUDE.finditer(lint.read(root, path)):
            if folder == "include":
                out.append(check_contract(path, name, *m.groups()))
            else:
                out.append(check_folder(root, path, folder, *m.groups()))
    return [c for c in out if c]


lint.main(check, [
    ("another folder's private header", {"fs/a.c": '#include "trace_priv.h"\n',
                                         "trace/trace_priv.h": ""}, "neither a contract"),
    ("a path to it", {"fs/a.c": '#include "../trace/trace_priv.h"\n',
                      "trace/trace_priv.h": ""}, "neither a contract"),
    ("zstd outside trace/", {"replay/a.c": "#include <zstd.h>\n"}, "only trace/"),
    ("msgpack outside trace/", {"cli/a.c": "# include <msgpack.h>\n"}, "only trace/"),
    ("xxhash outside trace/", {"fs/a.h": "#include <xxhash.h>\n"}, "only trace/"),
    ("fuse outside fs/", {"cli/a.c": "#include <fuse_lowlevel.h>\n"}, "only fs/"),
    ("fuse in trace/", {"trace/a.c": "#include <fuse3/fuse.h>\n"}, "only fs/"),
    ("replay seen by trace/", {"trace/a.c": '#include "iotape/replay.h"\n'}, "may not see"),
    ("replay seen by fs/", {"fs/a.c": '#include "iotape/stats.h"\n'}, "may not see"),
    ("a contract upside down", {"include/iotape/util.h": '#include "iotape/event.h"\n'},
     "not below it"),
    ("a contract that includes a private header",
     {"include/iotape/trace.h": '#include "trace_priv.h"\n'}, "only iotape"),
    ("a contract without a place", {"include/iotape/new.h": ""}, "LAYERS"),
])
