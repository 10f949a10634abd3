/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a live session, and the watches that report to it. All functions do nothing if
 * the workspace is not a session. If the host's disk has no room, the VM goes on: events wait in
 * memory until the host's disk has room. If too many events wait, further events are only counted,
 * and an event `audit.gap` has their number. An event of the workspace reports that events of the
 * log wait or were only counted. A waiting event that is CRITICAL is also written to the security
 * log at once. If another process removes the log, the log is put back.
 *
 *   live_audit.c    writes the events, keeps the waiting ones, counts gaps, limits a guest's rate
 *   live_observe.c  makes the events, and checks from time to time for changes without a report
 */
#ifndef SUPERVISOR_LIVE_AUDIT_H
#define SUPERVISOR_LIVE_AUDIT_H

#include "store/audit.h"
#include "supervisor/live/live.h"

/* Opens the audit log. If the log cannot be opened, the session must not start. */
int live_audit_begin(struct live *live, struct error *err);
/* Closes the files of the log. Events that still wait are lost, and the number of them is written
 * to the security log. */
void live_audit_free(struct live *live);

/* Returns the audit log, which belongs to `live`; NULL if there is none. Once there is a broker,
 * only the broker may write to the security log. */
struct audit *live_audit_log(const struct live *live);

/* Checks that the audit log and the security log are still at their paths. Called at intervals, so
 * that a removal is noticed even if no event is written. */
void live_audit_look(struct live *live);

/* Writes an event to the audit log. Releases `data`, which may be NULL. An event of AUDIT_INFO is
 * on the disk within LIMIT_AUDIT_SYNC_MS, any other event at once. */
void live_audit(struct live *live, enum audit_severity severity, const char *subsystem,
		const char *event, json_t *data);
/* Writes an event of AUDIT_INFO about a step in a session's lifetime. The event is on the disk when
 * the function returns. */
void live_audit_step(struct live *live, const char *subsystem, const char *event, json_t *data);
/* Writes an event that the guest has reported, and marks its data with "origin":"guest". Beyond
 * LIMIT_AUDIT_GUEST_LINES per second, or beyond half of LIMIT_AUDIT_BYTES in the log, such events
 * are only counted. */
void live_audit_guest(struct live *live, enum audit_severity severity, const char *subsystem,
		      const char *event, json_t *data);
/* Writes an event about a connection of the guest, which the host has seen. Beyond
 * LIMIT_AUDIT_NET_LINES per second, or beyond a quarter of LIMIT_AUDIT_BYTES in the log, such
 * events are only counted. */
void live_audit_network(struct live *live, enum audit_severity severity, const char *event,
			json_t *data);

/* --- live_observe.c -------------------------------------------------------------------------- */

/* Begins the watches of a session, for example of the VMM and of the base. Called when the VMM
 * runs. An event in the log lists the watches that are not possible on this host. */
void live_observe_begin(struct live *live, const struct config *config);
void live_observe_free(struct live *live);
/* Returns the watch of the base; NULL: the base is not watched. */
struct watch_base *live_observe_base(struct live *live);
/* Returns the watch of opened files; NULL: opened files are not watched. */
struct watch_opens *live_observe_opens(const struct live *live);
/* Functions that are called before and after the devices of `count` shares are added. The VMM opens
 * a socket for each of these devices. These functions prevent that the new sockets are reported. */
void live_observe_plugging(struct live *live, size_t count);
void live_observe_plugged(struct live *live);

void live_observe_ready(struct live *live);
int live_observe_said(struct live *live, enum control_type type, const json_t *message,
		      struct error *err);
void live_observe_lost(struct live *live, bool broken, const char *why);
void live_observe_connection(struct live *live, const char *line);
void live_observe_companion(struct live *live, const char *text);
/* Writes an event which says that the guest was killed, and that its unsent reports are lost. `why`
 * is the reason for the kill, as a text for a person. */
void live_observe_untold(struct live *live, const char *why);
void live_observe_end(struct live *live, enum vm_end end, enum state state, const char *detail);
/* Writes an event which says that the guest can now see a directory of the host: a share of the
 * config, or one that was added while the guest runs. */
void live_observe_share(struct live *live, const json_t *share);
/* Writes an event which says that the guest can no longer see the directories about which
 * live_observe_share() wrote events. */
void live_observe_unshared(struct live *live, const char *why);

#endif
