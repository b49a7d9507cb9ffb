#!/usr/bin/env bash
# The closed loop with real applications: each is recorded, its trace is replayed onto a recorded mount
# without a mismatch, and the two traces are the same calls, in both views.
# usage: loop-apps.sh [VIEW-APP...]     without arguments all of them
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
py=/usr/bin/python3

# ---- the applications: setup_X makes what is there before (in $src), app_X works in the mount ----
setup_git() {
	rm -rf "$T/origin"
	git init -q -b main "$T/origin"
	(
		cd "$T/origin" || exit 1
		git config user.email a@b.c && git config user.name n
		for i in $(seq 40); do mkdir -p "d$((i % 5))"; seq $((i * 37)) >"d$((i % 5))/f$i"; done
		git add . && git commit -qm one
		git checkout -qb other
		for i in $(seq 1 3 40); do seq "$i" 2000 >"d$((i % 5))/f$i"; done
		git commit -qam two
		git checkout -q main
	)
}
app_git() {
	git clone -q --no-hardlinks "file://$T/origin" c && cd c || return 1
	git config user.email a@b.c && git config user.name n
	git checkout -q other && echo new >d1/f1 && git commit -qam three && git checkout -q main && git gc -q
}
setup_untar() {
	rm -rf "$T/tree"; mkdir -p "$T/tree"
	for i in $(seq 60); do
		mkdir -p "$T/tree/d$((i % 7))/e"
		head -c $((i * 731)) /dev/urandom >"$T/tree/d$((i % 7))/e/f$i"
	done
	ln -s e/f1 "$T/tree/d1/link"; ln "$T/tree/d1/e/f1" "$T/tree/hard"
	tar cf "$T/tree.tar" -C "$T" tree
}
app_untar() { tar xf "$T/tree.tar" && ls -lR tree >/dev/null && rm -rf tree; }
sql() { $py - "$1" <<'P'
import sqlite3, sys
for turn in range(2):
    c = sqlite3.connect("db", isolation_level=None)
    c.execute("pragma journal_mode=" + sys.argv[1]).fetchone()
    c.execute("create table if not exists t(a integer primary key, b text)")
    for n in range(30):
        c.execute("begin")
        for i in range(20):
            c.execute("insert into t(b) values(?)", ("x" * (n * 7 + i),))
        c.execute("commit" if n % 7 else "rollback")
    r = sqlite3.connect("db", isolation_level=None)
    print(r.execute("select count(*), sum(length(b)) from t").fetchone(), file=sys.stderr)
    c.execute("delete from t where a % 3 = 0")
    c.execute("vacuum")
    r.close()
    c.close()
P
}
app_wal() { sql wal 2>/dev/null; }
app_delete() { sql delete 2>/dev/null; }
setup_rsync() { setup_untar; }
app_rsync() {
	rsync -a "$T/tree/" copy/ && echo change >>"$T/tree/d2/e/f2" && rm "$T/tree/d3/e/f3" && rsync -a --delete "$T/tree/" copy/
}
make_tree() { # make_tree DIR: with attributes and access lists
	mkdir -p "$1/a/b" "$1/c"
	for i in $(seq 20); do head -c $((i * 999)) /dev/urandom >"$1/a/b/f$i"; done
	ln -s b/f1 "$1/a/link"; ln "$1/a/b/f2" "$1/c/hard"; mkfifo "$1/c/pipe"
	setfattr -n user.one -v value "$1/a/b/f1"; setfattr -n user.dir -v "$(seq -s, 100)" "$1/a"
	setfacl -m u:1234:rw,g:55:r "$1/a/b/f3"; setfacl -d -m u:77:rx "$1/c"; setfacl -m u:88:rwx "$1/a/b"
	touch -d 2001-02-03T04:05:06.789 "$1/a/b/f4"; chmod 4755 "$1/a/b/f5"; chown 12:34 "$1/a/b/f6"
	truncate -s 300000 "$1/c/sparse"; printf data | dd of="$1/c/sparse" bs=1 seek=100000 conv=notrunc status=none
}
setup_tar() { make_tree "$src/tree"; }
app_tar() { tar cf "$T/out.tar" --xattrs --acls tree && tar cf out.tar --xattrs --acls tree; }
setup_cp() { make_tree "$src/tree"; rm -rf "$T/outside"; make_tree "$T/outside"; }
app_cp() { cp -a tree copy && cp -a "$T/outside" in && cp -a in/. merged && rm -r in; }
fio_job() {
	fio --name=j --directory=. --rw=randrw --rwmixread=70 --bs=4k-16k --blockalign=4k --size=1m --io_size=1m \
		--numjobs=4 --ioengine=psync --thread --fallocate=none --direct="$1" --randrepeat=1 --output=/dev/null
}
app_fio() { fio_job 0; }
app_direct() { fio_job 1; }
cat >"$T/locks.py" <<'P'
# two processes, each with two descriptors of the file: closing either drops the locks of its process
import fcntl, os, sys, time
me = int(sys.argv[1])
for turn in range(20):
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.lockf(a, fcntl.LOCK_EX, 10, 0)
    n = int(os.pread(a, 20, 0) or b"0")
    os.pwrite(a, b"%d" % (n + 1), 0)
    os.close(b)
    try:
        fcntl.lockf(a, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 100 + 5 * me)
    except OSError:
        pass
    os.close(a)
P
setup_locks() { echo 0 >"$src/f"; }
app_locks() {
	$py "$T/locks.py" 0 & local p=$!
	$py "$T/locks.py" 1 && wait $p
}
setup_make() {
	mkdir "$src/p"
	for i in 1 2 3 4 5 6; do
		printf '#include "all.h"\nint f%d(int x) { return x * %d; }\n' $i $i >"$src/p/f$i.c"
		printf 'int f%d(int);\n' $i >>"$src/p/all.h"
	done
	printf '#include "all.h"\nint main(void) { return f1(1) + f6(1) - 7; }\n' >"$src/p/main.c"
	printf 'O = main.o f1.o f2.o f3.o f4.o f5.o f6.o\nprog: lib.a main.o\n\tgcc -o $@ main.o lib.a\nlib.a: $(O)\n\tar rcs $@ $(filter f%%,$(O))\n%%.o: %%.c all.h\n\tgcc -O1 -g -c -o $@ $<\nclean:\n\trm -f *.o lib.a prog\n' >"$src/p/Makefile"
}
app_make() { (cd p && make -s -j2 && ./prog && touch f2.c && make -s -j2 && make -s clean); }

# ---- the loop ----
tools() { # tools APP: what it needs beyond the shell
	case $1 in
	git) echo git ;;
	wal | delete | locks) echo $py ;;
	rsync) echo rsync ;;
	tar | cp) echo setfattr setfacl ;;
	fio | direct) echo fio ;;
	make) echo make gcc ar ;;
	esac
}
loop() { # loop VIEW APP
	local view=$1 app=$2 t=$T/t.tape out c
	for c in $(tools "$app"); do
		command -v "$c" >/dev/null || { missing="$missing $c"; return; }
	done
	src=$T/src mnt=$T/mnt again=$T/again
	rm -rf "$src" "$again" "$t" "$T/again.tape"
	mkdir -p "$src" "$mnt" "$again"
	if declare -F "setup_$app" >/dev/null; then "setup_$app" || die "setup of $app"; fi
	"$IOTAPE" record --view="$view" -o "$t" "$src" "$mnt" -- bash -c "cd '$mnt' && app_$app" >"$T/app.out" 2>&1 ||
		die "$view $app: $(tail -5 "$T/app.out")"
	# set-id bits and owners are part of what cp and tar do
	"$IOTAPE" record --view="$view" -o "$T/again.tape" "$again" "$mnt" -- \
		"$IOTAPE" replay --privileged "$t" "$mnt" >"$T/replay.out" 2>"$T/log" ||
		die "$view $app: $(grep -A12 '^fidelity' "$T/replay.out"; tail -3 "$T/log")"
	out=$("$IOTAPE" diff "$t" "$T/again.tape") || die "$view $app, replayed and recorded again: $out"
	ok "$view $app: $out"
}
export -f sql fio_job app_git app_untar app_wal app_delete app_rsync app_tar app_cp app_fio app_direct app_locks app_make
export T py
missing=
if [ $# -gt 0 ]; then
	for a in "$@"; do loop "${a%%-*}" "${a#*-}"; done
else
	for view in app storage; do
		for a in git untar wal delete rsync tar cp fio direct locks make; do loop $view $a; done
	done
fi
[ -z "$missing" ] || skip "needs$missing; what there is passed"
