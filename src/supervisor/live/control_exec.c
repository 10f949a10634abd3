/* SPDX-License-Identifier: MIT */
/* Reads the guest's messages about the commands that run in it. The guest may lie, so the audit log
 * marks these reports with the guest as their origin. The length of a report is limited, and
 * unknown members are dropped. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/live/control_message.h"

#define WORDS_MAX 64
/* The greatest length of argv, in bytes. An invalid byte of the guest is replaced by U+FFFD, which
 * has three bytes. */
#define TEXT_MAX 16384

static json_t *words_of(json_t *message, struct error *err)
{
	json_auto_t *words = json_array();
	json_t *argv = NULL;
	const json_t *word;
	size_t i, used = 0;

	if (json_get_array(message, "exec-started", "argv", JSON_REQUIRED, &argv, err) < 0)
		return NULL;
	json_array_foreach(argv, i, word)
	{
		used += json_string_length(word);
		if (!json_is_string(word) || i == WORDS_MAX || used > TEXT_MAX) {
			error_set(
				err, ERR_INVALID,
				"the guest's message \"exec-started\" is malformed: argv is not a list of strings, or is too long; this is a bug, or the guest attacks its host");
			return NULL;
		}
		json_array_append(words, (json_t *)(uintptr_t)word);
	}
	return steal_ptr(&words);
}

static int take_exec_text(json_t *message, const char *key, json_t *facts, struct error *err)
{
	const char *text = NULL;

	if (json_get_string(message, "exec", key, JSON_OPTIONAL, &text, err) < 0)
		return -1;
	if (!text)
		return 0;
	if (strlen(text) > 4096)
		return error_set(
			err, ERR_INVALID,
			"the guest's message about a command is malformed: its member %s is too long; this is a bug, or the guest attacks its host",
			key);
	return json_put_string(facts, key, text, err);
}

static int take_number(json_t *message, const char *key, enum json_need need, int64_t max,
		       json_t *facts, struct error *err)
{
	int64_t number = -1;

	if (json_get_int(message, "exec", key, need, 0, max, &number, err) < 0)
		return -1;
	return number < 0 ? 0 : json_put(facts, key, json_integer(number), err);
}

static int take_flag(json_t *message, const char *key, json_t *facts, struct error *err)
{
	bool flag = false;

	if (json_get_bool(message, "exec", key, JSON_OPTIONAL, &flag, err) < 0)
		return -1;
	return flag ? json_put(facts, key, json_true(), err) : 0;
}

static int read_started(json_t *message, json_t *facts, struct error *err)
{
	json_t *words = words_of(message, err);

	if (!words || json_put(facts, "argv", words, err) < 0 ||
	    take_exec_text(message, "user", facts, err) < 0 ||
	    take_exec_text(message, "cwd", facts, err) < 0 ||
	    take_flag(message, "truncated", facts, err) < 0 ||
	    take_flag(message, "terminal", facts, err) < 0)
		return -1;
	return 0;
}

static int read_finished(json_t *message, json_t *facts, struct error *err)
{
	if (take_number(message, "code", JSON_REQUIRED, 255, facts, err) < 0 ||
	    take_number(message, "elapsedMs", JSON_REQUIRED, INT64_MAX, facts, err) < 0 ||
	    take_number(message, "signal", JSON_OPTIONAL, 127, facts, err) < 0 ||
	    take_flag(message, "timedOut", facts, err) < 0)
		return -1;
	return take_exec_text(message, "startError", facts, err);
}

json_t *control_read_exec(const json_t *message, enum control_type type, struct error *err)
{
	json_auto_t *facts = json_object(), *own = json_incref((json_t *)(uintptr_t)message);

	if (!facts) {
		error_errno(err, ENOMEM, "exec");
		return NULL;
	}
	if (json_put_string(facts, "origin", "guest", err) < 0 ||
	    take_number(own, "exec", JSON_REQUIRED, INT64_MAX, facts, err) < 0)
		return NULL;
	if (type == CONTROL_EXEC_STARTED ? read_started(own, facts, err) < 0
					 : read_finished(own, facts, err) < 0)
		return NULL;
	return steal_ptr(&facts);
}

json_t *control_read_lost(const json_t *message, struct error *err)
{
	json_auto_t *facts = json_pack(
		"{s:s, s:s}", "origin", "guest", "why",
		"there were more commands in one second than the guest reports one by one");
	json_auto_t *own = json_incref((json_t *)(uintptr_t)message);

	if (!facts) {
		error_errno(err, ENOMEM, "exec-lost");
		return NULL;
	}
	if (take_number(own, "lost", JSON_REQUIRED, UINT32_MAX, facts, err) < 0)
		return NULL;
	return steal_ptr(&facts);
}
