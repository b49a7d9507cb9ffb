#!/usr/bin/env bash
# The device of the trace is full: the application's I/O goes on and is right, exit status and message tell, the trace is whole up to there.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root

mkdir "$T/d" "$T/m" "$T/log" "$T/in"
mount -t tmpfs -o size=1m iotape-log "$T/log" || die "tmpfs"
head -c 50000000 /dev/urandom >"$T/in/big"
# many small calls, so that 1 MiB of trace does not do
cat >"$T/job" <<'PY'
import os, sys
src, dst = sys.argv[1:]
i, o = os.open(src, os.O_RDONLY), os.open(dst, os.O_RDWR | os.O_CREAT, 0o644)
while True:
    b = os.read(i, 200)
    if not b: break
    os.write(o, b)
os.close(o)
PY
timeout 300 "$IOTAPE" record -o "$T/log/a.tape" "$T/d" "$T/m" -- /usr/bin/python3 "$T/job" "$T/in/big" "$T/m/big" 2>"$T/err"
r=$?
cmp "$T/in/big" "$T/d/big" || die "the application's data is wrong"
[ $r = 2 ] || die "exit $r: $(cat "$T/err")"
grep -q "not whole: no room for the trace.*operations are missing" "$T/err" || die "message: $(cat "$T/err")"
"$IOTAPE" dump "$T/log/a.tape" >"$T/text" || die "the trace cannot be read"
grep -q '^#trailer .*reason="log device full"' "$T/text" || die "no trailer: $(tail -1 "$T/text")"
n=$(grep -c '^[0-9]' "$T/text")
[ "$n" -gt 20000 ] || die "only $n events in 1 MiB"
lost=$(sed -n 's/.*; \([0-9]*\) operations are missing.*/\1/p' "$T/err")
[ $((n + lost)) -gt 250000 ] || die "$n recorded and $lost missing do not make 250,000 writes"
grep -q "^#trailer .*drops=$lost" "$T/text" || die "the trailer counts otherwise: $(tail -1 "$T/text")"
grep -q " $T/m" /proc/self/mounts && die "a mount stays"
ok "$n events, then $lost missing: $(grep whole "$T/err")"

# no room at all: refused, or said
head -c 2M /dev/zero >"$T/log/fill" 2>/dev/null
"$IOTAPE" record -o "$T/log/b.tape" "$T/d" "$T/m" -- cp "$T/in/big" "$T/m/big2" 2>"$T/err"
[ $? = 2 ] || die "a full log device: $(cat "$T/err")"
grep -q " $T/m" /proc/self/mounts && die "a mount stays"
ok "no room at all: $(tail -1 "$T/err")"
