#!/bin/bash
# Locks that several processes fight for: the trace tells who was refused and why, so a replay refuses
# and grants the same ones, every time.
. "$(dirname "$0")/lib.sh"
need_fuse
mkdir "$T/src" "$T/to"
: >"$T/src/f"
cat >"$T/fight.py" <<'P'
import fcntl, os, sys, time
f = open("f", "r+b", 0)
got = no = 0
end = time.monotonic() + 20
while (got < 40 or no < 5) and time.monotonic() < end:
    try:
        fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 7)
    except OSError:
        no += 1
        continue
    got += 1
    time.sleep(0.0005)
    fcntl.lockf(f, fcntl.LOCK_UN, 1, 7)
sys.exit(got < 40)
P
"$IOTAPE" record -o "$T/t.tape" "$T/src" -- sh -c "
	cd '$T/src'; for i in 1 2 3; do /usr/bin/python3 '$T/fight.py' & p=\"\$p \$!\"; done
	for i in \$p; do wait \$i || exit 1; done" 2>"$T/err" || die "the workload failed: $(cat "$T/err")"
"$IOTAPE" dump "$T/t.tape" >"$T/t.txt" || die "dump"
n=$(grep -c ' setlk .*EAGAIN' "$T/t.txt")
[ "$n" -ge 5 ] || die "only $n locks were refused: no fight"
for i in 1 2 3; do
	"$IOTAPE" replay "$T/t.tape" "dir:$T/to" >"$T/out" 2>&1 || die "replay $i: $(grep -A8 fidelity "$T/out")"
done
ok "$n refused locks of $(grep -c ' setlk ' "$T/t.txt") calls are refused again, three times"
