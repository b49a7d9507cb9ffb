#!/bin/bash
# Many threads make, remove, rename, link and look up the same names, each name for a moment and again when
# the kernel has forgotten what it was told: whatever is told of the state before is what was there before
# the recording changed it, and a replay finds it so.
. "$(dirname "$0")/lib.sh"
need_fuse; need python3
mkdir "$T/s" "$T/s/x" "$T/s/y" "$T/m" "$T/to"
cat >"$T/load.py" <<'P'
import os, random, sys, time
top, names, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
begin = time.monotonic()
def at(i, r): return "%s/%s/n%04d" % (top, r.choice("xy"), i)
def load(seed):
    r = random.Random(seed)
    while (now := time.monotonic()) < begin + seconds:
        i = int((now - begin) * names / 1.3) % names
        a, b = at(i, r), at(i, r)
        try:
            match r.randrange(10):
                case 0 | 1: os.close(os.open(a, os.O_CREAT | os.O_EXCL | os.O_RDWR))
                case 2: os.unlink(a)
                case 3: os.rename(a, b)
                case 4: os.link(a, b)
                case 5: os.close(os.open(a, os.O_CREAT | os.O_RDWR))
                case 6:
                    f = os.open(a, os.O_WRONLY); os.write(f, b"w" * 9); os.close(f)
                case _: os.stat(a)
        except OSError: pass
pids = []
for seed in range(8):
    pid = os.fork()
    if not pid:
        load(seed)
        os._exit(0)
    pids.append(pid)
bad = [p for p in pids if os.waitpid(p, 0)[1]]
sys.exit(bool(bad))
P
N=600
# of every third name there is a file, of every fifth another in y; each of a size that no other has
for i in $(seq 0 3 $((N - 1))); do printf -v n 'n%04d' "$i"; truncate -s $((1000 + i)) "$T/s/x/$n"; done
for i in $(seq 0 5 $((N - 1))); do printf -v n 'n%04d' "$i"; truncate -s $((5000 + i)) "$T/s/y/$n"; done
"$IOTAPE" record -o "$T/t.tape" "$T/s" "$T/m" -- /usr/bin/python3 "$T/load.py" "$T/m" $N "${SNAP_RACE_SECONDS:-10}" 2>"$T/err" || die "the load: $(cat "$T/err")"
"$IOTAPE" dump --format=json "$T/t.tape" >"$T/events" || die dump
/usr/bin/python3 - "$T/events" <<'P' || die "the initial state is not what was there"
import json, sys
dirs, made, seen, changes, false = {}, {}, set(), 0, []
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e.get("op") in ("create", "link", "rename", "unlink") and e.get("errno", 0) == 0 and e.get("result", 0) >= 0: changes += 1
    if e.get("op") == "create" and e.get("result", 0) >= 0: made.setdefault(e.get("iid"), e["seq"])
    if e.get("op") != "snap": continue
    if e["name"] in ("x", "y"): dirs[e["iid"]] = e["name"]
    if e.get("parent") not in dirs: continue
    d, n = dirs[e["parent"]], e["name"]
    i = int(n[1:])
    want = {"x": 1000 + i if i % 3 == 0 else None, "y": 5000 + i if i % 5 == 0 else None}[d]
    if (d, n) in seen: false.append(("twice", e))
    seen.add((d, n))
    if want != e.get("size"): false.append(("was not there", e))
    if e["iid"] in made: false.append(("made", e))
for why, e in false[:5]: print("FAIL: %s: %s" % (why, e))
print(len(seen), "entries were there,", changes, "changes,", len(false), "wrong")
sys.exit(len(false) > 0 or len(seen) < 50 or changes < 1000)
P
n=$("$IOTAPE" dump "$T/t.tape" | grep ' snap .* name="n' | grep -o 'parent=[0-9]* name="[^"]*"' | sort -u | wc -l)
"$IOTAPE" replay "$T/t.tape" "dir:$T/to" >"$T/out" 2>&1
grep -q "^prepared  *2 directories, $n files," "$T/out" || die "a replay prepares otherwise: $(head -5 "$T/out")"
ok "a replay begins with the same $n"
