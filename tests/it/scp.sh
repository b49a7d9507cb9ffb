#!/usr/bin/env bash
# The samples: real scp through a real sshd into and out of the mount. The copies are byte-identical (the samples check
# sha256 themselves), the traces say what scp moved, and a replay, recorded again, is the same trace.
. "$(dirname "$0")/lib.sh"
need_fuse
need_root
need sshd scp jq

export TMPDIR=$T
size=$((6 * 203 * 1024))
for sample in scp-large scp-small-files; do
	for way in write read; do
		t=$T/$sample-$way.tape began=$(date +%s%N)
		"$IOTAPE_SRC/samples/$sample.sh" --$way --size=$size --files=60 -o "$t" --quiet ||
			die "$sample --$way ended with $?"
		took=$(($(date +%s%N) - began))
		"$IOTAPE" info --format=json "$t" >"$T/info.json" || die "info of $sample-$way"
		moved=$(jq ".${way}_bytes" "$T/info.json")
		# sizes of small files are rounded down one by one
		want=$size
		[ $sample = scp-small-files ] && want=$(jq '.write_bytes + .read_bytes' "$T/info.json")
		[ "$moved" = "$want" ] || die "$sample --$way: scp moved $want bytes, the trace says $moved"
		[ "$moved" -gt $((size * 995 / 1000)) ] && [ "$moved" -le $size ] || die "$sample --$way: $moved of $size bytes"
		[ "$(jq .drops "$T/info.json")" = 0 ] && [ "$(jq .complete "$T/info.json")" = true ] ||
			die "$sample --$way: $(cat "$T/info.json")"
		# no shorter than from the first byte moved to the last, no longer than the sample ran
		moving=$("$IOTAPE" dump --format=json --filter="op=$way" "$t" |
			jq -s '(map(.start_ns + .dur_ns) | max) - (map(.start_ns) | min)')
		jq -e --argjson least "$moving" --argjson most "$took" '$least > 0 and .duration_seconds * 1e9 >= $least - 1000 and
			.duration_seconds * 1e9 <= $most' "$T/info.json" >/dev/null ||
			die "$sample --$way: duration $(jq .duration_seconds "$T/info.json") s, bytes moved for $moving ns, it ran for $took ns"
		[ $sample = scp-large ] || [ "$(jq '.operations | .create // .open' "$T/info.json")" = 60 ] ||
			die "$sample --$way: not 60 files: $(jq -c .operations "$T/info.json")"
		expect 0 "$IOTAPE" check "$t" >/dev/null

		mkdir "$T/again"
		expect 0 "$IOTAPE" record -o "$T/again.tape" "$T/again" -- "$IOTAPE" replay "$t" "$T/again" >"$T/replay.out" 2>"$T/log"
		out=$("$IOTAPE" diff "$t" "$T/again.tape") || die "$sample --$way, replayed and recorded again: $out"
		expect 0 "$IOTAPE" replay -o "$T/result.tape" "$t" "$T/again" >/dev/null
		expect 0 "$IOTAPE" diff "$t" "$T/result.tape" >/dev/null
		[ -z "$(ls -A "$T/again")" ] || die "the replay left $(ls -A "$T/again")"
		rm -r "$T/again" "$T/again.tape" "$T/result.tape"
		ok "$sample --$way: $moved bytes; replayed and recorded again: $out"
	done
done
