#!/bin/bash
# What cannot work is refused with exit 2 and one line; a replay that differs says so with exit 1;
# a cut trace replays up to the cut; Ctrl-C leaves nothing behind.
. "$(dirname "$0")/lib.sh"
need python3
dst=$T/dst
mkdir "$dst"
refuse() { # TEXT ARGS...: exit 2, one line that says TEXT
	local text=$1
	shift
	expect 2 "$IOTAPE" replay "$@" >"$T/out" 2>"$T/err"
	[ "$(wc -l <"$T/err")" = 1 ] || die "replay $*: not one line: $(cat "$T/err")"
	grep -q -e "$text" "$T/err" || die "replay $*: $(cat "$T/err")"
	[ -z "$(ls -A "$dst")" ] || die "replay $*: left something"
}
cat >"$T/w.txt" <<'END'
#iotape 1
#chunk
1 +0.000000000s 1ns q0 L0 snap iid=1 size=4096 = 0 mode=040755 arg=3
2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name="a" = 0 mode=040755
3 +0.000002000s 100ns q0 L1 create iid=3 oid=1 parent=2 name="f" = 0 flags=0x42 mode=0100644
4 +0.000003000s 100ns q0 L1 write iid=3 oid=1 offset=0 size=100 = 100 content=like
5 +0.000004000s 100ns q0 L1 flush iid=3 oid=1 = 0
END
"$IOTAPE" import "$T/w.txt" -o "$T/w.tape" || die "import"
refuse 'no-such.tape' "$T/no-such.tape" "$dst"
refuse 'no-such-dir' "$T/w.tape" "$T/no-such-dir"
refuse 'order' --order=fast "$T/w.tape" "$dst"
refuse 'speed' --speed=0 "$T/w.tape" "$dst"
refuse 'threads' --threads=0 "$T/w.tape" "$dst"
refuse 'unknown option' --no-such "$T/w.tape" "$dst"
refuse 'usage' "$T/w.tape"
refuse 'exists' -o "$T/w.tape" "$T/w.tape" "$dst"
refuse '' "$T/w.txt" "$dst"
cp "$T/w.tape" "$T/old.tape"
refuse 'no-such-dir' --force -o "$T/old.tape" "$T/w.tape" "$T/no-such-dir"
refuse 'threads: 4097 is not from 1 to 4096' --threads=4097 "$T/w.tape" "$dst"
refuse 'rdm' --force -o "$T/old.tape" "$T/w.tape" "rdm:$T/none/x.img,size=64M"
cmp "$T/w.tape" "$T/old.tape" || die "a failed replay cost the trace that was there"
ok "refusals: exit 2, one line, nothing left"
expect 0 "$IOTAPE" replay "$T/w.tape" "$dst" >"$T/out"
# a result that no file system gives: mkdir of a name that is there
sed 's/^5 /6 /; /^4 /a 5 +0.000003500s 100ns q0 L1 mkdir iid=9 parent=1 name="a" = 0 mode=040755' "$T/w.txt" >"$T/bad.txt"
"$IOTAPE" import "$T/bad.txt" -o "$T/bad.tape" || die "import"
expect 1 "$IOTAPE" replay "$T/bad.tape" "$dst" >"$T/out"
grep -q 'mkdir "a".*recorded 0, now EEXIST' "$T/out" || die "the mismatch is not named: $(cat "$T/out")"
ok "another result: exit 1, named"
# names that lead out are refused by the reader, links are never followed
ln -s "$T" "$dst/out"
sed 's/name="a"/name="..\/x"/' "$T/w.txt" >"$T/esc.txt"
"$IOTAPE" import "$T/esc.txt" -o "$T/esc.tape" 2>/dev/null && die "a name with a slash was imported"
rm "$dst/out"
python3 - "$T/big.txt" <<'END'
import sys
with open(sys.argv[1], "w") as f:
    f.write("#iotape 1\n#chunk\n1 +0.000000000s 1ns q0 L0 snap iid=1 size=4096 = 0 mode=040755 arg=3\n")
    f.write('2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x42 mode=0100644\n')
    for i in range(30000):
        f.write("%d +%d.%09ds 100ns q0 L1 write iid=2 oid=1 offset=%d size=4096 = 4096 content=like\n" %
                (i + 3, i // 1000, i % 1000 * 1000000 + 2000, i % 500 * 4096))
END
"$IOTAPE" import "$T/big.txt" -o "$T/big.tape" || die "import"
head -c $(($(stat -c %s "$T/big.tape") * 2 / 3)) "$T/big.tape" >"$T/cut.tape"
expect 0 "$IOTAPE" replay "$T/cut.tape" "$dst" >"$T/out"
grep -q 'cut' "$T/out" || die "the cut is not told"
ok "a cut trace replays up to the cut, and it is said"
"$IOTAPE" replay --pace=clock -o "$T/part.tape" "$T/big.tape" "$dst" >"$T/out" 2>"$T/err" &
pid=$!
IT_PIDS+=($pid)
for i in $(seq 200); do [ -n "$(ls -A "$dst")" ] && break; sleep 0.05; done
sleep 0.3
kill -TERM $pid
wait $pid
r=$?
[ $r = 2 ] || die "interrupted: exit $r, not 2: $(cat "$T/err")"
grep -q interrupted "$T/err" || die "interrupted: $(cat "$T/err")"
[ -z "$(ls -A "$dst")" ] || die "interrupted: left something"
compgen -G "$T/part.tape*" >/dev/null && die "interrupted: left half a trace"
ok "a signal ends soon and leaves nothing"
