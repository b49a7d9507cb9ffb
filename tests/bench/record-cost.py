#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What recording costs: a tree of small files and one large file are copied into the mount, with recording on, with
recording off (--no-record), without any mount, and, with --passthrough=PROGRAM, into libfuse's passthrough_ll.
All of them are run once a round in fresh random order; medians and paired ratios are printed.

The source lies in a tmpfs (root; else in --dir), so storage hides nothing: this is the worst case. README says how to
get passthrough_ll from Debian's source package.
"""
import argparse, os, random, resource, shutil, statistics, subprocess, tempfile, time
import mirrors

def trees(base, files, large):
    """The inputs: sizes of the small tree as in the sample (most under 200 KB), the large one in one piece."""
    rng = random.Random(1)
    os.mkdir(base + "/small")
    for i in range(files):
        d = "%s/small/d%d" % (base, i % 40)
        os.makedirs(d, exist_ok=True)
        with open("%s/f%d" % (d, i), "wb") as f:
            f.write(os.urandom(int(rng.paretovariate(0.9) * 4000) % 1000000))
    os.mkdir(base + "/large")
    with open(base + "/large/big", "wb") as f:
        for _ in range(large >> 20):
            f.write(os.urandom(1 << 20))

def one(mirror, src):
    """(seconds, CPU seconds of cp and server)"""
    with mirror as to:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_before = mirror.cpu()
        t = time.monotonic()
        subprocess.run(mirror.prefix + ["cp", "-r", src, to + "/copy"], check=True)
        t = time.monotonic() - t
        time.sleep(0.15)  # the writer's last flush is part of the cost
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = sum(c - cpu_before.get(pid, 0) for pid, c in mirror.cpu().items())
        cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shutil.rmtree(mirror.below + "/copy")
    return t, cpu

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mirrors.add_options(p)
    p.add_argument("--files", type=int, default=1500)
    p.add_argument("--large", type=int, default=297, help="MiB")
    p.add_argument("--dir", default=os.environ.get("TMPDIR", "/var/tmp"))
    a = p.parse_args()
    w = tempfile.mkdtemp(prefix="iotape-bench-", dir=a.dir)
    below, mnt, inp = w + "/below", w + "/mnt", w + "/in"
    for d in (below, mnt, inp):
        os.mkdir(d)
    tmpfs = os.geteuid() == 0
    try:
        if tmpfs:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "bench", below], check=True)
        trees(inp, a.files, a.large << 20)
        ways = mirrors.ways(a, w)
        for load in ("small", "large"):
            src = "%s/%s" % (inp, load)
            subprocess.run(["sh", "-c", 'find "$0" -type f -exec cat {} + >/dev/null', src], check=True)
            got = {m.name: [] for m in ways}
            for _ in range(a.rounds):
                for m in random.sample(ways, len(ways)):
                    got[m.name].append(one(m, src))
            print("%s: %d rounds" % (load, a.rounds))
            for name, runs in got.items():
                line = "  %-15s" % name
                for k, what in enumerate(("seconds", "CPU s")):
                    vals = [r[k] for r in runs]
                    line += "  %s: median %6.3f (%6.3f-%6.3f)" % (what, statistics.median(vals), min(vals), max(vals))
                    if name != "recording":
                        rs = [x[k] / max(y, 0.005) for x, y in zip(got["recording"], vals)]
                        line += " recording/this %.2f" % statistics.median(rs)
                print(line, flush=True)
    finally:
        if os.path.ismount(mnt):
            subprocess.run(["umount", "-l", mnt])
        if tmpfs:
            subprocess.run(["umount", below])
        shutil.rmtree(w)

main()
