#!/usr/bin/env bash
# A tree that existed before a recording is there again before its replay: types, sizes, links, holes, attributes.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need setfattr

mkdir -p "$T/d/a/b" "$T/on"
head -c 300000 /dev/urandom >"$T/d/a/file"
ln "$T/d/a/file" "$T/d/a/b/hard"
ln -s ../nowhere "$T/d/a/sym"
mkfifo "$T/d/a/fifo"
truncate -s 10M "$T/d/a/sparse"
head -c 4096 /dev/urandom | dd of="$T/d/a/sparse" bs=4096 seek=100 conv=notrunc status=none
setfattr -n user.x -v hello "$T/d/a/file" || skip "no user.* attributes on $T"
chmod 0640 "$T/d/a/file"
chmod 0750 "$T/d/a/b"
touch -d '2001-02-03 04:05:06.789' "$T/d/a/file"
touch -d '2002-02-03 04:05:06.789' "$T/d/a/b"
"$IOTAPE" record -o "$T/a.tape" "$T/d" -- sh -c "
	ls -lR $T/d >/dev/null
	cat $T/d/a/file $T/d/a/sparse $T/d/a/b/hard >/dev/null" 2>/dev/null
expect 0 "$IOTAPE" replay --keep "$T/a.tape" "$T/on" >"$T/out"
grep -q 'final tree: as recorded' "$T/out" || die "$(cat "$T/out")"
r=$(find "$T/on" -type d -name a)/..
[ -d "$r/a/b" ] || die "no tree kept: $(find "$T/on")"
facts() { (cd "$1" && find a \( -type f -printf '%p %y %m %s %n %T@\n' \) -o \( -type d -printf '%p %y %m\n' \) -o -printf '%p %y %l\n' | sort); }
diff <(facts "$T/d") <(facts "$r") || die "the trees differ"
[ "$r/a/file" -ef "$r/a/b/hard" ] || die "not a hard link"
[ "$(stat -c %b "$r/a/sparse")" -le 32 ] || die "holes were filled: $(stat -c %b "$r/a/sparse") blocks"
[ "$(getfattr --absolute-names --only-values -n user.x "$r/a/file" | wc -c)" = 5 ] || die "the attribute is missing"
cmp -s "$T/d/a/file" "$r/a/file" && die "content of the user is in a trace without content"
ok "the tree is there again"

# a signal during the preparation: it ends there, as a replay does, and takes all away
rm -rf "${T:?}/on"/*
{
	printf '#iotape 1\n#chunk\n1 +0.000000000s 0ns q0 L0 snap iid=1 = 0 mode=040755 arg=2\n'
	for i in $(seq 2 1000); do
		printf '%d +0.000000000s 0ns q0 L0 snap iid=%d parent=1 name="f%d" size=1000000 = 0 mode=0100644 arg=1\n' $i $i $i
	done
	printf '3000 +0.001000000s 1ns q0 L1 unlink iid=2 parent=1 name="f2" = 0\n'
} >"$T/long.txt"
expect 0 "$IOTAPE" import --from=text "$T/long.txt" -o "$T/long.tape"
for sig in INT TERM; do
	env --default-signal=INT "$IOTAPE" replay "$T/long.tape" "$T/on" >"$T/out" 2>"$T/err" &
	p=$!
	IT_PIDS+=($p)
	for _ in $(seq 3000); do
		[ -n "$(find "$T/on" -name f5 -print -quit 2>/dev/null)" ] && break
		kill -0 $p 2>/dev/null || break
		sleep 0.01
	done
	kill -$sig $p || die "it ended by itself: $(cat "$T/err")"
	wait $p
	r=$?
	[ $r = 2 ] || die "SIG$sig while preparing: exit $r, not 2: $(cat "$T/err")"
	[ "$(cat "$T/err")" = 'iotape: replay: interrupted; everything it made is removed' ] || die "SIG$sig says: $(cat "$T/err")"
	[ -z "$(ls -A "$T/on")" ] || die "SIG$sig left: $(ls -A "$T/on")"
done
ok "a signal ends the preparation"
