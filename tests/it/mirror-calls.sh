#!/bin/bash
# The mount is like the directory below it for the calls that mirrors get wrong: owners, set-id bits,
# umask and ACLs, O_TMPFILE, locks, appends, shared maps, holes, seekdir. Data is byte-identical.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need setfacl getfacl python3
mkdir "$T/src" "$T/mnt"; chmod 755 "$T"
"$IOTAPE" record -o "$T/t.tape" "$T/src" "$T/mnt" >/dev/null || die "cannot mount"
M=$T/mnt S=$T/src
python3 - "$M" "$S" <<'P' || die "see above"
import ctypes, os, sys, fcntl, mmap, stat, struct, subprocess, errno
M, S = sys.argv[1:]; m = lambda n: os.path.join(M, n); s = lambda n: os.path.join(S, n)
def must(c, t):
    if not c: print('FAIL:', t); sys.exit(1)
def err(f, *a):
    try: f(*a)
    except OSError as e: return errno.errorcode[e.errno]
def user(f, uid=12345, gid=54321, groups=()):
    pid = os.fork()
    if pid == 0:
        os.setgroups(groups); os.setresgid(gid, gid, gid); os.setresuid(uid, uid, uid)
        try: f()
        except BaseException as e: print(repr(e)); os._exit(1)
        os._exit(0)
    must(os.waitpid(pid, 0)[1] == 0, 'as a user')
def put(n, d=b'x'):
    with open(n, 'wb', 0) as f: f.write(d)
os.mkdir(m('pub')); os.chmod(m('pub'), 0o777); os.mkdir(m('sg')); os.chown(m('sg'), 0, 777); os.chmod(m('sg'), 0o2777)
def make(): put(m('pub/f')); os.mkdir(m('pub/d')); os.symlink('x', m('pub/l')); os.mkfifo(m('pub/p')); put(m('sg/f')); os.mkdir(m('sg/d'))
user(make)
for n in 'fdlp': st = os.lstat(s('pub/' + n)); must((st.st_uid, st.st_gid) == (12345, 54321), 'owner of %s: %d:%d' % (n, st.st_uid, st.st_gid))
must(os.stat(s('sg/f')).st_gid == 777 and os.stat(s('sg/d')).st_mode & 0o2000, 'set-gid directory')
os.mkdir(m('grp')); os.chown(m('grp'), 0, 888); os.chmod(m('grp'), 0o770); user(lambda: put(m('grp/f')), groups=(888,))
put(m('su')); os.chmod(m('su'), 0o6777); put(m('su'), b'y'); must(os.stat(m('su')).st_mode & 0o6000 == 0o6000, 'root clears set-id bits')
user(lambda: os.pwrite(os.open(m('su'), os.O_WRONLY), b'z', 0)); must(os.stat(m('su')).st_mode & 0o6000 == 0, 'a user does not clear set-id bits')
fd = os.open(M, os.O_TMPFILE | os.O_RDWR, 0o640); os.write(fd, b'tmp'); must(ctypes.CDLL(None).linkat(-100, b'/proc/self/fd/%d' % fd, -100, os.fsencode(m('named')), 0x400) == 0, 'linkat')
with open(s('named'), 'rb') as f: must(f.read() == b'tmp', 'O_TMPFILE and link')
fd = os.open(m('lk'), os.O_RDWR | os.O_CREAT); b = os.open(s('lk'), os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX); must(err(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB) == 'EAGAIN', 'flock does not reach the source'); fcntl.flock(fd, fcntl.LOCK_UN)
fcntl.lockf(fd, fcntl.LOCK_EX, 10, 5); pid = os.fork()
if pid == 0:
    g = os.open(m('lk'), os.O_RDWR); t, _, off, ln, owner = struct.unpack('hhqqi4x', fcntl.fcntl(g, fcntl.F_GETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)))
    os._exit(0 if (t, off, ln, owner) == (fcntl.F_WRLCK, 5, 10, os.getppid()) else 1)
must(os.waitpid(pid, 0)[1] == 0, 'F_GETLK does not tell range and owner')
a = os.open(m('ap'), os.O_WRONLY | os.O_APPEND | os.O_CREAT); o = os.open(s('ap'), os.O_WRONLY | os.O_APPEND)
for i in range(20): os.write(a, b'mount\n'); os.write(o, b'source\n')
with open(s('ap'), 'rb') as f: must(f.read() == b'mount\nsource\n' * 20, 'appends beside another writer')
fd = os.open(m('mm'), os.O_RDWR | os.O_CREAT | os.O_APPEND); os.ftruncate(fd, 65536); q = mmap.mmap(fd, 65536); q[40000:40003] = b'map'; q.flush()
with open(s('mm'), 'rb') as f: d = f.read(); must(len(d) == 65536 and d[40000:40003] == b'map', 'shared map of an append handle')
fd = os.open(m('sp'), os.O_RDWR | os.O_CREAT); os.ftruncate(fd, 8 << 20); os.pwrite(fd, b'D' * 4096, 4 << 20)
must(os.lseek(fd, 0, os.SEEK_DATA) == 4 << 20 and os.lseek(fd, 4 << 20, os.SEEK_HOLE) == (4 << 20) + 4096, 'SEEK_DATA and SEEK_HOLE')
fd = os.open(m('od'), os.O_RDWR | os.O_CREAT | os.O_DIRECT); z = mmap.mmap(-1, 8192); z[:] = b'd' * 8192
must(os.pwritev(fd, [z], 4096) == 8192 and err(os.pwrite, fd, b'u' * 10, 7) in (None, 'EINVAL'), 'O_DIRECT')
os.mkdir(m('many')); want = {'n%05d' % i for i in range(5000)}
for n in want: put(m('many/' + n), b'')
must(set(os.listdir(m('many'))) == want, 'a listing of 5000 entries')
for i, n in enumerate(sorted(want)): os.unlink(m('many/' + n)); i % 1000 or must(len(os.listdir(m('many'))) == 4999 - i, 'a listing while deleting')
fd = os.open(m('gone'), os.O_RDWR | os.O_CREAT); os.unlink(m('gone')); os.write(fd, b'still'); must(os.pread(fd, 5, 0) == b'still' and os.fstat(fd).st_nlink == 0, 'an unlinked open file')
P
ok "owners, set-id bits, O_TMPFILE, locks, appends, maps, holes, listings"
mkdir "$M/acl"; setfacl -m d:u:65533:rwx,d:g::rx,d:o::- "$M/acl" || die setfacl
(umask 077; touch "$M/acl/f")
[ "$(stat -c %a "$S/acl/f")" = 660 ] || die "umask applied although there is a default ACL"
(umask 027; touch "$M/plain"); [ "$(stat -c %a "$S/plain")" = 640 ] || die "umask not applied"
getfacl -cn "$S/acl/f" | grep -q '^user:65533:rwx' || die "default ACL not inherited"
ok "umask and ACLs"
head -c 5000000 /dev/urandom > "$T/data"; cp "$T/data" "$M/data"; cmp "$T/data" "$S/data" && cmp "$T/data" "$M/data" || die "data differs"
mkfifo "$T/hold"; flock "$M/lk" cat "$T/hold" >/dev/null & IT_PIDS+=($!)
exec 7> "$T/hold"; sleep 0.3
flock "$M/lk" true & w=$!; sleep 0.3; kill -9 $w; wait $w 2>/dev/null
timeout 5 stat "$M/lk" >/dev/null || die "the mount hangs behind a killed waiter"
exec 7>&-; timeout 5 flock "$M/lk" true || die "the lock did not go on to the next"
ok "a waiter for a lock can be killed"
fusermount3 -u "$M" || die "busy"
for _ in $(seq 100); do "$IOTAPE" check "$T/t.tape" >/dev/null 2>&1 && break; sleep 0.1; done
"$IOTAPE" check "$T/t.tape" >/dev/null || die "the trace is damaged"
"$IOTAPE" dump "$T/t.tape" > "$T/dump"
grep -q ' write .* offset=6 size=6 ' "$T/dump" && die "an append is not recorded where it went"
grep -q ' write .* offset=13 size=6 = 6' "$T/dump" || die "no append at its own offset"
grep -q ' tmpfile .* = 0 ' "$T/dump" || die "no tmpfile event"
ok "appends are recorded where they went"
