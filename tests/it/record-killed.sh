#!/usr/bin/env bash
# kill -9 of the recorder in mid-copy: the trace reads up to the cut, the mount point can be cleared and used again.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root

mkdir "$T/d" "$T/m" "$T/in"
for i in $(seq 400); do head -c $((i * 97 % 30000 + 1)) /dev/urandom >"$T/in/f$i"; done
pid=$("$IOTAPE" record -o "$T/a.tape" "$T/d" "$T/m" | tail -1)
( while :; do cp -r "$T/in" "$T/m/copy" && rm -rf "$T/m/copy" || exit; done ) >/dev/null 2>&1 & copier=$!
IT_PIDS+=($copier)
sleep 1.5
kill -9 "$pid"
for i in $(seq 100); do kill -0 $copier 2>/dev/null || break; sleep 0.05; done
kill -0 $copier 2>/dev/null && die "the copy hangs"
"$IOTAPE" dump "$T/a.tape" >"$T/text" 2>"$T/err"
n=$(grep -c '^[0-9]' "$T/text")
[ "$n" -gt 1000 ] || die "only $n events before the cut: $(cat "$T/err")"
grep -q '^#trailer' "$T/text" && die "a killed recording has a trailer"
# every number from 1 on is there, in order
awk '/^[0-9]/ && $1 != ++n {print "event " $1 " where " n " should be"; exit 1}' "$T/text" || die "order"
# the last flush is at most some 100 ms before the kill
last=$(awk '/^[0-9]/ {t = $2} END {sub(/^\+/, "", t); sub(/s$/, "", t); print t}' "$T/text")
awk -v t="$last" 'BEGIN {exit !(t > 1.0)}' || die "the last event is at $last s of 1.5"
ok "$n events, the last at $last s"

says=$(LC_ALL=C ls "$T/m" 2>&1)
case "$says" in *"not connected"*) ;; *) die "the dead mount says: $says" ;; esac
umount "$T/m" || die "umount does not clear the mount point"
rm -rf "$T/d/copy"
expect 0 "$IOTAPE" record -o "$T/b.tape" "$T/d" "$T/m" -- sh -c "echo again >$T/m/f" 2>/dev/null
[ "$(cat "$T/d/f")" = again ] || die "second recording"
ok "cleared, recorded again"

# a dead mount of ours in the way is cleared
pid=$("$IOTAPE" record -o "$T/c.tape" "$T/d" | tail -1)
kill -9 "$pid"
for i in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
expect 0 "$IOTAPE" record --force -o "$T/c.tape" "$T/d" -- cat "$T/d/f" >/dev/null 2>"$T/err"
grep -q " $T/" /proc/self/mounts && die "a mount stays"
ok "recorded over a dead mount"
