#!/bin/bash
# A recorded workload replays on a directory in every order and pace, with every result as recorded,
# and leaves nothing there; with --keep the tree is there to be looked at.
. "$(dirname "$0")/lib.sh"
need_fuse
need python3
src=$T/src mnt=$T/mnt dst=$T/dst
mkdir "$src" "$mnt" "$dst" "$src/pre"
echo hello >"$src/pre/a"
head -c 300000 /dev/urandom >"$src/pre/b"
"$IOTAPE" record -o "$T/w.tape" "$src" "$mnt" -- bash -c "
	set -e; cd '$mnt'
	mkdir -p d/e; for i in 1 2 3 4 5; do head -c \$((i * 5000)) /dev/zero | tr '\\0' x >d/e/f\$i; done
	mv d/e d/g; rm d/g/f1; ln d/g/f2 hard; ln -s ../pre/a d/sym; cat pre/a pre/b >/dev/null
	ls -lR . >/dev/null; truncate -s 5 pre/b; chmod 600 pre/a; echo more >>d/g/f3; sync d/g/f3
	mkdir gone; rmdir gone; ! cat nothing 2>/dev/null; ! mkdir d 2>/dev/null
	(cat d/g/f4 >copy1) & (cat d/g/f5 >copy2) & wait" 2>/dev/null || die "the workload failed"
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)["replay"][sys.argv[1]])' "$1"; }
for how in --order=resource --order=trace --pace=think '--pace=clock --speed=10' --threads=1 --threads=2 --cache=warm; do
	"$IOTAPE" replay $how --format=json "$T/w.tape" "$dst" >"$T/r.json" || die "replay $how: exit $?"
	for k in mismatched order_violations skipped tree_differences; do
		[ "$(field $k <"$T/r.json")" = 0 ] || die "replay $how: $k is not 0"
	done
	[ "$(field matched <"$T/r.json")" -gt 30 ] || die "replay $how: too few steps"
	[ -z "$(ls -A "$dst")" ] || die "replay $how left something behind"
done
ok "orders, paces, thread counts: all results as recorded, nothing left"
"$IOTAPE" replay --keep "$T/w.tape" "$dst" >"$T/out" || die "replay --keep"
made=$(echo "$dst"/*)
[ "$(cd "$made" && find . -printf '%y %m %s %n %p\n' | grep -v ' \./\?$' | sed -E 's/^d ([0-7]+) [0-9]+ /d \1 /' | sort)" = \
	"$(cd "$src" && find . -printf '%y %m %s %n %p\n' | grep -v ' \./\?$' | sed -E 's/^d ([0-7]+) [0-9]+ /d \1 /' | sort)" ] || die "the kept tree differs from the recorded one"
ok "--keep: types, modes, sizes and links are those of the recorded tree"
cmp -s "$made/d/g/f5" /dev/zero && die "constant content"
[ "$(tr -d '\0' <"$made/d/g/f5" | wc -c)" -gt 0 ] || die "only zeros were written"
rm -rf "$made"
"$IOTAPE" replay -o "$T/again.tape" "$T/w.tape" "$dst" >/dev/null || die "replay -o"
"$IOTAPE" replay "$T/again.tape" "$dst" >"$T/out" || die "the replayed trace does not replay: $(cat "$T/out")"
ok "the result of a replay is a trace that replays"
"$IOTAPE" replay "$T/w.tape" null: >"$T/out" || die "null:"
grep -q '100.00 % of results match' "$T/out" || die "null: takes results as recorded"
ok "null: needs no storage"
