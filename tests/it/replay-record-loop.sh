#!/bin/bash
# The closed loop: a replay onto a recorded mount, recorded, is the trace that it came from.
. "$(dirname "$0")/lib.sh"
need_fuse
src=$T/src mnt=$T/mnt again=$T/again
mkdir "$src" "$mnt" "$again" "$src/pre"
head -c 100000 /dev/urandom >"$src/pre/a"
"$IOTAPE" record -o "$T/w.tape" "$src" "$mnt" -- bash -c "
	set -e; cd '$mnt'
	mkdir d; for i in 1 2 3; do head -c \$((i * 7000)) /dev/urandom >d/f\$i; done
	cat pre/a >d/copy; mv d/f1 d/moved; rm d/f2; ln d/f3 d/hard; chmod 640 d/f3" 2>/dev/null || die "the workload failed"
"$IOTAPE" record -o "$T/loop.tape" "$again" "$mnt" -- "$IOTAPE" replay "$T/w.tape" "$mnt" >"$T/out" 2>"$T/err" ||
	die "replay on a recorded mount: $(cat "$T/out" "$T/err")"
"$IOTAPE" dump "$T/loop.tape" >"$T/loop.txt" || die "dump"
for m in prepare replay done cleanup; do
	grep -q " mark name=\"$m\"" "$T/loop.txt" || die "no mark \"$m\" in the recorded replay"
done
ok "the phases are marked"
"$IOTAPE" diff "$T/w.tape" "$T/loop.tape" >"$T/out" || die "they differ: $(cat "$T/out")"
ok "diff: the same, lane by lane"
