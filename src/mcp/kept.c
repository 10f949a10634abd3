/* SPDX-License-Identifier: MIT */
#include "mcp/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

struct kept_output {
	struct list_link link;
	/* uri: the address of the output. session: the name of the session that made the output; ""
	 * for output of the tool `run`. */
	char uri[KEPT_URI_ROOM], session[64];
	struct buf bytes;
	uint64_t total;
	bool is_text;
};

void mcp_kept_init(struct mcp_kept *kept)
{
	*kept = (struct mcp_kept){.bytes = 0};
	list_init(&kept->list);
	pthread_mutex_init(&kept->lock, NULL);
}

/* Removes an output from the list and frees it. The caller holds the lock. */
static void remove_output(struct mcp_kept *kept, struct kept_output *output)
{
	list_remove(&output->link);
	kept->bytes -= output->bytes.len;
	buf_free(&output->bytes);
	free(output);
}

void mcp_kept_free(struct mcp_kept *kept)
{
	struct kept_output *output;

	list_each (output, &kept->list, link)
		remove_output(kept, output);
	pthread_mutex_destroy(&kept->lock);
}

void kept_uri(const char *session, unsigned number, bool is_stderr, char out[KEPT_URI_ROOM])
{
	const char *stream = is_stderr ? "stderr" : "stdout";

	if (session)
		snprintf(out, KEPT_URI_ROOM, "microagent://session/%.64s/exec/%u/%s", session,
			 number, stream);
	else
		snprintf(out, KEPT_URI_ROOM, "microagent://run/%u/%s", number, stream);
}

int kept_add(struct mcp_kept *kept, const char *session, const char *uri,
	     struct captured_stream *stream, struct error *err)
{
	struct kept_output *output = calloc(1, sizeof(*output)), *oldest;
	struct text_parts parts;

	if (!output)
		return error_errno(err, ENOMEM, "output");
	captured_parts(stream, &parts);
	output->is_text = text_is_utf8(&parts);
	output->total = stream->total;
	output->bytes = stream->head;
	stream->head = (struct buf){0};
	snprintf(output->uri, sizeof(output->uri), "%s", uri);
	snprintf(output->session, sizeof(output->session), "%s", session ? session : "");
	pthread_mutex_lock(&kept->lock);
	list_add(&kept->list, &output->link);
	kept->bytes += output->bytes.len;
	list_each (oldest, &kept->list, link)
		if (kept->bytes > limit_get(LIMIT_MCP_KEPT_BYTES))
			remove_output(kept, oldest);
	pthread_mutex_unlock(&kept->lock);
	return 0;
}

void kept_drop(struct mcp_kept *kept, const char *session)
{
	struct kept_output *output;

	pthread_mutex_lock(&kept->lock);
	list_each (output, &kept->list, link)
		if (strcmp(output->session, session) == 0)
			remove_output(kept, output);
	pthread_mutex_unlock(&kept->lock);
}

json_t *kept_list(struct mcp_kept *kept)
{
	json_t *resources = json_array();
	const struct kept_output *output;

	pthread_mutex_lock(&kept->lock);
	list_each (output, &kept->list, link) {
		char text[120];

		snprintf(text, sizeof(text),
			 "Untrusted output of a guest; %llu of its %llu bytes are kept.",
			 (unsigned long long)output->bytes.len, (unsigned long long)output->total);
		json_array_append_new(
			resources,
			json_pack("{s:s, s:s, s:s, s:s, s:I}", "uri", output->uri, "name",
				  output->uri + strlen("microagent://"), "description", text,
				  "mimeType",
				  output->is_text ? "text/plain" : "application/octet-stream",
				  "size", (json_int_t)output->bytes.len));
	}
	pthread_mutex_unlock(&kept->lock);
	return resources;
}

json_t *kept_templates(void)
{
	static const char *const rows[][2] = {
		{"microagent://session/{session}/exec/{number}/{stream}{?offset,limit}",
		 "output of exec"},
		{"microagent://run/{number}/{stream}{?offset,limit}", "output of run"},
	};
	json_t *templates = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		json_array_append_new(
			templates,
			json_pack(
				"{s:s, s:s, s:s}", "uriTemplate", rows[i][0], "name", rows[i][1],
				"description",
				"What was cut out of an answer: stream is stdout or stderr, offset and limit are bytes. Untrusted output of a guest."));
	return templates;
}

/* --- reading --------------------------------------------------------------------------------- */

struct range {
	uint64_t offset, limit;
};

static int parse_range(const char *query, struct range *range, struct error *err)
{
	while (*query) {
		bool offset = strncmp(query, "offset=", 7) == 0;
		unsigned long long value;
		char *end;

		if (!offset && strncmp(query, "limit=", 6) != 0)
			return error_set(
				err, ERR_INVALID,
				"the query of the resource's URI is wrong: only offset=BYTES and limit=BYTES may follow the \"?\"");
		query += offset ? 7 : 6;
		errno = 0;
		value = strtoull(query, &end, 10);
		/* Refuses a sign or a blank before the number, which strtoull() would accept. */
		if (*query < '0' || *query > '9' || errno != 0 || (*end != '\0' && *end != '&'))
			return error_set(
				err, ERR_INVALID,
				"offset and limit in the resource's URI must be whole numbers of bytes, like offset=0&limit=4096");
		*(offset ? &range->offset : &range->limit) = value;
		query = *end ? end + 1 : end;
	}
	return 0;
}

/* Returns the first position at or after `at` where a character begins. So parts that follow each
 * other have each character exactly once. */
static size_t whole_characters(const struct kept_output *output, size_t at)
{
	const uint8_t *bytes = buf_bytes(&output->bytes);

	while (output->is_text && at > 0 && at < output->bytes.len && (bytes[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static json_t *contents_of(const struct kept_output *output, const char *uri,
			   const struct range *range, struct error *err)
{
	size_t len = output->bytes.len, from, to;
	autobuf struct buf text = BUF_INIT(0);
	autofree char *blob = NULL;
	const uint8_t *bytes = buf_bytes(&output->bytes);

	from = range->offset < len ? (size_t)range->offset : len;
	to = range->limit < len - from ? from + (size_t)range->limit : len;
	from = whole_characters(output, from);
	to = whole_characters(output, to);
	if (to < from)
		to = from;
	if (!output->is_text) {
		blob = base64_encode(bytes + from, to - from, err);
		return blob ? json_pack("[{s:s, s:s, s:s}]", "uri", uri, "mimeType",
					"application/octet-stream", "blob", blob)
			    : NULL;
	}
	if (text_escape(bytes + from, to - from, &text, err) < 0)
		return NULL;
	return json_pack("[{s:s, s:s, s:s%}]", "uri", uri, "mimeType", "text/plain", "text",
			 (const char *)buf_bytes(&text), text.len);
}

json_t *kept_read(struct mcp_kept *kept, const char *uri, size_t limit, struct error *err)
{
	size_t name = strcspn(uri, "?");
	struct range range = {0, limit};
	const struct kept_output *output;
	json_t *contents = NULL;

	error_set(
		err, ERR_NOT_FOUND,
		"there is no resource %.200s: it was never made, or was dropped for newer ones: make the call again that returned it",
		uri);
	if (uri[name] && parse_range(uri + name + 1, &range, err) < 0)
		return NULL;
	pthread_mutex_lock(&kept->lock);
	list_each (output, &kept->list, link)
		if (strncmp(output->uri, uri, name) == 0 && output->uri[name] == '\0')
			contents = contents_of(output, uri, &range, err);
	pthread_mutex_unlock(&kept->lock);
	return contents;
}
