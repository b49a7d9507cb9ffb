#!/bin/bash
# Made-up traces: each replay ends by itself, says what did not match, and touches nothing outside.
. "$(dirname "$0")/lib.sh"
mkdir "$T/root" "$T/canary"
echo precious >"$T/canary/c1"
sum=$(cd "$T/canary" && stat -c '%n %a %u %g %s %Y' . * && sha256sum c1)

# hostile NAME STATUS TEXT [OPTION...] with lines "LANE EVENT" on stdin: replayed, ends with STATUS, says TEXT
hostile() {
	local name=$1 status=$2 text=$3 r
	shift 3
	{
		printf '#iotape 1\n#view "app"\n#level 1\n#chunk\n1 +0.000000000s 0ns q0 L0 snap iid=1 = 0 mode=040755 arg=2\n'
		awk '{lane = $1; sub(/^[^ ]+ /, ""); printf "%d +0.%09ds 100ns q0 L%d %s\n", NR + 1, NR * 1000, lane, $0}'
		printf '#trailer reason="x"\n'
	} >"$T/$name.txt"
	expect 0 "$IOTAPE" import --from=text "$T/$name.txt" -o "$T/$name.tape"
	timeout 60 "$IOTAPE" replay --cache=warm "$@" "$T/$name.tape" "$T/root" >"$T/out" 2>&1
	r=$?
	[ $r = "$status" ] || die "$name: ended with $r, not $status: $(head -5 "$T/out")"
	grep -qF -- "$text" "$T/out" || die "$name: does not say '$text': $(cat "$T/out")"
	[ -z "$(ls -A "$T/root")" ] || die "$name: left something behind"
	[ "$sum" = "$(cd "$T/canary" && stat -c '%n %a %u %g %s %Y' . * && sha256sum c1)" ] || die "$name: touched what is outside"
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

{
	echo '1 create iid=2 oid=1 parent=1 name="f" = 0 flags=0x8042 mode=0100644'
	for i in $(seq 5000); do echo "$i create iid=$((i + 2)) oid=$((i + 1)) parent=1 name=\"f$i\" = -2 ENOENT flags=0x8000"; done
} | hostile lanes 1 'recorded ENOENT, now 0' --order=trace --threads=2
ok 'thousands of threads are ordered'
