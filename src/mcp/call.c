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
	list_init(&calls->list);
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

/* From here on nobody else knows of it. Whether somebody waits for its answer. */
static bool take_out(struct mcp_call *call)
{
	struct mcp_calls *calls = &call->server->calls;
	bool wanted;

	pthread_mutex_lock(&calls->lock);
	wanted = !call->dropped;
	list_remove(&call->link);
	calls->under_way--;
	pthread_mutex_unlock(&calls->lock);
	return wanted;
}

/* The last that its thread does. */
static void call_is_over(struct mcp_calls *calls)
{
	pthread_mutex_lock(&calls->lock);
	calls->threads--;
	wake_raise(calls->ended);
	pthread_mutex_unlock(&calls->lock);
}

static void *call_thread(void *data)
{
	struct mcp_call *call = data;
	struct mcp_calls *calls = &call->server->calls;
	json_t *result = tool_answer(call);

	if (take_out(call))
		server_answer(call->server, call->id, result);
	else
		json_decref(result);
	mcp_call_free(call);
	call_is_over(calls);
	return NULL;
}

static struct mcp_call *call_with_id(const struct mcp_calls *calls, const json_t *id)
{
	struct mcp_call *call;

	list_each (call, &calls->list, link)
		if (json_equal(call->id, id))
			return call;
	return NULL;
}

/* Who has got an answer may call again, although its thread is not quite at its end; of a client
 * that reads none of them the threads are bounded too. */
static int enter_call(struct mcp_calls *calls, struct mcp_call *call, struct error *err)
{
	uint64_t most = limit_get(LIMIT_MCP_CALLS);
	int status = 0;

	pthread_mutex_lock(&calls->lock);
	if (call_with_id(calls, call->id))
		status = error_set(err, ERR_INVALID, "a call with that id is under way");
	else if (calls->under_way >= most || calls->threads >= 2 * most)
		status = error_set(err, ERR_UNAVAILABLE,
				   "busy: %u calls are under way, which is the most",
				   calls->under_way);
	if (status == 0) {
		list_add(&calls->list, &call->link);
		calls->under_way++;
		calls->threads++;
	}
	pthread_mutex_unlock(&calls->lock);
	return status;
}

static int start_thread(struct mcp_call *call)
{
	pthread_attr_t detached;
	pthread_t thread;
	int failed;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	failed = pthread_create(&thread, &detached, call_thread, call);
	pthread_attr_destroy(&detached);
	return failed;
}

int call_begin(struct mcp_calls *calls, struct mcp_call *call, struct error *err)
{
	int failed;

	call->cancel = microagent_cancel_new(err);
	if (!call->cancel || enter_call(calls, call, err) < 0)
		return -1;
	failed = start_thread(call);
	if (failed == 0)
		return 0;
	take_out(call);
	call_is_over(calls);
	return error_errno(err, failed, "thread");
}

void mcp_calls_cancel(struct mcp_calls *calls, const json_t *id)
{
	struct mcp_call *call;

	pthread_mutex_lock(&calls->lock);
	call = call_with_id(calls, id);
	if (call) {
		call->dropped = true;
		microagent_cancel_fire(call->cancel);
	}
	pthread_mutex_unlock(&calls->lock);
}

static bool no_call_is_left(struct mcp_calls *calls)
{
	bool none;

	wake_clear(calls->ended);
	pthread_mutex_lock(&calls->lock);
	none = calls->threads == 0;
	pthread_mutex_unlock(&calls->lock);
	return none;
}

bool mcp_calls_end(struct mcp_calls *calls, uint64_t deadline_ns)
{
	struct error late = {0};
	struct mcp_call *call;

	pthread_mutex_lock(&calls->lock);
	list_each (call, &calls->list, link) {
		call->dropped = true;
		microagent_cancel_fire(call->cancel);
	}
	pthread_mutex_unlock(&calls->lock);
	while (!no_call_is_left(calls))
		if (fd_wait(calls->ended, POLLIN, deadline_ns, &late) < 0)
			return false;
	return true;
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
	out_send(&call->server->out,
		 rpc_notification("notifications/progress",
				  json_pack("{s:O, s:I, s:s}", "progressToken", call->progress,
					    "progress", (json_int_t)call->steps, "message", text)));
}
