/* SPDX-License-Identifier: MIT */
/*
 * Transfers files with the helper, microagent's program for files in the guest (guest/files). The
 * agent passes its connection to the helper, so the files need neither frames of the agent's
 * protocol nor a pipe.
 */
#include "api/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/explain.h"
#include "api/stream.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/descriptor.h"
#include "base/platform/process.h"
#include "base/platform/system.h"
#include "base/sha256.h"
#include "base/utf8.h"

#define HELPER "microagent-files"
/* The longest line of a listing, in bytes. The longest line that a real file needs has a name of
 * 255 bytes, the base64 of this name, and the target of a link, which has 4,096 bytes. In JSON,
 * each byte becomes at most 6 bytes. */
#define LISTING_LINE_MAX 32768u

/* --- a connection for the helper ------------------------------------------------------------- */

static int cancel_of(const struct transfer *transfer)
{
	const struct microagent_copy *options = transfer->options;

	return options && options->cancel > 0 ? options->cancel : -1;
}

/* Waits until `fd` can be read. ERR_TIMEOUT: the deadline has passed. ERR_UNAVAILABLE: the copy was
 * cancelled. */
static int wait_for_word(const struct transfer *transfer, int fd, uint64_t deadline,
			 struct error *err)
{
	struct pollfd slots[] = {{.fd = fd, .events = POLLIN},
				 {.fd = cancel_of(transfer), .events = POLLIN}};
	int got;

	do
		got = descriptor_poll(slots, ARRAY_SIZE(slots), deadline);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_errno(err, errno, "poll");
	if (got == 0)
		return error_set(err, ERR_TIMEOUT, "the deadline passed");
	return slots[1].revents ? error_set(err, ERR_UNAVAILABLE, "cancelled") : 0;
}

/* Receives the agent's first message into `in`, which already has the first byte of the message. */
static int receive_message(const struct transfer *transfer, int fd, struct buf *in,
			   uint64_t deadline, struct error *err)
{
	struct agent_message message;
	int got;

	while ((got = agent_message_peek(in, &message, err)) == 0) {
		uint8_t bytes[4096];
		ssize_t n;

		if (wait_for_word(transfer, fd, deadline, err) < 0)
			return -1;
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n <= 0)
			return error_set(
				err, ERR_IO,
				"the connection to the guest was lost before the copy was complete: copy again if the machine still runs");
		if (buf_append(in, bytes, (size_t)n, err) < 0)
			return -1;
	}
	return got;
}

/* Sets an error from a message of the agent. The agent sends this message in place of the helper's
 * first byte if the agent cannot start the helper. */
static int hear_agent(const struct transfer *transfer, int fd, uint8_t first, uint64_t deadline,
		      struct error *err)
{
	static const char reports[] = "the guest agent reports: ";
	autobuf struct buf in = BUF_INIT(FRAME_HEADER + agent_message_limit() + 4096);
	char text[sizeof(err->msg)];
	const char *reason;

	if (buf_append(&in, &first, 1, err) < 0)
		return -1;
	if (receive_message(transfer, fd, &in, deadline, err) > 0)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the guest agent is too old to copy files: stop the workspace and start it again");
	reason = err ? strstr(err->msg, reports) : NULL;
	if (reason) {
		snprintf(text, sizeof(text), "%s", reason + strlen(reports));
		error_set(err, ERR_INVALID, "%s", text);
	}
	return -1;
}

/* Makes a separate connection to the agent, asks for the helper, and waits until the helper has
 * started. Returns the connection, which the caller closes, or -1 with err set. */
static int call_helper(const struct transfer *transfer, const char *const *command,
		       struct error *err)
{
	const struct microagent_exec exec = {.command = command, .user = transfer->user};
	uint64_t deadline = limit_deadline(LIMIT_FILES_MS);
	autobuf struct buf out = BUF_INIT(0);
	autoclose int fd = -1;
	uint8_t first;

	if (agent_message_exec(&out, 1, &exec, AGENT_INPUT_WHOLE, NULL, NULL, err) < 0)
		return -1;
	fd = stream_dial(transfer->ws, &out, err);
	if (fd < 0)
		return explain_paused(transfer->ws, err) < 0 ? -1
							     : explain_unreached(transfer->ws, err);
	if (fd_write_all(fd, buf_bytes(&out), out.len, err) < 0)
		return -1;
	if (wait_for_word(transfer, fd, deadline, err) < 0) {
		if (explain_paused(transfer->ws, err) < 0)
			return -1;
		error_prefix(err, "the guest's program that copies files has not answered");
		return explain_unreached(transfer->ws, err);
	}
	if (fd_read_exact(fd, &first, 1, err) < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the guest's program that copies files has ended before it copied anything: try again");
	if (first != FILES_GREETING[0])
		return hear_agent(transfer, fd, first, deadline, err);
	return steal_fd(&fd);
}

static struct tree_line make_line(const struct transfer *transfer, int fd)
{
	const struct microagent_copy *options = transfer->options;

	return (struct tree_line){
		.fd = fd,
		.cancel = cancel_of(transfer),
		.silence_ms = (int)limit_get(LIMIT_TRANSFER_SILENCE_MS),
		.progress = options->progress,
		.skipped = options->skipped,
		.data = options->data,
		.limit = options->limit_bytes,
	};
}

/* If *err says that the guest does not answer, makes the error more useful: it then says, for
 * example, that the machine is paused. Returns `status`. */
static int explain_silence(const struct transfer *transfer, int status, struct error *err)
{
	if (status == 0 || !err || err->code != ERR_TIMEOUT)
		return status;
	error_set(
		err, ERR_TIMEOUT,
		"the guest has neither sent nor taken any data of the copy for %llu ms: it is paused, hangs, or has too much to do",
		(unsigned long long)limit_get(LIMIT_TRANSFER_SILENCE_MS));
	if (explain_paused(transfer->ws, err) == 0)
		(void)explain_unreached(transfer->ws, err);
	return status;
}

/* Writes a digest that identifies this host. The machine id of the host itself is not used, because
 * machine-id(5) demands that it is kept secret. */
static void name_maker(char out[SHA256_TEXT])
{
	uint8_t digest[SHA256_BYTES];
	char id[SYSTEM_HOST_ID];
	struct sha256 sha;

	system_host_id(id);
	sha256_init(&sha);
	sha256_update(&sha, "microagent", strlen("microagent"));
	sha256_update(&sha, id, strlen(id));
	sha256_final(&sha, digest);
	sha256_hex(digest, out);
	out[TREE_MAKER] = '\0';
}

/* If the guest says that its user lacks rights, and this user is not root, adds
 * REASON_GUEST_USER_DENIED to the error. An error with an errno comes from this host, and is not
 * changed. */
static int explain_denied(const struct transfer *transfer, int status, struct error *err)
{
	const char *user = transfer->user ? transfer->user : "";
	bool is_root = strcmp(user, "root") == 0 || strcmp(user, "0") == 0;

	if (status < 0 && err && err->code == ERR_DENIED && !err->errnum && !is_root)
		error_reason(err, REASON_GUEST_USER_DENIED, "");
	return status;
}

/* Receives what the helper sends for `verb` and `word`. `wish` is NULL, or has the members of the
 * line that are for an upper layer. */
static int receive_tree(const struct transfer *transfer, const char *verb, const char *word,
			const struct tree_line *wish, const char *links_within,
			const struct tree_target *target, struct error *err)
{
	const char *const command[] = {HELPER, verb, transfer->root, word, NULL};
	autoclose int fd = call_helper(transfer, command, err);
	struct tree_line line = make_line(transfer, fd);
	char maker[SHA256_TEXT];
	int status;

	if (fd < 0)
		return -1;
	if (wish) {
		line.overlay = wish->overlay;
		line.entry = wish->entry;
		line.entry_data = wish->entry_data;
	}
	line.umask = process_umask();
	name_maker(maker);
	line.maker = maker;
	status = explain_silence(transfer, tree_receive(&line, target, links_within, err), err);
	return explain_denied(transfer, status, err);
}

int transfer_out(const struct transfer *transfer, const char *path, const char *links_within,
		 const struct tree_target *target, struct error *err)
{
	return receive_tree(transfer, "send", path, NULL, links_within, target, err);
}

int transfer_output(const struct transfer *transfer, const char *path, const char *links_within,
		    const struct tree_target *target, struct error *err)
{
	return receive_tree(transfer, "output", path, NULL, links_within, target, err);
}

int transfer_changes(const struct transfer *transfer, const char *upper_id,
		     const struct tree_target *target,
		     int (*entry)(void *data, const struct tree_told *told, struct error *err),
		     void *data, struct error *err)
{
	const struct tree_line upper = {.overlay = true, .entry = entry, .entry_data = data};
	struct transfer by_root = *transfer;

	by_root.user = "0";
	return receive_tree(&by_root, "changes", upper_id, &upper, NULL, target, err);
}

int transfer_in(const struct transfer *transfer, const char *from, const char *path,
		const char *name, struct error *err)
{
	const char *const command[] = {HELPER, "receive", transfer->root, path, name, NULL};
	int within = transfer->options->within;
	autoclose int fd = call_helper(transfer, command, err);
	struct tree_line line = make_line(transfer, fd);
	int status;

	if (fd < 0)
		return -1;
	line.answers = true;
	status = explain_silence(
		transfer, tree_send(within > 0 ? within : AT_FDCWD, from, within > 0, &line, err),
		err);
	return explain_denied(transfer, status, err);
}

/* --- listings -------------------------------------------------------------------------------- */

static int check_type(const char *type, struct error *err)
{
	static const char *const types[] = {"file",   "directory", "link", "fifo",
					    "socket", "block",	   "char"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i], type) == 0)
			return 0;
	return error_set(
		err, ERR_IO,
		"the guest's list has a file of the unknown type \"%.32s\": this is a bug, or the guest attacks its host",
		type);
}

/* Checks `exact`, the member nameBase64, which has the exact bytes of a name that is not UTF-8.
 * Without these bytes, two different names could look the same. */
static int check_exact_name(const char *exact, struct error *err)
{
	autobuf struct buf name = BUF_INIT(NAME_MAX);

	if (!exact)
		return 0;
	if (base64_decode(exact, strlen(exact), &name, err) < 0)
		return error_prefix(err, "nameBase64");
	if (name.len == 0 || memchr(buf_bytes(&name), '/', name.len) ||
	    memchr(buf_bytes(&name), '\0', name.len) || utf8_is_whole(buf_bytes(&name), name.len))
		return error_set(
			err, ERR_IO,
			"nameBase64 in the guest's list is not a file name that needs base64: this is a bug, or the guest attacks its host");
	return 0;
}

/* Checks an entry of a listing from the guest. Returns a new entry with only the values that have
 * the expected form. */
static json_t *checked_entry(const json_t *line, struct error *err)
{
	static const struct {
		const char *key;
		int64_t min, max;
	} numbers[] = {
		{"mode", 0, 07777},	   {"size", 0, INT64_MAX}, {"mtime", INT64_MIN, INT64_MAX},
		{"mtimeNs", 0, 999999999}, {"uid", 0, UINT32_MAX}, {"gid", 0, UINT32_MAX},
		{"links", 0, INT64_MAX},
	};
	const char *name = NULL, *exact = NULL, *type = NULL, *target = NULL;
	json_auto_t *entry = json_object();

	if (json_get_string(line, "", "name", JSON_REQUIRED, &name, err) < 0 ||
	    json_get_string(line, "", "nameBase64", JSON_OPTIONAL, &exact, err) < 0 ||
	    json_get_string(line, "", "type", JSON_REQUIRED, &type, err) < 0 ||
	    json_get_string(line, "", "target", JSON_OPTIONAL, &target, err) < 0 ||
	    check_exact_name(exact, err) < 0 || check_type(type, err) < 0 ||
	    json_put_string(entry, "name", name, err) < 0 ||
	    (exact && json_put_string(entry, "nameBase64", exact, err) < 0) ||
	    json_put_string(entry, "type", type, err) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int64_t number = 0;

		if (json_get_int(line, "", numbers[i].key, JSON_REQUIRED, numbers[i].min,
				 numbers[i].max, &number, err) < 0 ||
		    json_put(entry, numbers[i].key, json_integer(number), err) < 0)
			return NULL;
	}
	if (target && json_put_string(entry, "target", target, err) < 0)
		return NULL;
	return steal_ptr(&entry);
}

static int bad_listing(struct error *err)
{
	if (err)
		err->code = ERR_IO;
	return error_prefix(err, "the guest's list of files is malformed");
}

/* Parses one line of a listing. A line that is too long for any file is refused unparsed, because
 * JSON can need 80 times as much memory as its text. */
static json_t *load_listing_line(const char *text, size_t len, struct error *err)
{
	if (len <= LISTING_LINE_MAX)
		return json_load_strict(text, len, err);
	error_set(
		err, ERR_INVALID,
		"a line has %zu bytes, but a line for one file has at most %u: this is a bug, or the guest attacks its host",
		len, LISTING_LINE_MAX);
	return NULL;
}

/* Handles one line of a listing. Returns 0 if the line was an entry, which is then in `entries`.
 * Returns 1 if the line was the last one, or -1 with err set. */
static int take_listing_line(const char *text, size_t len, json_t *entries, struct error *err)
{
	json_auto_t *line = load_listing_line(text, len, err);
	const char *why = NULL, *code = NULL;
	json_t *entry;
	bool end = false;

	if (!line || json_get_bool(line, "", "end", JSON_OPTIONAL, &end, err) < 0 ||
	    json_get_string(line, "", "error", JSON_OPTIONAL, &why, err) < 0 ||
	    json_get_string(line, "", "errorCode", JSON_OPTIONAL, &code, err) < 0)
		return bad_listing(err);
	if (why)
		return error_set(err, code ? error_code_from_name(code) : ERR_IO, "%s", why);
	if (end)
		return 1;
	entry = checked_entry(line, err);
	if (!entry || json_array_append_new(entries, entry) < 0)
		return bad_listing(err);
	return 0;
}

static int read_all(int fd, int cancel, struct buf *text, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_TRANSFER_SILENCE_MS);
	uint8_t bytes[16384];
	ssize_t n;

	for (;;) {
		struct pollfd slots[] = {{.fd = fd, .events = POLLIN},
					 {.fd = cancel, .events = POLLIN}};
		int got = descriptor_poll(slots, ARRAY_SIZE(slots), deadline);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(err, errno, "poll");
		if (got == 0)
			return error_set(
				err, ERR_TIMEOUT,
				"the list was not complete within %llu ms: the guest is paused, hangs, or has too much to do",
				(unsigned long long)limit_get(LIMIT_TRANSFER_SILENCE_MS));
		if (slots[1].revents)
			return error_set(err, ERR_UNAVAILABLE, "cancelled");
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, "cannot receive from the guest");
		if (n > 0 && buf_append(text, bytes, (size_t)n, err) < 0)
			return -1;
	}
}

int transfer_listing(const struct transfer *transfer, const char *verb, const char *path,
		     json_t *entries, struct error *err)
{
	const char *const command[] = {HELPER, verb, transfer->root, path, NULL};
	autobuf struct buf text = BUF_INIT((size_t)limit_get(LIMIT_LISTING_BYTES));
	autoclose int fd = call_helper(transfer, command, err);
	const char *at, *newline;
	size_t left;
	int got = 0;

	if (fd < 0)
		return -1;
	if (read_all(fd, cancel_of(transfer), &text, err) < 0)
		return error_prefix(err, "the guest's list of the files in %.300s cannot be read",
				    path);
	at = (const char *)buf_bytes(&text);
	left = text.len;
	while (got == 0 && left > 0 && (newline = memchr(at, '\n', left))) {
		size_t len = (size_t)(newline - at) + 1;

		got = take_listing_line(at, len, entries, err);
		if (got == 0 && json_array_size(entries) > limit_get(LIMIT_LIST_ENTRIES))
			got = error_set(
				err, ERR_INVALID,
				"the guest's list of the files in %.300s cannot be read, because it has more than the limit of %llu entries: list a smaller directory",
				path, (unsigned long long)limit_get(LIMIT_LIST_ENTRIES));
		at += len;
		left -= len;
	}
	if (got == 0)
		return error_set(
			err, ERR_IO,
			"the guest's list of files ended before it was complete: try again");
	return explain_denied(transfer, got < 0 ? -1 : 0, err);
}
