#!/usr/bin/env bash
# Golden samples: every trace under samples/golden reads as its text twin, comes back from it with the same events, and replays.
. "$(dirname "$0")/lib.sh"

n=0
for tape in "$IOTAPE_SRC"/samples/golden/*.tape; do
	twin=${tape%.tape}.txt name=$(basename "$tape" .tape)
	expect 0 "$IOTAPE" check "$tape" >/dev/null
	"$IOTAPE" dump "$tape" >"$T/dump" || die "dump of $name"
	cmp "$T/dump" "$twin" || die "$name does not read as its twin"
	expect 0 "$IOTAPE" import --from=text "$twin" -o "$T/$name.tape"
	"$IOTAPE" dump "$T/$name.tape" | cmp - "$twin" || die "$name does not come back from its twin"
	expect 0 "$IOTAPE" diff "$tape" "$T/$name.tape" >/dev/null
	expect 0 "$IOTAPE" replay "$tape" null: >/dev/null
	mkdir -p "$T/d"
	expect 0 "$IOTAPE" replay "$tape" "$T/d" >"$T/out" 2>&1
	n=$((n + 1))
	ok "$name"
done
[ $n -ge 2 ] || die "only $n golden samples"
