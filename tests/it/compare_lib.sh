# Sourced behind lib.sh by the tests of compare: traces made from text, and questions to JSON.

# make_trace FILES BYTES: on stdout the text of a workload of two threads; each creates half of the
# files, writes each in pieces of 64 KiB, syncs it, closes it, and reads it back
make_trace() {
	awk -v files="$1" -v bytes="$2" '
	function ev(lane, what) {
		t += 100000
		printf "%d +%d.%09ds 50000ns q1000 L%d %s\n", ++seq, t / 1e9, t % 1e9, lane, what
	}
	BEGIN {
		print "#iotape 1\n#recorder \"test\"\n#view \"app\"\n#content \"none\""
		for (f = 1; f <= files; f++) {
			lane = f % 2 + 1; h = "iid=" f + 1 " oid=" 2 * f - 1
			ev(lane, "create " h " parent=1 name=\"f" f "\" = 0 flags=0x8041 mode=0100644")
			for (o = 0; o < bytes; o += n) {
				n = bytes - o < 65536 ? bytes - o : 65536
				ev(lane, "write " h " offset=" o " size=" n " = " n " first_touch=1")
			}
			ev(lane, "fsync " h " = 0")
			ev(lane, "flush " h " = 0")
			ev(lane, "release " h " = 0")
			h = "iid=" f + 1 " oid=" 2 * f
			ev(lane, "open " h " = 0 flags=0x8000")
			for (o = 0; o < bytes; o += 65536)
				ev(lane, "read " h " offset=" o " size=65536 = " (bytes - o < 65536 ? bytes - o : 65536))
			ev(lane, "flush " h " = 0")
			ev(lane, "release " h " = 0")
		}
		print "#trailer"
	}'
}

# new_trace NAME FILES BYTES: $T/NAME.tape
new_trace() {
	make_trace "$2" "$3" >"$T/$1.txt" || die "cannot make the text of $1"
	"$IOTAPE" import --from=text "$T/$1.txt" -o "$T/$1.tape" || die "import of $1.txt failed"
}

# holds FILE EXPR: jq's EXPR must be true of FILE
holds() { jq -e "$2" "$1" >/dev/null || die "not true of $(basename "$1"): $2"; }

# left_nothing DIR...: no file of a replay is left there
left_nothing() {
	local d
	for d; do [ -z "$(ls -A "$d")" ] || die "left in $d: $(ls -A "$d" | head -3)"; done
}
