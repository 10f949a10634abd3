/* SPDX-License-Identifier: MIT */
/* Sets how much memory a running guest may use, by the balloon of its machine. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/kind.h"
#include "supervisor/live/live.h"

static void on_balloon_answer(void *data, int64_t actual_mib, const struct error *why)
{
	struct live *live = data;
	struct control_client *client = steal_ptr(&live->balloon_client);
	json_t *actual = actual_mib == VM_BALLOON_UNTOLD ? json_null()
							 : json_integer((json_int_t)actual_mib);
	json_auto_t *told = json_pack("{s:I, s:o}", "memoryMiB", (json_int_t)live->memory_mib,
				      "actualMiB", actual);
	json_auto_t *answer =
		why ? control_sock_refusal(why) : json_pack("{s:b, s:O}", "ok", 1, "balloon", told);

	if (!why && actual_mib == VM_BALLOON_UNTOLD)
		log_line(&live->log,
			 "balloon: it was set; how much memory the guest has is not known");
	else if (!why)
		log_line(&live->log, "balloon: the guest has %lld MiB", (long long)actual_mib);
	/* If control.sock is closed, the client was already disconnected. */
	if (live->requests)
		control_sock_answer(client, answer);
}

static int may_set_balloon(const struct live *live, int64_t mib, struct error *err)
{
	int64_t least = (int64_t)limit_get(LIMIT_WORKSPACE_MEMORY_MIN_MIB);

	if (!live->backend->balloon)
		return error_set(
			err, ERR_UNSUPPORTED,
			"backend %s has no memory balloon, so the memory of its running machines cannot be changed",
			live->backend->name);
	if (mib < least || mib > live->memory_mib)
		return error_set(
			err, ERR_INVALID,
			"memoryMiB must be from %lld to %lld, the memory that the machine was made with, and is %lld",
			(long long)least, (long long)live->memory_mib, (long long)mib);
	if (live->severed)
		return kind_error(
			live->ws.id, ERR_CONFLICT, err,
			"is quarantined; halt, stop or kill it, and start it again, before you set its balloon");
	if (live->state != STATE_RUNNING || live->outcome.intent != INTENT_NONE)
		return kind_error(live->ws.id, ERR_CONFLICT, err, "is ending or not yet running");
	return 0;
}

int live_balloon(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err)
{
	int64_t mib = 0;

	if (json_get_int(request, "", "memoryMiB", JSON_REQUIRED, INT64_MIN, INT64_MAX, &mib, err) <
		    0 ||
	    may_set_balloon(live, mib, err) < 0 ||
	    live->backend->balloon(live->vm, mib, on_balloon_answer, live, err) < 0)
		return -1;
	live->balloon_client = client;
	control_sock_defer(client);
	return 0;
}
