/* SPDX-License-Identifier: MIT */
/*
 * Handles a machine that is paused because its disk has no room, either on the host's disk or
 * within the session's quota (live_quota.c). If the host's disk was full, the pause ends by itself
 * when that disk has room again. A pause at the quota ends when the quota is raised. The guest of a
 * paused machine cannot switch itself off, so a machine that is paused at its quota and must end is
 * killed.
 *
 * When a write finds no room, QEMU pauses the machine, and reports for which disk. For a layer,
 * QEMU does not report if the host's disk is full or the quota is reached. If the host has room and
 * the layer ends near the bound of its quota, the quota has stopped the write. The layer need not
 * end exactly at the bound, since other writes may still be in progress, and a write that finds no
 * room writes nothing. The layer may even end far from its bound. QEMU joins up to 32 neighbouring
 * requests of the guest to one write (virtio_blk_submit_multireq()), which may have 12 MiB and
 * more. If the layer ends far from its bound, the reason is in doubt (PAUSE_IN_DOUBT). Then the
 * layer is examined once more after LIMIT_DISK_CHECK_MS. If the layer still ends well below the
 * bound, the machine goes on. If the machine is then paused again at once, the quota is the reason.
 * A request that sets the quota to its present value lets the machine go on after a pause at the
 * quota.
 *
 * If the disk is not a layer, only this supervisor sees that the disk has reached its quota. The
 * supervisor then asks the VMM to pause the machine. Until the VMM has answered, no other reason
 * lets the machine go on: otherwise the answer would report a pause that is already over.
 *
 * A guest can cause only one pause for each raise of the quota. So a guest cannot fill the logs
 * with pauses.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"

static void begin_pause(struct live *live, enum pause why)
{
	if (!live->pause.why)
		live->pause.from_ns = clock_boot_ns();
	live->pause.why = why;
}

/* Ends the pause, and returns true if the machine goes on. If the machine cannot go on, ends the
 * machine and returns false. */
static bool end_pause(struct live *live)
{
	struct error err;

	live->pause.why = PAUSE_NONE;
	if (live_time_resume(live, live->pause.from_ns, &err) == 0)
		return true;
	live_fail(live, err.code, err.msg);
	return false;
}

/* --- the quota ------------------------------------------------------------------------------- */

static void pause_at_quota(struct live *live)
{
	struct quota_text quota = live_quota_text(live);
	char text[192];

	begin_pause(live, PAUSE_AT_QUOTA);
	live->quota.at = 0;
	snprintf(text, sizeof(text), PAUSED_AT_QUOTA " of %s", quota.text);
	live_audit(live, AUDIT_CRITICAL, "session", "session.quota-reached",
		   json_pack("{s:I, s:I}", "grownBytes", (json_int_t)live_quota_grown(live),
			     "quotaBytes", (json_int_t)live->quota.bytes));
	if (live->outcome.intent != INTENT_NONE) {
		live_cannot_power_off(live);
	} else if (live->state == STATE_STARTING) {
		snprintf(text, sizeof(text), "its disk is at its quota of %s, and it cannot boot",
			 quota.text);
		live_fail_for(live, ERR_UNAVAILABLE, REASON_SESSION_AT_QUOTA, text);
	} else {
		live_record(live, live->state, text);
	}
}

static void on_paused(void *data, const struct error *why)
{
	struct live *live = data;

	live->pause.asked = false;
	if (why) {
		/* The VMM could not pause the machine. The next count of the disk leads to another
		 * try. */
		log_limited(&live->log, "quota: %s", why->msg);
		return;
	}
	/* If the machine was paused meanwhile because the host has no room, it is not paused a
	 * second time. */
	if (live->pause.why || live->over)
		return;
	if (live_quota_grown(live) >= live->quota.bytes) {
		pause_at_quota(live);
		return;
	}
	/* The quota was raised before the VMM had paused the machine, so the machine goes on at
	 * once. */
	begin_pause(live, PAUSE_AT_QUOTA);
	(void)end_pause(live);
}

void live_pause_for_quota(struct live *live)
{
	struct error err;

	if (live->pause.why || live->pause.asked || live->over)
		return;
	if (live->backend->pause(live->vm, on_paused, live, &err) < 0)
		log_limited(&live->log, "quota: %s", err.msg);
	else
		live->pause.asked = true;
}

void live_quota_raised(struct live *live)
{
	char text[96];

	if (live->pause.why != PAUSE_AT_QUOTA || !end_pause(live))
		return;
	snprintf(text, sizeof(text), "resumed: its disk may grow to %s",
		 live_quota_text(live).text);
	if (live->outcome.intent == INTENT_NONE)
		live_record(live, live->state, text);
}

/* --- the host's disk ------------------------------------------------------------------------- */

static bool has_room(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= limit_get(LIMIT_STATE_FREE_BYTES);
}

/* Returns true if the host has room for all disks to which the guest may write. Checks all of them,
 * since only the serial number of the full disk is known. */
static bool disks_have_room(const struct live *live)
{
	size_t i;
	json_t *disk;

	if (!live->ram_root && !has_room(LIVE_ROOTFS))
		return false;
	json_array_foreach(live->ticket.disks, i, disk)
	{
		const char *mode = json_text(disk, "mode", NULL);

		if (mode && strcmp(mode, "rw") == 0 && !has_room(LIVE_DISKS + (int)i))
			return false;
	}
	return true;
}

static void on_room_timer(struct loop *loop, void *data);

static void look_for_room_later(struct live *live)
{
	struct error err;

	if (!loop_add_timer(live->loop, limit_deadline(LIMIT_DISK_CHECK_MS), on_room_timer, live,
			    &err))
		live_fail(live, ERR_INTERNAL, err.msg);
}

static void pause_for_room(struct live *live, const char *disk, const char *reason)
{
	char text[256];

	begin_pause(live, PAUSE_FOR_ROOM);
	live_reserve_some_back(live);
	snprintf(text, sizeof(text), PAUSED "no space left for the guest's disk \"%.64s\": %.100s",
		 disk, reason);
	if (live->outcome.intent == INTENT_NONE)
		live_record(live, live->state, text);
}

static void on_room_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	bool in_doubt = live->pause.why == PAUSE_IN_DOUBT;

	(void)loop;
	if (live->over)
		return;
	if (live->pause.asked || !disks_have_room(live)) {
		if (in_doubt)
			pause_for_room(live, "rootfs", strerror(ENOSPC));
		look_for_room_later(live);
	} else if (in_doubt && live_quota_is_met(live)) {
		pause_at_quota(live);
	} else {
		live_reserve(live);
		/* A pause in doubt was not reported by an event, so its end is not reported
		 * either. */
		if (end_pause(live) && !in_doubt && live->outcome.intent == INTENT_NONE)
			live_record(live, live->state, "resumed: there is room on the disk again");
	}
}

/* Returns the disk's name in the config. If no disk of the config has this serial number, as for
 * "rootfs", returns the serial number. */
static const char *disk_name(const struct live *live, const char *serial)
{
	size_t i;
	json_t *disk;

	json_array_foreach(live->ticket.disks, i, disk)
	{
		const char *own = json_text(disk, "serial", NULL);

		if (own && strcmp(own, serial) == 0)
			return json_text(disk, "name", NULL);
	}
	return serial;
}

void live_disk_full(void *data, const char *serial, const char *reason)
{
	struct live *live = data;

	if (live->pause.why)
		return;
	if (!live_quota_bounds(live, serial) || !disks_have_room(live)) {
		pause_for_room(live, disk_name(live, serial), reason);
	} else if (live_quota_is_met(live) || live_quota_is_met_again(live)) {
		pause_at_quota(live);
		return;
	} else {
		begin_pause(live, PAUSE_IN_DOUBT);
		log_limited(&live->log, "the disk had no room, although it is below its quota");
	}
	look_for_room_later(live);
}
