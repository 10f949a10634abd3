/* SPDX-License-Identifier: MIT */
#include "mcp/call.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/waitable.h"
#include "mcp/rpc.h"
#include "mcp/server.h"
#include "mcp/tools.h"

int mcp_calls_init(struct mcp_calls *calls, struct error *err)
{
	calls->ended = wake_open();
	if (calls->ended < 0)
		return error_errno(err, errno, "calls");
	list_init(&calls->running);
	list_init(&calls->waiting);
	pthread_mutex_init(&calls->lock, NULL);
	return 0;
}

void mcp_calls_free(struct mcp_calls *calls)
{
	close(calls->ended);
	pthread_mutex_destroy(&calls->lock);
}

void mcp_call_free(struct mcp_call *call)
{
	microagent_cancel_free(call->cancel);
	json_decref(call->message);
	free(call);
}

void mcp_answer_free(struct mcp_answer *answer)
{
	buf_free(&answer->text);
	json_decref(answer->structured);
	json_decref(answer->links);
	*answer = (struct mcp_answer){0};
}

/* Removes the call from its list, so that no other thread finds the call. The caller holds the
 * lock. */
static void take_out(struct mcp_calls *calls, struct mcp_call *call)
{
	list_remove(&call->link);
	calls->under_way--;
}

/* Sends the result of a call, unless the client no longer waits for this call. Frees the call. */
static void end_call(struct mcp_calls *calls, struct mcp_call *call, json_t *result)
{
	bool wanted;

	pthread_mutex_lock(&calls->lock);
	wanted = !call->dropped;
	if (wanted)
		take_out(calls, call);
	pthread_mutex_unlock(&calls->lock);
	if (wanted)
		server_answer(call->server, call->id, result);
	else
		json_decref(result);
	mcp_call_free(call);
}

static void *call_thread(void *data)
{
	struct mcp_call *call = data;
	struct mcp_calls *calls = &call->server->calls;

	while (call) {
		end_call(calls, call, tool_answer(call));
		pthread_mutex_lock(&calls->lock);
		call = list_first(&calls->waiting, struct mcp_call, link);
		if (call) {
			list_remove(&call->link);
			list_add(&calls->running, &call->link);
		} else {
			calls->threads--;
			wake_raise(calls->ended);
		}
		pthread_mutex_unlock(&calls->lock);
	}
	return NULL;
}

static struct mcp_call *call_with_id(const struct mcp_calls *calls, const json_t *id)
{
	struct mcp_call *call;

	list_each (call, &calls->running, link)
		if (json_equal(call->id, id))
			return call;
	list_each (call, &calls->waiting, link)
		if (json_equal(call->id, id))
			return call;
	return NULL;
}

/* Puts the call into the list `running` or `waiting`. Returns 1 if the call needs a new thread, 0
 * if the call waits for a thread, -1 on an error. A client that has got an answer, or has cancelled
 * a call, may make a new call before the thread of the old call has ended. So there may be more
 * threads than calls under way, up to a limit. When the limit is reached, a new call waits for a
 * thread. */
static int enter_call(struct mcp_calls *calls, struct mcp_call *call, struct error *err)
{
	uint64_t most = limit_get(LIMIT_MCP_CALLS);
	bool has_thread;
	int status;

	pthread_mutex_lock(&calls->lock);
	has_thread = calls->threads < 2 * most;
	status = has_thread;
	if (call_with_id(calls, call->id))
		status = error_set(
			err, ERR_INVALID,
			"another call with the same id is not finished yet: give each call another id");
	else if (calls->under_way >= most)
		status = error_set(
			err, ERR_UNAVAILABLE,
			"the server is busy, because %u calls are not finished yet, which is the limit: try again when some of them have ended",
			calls->under_way);
	if (status >= 0) {
		list_add(has_thread ? &calls->running : &calls->waiting, &call->link);
		calls->under_way++;
		calls->threads += has_thread;
	}
	pthread_mutex_unlock(&calls->lock);
	return status;
}

int call_begin(struct mcp_calls *calls, struct mcp_call *call, struct error *err)
{
	pthread_attr_t detached;
	pthread_t thread;
	int entered, failed;

	call->cancel = microagent_cancel_new(err);
	entered = call->cancel ? enter_call(calls, call, err) : -1;
	if (entered <= 0)
		return entered;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	failed = pthread_create(&thread, &detached, call_thread, call);
	pthread_attr_destroy(&detached);
	if (failed == 0)
		return 0;
	pthread_mutex_lock(&calls->lock);
	take_out(calls, call);
	calls->threads--;
	pthread_mutex_unlock(&calls->lock);
	return error_errno(err, failed, "thread");
}

/* Drops a call whose answer is not wanted any more. Frees the call if it has no thread; otherwise
 * the call's thread frees it later. The caller holds the lock. */
static void drop_call(struct mcp_calls *calls, struct mcp_call *call, bool has_thread)
{
	take_out(calls, call);
	if (!has_thread) {
		mcp_call_free(call);
		return;
	}
	call->dropped = true;
	microagent_cancel_fire(call->cancel);
	machines_give_up(&call->server->sessions, &call->room);
}

void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id)
{
	const struct mcp_call *waiting;
	bool has_thread = true;
	struct mcp_call *call;

	pthread_mutex_lock(&calls->lock);
	call = call_with_id(calls, id);
	list_each (waiting, &calls->waiting, link)
		has_thread = has_thread && waiting != call;
	if (call)
		drop_call(calls, call, has_thread);
	pthread_mutex_unlock(&calls->lock);
}

bool mcp_calls_end(struct mcp_calls *calls, uint64_t deadline_ns)
{
	struct error late = {0};
	struct mcp_call *call;

	pthread_mutex_lock(&calls->lock);
	list_each (call, &calls->waiting, link)
		drop_call(calls, call, false);
	list_each (call, &calls->running, link)
		drop_call(calls, call, true);
	pthread_mutex_unlock(&calls->lock);
	for (;;) {
		bool none;

		wake_clear(calls->ended);
		pthread_mutex_lock(&calls->lock);
		none = calls->threads == 0;
		pthread_mutex_unlock(&calls->lock);
		if (none)
			return true;
		if (fd_wait(calls->ended, POLLIN, deadline_ns, &late) < 0)
			return false;
	}
}

void call_tell(struct mcp_call *call, bool due, const char *fmt, ...)
{
	uint64_t now = clock_mono_ns();
	char text[200];
	va_list args;

	if (!call->progress ||
	    (!due && now - call->told_ns < limit_get(LIMIT_MCP_PROGRESS_MS) * NS_PER_MS))
		return;
	call->told_ns = now;
	call->steps++;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	out_send_now(
		&call->server->out,
		rpc_notification("notifications/progress",
				 json_pack("{s:O, s:I, s:s}", "progressToken", call->progress,
					   "progress", (json_int_t)call->steps, "message", text)));
}
