#!/usr/bin/env bash
# Both forms of record: around a COMMAND, and in the background until unmounted; what they print, return and leave.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need python3

mounted() { grep -q " $T/$1 fuse" /proc/self/mounts; }
gone() { # gone PID: the process has ended, soon
	local i
	for i in $(seq 100); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.05; done
	die "process $1 goes on"
}
reason() { "$IOTAPE" dump "$1" | grep -q "^#trailer .*reason=\"$2\"" || die "$1 does not end with reason '$2': $("$IOTAPE" dump "$1" | tail -1)"; }
mkdir "$T/d" "$T/m" "$T/sub dir"
echo one >"$T/d/f"

# around a command, over the directory itself
expect 0 "$IOTAPE" record -o "$T/a.tape" "$T/d" -- cp "$T/d/f" "$T/d/g" 2>"$T/err"
[ "$(cat "$T/d/g")" = one ] || die "the copy is not in the source"
mounted d && die "still mounted"
grep -q "operations in" "$T/err" || die "no summary: $(cat "$T/err")"
[ "$(stat -c %a "$T/a.tape")" = 600 ] || die "the trace has mode $(stat -c %a "$T/a.tape")"
reason "$T/a.tape" "command ended"
"$IOTAPE" dump "$T/a.tape" | grep -q ' create .*name="g" = 0' || die "the create is not in the trace"
"$IOTAPE" dump "$T/a.tape" | grep -q "^#command \"cp $T/d/f $T/d/g\"" || die "the command is not in the header"
ok "command over the directory itself"

# the current directory is seen through the mount
(cd "$T/d" && expect 0 "$IOTAPE" record -o "$T/b.tape" . -- sh -c 'echo two >here; stat -f -c %T . >../fs') 2>/dev/null || exit 1
[ "$(cat "$T/fs")" = fuseblk ] || [ "$(cat "$T/fs")" = fuse ] || die "COMMAND ran below the mount ($(cat "$T/fs"))"
"$IOTAPE" dump "$T/b.tape" | grep -q ' create .*name="here" = 0' || die "a relative path went round the mount"
ok "current directory"

# exit status passed on, also of a signal; a mount point elsewhere
expect 7 "$IOTAPE" record -o "$T/c.tape" "$T/d" "$T/m" -- sh -c 'exit 7' 2>/dev/null
expect 143 "$IOTAPE" record --force -o "$T/c.tape" "$T/d" "$T/m" -- sh -c 'kill -TERM $$' 2>/dev/null
expect 127 "$IOTAPE" record --force -o "$T/c.tape" "$T/d" "$T/m" -- "$T/no-such-program" 2>/dev/null
expect 0 "$IOTAPE" record --force -o "$T/c.tape" "$T/d" "$T/m" -- cmp "$T/d/f" "$T/m/f" 2>/dev/null
mounted m && die "still mounted"
ok "exit status of the command"

# JSON summary; nothing of ours on stdout
out=$("$IOTAPE" record --format=json -o "$T/j.tape" "$T/d" "$T/m" -- dd if=/dev/zero of="$T/m/z" bs=64K count=3 status=none 2>"$T/err")
[ -z "$out" ] || die "printed on stdout: $out"
/usr/bin/python3 - "$T/err" <<'PY' || die "summary: $(cat "$T/err")"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["write_bytes"] == 3 * 65536 and s["drops"] == 0 and s["events"] > 5 and s["reason"] == "command ended", s
PY
ok "JSON summary"

# background: returns when usable, last line is the pid; umount ends it
pid=$("$IOTAPE" record -o "$T/e.tape" --pid-file="$T/pid" "$T/d" "$T/m" </dev/null | tail -1) || die "background form"
mounted m || die "not mounted"
[ "$(cat "$T/m/f")" = one ] || die "not usable"
[ "$(cat "$T/pid")" = "$pid" ] && kill -0 "$pid" || die "pid '$pid' is not the daemon's"
umount "$T/m" || die "umount"
gone "$pid"
[ -e "$T/pid" ] && die "the pid file stays"
reason "$T/e.tape" unmounted
pid=$("$IOTAPE" record --force -o "$T/e.tape" "$T/d" | tail -1)
echo three >"$T/d/three"
fusermount3 -u "$T/d" || die "fusermount3 -u"
gone "$pid"
"$IOTAPE" dump "$T/e.tape" | grep -q ' create .*name="three" = 0' || die "an operation before the unmount is missing"
reason "$T/e.tape" unmounted
ok "background until unmounted"

# one recording after the other at the same place: the end of one does not touch the next
for i in $(seq 30); do
	"$IOTAPE" record --force -o "$T/e$((i % 2)).tape" "$T/d" "$T/m" >/dev/null || die "recording $i"
	for j in 1 2 3 4 5; do [ "$(cat "$T/m/f" 2>&1)" = one ] || die "recording $i is gone"; done
	umount "$T/m" || die "umount $i"
done
ok "thirty in a row"

# the mount point lies inside its own source: no recursion, no deadlock
mkdir "$T/d/inner"
timeout 60 "$IOTAPE" record -o "$T/i.tape" "$T/d" "$T/d/inner" -- timeout 30 find "$T/d/inner" >"$T/list" 2>/dev/null || die "mount point inside the source"
[ "$(grep -c inner/inner "$T/list")" = 1 ] || die "the mount shows itself: $(grep -c inner "$T/list") times"
ok "mount point inside the source"

# --no-record, --snapshot=full, --max-size
expect 0 "$IOTAPE" record --no-record "$T/d" "$T/m" -- cat "$T/m/f" >/dev/null 2>&1
expect 0 "$IOTAPE" record --snapshot=full -o "$T/s.tape" "$T/d" "$T/m" -- true 2>/dev/null
for n in f g z three inner; do "$IOTAPE" dump "$T/s.tape" | grep -q " snap .*name=\"$n\"" || die "--snapshot=full leaves $n out"; done
expect 0 "$IOTAPE" record --max-size=300K -o "$T/x.tape" "$T/d" "$T/m" -- \
	/usr/bin/python3 -c 'import os,sys
f = os.open(sys.argv[1], os.O_RDWR)
for i in range(150000): os.pread(f, 1, i % 4)
os.write(f, b"end")' "$T/m/f" 2>"$T/err"
[ "$(stat -c %s "$T/x.tape")" -le 307200 ] || die "the trace is larger than --max-size"
[ "$(stat -c %s "$T/x.tape")" -ge 150000 ] || die "the trace ended long before --max-size"
reason "$T/x.tape" max-size
grep -q 'max-size' "$T/err" || die "nothing said of --max-size"
[ "$(cat "$T/d/f")" = end ] || die "the mount did not go on"
ok "no-record, full snapshot, max-size"

# -o -: the trace is all of standard output, what COMMAND prints goes to standard error
mkdir -p "$T/pipe"
echo said >"$T/pipe/x"
(cd "$T" && "$IOTAPE" record -o - pipe -- cat pipe/x 2>"$T/pipe.err" | cat >"$T/pipe.tape") || die "record -o -"
[ ! -e "$T/-" ] || die "-o - made a file called -"
grep -qx said "$T/pipe.err" || die "COMMAND's output is lost: $(cat "$T/pipe.err")"
expect 0 "$IOTAPE" check "$T/pipe.tape" >/dev/null
"$IOTAPE" dump - <"$T/pipe.tape" | grep -q " read iid=" || die "the read is not in the piped trace"
ok "record -o - is a pipe"
n=$("$IOTAPE" record --format=json -o "$T/json.tape" "$T/pipe" -- true 2>&1 | wc -l)
[ "$n" = 1 ] || die "the JSON summary is $n lines"
ok "the JSON summary is one line"
