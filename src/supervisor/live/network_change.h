/* SPDX-License-Identifier: MIT */
/*
 * Between the files of a change to the network of a machine that runs.
 *
 *   live_network.c  the change: judged, done, recorded, told, answered
 *   live_egress.c   what egress opens by name
 *   live_publish.c  published ports
 */
#ifndef SUPERVISOR_NETWORK_CHANGE_H
#define SUPERVISOR_NETWORK_CHANGE_H

#include "supervisor/live/live.h"

/* What is done to the machine when config.network is changed (channel/network_edit.h). before and
 * after are its canonical form. */
struct network_change {
	const char *name;
	int (*apply)(struct live *live, const json_t *before, const json_t *after,
		     struct control_client *client, struct error *err);
	/* What apply did cannot be recorded. NULL: it stays so. */
	void (*undo)(struct live *live, const json_t *before, const json_t *after);
	bool waits; /* the guest has the last word: live_published() */
};
extern const struct network_change change_allow, change_deny, change_publish, change_unpublish;

/* Events of all that is different. */
void live_egress_tell(struct live *live, const json_t *before, const json_t *after);
void live_publish_tell(struct live *live, const json_t *before, const json_t *after);

/* --- live_network.c --- */

typedef int network_item_fn(struct live *live, const json_t *item, struct error *err);
/* For each item of `of` that `without` lacks; both may be NULL. */
int network_each_more(struct live *live, const json_t *of, const json_t *without,
		      network_item_fn *fn, struct error *err);
/* An event of the workspace, or a line of the audit log of a session. data is stolen. */
void network_tell(struct live *live, const char *event, json_t *data, const char *text);

#endif
