# SPDX-License-Identifier: MIT
"""The ways from a program to a directory that the benches compare: none, iotape, and other people's mirrors."""
import os, subprocess, time

class Mirror:
    """A way from the program to the directory `below`. prefix: what the program is run under."""
    def __init__(self, name, start, mnt, below, prefix=()):
        self.name, self.start, self.mnt, self.below, self.prefix = name, start, mnt, below, list(prefix)
    def __enter__(self):
        if self.start:
            subprocess.run(self.start, check=True, stdout=subprocess.DEVNULL)
            for _ in range(100):
                if os.path.ismount(self.mnt):
                    break
                time.sleep(0.05)
            else:
                raise SystemExit("%s: no mount on %s" % (self.name, self.mnt))
        return self.mnt if self.start else self.below
    def __exit__(self, *_):
        if self.start:
            for _ in range(50):
                if subprocess.run(["umount", self.mnt], stderr=subprocess.DEVNULL).returncode == 0:
                    break
                time.sleep(0.1)
            while self.cpu():  # it holds `below` until it has written its trailer
                time.sleep(0.02)
    def cpu(self):
        """CPU seconds so far of the processes that serve the mount: those that were given its path; by pid."""
        cpu = {}
        for pid in filter(str.isdigit, os.listdir("/proc")) if self.start else ():
            try:
                if self.mnt.encode() in open("/proc/%s/cmdline" % pid, "rb").read().split(b"\0"):
                    f = open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()
                    cpu[pid] = (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                pass
        return cpu

def add_options(p):
    p.add_argument("--iotape", default=os.environ.get("IOTAPE", "build/cli/iotape"))
    p.add_argument("--passthrough", help="libfuse's passthrough_ll")
    p.add_argument("--passthrough-hp", help="libfuse's passthrough_hp")
    p.add_argument("--loggedfs", action="store_true", help="LoggedFS, Debian's package")
    p.add_argument("--strace", action="store_true", help="no mount; the program under strace -f -o")
    p.add_argument("--rounds", type=int, default=11)

def ways(a, w):
    """Those that the options ask for, with everything below the directory w. The first is iotape, recording."""
    below, mnt = w + "/below", w + "/mnt"
    def iotape(*opts):
        return [a.iotape, "record", *opts, below, mnt]
    all_ways = [Mirror("recording", iotape("--force", "-o", w + "/t.tape"), mnt, below),
                Mirror("no-content", iotape("--force", "--content=none", "-o", w + "/t.tape"), mnt, below),
                Mirror("no-record", iotape("--no-record"), mnt, below),
                Mirror("no mount", None, mnt, below)]
    if a.passthrough:
        all_ways.append(Mirror("passthrough_ll", [a.passthrough, "-o", "source=%s,cache=never,clone_fd" % below, mnt], mnt, below))
    if a.passthrough_hp:
        all_ways.append(Mirror("passthrough_hp", ["sh", "-c", '"$0" --nocache "$1" "$2" &', a.passthrough_hp, below, mnt], mnt, below))
    if a.loggedfs:  # mounts over the directory itself
        all_ways.append(Mirror("LoggedFS", ["loggedfs", "-p", "-l", w + "/logged", below], below, below))
    if a.strace:
        all_ways.append(Mirror("strace -f", None, mnt, below, ["strace", "-f", "-ttt", "-T", "-o", w + "/strace"]))
    return all_ways
