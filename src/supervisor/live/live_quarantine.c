/* SPDX-License-Identifier: MIT */
/*
 * Puts a running machine into quarantine. The VM goes on, with its disks and its serial log, but no
 * connection leads out of the guest or into it. These are the steps, in this order. The backend
 * kills the companions. The live supervisor closes its own listeners and connections. The sockets
 * are unlinked. The backend proves that no channel is left (backend/parts/vm_sever.c and
 * vm_held.c). The broker proves that no connection is left through the live supervisor
 * (linux/live_quarantine_proof.c, store/quarantine_proof.c). Only then the live supervisor records
 * `quarantined` and answers the command.
 *
 * If the quarantine cannot be proven, the VM is ended, since it might still have a connection.
 * control.sock stays open, so that commands can end the VM; a guest can send no byte to this
 * socket. The lifelines of the caller are no longer watched, so the VM goes on when the caller of a
 * foreground run exits. A quarantined machine runs until it is halted, stopped or killed.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/kind.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/readiness.h"

static void note_severed(struct live *live, const char *name)
{
	json_array_append_new(live->severed, json_string(name));
}

static void drop_watch(struct loop_watch **watch)
{
	loop_remove(*watch);
	*watch = NULL;
}

/* Stops the timers and lifelines that could end the VM: the timeout of the workload, the timer of a
 * lost agent, and the lifelines of the caller. */
static void forget_workload(struct live *live)
{
	drop_watch(&live->workload_timer);
	drop_watch(&live->lost_timer);
	for (size_t i = 0; i < ARRAY_SIZE(live->lifelines); i++)
		drop_watch(&live->lifelines[i]);
}

/* Closes all listeners and connections of this process that lead to or from the machine. Leaves
 * control.sock open. */
static int close_channels(struct live *live, struct error *err)
{
	if (live->console)
		note_severed(live, "console");
	console_free(steal_ptr(&live->console));
	live_share_cut(live, "was quarantined");
	live_network_cut(live, "was quarantined");
	live_save_cut(live, "was quarantined");
	live_siblings_end(live);
	note_severed(live, "control");
	control_stream_free(steal_ptr(&live->control));
	/* First ends a probe that uses the mediation target, since channels_sever() frees this
	 * target. The clients that wait for the result of the probe get their answer. */
	readiness_sever(live->readiness);
	return channels_sever(live->channels, live->severed, err);
}

static int may_begin(const struct live *live, struct error *err)
{
	if (!live->backend->sever)
		return error_set(err, ERR_UNSUPPORTED,
				 "backend %s does not support quarantine: stop the machine instead",
				 live->backend->name);
	if (live->severed)
		return kind_error(live->ws.id, ERR_CONFLICT, err,
				  "is quarantined or is being quarantined");
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return kind_error(live->ws.id, ERR_CONFLICT, err, "is ending or not yet running");
	return 0;
}

static void answer_quarantine(struct live *live, const struct error *why)
{
	struct control_client *client = steal_ptr(&live->quarantine_client);
	json_auto_t *text = why ? control_sock_refusal(why)
				: json_pack("{s:b, s:O}", "ok", 1, "event", live->last_event);

	if (client)
		control_sock_answer(client, text);
}

static void fail_quarantine(struct live *live, const struct error *why)
{
	struct error cause = *why;

	/* The codes ERR_TIMEOUT and ERR_UNAVAILABLE tell a caller to repeat the request. But the
	 * machine is killed now, so the code becomes ERR_IO. */
	if (cause.code == ERR_TIMEOUT || cause.code == ERR_UNAVAILABLE)
		cause.code = ERR_IO;
	error_prefix(&cause, QUARANTINE_FAILED);
	log_line(&live->log, "%s", cause.msg);
	live_end(live, INTENT_FAILED, &cause);
	answer_quarantine(live, &cause);
}

int live_quarantine(struct live *live, const json_t *request, struct control_client *client,
		    struct error *err)
{
	struct error why = {0};

	if (may_begin(live, err) < 0)
		return -1;
	live->severed = json_array();
	if (!live->severed)
		return error_set(err, ERR_IO, "out of memory");
	live_asked_by(live, request);
	log_line(&live->log, "quarantine");
	control_sock_defer(client);
	live->quarantine_client = client;
	forget_workload(live);
	/* The companions are killed before the connections are closed, so that vsockd does not tell
	 * the guest that its connections end. */
	if (live->backend->sever(live->vm, &why) < 0) {
		fail_quarantine(live, &why);
		return 0;
	}
	if (close_channels(live, &why) < 0 || leftover_remove_channels(&live->ws, &why) < 0)
		fail_quarantine(live, &why);
	return 0;
}

/* Writes the names of the cut channels to `out`, for example "severed: console, control, vsock". */
static void describe_severed(const struct live *live, char *out, size_t size)
{
	const json_t *name;
	size_t i, used = (size_t)snprintf(out, size, "severed:");

	json_array_foreach(live->severed, i, name)
	{
		if (used >= size)
			return;
		used += (size_t)snprintf(out + used, size - used, "%s %s", i ? "," : "",
					 json_string_value(name));
	}
}

void live_severed(void *data, const json_t *names, const struct error *why)
{
	struct live *live = data;
	char detail[512];

	if (live->over)
		return;
	if (why) {
		fail_quarantine(live, why);
		return;
	}
	if (live->outcome.intent != INTENT_NONE) {
		live_quarantine_over(live);
		return;
	}
	for (size_t i = 0; i < json_array_size(names); i++)
		json_array_append(live->severed, json_array_get(names, i));
	live->outcome.quarantined = true;
	describe_severed(live, detail, sizeof(detail));
	/* Frees reserved space, so that the event can be recorded even if the guest has filled the
	 * disk. */
	live_reserve_some_back(live);
	live_record(live, STATE_QUARANTINED, detail);
	live_audit(live, AUDIT_WARNING, "session", "session.quarantined",
		   json_pack("{s:O}", "severed", live->severed));
	live_observe_unshared(live, "quarantine");
	live_asked_by_nobody(live);
	answer_quarantine(live, NULL);
}

void live_quarantine_over(struct live *live)
{
	struct error why;

	if (!live->quarantine_client)
		return;
	kind_error(live->ws.id, ERR_CONFLICT, &why, "ended before the quarantine was complete");
	answer_quarantine(live, &why);
}
