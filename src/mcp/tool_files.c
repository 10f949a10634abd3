/* SPDX-License-Identifier: MIT */
/* Files of a session: their contents as texts, and copies below the person's directory. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/file.h"
#include "mcp/server.h"
#include "mcp/text.h"
#include "mcp/tools.h"

/* Bytes that a text may be longer by in escapes, besides as many as it has. */
enum { ESCAPED_AT_LEAST = 64 };

typedef int guest_work(struct mcp_call *call, struct microagent_guest *guest,
		       struct mcp_answer *answer, struct error *err);

/* Does it in the session that is asked for. */
static int in_guest(struct mcp_call *call, guest_work *work, struct mcp_answer *answer,
		    struct error *err)
{
	struct mcp_session *session = call_session(call, err);
	struct microagent_guest *guest;
	int status = -1;

	if (!session)
		return -1;
	guest = microagent_session_guest(session->handle, err);
	if (guest)
		status = work(call, guest, answer, err);
	mcp_session_give(&call->server->sessions, session);
	return status;
}

static struct microagent_run_limits until_cancelled(const struct mcp_call *call)
{
	return (struct microagent_run_limits){.cancel = call->cancel};
}

static bool asks_for_base64(const struct mcp_call *call)
{
	const char *encoding = call_text(call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

/* --- write_file ------------------------------------------------------------------------------ */

static int content_of(const struct mcp_call *call, struct buf *out, struct error *err)
{
	const json_t *content = json_object_get(call->arguments, "content");
	const char *text = json_string_value(content);
	size_t len = json_string_length(content);

	if (!asks_for_base64(call))
		return buf_append(out, text, len, err);
	return base64_decode(text, len, out, err) < 0 ? error_prefix(err, "content") : 0;
}

/* A copy into a directory would be called as our descriptor is. */
static int refuse_to_replace(struct microagent_guest *guest, const struct mcp_call *call,
			     struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	const char *path = call_text(call, "path");
	json_auto_t *entry = microagent_guest_stat(guest, path, NULL, &limits, NULL);

	if (strcmp(json_text(entry, "type", ""), "directory") != 0)
		return 0;
	return error_set(err, ERR_CONFLICT, "%.300s is a directory", path);
}

static int write_to_guest(struct mcp_call *call, struct microagent_guest *guest,
			  struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	bool executable = json_is_true(json_object_get(call->arguments, "executable"));
	autobuf struct buf content = BUF_INIT((size_t)limit_get(LIMIT_MCP_FILE_BYTES));
	const char *path = call_text(call, "path");
	autoclose int fd = -1;
	char name[32];

	if (content_of(call, &content, err) < 0 || refuse_to_replace(guest, call, err) < 0)
		return -1;
	fd = fd_memfd("content", buf_bytes(&content), content.len, err);
	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	if (fchmod(fd, executable ? 0755 : 0644) < 0)
		return error_errno(err, errno, "content");
	if (microagent_guest_copy_in(guest, name, path, NULL, &limits, err) < 0 ||
	    answer_structured(
		    answer, json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)content.len),
		    err) < 0)
		return -1;
	return answer_say(answer, err, "%zu bytes are in %s\n", content.len, path);
}

int tool_write_file(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return in_guest(call, write_to_guest, answer, err);
}

/* --- read_file ------------------------------------------------------------------------------- */

/* What is to be read of a file, and what was. */
struct file_part {
	uint64_t offset, size;
	size_t limit;
	struct buf bytes;
};

static size_t bytes_continued(const struct buf *bytes, size_t at)
{
	const uint8_t *p = buf_bytes(bytes);
	size_t n = 0;

	while (n < 3 && at + n < bytes->len && (p[at + n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* Reads three bytes more than are wanted, and drops what is half a character at the beginning and
 * what is more than the one at the end needs: so parts one behind the other have each once. */
static void cut_at_characters(struct file_part *part)
{
	size_t first = part->offset > 0 ? bytes_continued(&part->bytes, 0) : 0;
	size_t end = part->limit < part->bytes.len ? part->limit : part->bytes.len;

	end += bytes_continued(&part->bytes, end);
	part->bytes.len = end;
	buf_consume(&part->bytes, first < end ? first : 0);
	part->offset += first < end ? first : 0;
}

static int read_part(int fd, struct file_part *part, struct error *err)
{
	struct stat st;
	uint8_t *room;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "it is no regular file");
	part->size = (uint64_t)st.st_size;
	room = buf_reserve(&part->bytes, part->limit + 3, err);
	if (!room)
		return -1;
	n = part->offset < part->size ? pread(fd, room, part->limit + 3, (off_t)part->offset) : 0;
	if (n < 0)
		return error_errno(err, errno, "file");
	buf_commit(&part->bytes, (size_t)n);
	return 0;
}

static int copy_and_read(struct mcp_call *call, struct microagent_guest *guest, const char *dir,
			 struct file_part *part, struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	const struct microagent_copy copy = {.limit_bytes = limit_get(LIMIT_MCP_FILE_BYTES)};
	autofree char *name = path_join(dir, "file", err);
	autoclose int fd = -1;

	if (!name || microagent_guest_copy_out(guest, call_text(call, "path"), name, &copy, &limits,
					       err) < 0)
		return -1;
	fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "file") : read_part(fd, part, err);
}

static int fetch_file_part(struct mcp_call *call, struct microagent_guest *guest,
			   struct file_part *part, struct error *err)
{
	const char *place = getenv("TMPDIR");
	autofree char *dir =
		path_join(place && *place ? place : "/tmp", "microagent-mcp-XXXXXX", err);
	int status;

	if (!dir)
		return -1;
	if (!mkdtemp(dir))
		return error_errno(err, errno, "make a directory for a file");
	status = copy_and_read(call, guest, dir, part, err);
	path_remove_tree_at(AT_FDCWD, dir, NULL);
	return status;
}

/* As text where it is such and few of it is to be escaped; *escaped then. */
static bool part_as_text(const struct mcp_call *call, struct file_part *part, struct buf *text,
			 bool *escaped)
{
	struct text_parts parts;

	if (asks_for_base64(call))
		return false;
	cut_at_characters(part);
	parts = (struct text_parts){.head = buf_bytes(&part->bytes),
				    .head_len = part->bytes.len,
				    .total = part->bytes.len};
	if (!text_is_utf8(&parts) ||
	    text_escape(buf_bytes(&part->bytes), part->bytes.len, text, NULL) < 0)
		return false;
	*escaped = text->len != part->bytes.len ||
		   memcmp(buf_bytes(text), buf_bytes(&part->bytes), text->len) != 0;
	return text->len <= 2 * part->limit + ESCAPED_AT_LEAST;
}

static int answer_part(struct mcp_call *call, struct file_part *part, struct mcp_answer *answer,
		       struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);
	autofree char *base64 = NULL;
	bool escaped = false, is_text = part_as_text(call, part, &text, &escaped);
	const char *path = call_text(call, "path"), *content;
	size_t most = asks_for_base64(call) || part->limit < 4 ? part->limit : part->limit / 4 * 3;

	if (!is_text) {
		part->bytes.len = part->bytes.len < most ? part->bytes.len : most;
		base64 = base64_encode(buf_bytes(&part->bytes), part->bytes.len, err);
		if (!base64)
			return -1;
	}
	content = is_text ? buf_string(&text) : base64;
	if (answer_structured(answer,
			      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:b}", "path", path,
					"content", content, "encoding",
					is_text ? "utf-8" : "base64", "offset",
					(json_int_t)part->offset, "bytes",
					(json_int_t)part->bytes.len, "size", (json_int_t)part->size,
					"more", part->offset + part->bytes.len < part->size,
					"escaped", is_text && escaped),
			      err) < 0 ||
	    answer_say(answer, err, "%s: %zu of %llu bytes, from %llu on%s. " ANSWER_UNTRUSTED "\n",
		       path, part->bytes.len, (unsigned long long)part->size,
		       (unsigned long long)part->offset, is_text ? "" : ", in base64") < 0)
		return -1;
	return buf_append(&answer->text, content, strlen(content), err);
}

static int read_from_guest(struct mcp_call *call, struct microagent_guest *guest,
			   struct mcp_answer *answer, struct error *err)
{
	int64_t most = call->server->options->result_bytes;
	int64_t asked;
	struct file_part part = {.offset = (uint64_t)call_number(call, "offset", 0)};
	int status;

	/* Of base64 the answer is longer than what it stands for. */
	most = asks_for_base64(call) ? most / 4 * 3 : most;
	asked = call_number(call, "limit", most);
	part.limit = (size_t)(asked < most ? asked : most);
	status = fetch_file_part(call, guest, &part, err);
	if (status == 0)
		status = answer_part(call, &part, answer, err);
	buf_free(&part.bytes);
	return status;
}

int tool_read_file(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return in_guest(call, read_from_guest, answer, err);
}

/* --- list_files ------------------------------------------------------------------------------ */

static json_t *told_entry(const json_t *entry)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o",
		 (unsigned)json_integer_value(json_object_get(entry, "mode")) & 07777u);
	return json_pack("{s:s, s:s, s:O, s:s, s:O, s:s*}", "name", json_text(entry, "name", ""),
			 "type", json_text(entry, "type", ""), "size",
			 json_object_get(entry, "size"), "mode", mode, "mtime",
			 json_object_get(entry, "mtime"), "target",
			 json_text(entry, "target", NULL));
}

static int say_entry(struct mcp_answer *answer, const json_t *entry, struct error *err)
{
	const char *target = json_text(entry, "target", NULL);

	return answer_say(answer, err, "%s %s %lld %s%s%s\n", json_text(entry, "mode", ""),
			  json_text(entry, "type", ""),
			  (long long)json_integer_value(json_object_get(entry, "size")),
			  json_text(entry, "name", ""), target ? " -> " : "", target ? target : "");
}

static int answer_entries(struct mcp_call *call, const json_t *entries, struct mcp_answer *answer,
			  struct error *err)
{
	size_t room = (size_t)call->server->options->result_bytes, i;
	const char *path = call_text(call, "path");
	json_t *told = json_array(), *entry;

	if (answer_structured(answer, json_pack("{s:s, s:o}", "path", path, "entries", told), err) <
		    0 ||
	    answer_say(answer, err, "%s has %zu entries. " ANSWER_UNTRUSTED "\n", path,
		       json_array_size(entries)) < 0)
		return -1;
	json_array_foreach(entries, i, entry)
	{
		json_t *shown;

		if (answer->text.len > room)
			break;
		shown = told_entry(entry);
		if (!shown || json_array_append_new(told, shown) < 0)
			return error_errno(err, ENOMEM, "entries");
		if (say_entry(answer, shown, err) < 0)
			return -1;
	}
	return json_put(answer->structured, "more",
			json_boolean(json_array_size(told) < json_array_size(entries)), err);
}

static int list_in_guest(struct mcp_call *call, struct microagent_guest *guest,
			 struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	json_auto_t *entries =
		microagent_guest_list(guest, call_text(call, "path"), NULL, &limits, err);

	return entries ? answer_entries(call, entries, answer, err) : -1;
}

int tool_list_files(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return in_guest(call, list_in_guest, answer, err);
}

/* --- copy_in, copy_out ----------------------------------------------------------------------- */

struct copying {
	struct mcp_call *call;
	const char *host_key;
	bool out;
	uint64_t bytes;
	int64_t skipped;
	char why[1200]; /* of the first that were skipped, a line each */
};

/* A path that the model names is one below the directory, as it is written. */
static int check_below(const struct copying *copying, struct error *err)
{
	const char *path = call_text(copying->call, copying->host_key);
	int depth = 0;

	if (*path == '/')
		return error_set(err, ERR_INVALID,
				 "%s: %s is absolute, and is to be a path below the directory of "
				 "--files, like \"src/main.c\"",
				 copying->host_key, path);
	for (const char *at = path; *at && depth >= 0; at += strspn(at, "/")) {
		size_t len = strcspn(at, "/");

		if (len == 2 && strncmp(at, "..", 2) == 0)
			depth--;
		else if (len != 1 || *at != '.')
			depth++;
		at += len;
	}
	if (depth >= 0)
		return 0;
	return error_set(err, ERR_INVALID, "%s: %s leads out of the directory of --files",
			 copying->host_key, path);
}

static bool is_link_out(int dir, const char *path)
{
	char target[1];
	autoclose int there = -1;

	if (readlinkat(dir, path, target, sizeof(target)) < 0)
		return false;
	there = file_open_within(dir, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, FILE_IN_ROOT);
	return there < 0 && errno == ENOENT;
}

/* Of what was not found: links are followed as if the directory were the root, and a model that
 * sees one that leads out of it cannot guess that. */
static int explain_link(const struct copying *copying, struct error *err)
{
	const char *path = call_text(copying->call, copying->host_key);
	char begin[PATH_MAX];

	if (err->errnum != ENOENT)
		return -1;
	for (size_t len = 0; path[len] && len < sizeof(begin);) {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		snprintf(begin, sizeof(begin), "%.*s", (int)len, path);
		if (is_link_out(copying->call->server->files, begin))
			return error_set(err, ERR_INVALID,
					 "%s: %s is a symbolic link, and none is followed out of "
					 "the directory of --files",
					 copying->host_key, begin);
	}
	return -1;
}

static void copy_skips(void *data, const char *path, const char *why)
{
	struct copying *copying = data;

	size_t used = strlen(copying->why);

	copying->skipped++;
	snprintf(copying->why + used, sizeof(copying->why) - used, "%.300s: %.200s\n", path, why);
}

static void copy_goes_on(void *data, uint64_t bytes, const char *path)
{
	struct copying *copying = data;

	(void)path;
	copying->bytes = bytes;
	call_tell(copying->call, false, "%llu bytes are copied", (unsigned long long)bytes);
}

static int answer_copy(const struct copying *copying, struct mcp_answer *answer, struct error *err)
{
	const char *host = call_text(copying->call, copying->host_key),
		   *path = call_text(copying->call, "path");
	bool out = copying->out;

	if (answer_structured(answer,
			      json_pack("{s:s, s:s, s:I, s:I}", "path", path, copying->host_key,
					host, "bytes", (json_int_t)copying->bytes, "skipped",
					(json_int_t)copying->skipped),
			      err) < 0 ||
	    answer_say(answer, err, "%llu bytes were copied from %s of the %s to %s of the %s\n",
		       (unsigned long long)copying->bytes, out ? path : host,
		       out ? "guest" : "host", out ? host : path, out ? "host" : "guest") < 0)
		return -1;
	return copying->skipped
		       ? answer_say(answer, err, "%lld were skipped, and are not there. %s\n%s",
				    (long long)copying->skipped, out ? ANSWER_UNTRUSTED : "",
				    copying->why)
		       : 0;
}

static int copy_into_guest(struct mcp_call *call, struct microagent_guest *guest,
			   struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	struct copying copying = {.call = call, .host_key = "source"};
	const struct microagent_copy copy = {.skipped = copy_skips,
					     .progress = copy_goes_on,
					     .data = &copying,
					     .within = call->server->files};

	if (check_below(&copying, err) < 0)
		return -1;
	if (microagent_guest_copy_in(guest, call_text(call, "source"), call_text(call, "path"),
				     &copy, &limits, err) < 0)
		return explain_link(&copying, err);
	return answer_copy(&copying, answer, err);
}

static int copy_from_guest(struct mcp_call *call, struct microagent_guest *guest,
			   struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = until_cancelled(call);
	struct copying copying = {.call = call, .host_key = "destination", .out = true};
	const struct microagent_copy copy = {.skipped = copy_skips,
					     .progress = copy_goes_on,
					     .data = &copying,
					     .limit_bytes = limit_get(LIMIT_MCP_COPY_BYTES),
					     .within = call->server->files};

	if (check_below(&copying, err) < 0)
		return -1;
	if (microagent_guest_copy_out(guest, call_text(call, "path"),
				      call_text(call, "destination"), &copy, &limits, err) < 0)
		return explain_link(&copying, err);
	return answer_copy(&copying, answer, err);
}

int tool_copy_in(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return in_guest(call, copy_into_guest, answer, err);
}

int tool_copy_out(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return in_guest(call, copy_from_guest, answer, err);
}
