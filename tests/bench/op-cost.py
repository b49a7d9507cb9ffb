#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What single operations cost through the mount: op_cost.c runs on iotape recording, on iotape without recording, on the
directory itself and on other people's mirrors, all once a round in fresh random order. Printed are, for each operation,
the median time on the directory itself and the medians of the ratios to it, paired by round; then the geometric mean of
our ratios to each of the others. README says how to get the others.
"""
import argparse, math, os, random, shutil, statistics, subprocess, tempfile
import mirrors

def run(mirror, prog, count):
    with mirror as to:
        r = subprocess.run(mirror.prefix + [prog, to, str(count)], stdout=subprocess.PIPE, text=True)
    if r.returncode:
        raise SystemExit("%s: op_cost failed" % mirror.name)
    return {k: float(v) for k, v in map(str.split, r.stdout.splitlines())}

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mirrors.add_options(p)
    p.add_argument("--count", type=int, default=4000)
    p.add_argument("--dir", default=os.environ.get("TMPDIR", "/var/tmp"), help="its file system is the one below")
    a = p.parse_args()
    w = tempfile.mkdtemp(prefix="iotape-bench-", dir=a.dir)
    try:
        for d in ("/below", "/mnt"):
            os.mkdir(w + d)
        prog = w + "/op_cost"
        src = os.path.join(os.path.dirname(os.path.abspath(__file__)), "op_cost.c")
        subprocess.run(["cc", "-O2", "-o", prog, src], check=True)
        ways = mirrors.ways(a, w)
        got = {m.name: [] for m in ways}
        for _ in range(a.rounds):
            for m in random.sample(ways, len(ways)):
                got[m.name].append(run(m, prog, a.count))
        native = got["no mount"]
        def ratio(name, to, op):  # nan where one of them cannot do it
            return statistics.median(x[op] / y[op] for x, y in zip(got[name], got[to]))
        others = [k for k in got if k != "no mount"]
        print("%-16s %10s" % ("", "native us") + "".join(" %14s" % k for k in others))
        for op in native[0]:
            line = "%-16s %10.2f" % (op, statistics.median(r[op] for r in native) / 1000)
            print(line + "".join(" %14.2f" % ratio(k, "no mount", op) for k in others))
        for name in others[1:]:
            rs = {op: ratio("recording", name, op) for op in native[0]}
            rs = {op: r for op, r in rs.items() if r == r}
            worst = max(rs, key=rs.get)
            mean = math.exp(statistics.mean(map(math.log, rs.values())))
            print("recording / %-15s geometric mean %.2f, most %.2f (%s)" % (name, mean, rs[worst], worst))
    finally:
        shutil.rmtree(w)

main()
