#!/bin/bash
# Every file of samples/bad is refused with exit 2 and one line, whatever reads it; cut-* is handled as a cut trace.
. "$(dirname "$0")/lib.sh"
mkdir "$T/root"
n=0
for f in "$IOTAPE_SRC"/samples/bad/*.tape; do
	name=$(basename "$f" .tape) n=$((n + 1))
	for what in info 'stat --by=op' 'dump' replay compare pipe; do
		case $what in
		compare) set -- compare "$f" --on "a=$T/root" --on "b=$T/root" --rounds=1 ;;
		replay) set -- replay "$f" "$T/root" ;;
		pipe) set -- info - ;;
		*) set -- $what "$f" ;;
		esac
		if [ "$what" = pipe ]; then
			timeout 20 "$IOTAPE" "$@" < <(cat "$f") >"$T/out" 2>"$T/err"
		else
			timeout 20 "$IOTAPE" "$@" >"$T/out" 2>"$T/err"
		fi
		r=$?
		if [ "$name" = cut-chunk ] && [ "$what" != replay ] && [ "$what" != compare ]; then
			[ $r = 0 ] || die "$name: $what ended with $r: $(head -3 "$T/err")"
			continue
		fi
		[ $r = 2 ] || die "$name: $what ended with $r, not 2: $(head -3 "$T/err")"
		[ "$(wc -l <"$T/err")" = 1 ] || die "$name: $what does not say one line: $(head -3 "$T/err")"
		grep -q '^iotape: ' "$T/err" || die "$name: $what says $(cat "$T/err")"
	done
	[ -z "$(ls -A "$T/root")" ] || die "$name: a replay left something behind"
done
[ $n -ge 20 ] || die "only $n files in samples/bad"
ok "$n bad traces are refused"

g=$IOTAPE_SRC/samples/golden/scp-large-read.tape
size=$(stat -c %s "$g")
for ((i = 0; i < size; i += 37)); do
	head -c $i "$g" >"$T/cut.tape"
	timeout 20 "$IOTAPE" info "$T/cut.tape" >"$T/out" 2>"$T/err"
	r=$?
	[ $r = 0 ] || [ $r = 2 ] || die "cut at $i: info ended with $r: $(head -3 "$T/err")"
	[ $r = 0 ] || [ "$(wc -l <"$T/err")" = 1 ] || die "cut at $i: $(head -3 "$T/err")"
done
ok 'cut anywhere: read up to there, or refused with one line'
