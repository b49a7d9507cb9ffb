#!/bin/bash
# dir: a fresh private subdirectory; removed whole whatever was done in it, also by a normal user; null: has none.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
mkdir "$T/a,b=c"; echo mine >"$T/a,b=c/keep"
before=$(left)
hold -c "dir:$T/a,b=c"
case $ROOT in "$T/a,b=c/iotape-replay-"??????) ;; *) die "root is $ROOT" ;; esac
[ "$(stat -c %a "$ROOT")" = 700 ] || die "not private"
[ -z "$(ls -A "$ROOT")" ] || die "not empty"
[ "$CAPACITY" -gt 0 ] || die "no capacity"
round_trip "$ROOT"
# what makes removal hard: read-only directories, depth beyond PATH_MAX and the descriptor limit, odd names, many entries
mkdir -p "$ROOT/ro/x/y"; touch "$ROOT/ro/x/y/f"; chmod 000 "$ROOT/ro/x/y" "$ROOT/ro/x"; chmod 500 "$ROOT/ro"
touch "$ROOT"/$'nl\n' "$ROOT/-rf" "$ROOT/.iotape-rm-0"
deep=$(printf 'aaaa/%.0s' $(seq 500))
(cd "$ROOT" && for i in 1 2 3; do mkdir -p "$deep" && cd -P "$deep" || exit 1; done; touch end) || die "no deep tree"
(cd "$ROOT/d" && seq 3000 | xargs touch)
ln -s / "$ROOT/root"
release
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "dir: private, empty, comma and = in its path; removed whole"
hold "dir:$T/a,b=c"; [ "$ROOT" != "" ] || die; kill -INT $HOLD_PID; wait $HOLD_PID; exec 9>&-
[ "$(left)" = "$before" ] || die "left after SIGINT: $(left)"
ok "SIGINT: nothing left"
hold -k "dir:$T/a,b=c"; release; [ -d "$ROOT" ] || die "keep did not"; rmdir "$ROOT"
ok "keep keeps"
hold "dir:$T/a,b=c"; kill -KILL $HOLD_PID; wait $HOLD_PID 2>/dev/null; exec 9>&-
[ -d "$ROOT" ] || die "nothing left, and it was killed"
hold "dir:$T/a,b=c"
case $HOW in *"; 1 other iotape-replay-* is there: kept, left by a killed run, or in use") ;; *) die "how: $HOW" ;; esac
release; rmdir "$T/a,b=c"/iotape-replay-*
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "what a killed run left is told"
hold null:
[ "$ROOT" = - ] && [ "$CAPACITY" = 18446744073709551615 ] || die "null: is $ROOT, $CAPACITY"
release
ok "null: has no directory"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	mkdir "$T/u"; chown 65534 "$T/u"; chmod 755 "$T"
	cp "$HOLD" "$T/log.hold"; chmod 755 "$T/log.hold"
	before=$(left)
	(cd "$T/u" && setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
		mkfifo .f || exit; exec 9<>.f; "$0" -c "dir:." <.f 9>&- >out 2>err & p=$!
		for _ in $(seq 100); do [ "$(wc -l <out)" -ge 4 ] && break; sleep .05; done
		r=$(head -1 out); [ -n "$r" ] || exit; mkdir -p "$r/ro/x" && echo hi >"$r/ro/x/f" && printf c >.f && sleep .3
		chmod 0 "$r/ro/x"; chmod 500 "$r/ro"; kill -TERM $p; wait $p' "$T/log.hold") || die "as a normal user: $(cat "$T/u/err")"
	[ ! -s "$T/u/err" ] || die "as a normal user: $(cat "$T/u/err")"
	rm "$T/u/.f" "$T/u/out" "$T/u/err"
	[ "$(left)" = "$before" ] || die "left by the user: $(left)"
	ok "works as a normal user"
fi
