/* SPDX-License-Identifier: MIT */
/* The tools that write and list files of a session's guest, and the tools that copy files between
 * the guest and the host's directory that --files names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "mcp/server.h"
#include "mcp/text.h"
#include "mcp/tools.h"

int call_in_guest(struct mcp_call *call, guest_work *work, struct mcp_answer *answer,
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

struct microagent_run_limits call_limits(const struct mcp_call *call)
{
	return (struct microagent_run_limits){.cancel = call->cancel};
}

bool call_asks_for_base64(const struct mcp_call *call)
{
	const char *encoding = call_text(call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

/* --- write_file ------------------------------------------------------------------------------ */

static int write_to_guest(struct mcp_call *call, struct microagent_guest *guest,
			  struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = call_limits(call);
	bool executable = json_is_true(json_object_get(call->arguments, "executable"));
	const json_t *given = json_object_get(call->arguments, "content");
	autobuf struct buf content = BUF_INIT((size_t)limit_get(LIMIT_MCP_FILE_BYTES));
	const char *path = call_text(call, "path");
	json_auto_t *entry = NULL;
	autoclose int fd = -1;
	char name[32];

	if (!call_asks_for_base64(call)) {
		if (buf_append(&content, json_string_value(given), json_string_length(given), err) <
		    0)
			return -1;
	} else if (base64_decode(json_string_value(given), json_string_length(given), &content,
				 err) < 0) {
		return error_prefix(err, "content");
	}
	/* If the path in the guest is a directory, a copy to this path would make a file in the
	 * directory, and the file would be named after a descriptor of this process. So a directory
	 * is refused. */
	entry = microagent_guest_stat(guest, path, NULL, &limits, NULL);
	if (strcmp(json_text(entry, "type", ""), "directory") == 0)
		return error_set(
			err, ERR_CONFLICT,
			"%.300s is a directory, so it cannot be written as a file: name a file in it",
			path);
	fd = fd_memfd("content", buf_bytes(&content), content.len, err);
	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	if (fchmod(fd, executable ? 0755 : 0644) < 0)
		return error_errno(err, errno, "content");
	if (microagent_guest_copy_in(guest, name, path, NULL, &limits, err) < 0)
		return error_prefix(err, "%s", path);
	if (answer_structured(
		    answer, json_pack("{s:s, s:I}", "path", path, "bytes", (json_int_t)content.len),
		    err) < 0)
		return -1;
	return answer_say(answer, err, "%zu bytes are in %s\n", content.len, path);
}

int tool_write_file(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return call_in_guest(call, write_to_guest, answer, err);
}

/* --- list_files ------------------------------------------------------------------------------ */

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
		const char *name = json_text(entry, "name", ""),
			   *type = json_text(entry, "type", "");
		const char *target = json_text(entry, "target", NULL);
		json_t *size = json_object_get(entry, "size"), *shown;
		char mode[8];

		if (answer->text.len > room)
			break;
		snprintf(mode, sizeof(mode), "%04o",
			 (unsigned)json_integer_value(json_object_get(entry, "mode")) & 07777u);
		shown = json_pack("{s:s, s:O*, s:s, s:O, s:s, s:O, s:s*}", "name", name,
				  "nameBase64", json_object_get(entry, "nameBase64"), "type", type,
				  "size", size, "mode", mode, "mtime",
				  json_object_get(entry, "mtime"), "target", target);
		if (!shown || json_array_append_new(told, shown) < 0)
			return error_errno(err, ENOMEM, "entries");
		if (answer_say(answer, err, "%s %s %lld %s%s%s\n", mode, type,
			       (long long)json_integer_value(size), name, target ? " -> " : "",
			       target ? target : "") < 0)
			return -1;
	}
	return json_put(answer->structured, "more",
			json_boolean(json_array_size(told) < json_array_size(entries)), err);
}

static int list_in_guest(struct mcp_call *call, struct microagent_guest *guest,
			 struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = call_limits(call);
	json_auto_t *entries =
		microagent_guest_list(guest, call_text(call, "path"), NULL, &limits, err);

	return entries ? answer_entries(call, entries, answer, err) : -1;
}

int tool_list_files(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return call_in_guest(call, list_in_guest, answer, err);
}

/* --- copy_in, copy_out ----------------------------------------------------------------------- */

struct copying {
	struct mcp_call *call;
	const char *host_key;
	bool out;
	uint64_t bytes;
	int64_t skipped;
	char why[1200]; /* the reasons why the first skipped files were skipped, one line for each
			 * file */
};

/* Checks that a path from the model stays below the directory of --files. Only the text of the path
 * is checked; links are not followed. */
static int check_below(const struct copying *copying, struct error *err)
{
	const char *path = call_text(copying->call, copying->host_key);
	int depth = 0;

	if (*path == '/')
		return error_set(
			err, ERR_INVALID,
			"%s: %s is absolute, but must be a path below the directory of --files, like \"src/main.c\"",
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
	return error_set(err, ERR_INVALID,
			 "%s: %s leads out of the directory of --files: name a path inside it",
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

/* If a path below the directory of --files was not found because of a link, adds the rule for links
 * to the error. Returns -1. The rule is that links are followed as if the directory of --files were
 * the root. A model that sees a link out of this directory cannot guess the rule. */
static int explain_link(const struct copying *copying, struct error *err)
{
	const char *path = call_text(copying->call, copying->host_key);
	char begin[PATH_MAX];

	if (err->errnum != ENOENT)
		return -1;
	for (size_t len = 0; len < sizeof(begin) && path[len];) {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		snprintf(begin, sizeof(begin), "%.*s", (int)len, path);
		if (is_link_out(copying->call->server->files, begin))
			return error_set(
				err, ERR_INVALID,
				"%s: %s is a symbolic link, and links are not followed out of the directory of --files: name the file itself",
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
		       ? answer_say(answer, err, "%lld were skipped and not copied. %s\n%s",
				    (long long)copying->skipped, out ? ANSWER_UNTRUSTED : "",
				    copying->why)
		       : 0;
}

static int copy_into_guest(struct mcp_call *call, struct microagent_guest *guest,
			   struct mcp_answer *answer, struct error *err)
{
	const struct microagent_run_limits limits = call_limits(call);
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
	const struct microagent_run_limits limits = call_limits(call);
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
	return call_in_guest(call, copy_into_guest, answer, err);
}

int tool_copy_out(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return call_in_guest(call, copy_from_guest, answer, err);
}
