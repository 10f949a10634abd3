/* SPDX-License-Identifier: MIT */
/*
 * The audit log of a live session, and what is watched for it. All calls do nothing for a workspace
 * that is no session. A disk without room never harms the VM: events wait for it, and what cannot
 * wait any more is counted in an `audit.gap`; an event of the workspace tells of both. A CRITICAL
 * event that waits is in the security log meanwhile. A log that is taken away is put back.
 *
 *   live_audit.c    writes: waiting, gaps, the rate of what a guest causes
 *   live_observe.c  from what happens to events; the slow look at what nobody tells
 */
#ifndef SUPERVISOR_LIVE_AUDIT_H
#define SUPERVISOR_LIVE_AUDIT_H

#include "store/audit.h"
#include "supervisor/live/live.h"

/* The log is open, or the session must not start. */
int live_audit_begin(struct live *live, struct error *err);
/* Closes the files. What still waits has had its last try, and the security log says how much that
 * is. */
void live_audit_free(struct live *live);

/* The log, whose security log the broker writes from its start on; NULL where there is none. */
struct audit *live_audit_log(const struct live *live);

/* Looks whether the log and the security log are still where they were, so that somebody who takes
 * them away is found out also where nothing happens. */
void live_audit_look(struct live *live);

/* data is stolen; NULL: none. Infos are on the disk within LIMIT_AUDIT_SYNC_MS, others at once. */
void live_audit(struct live *live, enum audit_severity severity, const char *subsystem,
		const char *event, json_t *data);
/* The same for the steps of a session's life, which are on the disk at once too. */
void live_audit_step(struct live *live, const char *subsystem, const char *event, json_t *data);
/* The same for a guest's word, marked as such in its data: above LIMIT_AUDIT_GUEST_LINES a second,
 * and above half of LIMIT_AUDIT_BYTES, it is counted. */
void live_audit_guest(struct live *live, enum audit_severity severity, const char *subsystem,
		      const char *event, json_t *data);
/* The same for its connections, which the host saw: LIMIT_AUDIT_NET_LINES, and a quarter. */
void live_audit_network(struct live *live, enum audit_severity severity, const char *event,
			json_t *data);

/* ---- live_observe.c
 * ------------------------------------------------------------------------------ */

/* The VMM runs: from here on it is watched, and what cannot be is told. */
void live_observe_begin(struct live *live, const struct config *config);
void live_observe_free(struct live *live);
struct watch_base *live_observe_base(struct live *live); /* NULL: nothing is observed */
struct watch_opens *
live_observe_opens(const struct live *live); /* NULL: as above, or it cannot be */
/* Around the adding of the devices of so many shares: the sockets that the VMM gets by them are as
 * they should be. */
void live_observe_plugging(struct live *live, size_t count);
void live_observe_plugged(struct live *live);

void live_observe_ready(struct live *live);
int live_observe_said(struct live *live, enum control_type type, const json_t *message,
		      struct error *err);
void live_observe_lost(struct live *live, bool broken, const char *why);
void live_observe_connection(struct live *live, const char *line);
void live_observe_companion(struct live *live, const char *text);
/* What the guest had not told yet when it was killed is lost. why: a reason, for a person. */
void live_observe_untold(struct live *live, const char *why);
void live_observe_end(struct live *live, enum vm_end end, enum state state, const char *detail);
/* A directory of the host is the guest's to see: of the config, or added while it runs. */
void live_observe_share(struct live *live, const json_t *share);
/* None of them any more. */
void live_observe_unshared(struct live *live, const char *why);

#endif
