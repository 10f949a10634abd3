/* SPDX-License-Identifier: MIT */
/*
 * Measures and bounds the disk of a session with a quota. The quota is the number of bytes of the
 * host's disk that the clone of the base may use in addition to the base. When the disk reaches its
 * quota, live_pause.c pauses the machine, like a machine whose disk has no room. The machine stays paused until its quota is raised (the
 * request "disk-quota"), or until it is ended. The guest of a paused machine cannot switch itself
 * off, since it does not run.
 *
 * If the clone is a layer: The file of a layer grows only at its end, and QEMU uses a cluster again
 * that the guest has discarded. So the growth is the offset at which the layer's data ends. QEMU
 * itself enforces a bound on this offset, by a node between qcow2 and the file (command_line.c).
 * QEMU does not make a write that would go beyond the bound. Instead QEMU pauses the VM in the same
 * instant, and makes the write when the VM goes on. So there is no race: even if this process is
 * slow, the guest gets no byte beyond the bound. (There are alternatives. The event
 * BLOCK_WRITE_THRESHOLD reports a write, but does not stop it. With RLIMIT_FSIZE a write fails with
 * EFBIG, for which QEMU does not pause, and the limit would also hold for the memory file of the
 * guest. A project quota does not exist on every file system, and only root can set it.) The bound
 * can be raised later, but only up to the length that the file has when QEMU starts. So the file
 * gets a hole at its end, which makes it as long as a full layer. The hole is cut off when this
 * machine ends or, if this supervisor is killed, when the next machine of the session ends.
 *
 * If the clone is a reflink: The file is as long as the disk from the beginning. The growth is the
 * number of its bytes that it shares with no other file. No event reports an increase of this
 * number, so the bytes are counted every LIMIT_DISK_QUOTA_LOOK_MS. The machine can exceed its quota
 * by the bytes that are written in this time and during a count. A count takes longer if the disk
 * has very many extents. If the quota is the size of the disk or more, which is the default,
 * nothing is counted. A full copy of the base's disk is counted in the same way. A VMM without
 * layers gets such a copy if there are no reflinks. The copy shares no bytes. The growth of such a
 * copy is the number of bytes that it has in addition to the copied bytes.
 *
 * live_pause.c says when the machine is paused and when it goes on.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/min.h"
#include "contract/kind.h"
#include "store/layer.h"
#include "store/quota.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

static bool is_layer(const struct live *live)
{
	return ticket_has(&live->ticket, LIVE_BASE);
}

/* All bytes of a layer are growth, since a layer shares no bytes with other files. For any other
 * disk the growth is the result of the last count. */
uint64_t live_quota_grown(const struct live *live)
{
	struct stat st;

	if (!is_layer(live))
		return quota_beyond(live->quota.copied, live->quota.grown);
	return fstat(LIVE_ROOTFS, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

/* --- the quota is reached -------------------------------------------------------------------- */

bool live_quota_bounds(const struct live *live, const char *serial)
{
	return live->quota.bytes && is_layer(live) && strcmp(serial, "rootfs") == 0;
}

bool live_quota_is_met(struct live *live)
{
	uint64_t end = 0;
	struct error err;

	if (layer_end(LIVE_ROOTFS, &end, &err) < 0) {
		log_limited(&live->log, "%s", err.msg);
		return true;
	}
	return end + limit_get(LIMIT_DISK_QUOTA_NEAR_BYTES) >= live->quota.room;
}

bool live_quota_is_met_again(struct live *live)
{
	uint64_t before = live->quota.at;

	live->quota.at = live_quota_grown(live);
	return before && before == live->quota.at;
}

struct quota_text live_quota_text(const struct live *live)
{
	uint64_t bytes = live->quota.bytes;
	bool mib = bytes % (1 << 20) == 0;
	struct quota_text out;

	snprintf(out.text, sizeof(out.text), "%llu %s",
		 (unsigned long long)(mib ? bytes >> 20 : bytes), mib ? "MiB" : "bytes");
	return out;
}

/* --- a reflink or a copy --------------------------------------------------------------------- */

static void on_quota_look(struct loop *loop, void *data);
static void answer_quota(struct live *live, const struct error *why);

static int look_after(struct live *live, uint64_t wait_ns, struct error *err)
{
	loop_remove(steal_ptr(&live->quota.timer));
	live->quota.timer =
		loop_add_timer(live->loop, clock_mono_ns() + wait_ns, on_quota_look, live, err);
	return live->quota.timer ? 0 : -1;
}

/*
 * Sets the timer for the next count, or for the next round of a count. A count of a disk with very
 * many extents takes long. So a count is made in rounds, and the loop does other work between the
 * rounds. The rounds use at most a twentieth of the time, unless a client waits for the result.
 * `whole` is true if the last round has completed a count. `took_ns` is the duration of the last
 * round in ns.
 */
static int look_later(struct live *live, bool whole, uint64_t took_ns, struct error *err)
{
	uint64_t pause = whole ? limit_get(LIMIT_DISK_QUOTA_LOOK_MS) * NS_PER_MS : 0;

	if (whole && live->quota.bytes >= live->quota.disk)
		return 0;
	return look_after(live, live->quota.answering ? 0 : max_u64(pause, 19 * took_ns), err);
}

static void on_quota_look(struct loop *loop, void *data)
{
	struct live *live = data;
	uint64_t began = clock_mono_ns();
	struct error err = {0};
	char text[512];
	int whole = quota_count(LIVE_ROOTFS, &live->quota.count,
				limit_get(LIMIT_DISK_QUOTA_LOOK_CALLS), &live->quota.grown, &err);

	(void)loop;
	live->quota.timer = NULL;
	if (whole < 0) {
		/* A machine must not go on if its quota cannot be enforced. */
		if (live->quota.answering)
			answer_quota(live, &err);
		snprintf(
			text, sizeof(text),
			"the growth of its disk cannot be measured, so its quota cannot be enforced: %.300s",
			err.msg);
		live_fail(live, ERR_IO, text);
		return;
	}
	if (whole && live->quota.answering)
		answer_quota(live, NULL);
	if (whole > 0 && live_quota_grown(live) >= live->quota.bytes)
		live_pause_for_quota(live);
	if (look_later(live, whole != 0, clock_mono_ns() - began, &err) < 0)
		live_fail(live, ERR_INTERNAL, err.msg);
}

/* --- from the beginning to the end ----------------------------------------------------------- */

/* Makes the layer's file `length` bytes long, by a hole at its end. If the file system does not
 * allow this length, makes the file only `room` bytes long. The quota then cannot be raised above
 * the length of the file. */
static int make_long(struct live *live, uint64_t length, uint64_t room, struct error *err)
{
	struct stat st;

	if (fstat(LIVE_ROOTFS, &st) < 0)
		return error_errno(err, errno, "layer");
	if ((uint64_t)st.st_size < length && ftruncate(LIVE_ROOTFS, (off_t)length) < 0) {
		length = max_u64(room, (uint64_t)st.st_size);
		if (ftruncate(LIVE_ROOTFS, (off_t)length) < 0)
			return error_errno(err, errno, "layer");
	}
	live->quota.length = max_u64(length, (uint64_t)st.st_size);
	return 0;
}

static int begin_layer(struct live *live, struct error *err)
{
	uint64_t end = 0;

	if (layer_end(LIVE_ROOTFS, &end, err) < 0)
		return -1;
	live->quota.room = max_u64(live->quota.bytes, end);
	return make_long(live, max_u64(layer_most(live->quota.disk), live->quota.room),
			 live->quota.room, err);
}

int live_quota_begin(struct live *live, struct error *err)
{
	const struct backend *backend = live->backend;
	struct quota recorded;
	struct stat st;

	if (quota_read(&live->ws, &recorded, err) < 0)
		return -1;
	live->quota.bytes = recorded.bytes;
	live->quota.copied = recorded.copied;
	if (live->quota.bytes == 0)
		return 0;
	if (!backend->pause || (is_layer(live) && !backend->layer_room))
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s does not support a quota of a disk", backend->name);
	if (fstat(is_layer(live) ? LIVE_BASE : LIVE_ROOTFS, &st) < 0)
		return error_errno(err, errno, "disk");
	live->quota.disk = (uint64_t)st.st_size;
	if (is_layer(live))
		return begin_layer(live, err);
	return look_later(live, true, 0, err);
}

void live_quota_end(struct live *live)
{
	struct error err;
	uint64_t end = 0;

	loop_remove(steal_ptr(&live->quota.timer));
	if (live->quota.length == 0)
		return;
	if (layer_end(LIVE_ROOTFS, &end, &err) < 0)
		log_line(&live->log, "%s", err.msg);
	else if (ftruncate(LIVE_ROOTFS, (off_t)max_u64(end, layer_least(live->quota.disk))) < 0)
		log_line(&live->log, "layer: %s", strerror(errno));
}

/* --- the quota is raised --------------------------------------------------------------------- */

static void answer_quota(struct live *live, const struct error *why)
{
	struct control_client *client = steal_ptr(&live->quota.client);
	json_auto_t *text = why ? control_sock_refusal(why)
				: json_pack("{s:b, s:{s:I, s:I}}", "ok", 1, "disk", "quotaBytes",
					    (json_int_t)live->quota.bytes, "grownBytes",
					    (json_int_t)live_quota_grown(live));

	live->quota.answering = false;
	/* If control.sock is closed, the client was already disconnected. */
	if (live->requests)
		control_sock_answer(client, text);
}

static void on_room(void *data, const struct error *why)
{
	struct live *live = data;
	uint64_t before = live->quota.bytes, bytes = live->quota.wanted;
	struct error err;

	if (why && why->code != ERR_TIMEOUT) {
		if (quota_write(&live->ws, before, &err) < 0)
			log_line(&live->log, "quota: %s", err.msg);
		answer_quota(live, why);
		return;
	}
	/* After a timeout QEMU may still raise its bound. So the new quota is in force from now on,
	 * and no later request may give the layer less room. */
	live->quota.bytes = bytes;
	if (live->quota.length)
		live->quota.room = max_u64(live->quota.room, min_u64(bytes, live->quota.length));
	live_audit_step(live, "session", "session.quota-set",
			json_pack("{s:I, s:I}", "quotaBytes", (json_int_t)bytes, "before",
				  (json_int_t)before));
	if (!why)
		live_quota_raised(live);
	live->quota.answering = !why && !is_layer(live);
	live->quota.count = (struct quota_count){0};
	if (!live->quota.answering || look_after(live, 0, &err) < 0)
		answer_quota(live, why);
}

static int may_set_quota(const struct live *live, uint64_t bytes, struct error *err)
{
	if (live->quota.bytes == 0)
		return kind_error(
			live->ws.id, ERR_UNSUPPORTED, err,
			"was started without a quota of its disk; only sessions have one");
	if (bytes < live->quota.bytes)
		return error_set(
			err, ERR_CONFLICT,
			"the session's disk may grow to %s while the session runs: give a larger quota, or stop the session first",
			live_quota_text(live).text);
	if ((live->state != STATE_RUNNING && live->state != STATE_QUARANTINED) ||
	    live->outcome.intent != INTENT_NONE)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is ending or not yet running: try again when it is running");
	if (live->quota.client)
		return error_set(
			err, ERR_CONFLICT,
			"the quota is being set by another request: try again when that request has ended");
	return 0;
}

/* Sets a new quota. Records the quota before it is in force, so that the quota in force is never
 * greater than the one in session.json. */
int live_quota(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err)
{
	uint64_t room;
	int64_t bytes = 0;

	if (json_get_int(request, "", "bytes", JSON_REQUIRED, 1, INT64_MAX, &bytes, err) < 0 ||
	    may_set_quota(live, (uint64_t)bytes, err) < 0 ||
	    quota_write(&live->ws, (uint64_t)bytes, err) < 0)
		return -1;
	live->quota.wanted = (uint64_t)bytes;
	room = max_u64(live->quota.room, min_u64((uint64_t)bytes, live->quota.length));
	if (is_layer(live) && live->backend->layer_room(live->vm, room, on_room, live, err) < 0) {
		(void)quota_write(&live->ws, live->quota.bytes, NULL);
		return -1;
	}
	live->quota.client = client;
	control_sock_defer(client);
	if (!is_layer(live))
		on_room(live, NULL);
	return 0;
}
