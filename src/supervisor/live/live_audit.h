/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a live session, and the things that are watched for it. All calls do nothing if
 * the workspace is no session. A disk without room never harms the VM. Events then wait for room.
 * Events that cannot wait any more are counted in an `audit.gap`. An event of the workspace tells
 * of both. Meanwhile a CRITICAL event that waits is in the security log. A log that somebody takes
 * away is put back.
 *
 *   live_audit.c    writes: waiting, gaps, the rate of events that a guest causes
 *   live_observe.c  makes events from what happens; looks slowly at what no process tells
 */
#ifndef SUPERVISOR_LIVE_AUDIT_H
#define SUPERVISOR_LIVE_AUDIT_H

#include "store/audit.h"
#include "supervisor/live/live.h"

/* Opens the log. If this fails, the session must not start. */
int live_audit_begin(struct live *live, struct error *err);
/* Closes the files. Events that still wait have had their last try, and the security log says how
 * many they are. */
void live_audit_free(struct live *live);

/* Returns the log; NULL if there is none. From its own start on the broker writes the security
 * log. */
struct audit *live_audit_log(const struct live *live);

/* Looks whether the log and the security log are still in their places. So it is noticed that
 * somebody takes them away, even if nothing happens. */
void live_audit_look(struct live *live);

/* Writes an event. Takes over data (NULL: none). Infos are on the disk within LIMIT_AUDIT_SYNC_MS,
 * other events at once. */
void live_audit(struct live *live, enum audit_severity severity, const char *subsystem,
		const char *event, json_t *data);
/* Writes an event for a step of a session's life. It is on the disk at once, even if it is an
 * info. */
void live_audit_step(struct live *live, const char *subsystem, const char *event, json_t *data);
/* Writes an event that is the guest's word, and marks this in its data. Above
 * LIMIT_AUDIT_GUEST_LINES a second, and above half of LIMIT_AUDIT_BYTES, events are only
 * counted. */
void live_audit_guest(struct live *live, enum audit_severity severity, const char *subsystem,
		      const char *event, json_t *data);
/* Writes an event for a connection of the guest, which the host saw. Above LIMIT_AUDIT_NET_LINES a
 * second, and above a quarter of LIMIT_AUDIT_BYTES, events are only counted. */
void live_audit_network(struct live *live, enum audit_severity severity, const char *event,
			json_t *data);

/* ---- live_observe.c
 * ------------------------------------------------------------------------------ */

/* Called when the VMM runs. From here on the VMM is watched; what cannot be watched is told. */
void live_observe_begin(struct live *live, const struct config *config);
void live_observe_free(struct live *live);
struct watch_base *live_observe_base(struct live *live); /* NULL: nothing is observed */
struct watch_opens *
live_observe_opens(const struct live *live); /* NULL: nothing is observed, or opens cannot be */
/* Called before and after the devices of count shares are added. The sockets that the VMM gets by
 * them are expected. */
void live_observe_plugging(struct live *live, size_t count);
void live_observe_plugged(struct live *live);

void live_observe_ready(struct live *live);
int live_observe_said(struct live *live, enum control_type type, const json_t *message,
		      struct error *err);
void live_observe_lost(struct live *live, bool broken, const char *why);
void live_observe_connection(struct live *live, const char *line);
void live_observe_companion(struct live *live, const char *text);
/* Notes that the guest was killed, and that what it had not told yet is lost. why: the reason, for
 * a person. */
void live_observe_untold(struct live *live, const char *why);
void live_observe_end(struct live *live, enum vm_end end, enum state state, const char *detail);
/* Notes that the guest can see a directory of the host, by the config or added while it runs. */
void live_observe_share(struct live *live, const json_t *share);
/* Notes that the guest can see none of these directories any more. */
void live_observe_unshared(struct live *live, const char *why);

#endif
