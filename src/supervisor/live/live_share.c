/* SPDX-License-Identifier: MIT */
/*
 * Gives shared directories to a running guest. The command that requests this writes a pass, which
 * names the directories (store/share/pass.h). The backend adds the directories to the machine, the
 * guest mounts them, and runtime.json records them. Such a request can succeed only once for a
 * machine. If the guest cannot mount all of the directories, all of them are removed from the
 * machine again.
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
				  : json_pack("{s:b, s:O}", "ok", 1, "shares", live->share.given);

	loop_remove(steal_ptr(&live->share.timer));
	if (why) {
		log_line(&live->log, "share: %s", why->msg);
		json_decref(steal_ptr(&live->share.given));
	}
	if (client)
		control_sock_answer(client, answer);
}

static void note_shares(struct live *live)
{
	const json_t *share;
	size_t i;

	json_object_set(live->runtime, "shares", live->share.given);
	live_runtime_describe(live); /* adds the virtiofsd processes of the shares to
				      * runtime.json */
	json_array_foreach(live->share.given, i, share)
	{
		log_line(&live->log, "share: %s is on %s (%s)", json_text(share, "path", NULL),
			 json_text(share, "mountpoint", NULL), json_text(share, "mode", NULL));
	}
}

/* --- removing shares again -------------------------------------------------------------------- */

static void on_detached(void *data, const struct error *why)
{
	struct live *live = data;

	if (why)
		log_line(&live->log, "share: %s", why->msg);
	live_observe_unshared(live, live->share.why.msg);
	finish_share(live, &live->share.why);
}

/* Removes the shares from the machine again, since the guest could not mount them, or has not
 * answered. The client gets the error `why`. */
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
	error_set(
		&why, ERR_TIMEOUT,
		"the directory was not shared, because the guest has not mounted it within %llu ms: try again when the guest has less to do",
		(unsigned long long)limit_get(LIMIT_SHARE_MS));
	take_share_back(live, &why);
}

/* --- giving shares --------------------------------------------------------------------------- */

void live_share_mounted(struct live *live, const char *said)
{
	struct error why;

	/* If there is no timer, the guest was not asked yet, or its answer came too late and the
	 * shares are being removed again. */
	if (!live->share.client || !live->share.timer)
		return;
	loop_remove(steal_ptr(&live->share.timer));
	if (!said) {
		note_shares(live);
		finish_share(live, NULL);
		return;
	}
	error_set(&why, ERR_IO, "the guest cannot mount the directory: %.400s", said);
	take_share_back(live, &why);
}

static void on_attached(void *data, const struct error *why)
{
	struct live *live = data;
	uint64_t deadline = limit_deadline(LIMIT_SHARE_MS);
	struct error err = {0};
	const json_t *share;
	size_t i;

	live_observe_plugged(live);
	if (live->severed || live->over)
		return; /* the client already has its answer */
	if (why) {
		finish_share(live, why);
		return;
	}
	/* From now on the guest can read the directories, even if it has not answered yet that it
	 * has mounted them. */
	json_array_foreach(live->share.given, i, share)
	{
		live_observe_share(live, share);
	}
	live->share.timer = loop_add_timer(live->loop, deadline, on_share_timer, live, &err);
	if (!live->share.timer || control_stream_mount(live->control, live->share.given, &err) < 0)
		take_share_back(live, &err);
}

void live_share_cut(struct live *live, const char *how)
{
	struct error why;

	if (!live->share.client)
		return;
	error_set(
		&why, ERR_CONFLICT,
		"the directory was not shared, because the machine %s before the guest had mounted the directory",
		how);
	finish_share(live, &why);
}

static int may_share(const struct live *live, struct error *err)
{
	if (!live->backend->share_attach)
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s cannot give a directory to a running machine",
				 live->backend->name);
	if (live->severed)
		return error_set(err, ERR_CONFLICT,
				 "the machine is quarantined: nothing can be shared with it");
	if (live->share.given || live->share.from_start)
		return error_set(
			err, ERR_CONFLICT,
			"the machine already has its shared directories and cannot get more, because they are all given at once: put the files there, or make another machine for them");
	if (!live->share.pluggable) {
		error_set(
			err, ERR_CONFLICT,
			"the machine has no spare port for a directory (config.hotplug): make another machine that has one");
		return error_reason(err, REASON_SESSION_WITHOUT_PORT, "");
	}
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return error_set(
			err, ERR_CONFLICT,
			"the machine is ending or not yet running: try again when it is running");
	return 0;
}

/* Attaches the shares to the machine. This process may not open the directories, so they are opened
 * according to the pass that the command has written. */
static int attach_shares(struct live *live, const json_t *given, struct error *err)
{
	autofree char *label = workspace_path(&live->ws, NULL, err);
	struct vm_share shares[PLUGS_MAX];
	size_t count = json_array_size(given);

	if (!label)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(given, i);

		shares[i] = (struct vm_share){
			.tag = json_text(item, "tag", NULL),
			.dir_fd = -1,
			.read_only = strcmp(json_text(item, "mode", NULL), "ro") == 0,
			.label = label,
			.workspace_fd = live->ws.fd,
			.lease_fd = LIVE_LEASE,
		};
	}
	live_observe_plugging(live, count);
	if (live->backend->share_attach(live->vm, shares, count, on_attached, live, err) == 0)
		return 0;
	live_observe_plugged(live);
	return -1;
}

/* Checks that no other share in `given` has the tag or the mountpoint of `share`. The decoder of a
 * config checks the same for the shares of that config. */
static int check_apart(const json_t *given, const json_t *share, struct error *err)
{
	static const char *const keys[] = {"tag", "mountpoint"};
	const json_t *other;
	size_t i;

	json_array_foreach(given, i, other)
	{
		for (size_t key = 0; key < ARRAY_SIZE(keys); key++)
			if (strcmp(json_text(other, keys[key], ""),
				   json_text(share, keys[key], "")) == 0)
				return error_set(
					err, ERR_INVALID,
					"shares: two shares have the same %s: %s; give each its own",
					keys[key], json_text(share, keys[key], ""));
	}
	return 0;
}

static json_t *decode_shares(const json_t *request, struct error *err)
{
	json_auto_t *given = json_array();
	json_t *list = NULL, *item;
	char field[40];
	size_t i;

	if (json_get_array(request, "", "shares", JSON_REQUIRED, &list, err) < 0)
		return NULL;
	if (json_array_size(list) < 1 || json_array_size(list) > PLUGS_MAX) {
		error_set(err, ERR_INVALID, "shares: there must be from 1 to %d directories",
			  PLUGS_MAX);
		return NULL;
	}
	json_array_foreach(list, i, item)
	{
		json_auto_t *share = NULL;

		snprintf(field, sizeof(field), "shares[%zu]", i);
		share = share_decode(item, field, err);
		if (!share || check_apart(given, share, err) < 0)
			return NULL;
		json_array_append(given, share);
	}
	return steal_ptr(&given);
}

int live_share(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err)
{
	json_auto_t *given = decode_shares(request, err);

	if (!given || may_share(live, err) < 0 || attach_shares(live, given, err) < 0)
		return -1;
	live->share.given = steal_ptr(&given);
	live->share.client = client;
	control_sock_defer(client);
	return 0;
}
