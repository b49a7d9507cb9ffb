# Sourced by the backend tests after lib.sh: a backend held up as a replay does, and what must be as it was afterwards.
HOLD=${IOTAPE_BUILD:-$IOTAPE_SRC/build}/tests/it/backend_hold
[ -x "$HOLD" ] || die "no $HOLD: build it"
# loops and mounts that have to do with this test, and its files
left() {
	losetup -l -n -O BACK-FILE | grep -F "$T/" || true
	grep -F "$T/" /proc/self/mounts || true
	find "$T" -mindepth 1 ! -path "$T/log*" ! -path "$T/fifo" | sort
}
# hold OPTIONS SPEC: up, sets ROOT HOW ALLOCATED CAPACITY and HOLD_PID; feed by fd 9
hold() {
	[ -p "$T/fifo" ] || mkfifo "$T/fifo"
	: >"$T/log"
	"$HOLD" "$@" <"$T/fifo" >"$T/log" 2>"$T/log.err" &
	HOLD_PID=$!
	IT_PIDS+=($HOLD_PID)
	exec 9>"$T/fifo"
	for _ in $(seq 600); do
		[ "$(wc -l <"$T/log")" -ge 4 ] && break
		kill -0 $HOLD_PID 2>/dev/null || die "hold $*: $(cat "$T/log.err")"
		sleep .05
	done
	{ read -r ROOT; read -r HOW; read -r ALLOCATED; read -r CAPACITY; } <"$T/log"
}
cold() { printf c >&9; sleep .5; }
release() { exec 9>&-; wait $HOLD_PID || die "down: $(cat "$T/log.err")"; }
# round_trip ROOT: real data in, caches dropped, the same data out
round_trip() {
	head -c 5000000 /dev/urandom >"$T/log.data"
	mkdir "$1/d" && cp "$T/log.data" "$1/d/f" && ln "$1/d/f" "$1/d/g" && ln -s f "$1/d/s" || die "cannot write in $1"
	sync -f "$1/d/f"
	cold
	cmp "$T/log.data" "$1/d/g" || die "read back something else"
}
verify_fio() {
	need fio
	fio --name=v --directory="$1/." --size=32M --bs=64k --rw=randwrite --direct="${2:-1}" --ioengine=psync --verify=crc32c --do_verify=1 \
		--verify_fatal=1 --verify_state_save=0 --minimal >"$T/log.fio" 2>&1 || die "fio verify: $(tail -3 "$T/log.fio")"
}
