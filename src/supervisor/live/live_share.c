/* SPDX-License-Identifier: MIT */
/*
 * A shared directory for a guest that runs: by the pass of the command that asks
 * (store/share_pass.h), given to the machine by the backend, mounted by the guest, and recorded in
 * runtime.json. One for each machine. What the guest cannot mount is taken away again.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/live_audit.h"

/* --- the answer ------------------------------------------------------------------------------ */

static void finish_share(struct live *live, const struct error *why)
{
	struct control_client *client = steal_ptr(&live->share.client);
	json_auto_t *answer = why ? control_sock_refusal(why)
				  : json_pack("{s:b, s:O}", "ok", 1, "share", live->share.given);

	loop_remove(steal_ptr(&live->share.timer));
	if (why) {
		log_line(&live->log, "share: %s", why->msg);
		json_decref(steal_ptr(&live->share.given));
	}
	if (client)
		control_sock_answer(client, answer);
}

static void note_share(struct live *live)
{
	json_object_set(live->runtime, "share", live->share.given);
	live_runtime_describe(live); /* its virtiofsd is among the companions */
	log_line(&live->log, "share: %s is on %s (%s)", json_text(live->share.given, "path", NULL),
		 json_text(live->share.given, "mountpoint", NULL),
		 json_text(live->share.given, "mode", NULL));
}

/* --- taken back ------------------------------------------------------------------------------ */

static void on_detached(void *data, const struct error *why)
{
	struct live *live = data;

	if (why)
		log_line(&live->log, "share: %s", why->msg);
	live_observe_unshared(live, live->share.why.msg);
	finish_share(live, &live->share.why);
}

/* The guest has not mounted it, or does not say so. */
static void take_share_back(struct live *live, const struct error *why)
{
	struct error err;

	live->share.why = *why;
	if (live->severed || live->outcome.intent != INTENT_NONE ||
	    live->backend->share_detach(live->vm, on_detached, live, &err) < 0)
		finish_share(live, why);
}

static void on_share_timer(struct loop *loop, void *data)
{
	struct live *live = data;
	struct error why;

	(void)loop;
	live->share.timer = NULL;
	error_set(&why, ERR_TIMEOUT, "the guest has not mounted the directory within %llu ms",
		  (unsigned long long)limit_get(LIMIT_SHARE_MS));
	take_share_back(live, &why);
}

/* --- given ----------------------------------------------------------------------------------- */

void live_share_mounted(struct live *live, const char *said)
{
	struct error why;

	/* Not asked yet, or too late: it is being taken back. */
	if (!live->share.client || !live->share.timer)
		return;
	loop_remove(steal_ptr(&live->share.timer));
	if (!said) {
		note_share(live);
		finish_share(live, NULL);
		return;
	}
	error_set(&why, ERR_IO, "the guest cannot mount it: %.400s", said);
	take_share_back(live, &why);
}

static void on_attached(void *data, const struct error *why)
{
	struct live *live = data;
	uint64_t deadline = limit_deadline(LIMIT_SHARE_MS);
	struct error err = {0};

	live_observe_plugged(live);
	if (live->severed || live->over)
		return; /* who asked knows */
	if (why) {
		finish_share(live, why);
		return;
	}
	/* From here on it can be read: the guest need not say that it has mounted it. */
	live_observe_share(live, live->share.given);
	live->share.timer = loop_add_timer(live->loop, deadline, on_share_timer, live, &err);
	if (!live->share.timer || control_stream_mount(live->control, live->share.given, &err) < 0)
		take_share_back(live, &err);
}

void live_share_cut(struct live *live, const char *how)
{
	struct error why;

	if (!live->share.client)
		return;
	error_set(&why, ERR_CONFLICT, "it %s before it had the directory", how);
	finish_share(live, &why);
}

static int may_share(const struct live *live, struct error *err)
{
	if (!live->backend->share_attach)
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s gives no directory to a running machine",
				 live->backend->name);
	if (live->severed)
		return error_set(err, ERR_CONFLICT,
				 "it is quarantined: nothing can be shared with it");
	if (live->share.given || live->share.from_start)
		return error_set(err, ERR_CONFLICT,
				 "it has its shared directory already, and gets no second one: put "
				 "the files there, or make another machine for them");
	if (!live->share.pluggable) {
		error_set(err, ERR_CONFLICT,
			  "it was made without a spare port for a directory (config.hotplug): make "
			  "another one without that");
		return error_reason(err, REASON_SESSION_WITHOUT_PORT, "");
	}
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return error_set(err, ERR_CONFLICT, "it is ending or not yet running");
	return 0;
}

/* The command has written a pass for it: we can open nothing there. */
static int attach_share(struct live *live, const json_t *given, struct error *err)
{
	bool read_only = strcmp(json_text(given, "mode", NULL), "ro") == 0;
	autofree char *label = workspace_path(&live->ws, NULL, err);
	const struct vm_share share = {
		.tag = json_text(given, "tag", NULL),
		.dir_fd = -1,
		.read_only = read_only,
		.label = label,
		.workspace_fd = live->ws.fd,
		.lease_fd = LIVE_LEASE,
	};

	if (!label)
		return -1;
	live_observe_plugging(live);
	if (live->backend->share_attach(live->vm, &share, on_attached, live, err) == 0)
		return 0;
	live_observe_plugged(live);
	return -1;
}

int live_share(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err)
{
	json_t *item = NULL;
	json_auto_t *given = NULL;

	if (json_get_object(request, "", "share", JSON_REQUIRED, &item, err) < 0)
		return -1;
	given = share_decode(item, "share", err);
	if (!given || may_share(live, err) < 0 || attach_share(live, given, err) < 0)
		return -1;
	live->share.given = steal_ptr(&given);
	live->share.client = client;
	control_sock_defer(client);
	return 0;
}
