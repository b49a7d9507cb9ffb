# Sourced by the scp samples: a throw-away sshd on 127.0.0.1, made-up data, one recording.
# Everything lives in $W, a fresh directory that is removed at the end together with the sshd that was started.
set -eu -o pipefail
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/sbin:/sbin
SAMPLES=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${IOTAPE:=$SAMPLES/../build/cli/iotape}"
[ -x "$IOTAPE" ] || IOTAPE=$(command -v iotape || true)

die() { echo "${0##*/}: $*" >&2; exit 2; }

# 297M -> bytes
bytes() { numfmt --from=iec "${1%B}" 2>/dev/null || die "'$1' is not a size (try 297M)"; }

sample_begin() { # sets W; cleans up at exit
	local t
	[ -x "$IOTAPE" ] || die "no iotape program; build it first (meson setup build && ninja -C build)"
	for t in sshd scp ssh-keygen perl sha256sum; do
		command -v $t >/dev/null || die "$t is missing; apt-get install openssh-server openssh-client perl coreutils"
	done
	W=$(mktemp -d "${TMPDIR:-/var/tmp}/iotape-sample-XXXXXX")
	SSHD_PID=
	trap 'sample_end' EXIT
	trap 'exit 130' INT TERM HUP
}

sample_end() {
	local r=$?
	trap - EXIT
	cd /
	[ -z "$SSHD_PID" ] || kill "$SSHD_PID" 2>/dev/null || true
	[ -z "${RUN_SSHD_MADE:-}" ] || rmdir /run/sshd 2>/dev/null || true
	if mountpoint -q "$W/disk"; then umount "$W/disk" || umount -l "$W/disk" || true; fi
	rm -rf "$W"
	exit $r
}

# A port that nobody listens on just now; sshd itself tells when it lost the race.
free_port() {
	local p
	while :; do
		p=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
		(exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo $p; return; }
	done
}

# sshd with its own keys and configuration; sets SSH_OPTS and PORT.
sshd_start() {
	local pam=no try i
	mkdir -m 700 "$W/ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$W/ssh/host"
	ssh-keygen -q -t ed25519 -N '' -f "$W/ssh/user"
	cp "$W/ssh/user.pub" "$W/ssh/authorized"
	if [ "$(id -u)" = 0 ]; then
		# a locked password needs PAM to let a key in
		case "$(getent shadow root | cut -d: -f2)" in '!'*) pam=yes ;; esac
		[ -d /run/sshd ] || { mkdir -m 755 /run/sshd; RUN_SSHD_MADE=1; }
	fi
	for try in 1 2 3 4 5; do
		PORT=$(free_port)
		cat >"$W/ssh/config" <<-EOF
			Port $PORT
			ListenAddress 127.0.0.1
			HostKey "$W/ssh/host"
			PidFile "$W/ssh/pid"
			AuthorizedKeysFile "$W/ssh/authorized"
			StrictModes no
			UsePAM $pam
			PasswordAuthentication no
			PermitRootLogin prohibit-password
			Subsystem sftp internal-sftp
		EOF
		"$(command -v sshd)" -f "$W/ssh/config" -E "$W/ssh/log" || die "sshd does not start: $(tail -1 "$W/ssh/log")"
		for i in $(seq 50); do
			if [ -s "$W/ssh/pid" ]; then
				SSHD_PID=$(cat "$W/ssh/pid")
				SSH_OPTS=(-q -P "$PORT" -i "$W/ssh/user" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no
					-o UserKnownHostsFile=/dev/null -o BatchMode=yes -F /dev/null)
				return
			fi
			sleep 0.1
		done
	done
	die "sshd does not come up: $(tail -1 "$W/ssh/log")"
}

# file NAME BYTES [SHARE]: data of which SHARE (0..1) is text that compresses, the rest does not
make_files() { # reads "NAME BYTES SHARE" lines below directory $1
	perl -e '
		use strict; use warnings;
		my $dir = shift;
		open(my $rnd, "<:raw", "/dev/urandom") or die "urandom: $!";
		my @words = qw(the of record storage disk and replay with mirror block to write in read a first touch);
		my $text = ""; srand(42); $text .= $words[rand @words] . " " . int(rand 1000) . " " while length($text) < 1 << 20;
		while (<STDIN>) {
			my ($name, $n, $share) = split;
			open(my $f, ">:raw", "$dir/$name") or die "$dir/$name: $!\n";
			while ($n > 0) {
				my $k = $n < 65536 ? $n : 65536;
				my $t = int($k * $share);
				read($rnd, my $b, $k - $t);
				print $f $b, substr($text, int(rand((1 << 20) - 65536)), $t) or die "$dir/$name: $!\n";
				$n -= $k;
			}
			close($f) or die "$dir/$name: $!\n";
		}' "$1"
}

# record OUT CMD...: the copy is made through the mount over $W/disk
record_copy() {
	local out=$1
	shift
	"$IOTAPE" record --force -o "$out" "$W/disk" -- "$@" 2>"$W/record.log" || {
		cat "$W/record.log" >&2
		[ ! -s "$W/ssh/log" ] || tail -3 "$W/ssh/log" >&2
		die "the recording failed"
	}
	[ "${QUIET:-}" = 1 ] || cat "$W/record.log" >&2
}

# compare two trees byte by byte
same_tree() {
	local a b
	a=$(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
	b=$(cd "$2" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
	[ "$a" = "$b" ] || die "the copy differs from its source ($1, $2)"
}

cold() {
	sync -f "$W"
	[ ! -w /proc/sys/vm/drop_caches ] || echo 3 >/proc/sys/vm/drop_caches
}

# the body of both samples: source tree in $W/in, options in SAMPLE_*
sample_run() {
	sshd_start
	mkdir "$W/disk"
	if [ "$DIRECTION" = write ]; then
		record_copy "$OUT" scp -r "${SSH_OPTS[@]}" "$W/in/." "127.0.0.1:$W/disk/"
		same_tree "$W/in" "$W/disk"
	else
		cp -r "$W/in/." "$W/disk/"
		mkdir "$W/out"
		cold
		record_copy "$OUT" scp -r "${SSH_OPTS[@]}" "127.0.0.1:$W/disk/." "$W/out/"
		same_tree "$W/in" "$W/out"
	fi
}

# options of both samples
sample_options() {
	DIRECTION=write OUT=
	while [ $# -gt 0 ]; do
		case "$1" in
		--read) DIRECTION=read ;;
		--write) DIRECTION=write ;;
		--size=*) SIZE=$(bytes "${1#*=}") ;;
		--files=*) FILES=${1#*=} ;;
		-o) [ $# -gt 1 ] || die "-o needs a file"; OUT=$2; shift ;;
		--quiet) QUIET=1 ;;
		-h | --help) usage; exit 0 ;;
		*) die "unknown option '$1' (see --help)" ;;
		esac
		shift
	done
	: "${OUT:=$(basename "$0" .sh)-$DIRECTION.tape}"
	case "$OUT" in /*) ;; *) OUT=$PWD/$OUT ;; esac
}
