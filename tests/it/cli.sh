#!/bin/bash
# SPDX-License-Identifier: MIT
# The program's manners: help, version, exit status, one line on stderr, output that cannot be
# written, readers that go away, a trace that is none.
. "$(dirname "$0")/lib.sh"

# status CMD...: exit status, stdout in $T/out, stderr in $T/err
status() { "$@" > "$T/out" 2> "$T/err"; }
lines() { wc -l < "$1"; }

for how in "" --help help -h; do
	status "$IOTAPE" $how || die "iotape $how: $?"
	grep -q '^usage: iotape COMMAND' "$T/out" && [ ! -s "$T/err" ] || die "iotape $how"
done
commands=$(sed -n '/^commands:/,/^$/s/^    \([a-z]*\) .*/\1/p' "$T/out")
[ "$(echo "$commands" | wc -w)" -ge 10 ] || die "commands: $commands"
status "$IOTAPE" --version; grep -qx 'iotape [0-9.]*' "$T/out" || die "version: $(cat "$T/out")"
for c in $commands; do
	status "$IOTAPE" "$c" --help || die "$c --help: $? $(cat "$T/err")"
	grep -q "^usage: iotape $c" "$T/out" || die "$c --help: no usage line"
	"$IOTAPE" help "$c" | cmp - "$T/out" || die "help $c is not $c --help"
	grep -q 'built without FUSE' "$T/out" && continue
	status "$IOTAPE" "$c" --hlep; [ $? = 2 ] || die "$c --hlep"
	grep -q -- '--help' "$T/err" && [ "$(lines "$T/err")" = 1 ] || die "$c --hlep: $(cat "$T/err")"
done
ok "help of all commands, and the nearest right option for a wrong one"

status "$IOTAPE" dmup x; [ $? = 2 ] && grep -q "did you mean dump?" "$T/err" || die "$(cat "$T/err")"
status "$IOTAPE" xyzzy; [ $? = 2 ] && grep -q 'iotape help' "$T/err" || die "$(cat "$T/err")"
status "$IOTAPE" help dmup; [ $? = 2 ] || die "help of nothing"
status "$IOTAPE" help dump stat; [ $? = 2 ] && [ "$(lines "$T/err")" = 1 ] || die "help of two"
status "$IOTAPE" --versoin; [ $? = 2 ] && grep -q -- 'did you mean --version?' "$T/err" || die "$(cat "$T/err")"
ok "unknown commands"

# words that options and operands take: all of them and the nearest one are told
wrong() { # WORDS ARG...: exit 2 and one line that has WORDS
	local words=$1
	shift
	status "$IOTAPE" "$@"
	[ $? = 2 ] && [ "$(lines "$T/err")" = 1 ] && grep -qF -e "$words" "$T/err" || die "$*: $(cat "$T/err")"
}
wrong "--by: 'paht' is none of op, path, size, thread, phase; did you mean path?" stat --by=paht x
wrong "--format: 'jsn' is none of text, json; did you mean json?" stat --format=jsn x
wrong "--format: 'csw' is none of text, json, csv; did you mean csv?" dump --format=csw x
wrong "--from: 'txet' is none of text; did you mean text?" import --from=txet x -o y
wrong "backend: 'lst' is none of list, check, up, down; did you mean list?" backend lst
wrong "did you mean raid1?" backend check raid:a,b
wrong "did you mean provision?" replay x "vmdk:x.vmdk,provison=thin"
wrong "did you mean thin?" replay x "vmdk:x.vmdk,provision=tihn"
wrong "--order: 'resuorce' is none of trace, resource, thread; did you mean resource?" replay --order=resuorce x y
wrong "--cache: 'hot' is none of cold, warm" replay --cache=hot x y
wrong "did you mean write?" dump --filter=op=wirte x
if "$IOTAPE" record --help | grep -q -e --view; then
	wrong "--view: 'ap' is none of app, storage; did you mean app?" record --view=ap x
	wrong "did you mean summary?" record --content=sumary x
	wrong "did you mean touched?" record --snapshot=toched x
fi
ok "words that are none of those allowed"

# a trace that is none, for each command that reads one
printf 'this is no trace\n' > "$T/text"
head -c 100000 /dev/urandom > "$T/noise"
: > "$T/empty"
for c in dump info stat; do
	for f in text noise empty; do
		status "$IOTAPE" "$c" "$T/$f"
		r=$?
		[ $r = 2 ] && [ "$(lines "$T/err")" = 1 ] && grep -q "$T/$f" "$T/err" || die "$c $f: $r $(cat "$T/err")"
	done
	status "$IOTAPE" "$c" "$T/missing"; [ $? = 2 ] && grep -q 'No such file' "$T/err" || die "$c missing: $(cat "$T/err")"
	status "$IOTAPE" "$c" "$T"; [ $? = 2 ] && [ "$(lines "$T/err")" = 1 ] || die "$c on a directory: $(cat "$T/err")"
	status "$IOTAPE" "$c"; [ $? = 2 ] && grep -q "usage: iotape $c" "$T/err" || die "$c without operand: $(cat "$T/err")"
done
ok "what is no trace is refused in one line"

# output
{ printf '#iotape 1\n'; for ((i = 1; i <= 30000; i++)); do echo "$i +0.00000${i:0:1}000s 5ns q0 L1 flush iid=1 oid=1 = 0"; done; echo '#trailer'; } > "$T/a.txt"
"$IOTAPE" import "$T/a.txt" -o "$T/a.tape" || die import
for args in "dump $T/a.tape" "dump $T/a.tape --format=json" --help --version; do
	"$IOTAPE" $args > /dev/full 2> "$T/err"
	r=$?
	[ $r = 2 ] && grep -q 'standard output: No space left' "$T/err" || die "$args > /dev/full: $r $(cat "$T/err")"
done
"$IOTAPE" dump "$T/a.tape" 2> "$T/err" | head -n 2 > /dev/null
r=${PIPESTATUS[0]}
[ $r = 141 ] && [ ! -s "$T/err" ] || die "dump | head: $r $(cat "$T/err")"
"$IOTAPE" import "$T/a.txt" -o - 2> "$T/err" | head -c 20 > /dev/null
r=${PIPESTATUS[0]}
[ $r = 0 ] || [ $r = 141 ] && [ ! -s "$T/err" ] || die "import | head: $r $(cat "$T/err")"
"$IOTAPE" import "$T/a.txt" -o /dev/full 2> "$T/err"
[ $? = 2 ] && grep -q ': the trace cannot be written: No space left on device$' "$T/err" || die "import to a full device: $(cat "$T/err")"
# nobody there from the start
mkfifo "$T/gone"
for args in "import $T/a.txt -o -" "replay -o - $T/a.tape null:" "info $T/a.tape" "help dump" "stat --format=json $T/a.tape" "backend list"; do
	exec 9<> "$T/gone" 8> "$T/gone" 9>&-
	status_gone=$("$IOTAPE" $args >&8 2> "$T/err"; echo $?)
	exec 8>&-
	[ "$status_gone" = 141 ] && [ ! -s "$T/err" ] || die "$args to nobody: $status_gone $(cat "$T/err")"
done
# where the signal is ignored, it is told
(trap '' PIPE; "$IOTAPE" dump "$T/a.tape" 2> "$T/err"; echo $? > "$T/r") | head -n 2 > /dev/null
[ "$(cat "$T/r")" = 2 ] && grep -qx 'iotape: standard output: Broken pipe' "$T/err" || die "SIGPIPE ignored: $(cat "$T/r" "$T/err")"
"$IOTAPE" dump "$T/a.tape" >&- 2> "$T/err"; [ $? = 2 ] || die "stdout closed"
ok "output that cannot be written ends with 2; a reader that goes away, by SIGPIPE and quietly"

# progress only when asked for or on a terminal
status "$IOTAPE" import "$T/a.txt" --force -o "$T/b.tape"; [ ! -s "$T/err" ] || die "progress on a pipe: $(cat "$T/err")"
status "$IOTAPE" import --no-progress "$T/a.txt" --force -o "$T/b.tape"; [ ! -s "$T/err" ] || die "--no-progress"
(cat "$T/a.txt"; sleep 1.2; printf '#\n') 2>/dev/null | status "$IOTAPE" import --progress - --force -o "$T/b.tape" || die "--progress: $(cat "$T/err")"
grep -q 'import' "$T/err" || die "--progress showed nothing"
ok "progress"

# on a terminal: one line, in place, never wider than the terminal, gone at the end; only on stderr
need script
mkfifo "$T/slow"
slow() { { cat "$T/a.txt"; sleep 1.2; printf '#\n'; } > "$T/slow" 2>/dev/null & IT_PIDS+=($!); }
pty() { # COLUMNS COMMAND: what the terminal got in $T/pty, $T/out is COMMAND's stdout
	script -qec "stty cols $1; $2 > $T/out" "$T/typescript" < /dev/null > "$T/pty" || die "on a terminal: $2: $(cat "$T/pty")"
}
drawn() { tr '\r' '\n' < "$T/pty" | sed 's/\x1b\[K.*//' | grep -v '^$'; }
slow
pty 80 "$IOTAPE import --from=text $T/slow --force -o $T/b.tape"
drawn | grep -q '^import (bytes): .* done  .*/s$' || die "no progress on a terminal: $(cat -v "$T/pty")"
tail -c 4 "$T/pty" | cmp -s - <(printf '\r\033[K') || die "the line stays: $(cat -v "$T/pty")"
[ ! -s "$T/out" ] || die "progress on stdout"
slow
pty 20 "$IOTAPE import --from=text $T/slow --force -o $T/b.tape"
drawn | awk 'length > 19 {exit 1} END {exit !NR}' || die "wider than the terminal: $(cat -v "$T/pty")"
slow
pty 80 "$IOTAPE import --no-progress --from=text $T/slow --force -o $T/b.tape"
[ ! -s "$T/pty" ] || die "--no-progress on a terminal: $(cat -v "$T/pty")"
mkdir "$T/dst"
printf '#iotape 1\n#chunk\n1 +0.100000000s 1ns q0 L1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x42 mode=0100644\n#trailer\n' > "$T/f.txt"
"$IOTAPE" import "$T/f.txt" -o "$T/f.tape" || die import
pty 70 "$IOTAPE compare $T/f.tape --on a-name-as-long-as-this-is-not-for-narrow-terminals=$T/dst --aa --rounds=1"
drawn | grep -q '^round 1 of 1, f on a-name.*: *[0-9]*%' || die "compare on a terminal: $(cat -v "$T/pty")"
drawn | awk 'length > 69 {exit 1}' || die "compare is wider than the terminal: $(cat -v "$T/pty")"
ok "progress on a terminal"

# interrupted: no file stays
mkfifo "$T/fifo"
"$IOTAPE" import --from=text "$T/fifo" -o "$T/c.tape" 2> "$T/err" &
pid=$!
IT_PIDS+=($pid)
exec 7> "$T/fifo"
printf '#iotape 1\n' >&7
for ((i = 0; i < 50; i++)); do compgen -G "$T/c.tape.tmp*" > /dev/null && break; sleep 0.1; done
kill -TERM $pid
wait $pid
r=$?
exec 7>&-
[ $r = 2 ] && [ "$(lines "$T/err")" = 1 ] || die "interrupted: $r $(cat "$T/err")"
compgen -G "$T/c.tape*" > /dev/null && die "interrupted import left $(echo "$T"/c.tape*)"
ok "an interrupted import leaves nothing"
