/* SPDX-License-Identifier: MIT */
#include "store/audit_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"

static const char *const severity_names[] = {
	[AUDIT_INFO] = "INFO", [AUDIT_WARNING] = "WARNING", [AUDIT_CRITICAL] = "CRITICAL"};

void audit_digest(const void *bytes, size_t len, uint8_t out[AUDIT_DIGEST])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, bytes, len);
	sha256_final(&sha, out);
}

static int lower_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool audit_unhex(const char *hex, uint8_t out[AUDIT_DIGEST])
{
	if (strlen(hex) != (size_t)2 * AUDIT_DIGEST)
		return false;
	for (size_t i = 0; i < AUDIT_DIGEST; i++) {
		int high = lower_hex_digit(hex[2 * i]), low = lower_hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void audit_root(const char *session, const char *nonce, uint8_t out[AUDIT_DIGEST])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, session, strlen(session));
	sha256_update(&sha, "\n", 1);
	sha256_update(&sha, nonce, strlen(nonce));
	sha256_final(&sha, out);
}

int audit_line_read(const json_t *object, struct audit_line *out, struct error *err)
{
	struct audit_line line = {0};
	const char *severity = NULL, *subsystem = NULL;
	json_t *top = json_incref((json_t *)(uintptr_t)object);
	int64_t seq = 0;
	int status = -1;

	if (!json_is_object(object))
		error_set(err, ERR_INVALID,
			  "the line is not a JSON object, so microagent did not write it");
	else if (json_get_string(top, "", "ts", JSON_REQUIRED, &line.ts, err) == 0 &&
		 json_get_string(top, "", "severity", JSON_REQUIRED, &severity, err) == 0 &&
		 json_get_string(top, "", "subsystem", JSON_REQUIRED, &subsystem, err) == 0 &&
		 json_get_string(top, "", "event", JSON_REQUIRED, &line.event, err) == 0 &&
		 json_get_string(top, "", "session", JSON_REQUIRED, &line.session, err) == 0 &&
		 json_get_int(top, "", "seq", JSON_REQUIRED, 1, INT64_MAX, &seq, err) == 0 &&
		 json_get_object(top, "", "data", JSON_REQUIRED, &line.data, err) == 0 &&
		 json_get_string(top, "", "prev", JSON_REQUIRED, &line.prev, err) == 0)
		status = 0;
	json_decref(top);
	if (status < 0)
		return -1;
	line.seq = (uint64_t)seq;
	*out = line;
	return 0;
}

static bool line_has(const char *text, size_t len, const char *words)
{
	return memmem(text, len, words, strlen(words)) != NULL;
}

/* Finds the part of the log that a line belongs to, from the line's members "origin" and
 * "subsystem". Strings from the guest cannot contain the two searched texts, because these texts
 * have quotation marks, and in a JSON string each quotation mark has a backslash before it. */
enum audit_part audit_line_part(const char *text, size_t len)
{
	if (line_has(text, len, "\"origin\":\"guest\""))
		return AUDIT_PART_GUEST;
	return line_has(text, len, "\"subsystem\":\"network\"") ? AUDIT_PART_NETWORK
								: AUDIT_PART_HOST;
}

char *audit_line_text(const struct audit *audit, const struct audit_event *event,
		      const uint8_t prev[AUDIT_DIGEST], uint64_t seq, size_t *len,
		      struct error *err)
{
	json_t *data = event->data ? json_incref((json_t *)(uintptr_t)event->data) : json_object();
	char now[CLOCK_TEXT], hex[2 * AUDIT_DIGEST + 1];
	size_t used;

	sha256_hex(prev, hex);
	clock_rfc3339(event->real_ns ? event->real_ns : clock_real_ns(), now);
	json_auto_t *line =
		json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:s}", "ts", now, "severity",
			  severity_names[event->severity], "subsystem", event->subsystem, "event",
			  event->event, "session", audit->session, "seq", (json_int_t)seq, "data",
			  data, "prev", hex);
	autofree char *text = line ? json_line(line, err) : NULL;

	if (!line)
		error_errno(err, ENOMEM, AUDIT_LOG);
	if (!text)
		return NULL;
	used = strlen(text);
	if (used + 1 > limit_get(LIMIT_AUDIT_LINE_BYTES) && event->data) {
		/* The member "origin" is kept, because without it the line would count as a line of
		 * the host. */
		json_auto_t *instead = json_pack("{s:I, s:O*}", "omittedBytes", (json_int_t)used,
						 "origin", json_object_get(event->data, "origin"));
		struct audit_event shorter = *event;

		shorter.data = instead;
		return instead ? audit_line_text(audit, &shorter, prev, seq, len, err) : NULL;
	}
	text[used] = '\n'; /* the newline replaces the NUL, which is not written */
	*len = used + 1;
	return steal_ptr(&text);
}
