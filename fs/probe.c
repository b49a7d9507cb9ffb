/* SPDX-License-Identifier: MIT */
/*
 * One operation as a scope: when the request arrived, when the backing call started and ended,
 * who asked. What the daemon itself took around the backing call is kept apart from the call's
 * duration, so that a recorded latency is the storage's own. Without a queue no clock is read.
 */
#include "fs_priv.h"
#include "queue_priv.h"

#include <string.h>

void probe_begin(struct probe *p, struct fs *fs, fuse_req_t req, enum op op)
{
	memset(p, 0, sizeof(*p));
	p->fs = fs;
	p->ev.op = (uint16_t)op;
	if (!fs->queue)
		return;
	p->arrive_ns = util_now_ns();
	if (!req) /* the daemon's own: initial state */
		return;
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	p->ev.lane = queue_lane(fs->queue, ctx->pid);
	/* setattr has owners to be set instead */
	if (op != OP_SETATTR && op_info[op].fields & FIELD_BIT(FIELD_UID)) {
		p->ev.uid = ctx->uid;
		p->ev.gid = ctx->gid;
	}
}

void probe_call(struct probe *p)
{
	if (p->fs->queue && !p->call_ns)
		p->call_ns = util_now_ns();
}

void probe_done(struct probe *p, int64_t result)
{
	p->ev.result = result;
	if (p->fs->queue)
		p->done_ns = util_now_ns();
}

void probe_end(struct probe *p)
{
	if (!p->fs->queue)
		return;
	int64_t now = util_now_ns();
	/* an operation that came to no backing call was over as it arrived */
	if (!p->call_ns)
		p->call_ns = p->arrive_ns;
	if (!p->done_ns)
		p->done_ns = p->call_ns;
	p->ev.start_ns = p->call_ns;
	p->ev.dur_ns = (uint64_t)(p->done_ns - p->call_ns);
	p->ev.queue_ns = (uint64_t)(now - p->arrive_ns) - p->ev.dur_ns;
	queue_put(p->fs->queue, &p->ev, p->sample, p->sample_len);
}
