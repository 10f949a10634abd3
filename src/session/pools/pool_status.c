/* SPDX-License-Identifier: MIT */
/* Makes the description of pools that users see. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "session/pools/pool.h"

/* --- why the pool has a gap ------------------------------------------------------------------ */

#define LAST_BYTES 2048

/* Writes the last message of the filler's log to out, without the time of the message, which may be
 * old. Writes "" if there is no message. */
static void filler_last_words(const struct pool *pool, char out[LAST_BYTES])
{
	autoclose int fd =
		openat(pool->dir.fd, POOL_LOG, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[LAST_BYTES];
	const char *line;
	ssize_t got = -1;
	off_t end;

	*out = '\0';
	if (fd < 0 || (end = lseek(fd, 0, SEEK_END)) <= 0)
		return;
	got = pread(fd, text, sizeof(text) - 1, end > LAST_BYTES - 1 ? end - (LAST_BYTES - 1) : 0);
	if (got <= 1)
		return;
	text[got - 1] = '\0'; /* cuts the newline off */
	line = strrchr(text, '\n');
	line = strchr(line ? line + 1 : text, ' ');
	if (line)
		snprintf(out, LAST_BYTES, "%s", line + 1);
}

static json_t *detail_text(const char *what, const char *why)
{
	autobuf struct buf line = BUF_INIT(2UL * LAST_BYTES);

	if (buf_printf(&line, NULL, "%s%s", what, why) < 0)
		return NULL;
	return json_string_lossy(buf_string(&line), line.len);
}

/* Returns the reason why the pool has fewer members than it should have, or NULL if a filler is
 * making members and has reported no failure. */
static json_t *gap(const struct microagent *agent, const struct pool *pool,
		   const struct pool_record *record, bool filling, enum error_reason *reason)
{
	char words[LAST_BYTES];
	struct error why = {0};

	if (filling && pool_room(pool, record, pool_count_ready(agent),
				 pool_member_takes(agent, pool), &why) < 0)
		return detail_text("waits for room: ", why.msg);
	filler_last_words(pool, words);
	if (filling)
		return strncmp(words, POOL_FAILED, strlen(POOL_FAILED)) == 0
			       ? detail_text("", words)
			       : NULL;
	*reason = REASON_POOL_GIVEN_UP;
	if (strncmp(words, POOL_ENDED, strlen(POOL_ENDED)) == 0)
		return detail_text("given up: ", words + strlen(POOL_ENDED));
	*reason = REASON_POOL_UNATTENDED;
	return detail_text("no process fills it", "");
}

/* --- the description -------------------------------------------------------------------------- */

static json_t *describe_pool(const struct microagent *agent, const char *base, struct error *err)
{
	auto_pool struct pool pool = POOL_NONE;
	struct pool_record record = {0};
	json_auto_t *names = NULL;
	struct error why = {0};
	const json_t *name;
	enum error_reason reason = REASON_NONE;
	json_t *entry, *detail;
	int ready = 0;
	bool filling;
	size_t i;

	if (pool_open(agent->state_path, base, &pool, err) < 0)
		return NULL;
	/* A missing record is not an error: the pool was drained, and tokens of claimed sessions
	 * are still there. */
	if (pool_read(&pool, &record, &why) < 0 && why.code != ERR_NOT_FOUND) {
		error_copy(err, &why);
		return NULL;
	}
	names = pool_tokens(&pool, POOL_READY, err);
	if (!names)
		return NULL;
	json_array_foreach(names, i, name)
	{
		ready += pool_member_lives(agent, json_string_value(name)) == 1;
	}
	filling = pool_has_filler(&pool);
	detail = ready < record.size ? gap(agent, &pool, &record, filling, &reason) : NULL;
	entry = json_pack("{s:s,s:s*,s:I,s:i,s:b,s:o*,s:s*}", "base", base, "backend",
			  *record.backend ? record.backend : NULL, "size", (json_int_t)record.size,
			  "ready", ready, "filling", (int)filling, "detail", detail, "reason",
			  reason == REASON_NONE ? NULL : error_reason_name(reason));
	if (!entry)
		error_errno(err, ENOMEM, "pool");
	return entry;
}

/* Returns true if the pool was drained, and neither a filler nor members are left. Such a pool is
 * not listed. */
static bool is_over(const json_t *entry)
{
	return !json_integer_value(json_object_get(entry, "size")) &&
	       !json_integer_value(json_object_get(entry, "ready")) &&
	       json_is_false(json_object_get(entry, "filling"));
}

json_t *microagent_pool_status(struct microagent *agent, struct error *err)
{
	json_auto_t *bases = pool_bases(agent->state_path, err);
	json_auto_t *list = json_array();
	const json_t *base;
	size_t i;

	if (!bases || !list)
		return NULL;
	json_array_foreach(bases, i, base)
	{
		struct error why = {0};
		json_auto_t *entry = describe_pool(agent, json_string_value(base), &why);

		if (!entry && why.code != ERR_NOT_FOUND) {
			error_copy(err, &why);
			return NULL;
		}
		if (entry && !is_over(entry) && json_array_append(list, entry) < 0) {
			error_errno(err, ENOMEM, "pools");
			return NULL;
		}
	}
	return json_pack("{s:O}", "pools", list);
}
