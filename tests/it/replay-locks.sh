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

# Locks belong to a process, not to a descriptor: a child is refused through the descriptor that it
# inherited; a second descriptor of the same process is not; closing that one drops them all.
: >"$T/src/g"
cat >"$T/fork.py" <<'P'
import fcntl, os, sys
def tell(fd): os.write(fd, b"x")
def await_(fd): os.read(fd, 1)
def lock(fd, kind, *range):
    try:
        fcntl.lockf(fd, kind | fcntl.LOCK_NB, *range)
        return True
    except OSError:
        return False
a = os.open("g", os.O_RDWR)
to_child, to_parent = os.pipe(), os.pipe()
seen = []
for turn in range(5):
    assert lock(a, fcntl.LOCK_EX, 10, 0)
    pid = os.fork()
    if not pid:
        bad = lock(a, fcntl.LOCK_EX, 1, 5)
        good = lock(a, fcntl.LOCK_EX, 1, 20)
        tell(to_parent[1]); await_(to_child[0])
        good = good and lock(a, fcntl.LOCK_EX, 1, 5)
        os._exit(0 if good and not bad else 1)
    await_(to_parent[0])
    b = os.open("g", os.O_RDWR)
    assert lock(b, fcntl.LOCK_EX, 4, 8)     # its own lock is in nobody's way
    assert not lock(b, fcntl.LOCK_SH, 1, 20)
    os.close(b)                             # and all of them are gone
    tell(to_child[1])
    if os.waitpid(pid, 0)[1]:
        sys.exit(1)
P
"$IOTAPE" record -o "$T/u.tape" "$T/src" -- sh -c "cd '$T/src' && /usr/bin/python3 '$T/fork.py'" 2>"$T/err" ||
	die "the workload failed: $(cat "$T/err")"
[ "$("$IOTAPE" dump "$T/u.tape" | grep -c ' setlk .*EAGAIN')" = 10 ] || die "not 10 refused locks"
for i in 1 2 3; do
	"$IOTAPE" replay "$T/u.tape" "dir:$T/to" >"$T/out" 2>&1 || die "replay $i: $(grep -A8 fidelity "$T/out")"
done
mkdir "$T/mnt"
"$IOTAPE" record -o "$T/again.tape" "$T/to" "$T/mnt" -- "$IOTAPE" replay "$T/u.tape" "$T/mnt" >"$T/out" 2>&1 ||
	die "replay on a recorded mount: $(cat "$T/out")"
"$IOTAPE" diff "$T/u.tape" "$T/again.tape" >"$T/out" || die "they differ: $(cat "$T/out")"
ok "locks of a process and its child, dropped by another descriptor's close: $(head -1 "$T/out")"
