/* SPDX-License-Identifier: MIT */
/* The readiness block of an answer: the signals that the live supervisor observes, and whether the
 * result was delivered. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "supervisor/commands/answer.h"
#include "supervisor/live/control_sock.h"

/* Returns the signal for a machine that is not live, with the detail "workspace is S; live
 * readiness unavailable", where S is the recorded state. */
static json_t *not_live(const struct record *record, const char *error)
{
	char detail[96];

	snprintf(detail, sizeof(detail), "workspace is %s; live readiness unavailable",
		 state_names[record->state]);
	return readiness_signal(false, NULL, detail, error);
}

/* Asks the live supervisor for the signals that it observes. Returns NULL with an error on
 * failure. */
static json_t *ask_live(const struct record *record, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CONTROL_REQUEST_MS);
	json_auto_t *request = json_object();
	json_auto_t *answer = NULL;

	if (json_put_string(request, "command", "readiness", err) < 0 ||
	    control_ask(record->ws.fd, request, deadline, &answer, err) < 0)
		return NULL;
	return json_incref(json_object_get(answer, "readiness"));
}

void await_look(const struct record *record)
{
	struct error ignored;

	if (state_is_live(record->state) || record->state == STATE_QUARANTINED)
		json_decref(ask_live(record, &ignored));
}

static json_t *result_ready(const struct record *record)
{
	struct timespec written;
	char at[CLOCK_TEXT];
	struct stat st;

	if (record->ws.fd < 0 ||
	    fstatat(record->ws.fd, "result.json", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return readiness_of_result(false, NULL);
	written = file_modified(&st);
	clock_rfc3339((int64_t)written.tv_sec * (int64_t)NS_PER_S + written.tv_nsec, at);
	return readiness_of_result(true, at);
}

/* Returns the signal `key` as the live supervisor observes it. If `signals` is NULL, `why` is the
 * reason why there are no signals. */
static json_t *observed_signal(const json_t *signals, const char *key, const struct error *why)
{
	json_t *signal = json_object_get(signals, key);

	return signal ? json_incref(signal) : readiness_signal(false, NULL, NULL, why->msg);
}

static json_t *mediation_ready(const struct record *record, const struct config *config,
			       const json_t *signals, const struct error *why)
{
	bool required;

	if (!config || !config->mediation)
		return readiness_signal(false, NULL, "mediation is not configured", NULL);
	if (state_is_live(record->state))
		return observed_signal(signals, "mediationReady", why);
	required = json_is_true(json_object_get(config->mediation, "required"));
	return not_live(record, required ? "required mediation is not ready" : NULL);
}

json_t *readiness_json(const struct record *record, const struct config *config, struct error *err)
{
	struct error why = {.code = ERR_UNAVAILABLE,
			    .msg = "the live supervisor does not report it"};
	json_auto_t *readiness = json_object();
	json_auto_t *signals = NULL;
	bool live = state_is_live(record->state);

	if (live)
		signals = ask_live(record, &why);
	else
		await_look(record);
	if (!readiness ||
	    json_put(readiness, "guestReady",
		     live ? observed_signal(signals, "guestReady", &why) : not_live(record, NULL),
		     err) < 0 ||
	    json_put(readiness, "shellReady",
		     live ? observed_signal(signals, "shellReady", &why) : not_live(record, NULL),
		     err) < 0 ||
	    json_put(readiness, "resultReady", result_ready(record), err) < 0 ||
	    json_put(readiness, "mediationReady", mediation_ready(record, config, signals, &why),
		     err) < 0)
		return NULL;
	return steal_ptr(&readiness);
}
