#!/bin/bash
# Made-up traces: each replay ends by itself, says what did not match, and touches nothing outside.
. "$(dirname "$0")/lib.sh"
mkdir "$T/root" "$T/other" "$T/canary"
dur=100ns
echo precious >"$T/canary/c1"
sum=$(cd "$T/canary" && stat -c '%n %a %u %g %s %Y' . * && sha256sum c1)

untouched() {
	[ -z "$(ls -A "$T/root")$(ls -A "$T/other")" ] || die "$1: left something behind: $(ls -A "$T/root" "$T/other")"
	[ "$sum" = "$(cd "$T/canary" && stat -c '%n %a %u %g %s %Y' . * && sha256sum c1)" ] || die "$1: touched what is outside"
}

# hostile NAME STATUS TEXT [OPTION...] with lines "LANE EVENT" on stdin: replayed, ends with STATUS, says TEXT
hostile() {
	local name=$1 status=$2 text=$3 r o
	shift 3
	compare_options=()
	for o; do [[ $o = --order=* ]] && compare_options+=("$o"); done
	{
		printf '#iotape 1\n#view "app"\n#level 1\n#chunk\n1 +0.000000000s 0ns q0 L0 snap iid=1 = 0 mode=040755 arg=2\n'
		awk '{lane = $1; sub(/^[^ ]+ /, ""); printf "%d +0.%09ds %s q0 L%d %s\n", NR + 1, NR * 1000, dur, lane, $0}' dur=$dur
		printf '#trailer reason="x"\n'
	} >"$T/$name.txt"
	expect 0 "$IOTAPE" import --from=text "$T/$name.txt" -o "$T/$name.tape"
	timeout 60 "$IOTAPE" replay --cache=warm "$@" "$T/$name.tape" "$T/root" >"$T/out" 2>&1
	r=$?
	[ $r = "$status" ] || die "$name: ended with $r, not $status: $(head -5 "$T/out")"
	grep -qF -- "$text" "$T/out" || die "$name: does not say '$text': $(cat "$T/out")"
	untouched "$name: replay"
	# the same trace in a comparison: done, or refused with one line
	timeout 60 "$IOTAPE" compare --rounds=1 --cache=warm "${compare_options[@]}" "$T/$name.tape" --on "a=$T/root" \
		--on "b=$T/other" --no-progress >"$T/cmp" 2>"$T/err"
	r=$?
	[ $r = 0 ] || [ $status != 0 ] || die "$name: compare ended with $r: $(cat "$T/err")"
	if [ $r != 0 ]; then
		[ $r = 2 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -q '^iotape: ' "$T/err" ||
			die "$name: compare ended with $r: $(head -5 "$T/err")"
	fi
	untouched "$name: compare"
	rm "$T/$name.tape"
}

for threads in --threads=1 --threads=4; do
	# two lanes that wait for each other's lock; one lane that waits for its own
	hostile deadlock 1 'recorded 0, now EDEADLK' $threads <<-'END'
		1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644
		2 open iid=2 oid=2 = 0 flags=0x8002
		1 setlk iid=2 oid=1 size=10 = 0 flags=0x1 arg=1
		2 setlk iid=2 oid=2 offset=20 size=10 = 0 flags=0x1 arg=2
		1 setlk iid=2 oid=1 offset=20 size=10 = 0 flags=0x101 arg=1
		2 setlk iid=2 oid=2 size=10 = 0 flags=0x101 arg=2
	END
	hostile flock 1 'recorded 0, now EDEADLK' $threads <<-'END'
		1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644
		1 open iid=2 oid=2 = 0 flags=0x8002
		1 flock iid=2 oid=1 = 0 flags=0x2 arg=1
		1 flock iid=2 oid=2 = 0 flags=0x2 arg=2
	END
done
ok 'locks that are never given are given up'

hostile pipe-denied 1 'create "p" oid=1: recorded 0, now ENXIO' <<'END'
1 mknod iid=2 parent=1 name="p" = -17 EEXIST mode=010666
1 create iid=3 oid=1 parent=1 name="p" = 0 flags=0x8041 mode=0100644
1 open iid=3 oid=2 = 0 flags=0x8000
END
hostile pipe-moved 1 'rename "p" "f": recorded ENOENT, now 0' <<'END'
1 mknod iid=2 parent=1 name="p" = 0 mode=010666
1 create iid=3 oid=1 parent=1 name="f" = 0 flags=0x8041 mode=0100644
1 rename iid=2 parent=1 name="p" parent2=1 name2="f" = -2 ENOENT
1 open iid=3 oid=3 = 0 flags=0x8000
END
ok 'a pipe under the name of a file does not block'

hostile reopened 0 '100.00 % of results match (5 of 5' <<'END'
1 mkdir iid=2 parent=1 name="d" = 0 mode=040755
1 opendir iid=2 oid=1 = 0 flags=0x18800
1 rmdir iid=2 parent=1 name="d" = 0
1 opendir iid=2 oid=2 = 0 flags=0x18800
1 releasedir iid=2 oid=2 = 0
END
hostile nowhere 1 'recorded 0, now EBADF' <<'END'
1 snap iid=5 parent=50 name="f" size=10 = 0 mode=0100644 arg=1
1 open iid=5 oid=1 = 0 flags=0x8000
1 open iid=5 oid=2 = 0 flags=0x8000
END
ok 'what has no name is opened again, or refused'

hostile links 1 'create "x" oid=1: recorded 0, now ENOTDIR' <<END
1 snap iid=2 parent=1 name="l" target="$T/canary" = 0 mode=0120777 arg=1
1 snap iid=3 parent=2 name="evil" size=5 = 0 mode=0100644 arg=1
1 create iid=4 oid=1 parent=2 name="x" = 0 flags=0x8041 mode=0100644
1 unlink iid=6 parent=2 name="c1" = 0
1 opendir iid=2 oid=3 = 0 flags=0x0
1 symlink iid=7 parent=1 name="m" target="$T/canary/c1" = 0
1 open iid=7 oid=5 = 0 flags=0x8201
1 create iid=8 oid=6 parent=1 name="m" = 0 flags=0x8241 mode=0100644
1 setattr iid=7 size=0 = 0 arg=8
1 setattr iid=7 = 0 arg=1 mode=0777
1 setattr iid=7 uid=1 gid=1 = 0 arg=6
1 setattr iid=7 = 0 arg=48 atime_ns=1 mtime_ns=1
1 setxattr iid=7 name="user.a" size=10 = 0
END
ok 'nothing outside is reached through a symlink'

# paths of a hundred thousand bytes: made by the workload, and there before it
name=$(printf 'n%.0s' $(seq 100))
hostile deep 0 '100.00 % of results match (998 of 998' < <(awk -v n="$name" 'BEGIN {
	for (i = 2; i < 992; i++) printf "1 mkdir iid=%d parent=%d name=\"%s\" = 0 mode=040755\n", i, i - 1, n
	printf "1 create iid=%d oid=1 parent=%d name=\"f\" = 0 flags=0x8042 mode=0100644\n", i, i - 1
	printf "1 write iid=%d oid=1 size=10 = 10 content=like\n", i
	printf "1 setxattr iid=%d name=\"user.a\" size=10 = 0\n", i
	printf "1 listxattr iid=%d size=100 = 7\n", i
	printf "1 setattr iid=%d size=5 = 0 arg=8\n", i
	printf "1 rename iid=2 parent=1 name=\"%s\" parent2=1 name2=\"moved\" = 0\n", n
	printf "2 link iid=%d parent=1 name=\"l\" = 0\n", i
	printf "2 unlink iid=%d parent=%d name=\"f\" = 0\n", i, i - 1
}')
grep -q 'final tree: as recorded' "$T/out" || die "deep: $(cat "$T/out")"
hostile deep-before 1 '(1 of 1; 0 environmental, 1 skipped)' < <(awk -v n="$name" 'BEGIN {
	for (i = 2; i < 1500; i++) printf "0 snap iid=%d parent=%d name=\"%s\" = 0 mode=040755\n", i, i - 1, n
	printf "0 snap iid=%d parent=%d name=\"f\" size=5000 = 0 mode=0100644\n", i, i - 1
	printf "1 mkdir iid=5000 parent=900 name=\"d\" = 0 mode=040755\n"
	printf "1 unlink iid=%d parent=%d name=\"f\" = 0\n", i, i - 1
}')
grep -q 'final tree: differs' "$T/out" || die "deep-before: $(cat "$T/out")" # f is still there
ok 'paths beyond PATH_MAX'

# hundreds of threads whose calls all overlap
dur=900000000ns
hostile overlap 0 '100.00 % of results match' < <(awk 'BEGIN {
	for (i = 1; i <= 300; i++) for (k = 0; k < 5; k++)
		printf "%d %s\n", i, k % 2 ? "rmdir parent=1 name=\"d\" = -2 ENOENT" : "lookup parent=1 name=\"e\" = -2 ENOENT"
	for (i = 1; i <= 300; i++) printf "%d mkdir iid=%d parent=1 name=\"d%d\" = 0 mode=040755\n", i, i + 1, i
}')
dur=100ns
ok 'calls of many threads that all overlap'

# lengths need no space: what a file system does not take is said, or is of the machine
hostile long-set 1 'final tree: differs: f: has' <<'END'
1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644
1 setattr iid=2 oid=1 size=9223372036854775807 = 0 arg=8
1 write iid=2 oid=1 offset=4611686018427387904 size=10 = 10
END
grep -q '2 environmental' "$T/out" || grep -q '100.00 %' "$T/out" || die "not of the machine: $(cat "$T/out")"
hostile long-read 0 '100.00 % of results match (3 of 3' <<'END'
1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644
1 read iid=2 oid=1 size=4611686018427387904 = 0
1 read iid=2 oid=1 offset=4611686018427387904 size=4611686018427387904 = 0
END
hostile long-write 2 'MiB free, the trace needs up to' <<'END'
1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644
1 write iid=2 oid=1 size=4611686018427387904 = 4611686018427387904
END
ok 'lengths beyond any storage'

hostile lanes 1 'recorded ENOENT, now 0' --order=trace < <(
	echo '1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644'
	for i in $(seq 5000); do echo "$i create iid=$((i + 2)) oid=$((i + 1)) parent=1 name=\"f$i\" = -2 ENOENT flags=0x8000"; done
)
ok 'thousands of threads are ordered'
