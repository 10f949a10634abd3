/* SPDX-License-Identifier: MIT */
/* The tool `read_file`: returns the contents of a file as text or as base64. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mcp/server.h"
#include "mcp/text.h"
#include "mcp/tools.h"

/* The part of a file that the call asks for, and the bytes that were read. The bytes begin a little
 * before the part, so that the beginning of a character can be found. */
struct file_part {
	uint64_t offset, size;
	size_t limit, before;
	struct buf bytes;
};

enum {
	LONGEST_CHARACTER = 4,
	/* The number of bytes that escaped text may have in addition to twice the limit. */
	ESCAPED_AT_LEAST = 64,
};

/* Returns the number of bytes from `at` on that belong to a character which begins before `at`. */
static size_t bytes_continued(const struct buf *bytes, size_t at)
{
	const uint8_t *p = buf_bytes(bytes);
	size_t bad;

	for (size_t back = 1; back < LONGEST_CHARACTER && back <= at; back++) {
		size_t len = utf8_sequence(p + at - back, bytes->len - at + back, &bad);

		if (len > back)
			return len - back;
	}
	return 0;
}

/* Sets *from and *to to the range of bytes to return, about `most` bytes of the part. A character
 * that begins before the part is left out, and a character at the end is completed. So parts that
 * follow each other have each byte exactly once, whether the bytes are text or not. */
static void cut_at_characters(const struct file_part *part, size_t most, size_t *from, size_t *to)
{
	size_t left = part->bytes.len - part->before;

	*from = part->before + bytes_continued(&part->bytes, part->before);
	*to = part->before + (most < left ? most : left);
	*to += bytes_continued(&part->bytes, *to);
}

static void take_file_part(struct file_part *part, size_t from, size_t to)
{
	part->bytes.len = to;
	buf_consume(&part->bytes, from);
	part->offset += from - part->before;
	part->before = 0;
}

static int read_part(int fd, struct file_part *part, struct error *err)
{
	size_t most = part->before + part->limit + LONGEST_CHARACTER - 1;
	struct stat st;
	uint8_t *room;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "file");
	part->size = (uint64_t)st.st_size;
	if (part->offset >= part->size) {
		part->before = 0;
		return 0;
	}
	room = buf_reserve(&part->bytes, most, err);
	if (!room)
		return -1;
	n = pread(fd, room, most, (off_t)(part->offset - part->before));
	if (n < (ssize_t)part->before)
		return error_errno(err, n < 0 ? errno : EIO, "file");
	buf_commit(&part->bytes, (size_t)n);
	return 0;
}

/* Appends the part as text. Returns false if the part is not text, or if too many of its characters
 * must be escaped. Sets *escaped to true if any were escaped. */
static bool part_as_text(struct file_part *part, struct buf *text, bool *escaped)
{
	const uint8_t *p = buf_bytes(&part->bytes);
	struct text_parts parts;
	size_t from, to;

	cut_at_characters(part, part->limit, &from, &to);
	parts = (struct text_parts){.head = p + from, .head_len = to - from, .total = to - from};
	if (!text_is_utf8(&parts) || text_escape(p + from, to - from, text, NULL) < 0 ||
	    text->len > 2 * part->limit + ESCAPED_AT_LEAST)
		return false;
	*escaped = text->len != to - from || memcmp(buf_bytes(text), p + from, text->len) != 0;
	take_file_part(part, from, to);
	return true;
}

/* Returns the part as base64. If the call asks for base64, the part is cut exactly at the limit.
 * Otherwise the part is cut between characters. */
static char *part_as_base64(const struct mcp_call *call, struct file_part *part, struct error *err)
{
	size_t most = part->limit < 4 ? part->limit : part->limit / 4 * 3, from = 0, to;

	to = part->bytes.len < part->limit ? part->bytes.len : part->limit;
	if (!call_asks_for_base64(call))
		cut_at_characters(part, most, &from, &to);
	take_file_part(part, from, to);
	return base64_encode(buf_bytes(&part->bytes), part->bytes.len, err);
}

static int answer_part(struct mcp_call *call, struct file_part *part, struct mcp_answer *answer,
		       struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);
	autofree char *base64 = NULL;
	bool escaped = false,
	     is_text = !call_asks_for_base64(call) && part_as_text(part, &text, &escaped);
	const char *path = call_text(call, "path"), *content;

	if (!is_text && !(base64 = part_as_base64(call, part, err)))
		return -1;
	content = is_text ? buf_string(&text) : base64;
	if (answer_structured(
		    answer,
		    json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:b}", "path", path, "content",
			      content, "encoding", is_text ? "utf-8" : "base64", "offset",
			      (json_int_t)part->offset, "bytes", (json_int_t)part->bytes.len,
			      "size", (json_int_t)part->size, "more",
			      part->offset + part->bytes.len < part->size, "escaped", escaped),
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
	const struct microagent_run_limits limits = call_limits(call);
	/* The file is copied to memory, so that nothing is left on the host's disk if this process
	 * is killed. */
	autoclose int fd = fd_memfd("file", "", 0, err);
	const struct microagent_copy copy = {.limit_bytes = limit_get(LIMIT_MCP_FILE_BYTES),
					     .file = fd};
	int64_t most = call->server->options->result_bytes;
	int64_t asked;
	struct file_part part = {.offset = (uint64_t)call_number(call, "offset", 0)};
	int status = -1;

	if (fd < 0)
		return -1;
	/* Three bytes become four characters of base64. */
	most = call_asks_for_base64(call) ? most / 4 * 3 : most;
	asked = call_number(call, "limit", most);
	part.limit = (size_t)(asked < most ? asked : most);
	if (!call_asks_for_base64(call))
		part.before = part.offset < LONGEST_CHARACTER ? (size_t)part.offset
							      : LONGEST_CHARACTER - 1;
	if (microagent_guest_copy_out(guest, call_text(call, "path"), NULL, &copy, &limits, err) ==
		    0 &&
	    read_part(fd, &part, err) == 0)
		status = answer_part(call, &part, answer, err);
	buf_free(&part.bytes);
	return status;
}

int tool_read_file(struct mcp_call *call, struct mcp_answer *answer, struct error *err)
{
	return call_in_guest(call, read_from_guest, answer, err);
}
