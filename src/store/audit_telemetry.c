/* SPDX-License-Identifier: MIT */
/*
 * Checks the file telemetry.jsonl beside an audit log. Each line `telemetry.digest` of the log has
 * the length that the file had at that time, and the SHA-256 of the file's bytes up to this length.
 * The file is read only once for all digests.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/sync.h"
#include "store/audit_line.h"

#define EVENT "telemetry.digest"

const char *const audit_telemetry_names[] = {[AUDIT_TELEMETRY_NONE] = "none",
					     [AUDIT_TELEMETRY_WHOLE] = "whole",
					     [AUDIT_TELEMETRY_ALTERED] = "altered",
					     [AUDIT_TELEMETRY_MISSING] = "missing"};

/* The data of one line `telemetry.digest` of the log. */
struct mark {
	uint64_t line, bytes;
	uint8_t digest[AUDIT_DIGEST];
};

struct marks {
	struct mark *items;
	size_t count, room;
	uint64_t line;
	bool within; /* a part of a long line was read, and more parts follow */
};

/* Takes one line of the audit log. If the line is a `telemetry.digest`, stores the length and the
 * digest of telemetry.jsonl that it records. Ignores all other lines. Does not check the log itself,
 * because audit_verify() does that. */
static int take_telemetry_line(void *data, const char *text, size_t len, struct error *err)
{
	struct marks *marks = data;
	bool whole = !marks->within && text[len - 1] == '\n';
	json_auto_t *object = NULL;
	struct audit_line line = {0};
	const char *sha256 = NULL;
	struct mark mark = {0};
	int64_t bytes = 0;

	marks->line += !marks->within;
	marks->within = text[len - 1] != '\n';
	if (!whole || !memmem(text, len, EVENT, strlen(EVENT)))
		return 0;
	object = json_load_strict(text, len, NULL);
	if (!object || audit_line_read(object, &line, NULL) < 0 || strcmp(line.event, EVENT) != 0 ||
	    json_get_int(line.data, "", "bytes", JSON_REQUIRED, 0, INT64_MAX, &bytes, NULL) < 0 ||
	    json_get_string(line.data, "", "sha256", JSON_REQUIRED, &sha256, NULL) < 0 ||
	    !audit_unhex(sha256, mark.digest))
		return 0;
	mark.line = marks->line;
	mark.bytes = (uint64_t)bytes;
	if (marks->count == marks->room) {
		size_t room = marks->room ? 2 * marks->room : 16;
		struct mark *grown = array_resize(marks->items, room, sizeof(*grown));

		if (!grown)
			return error_errno(err, ENOMEM, AUDIT_LOG);
		marks->items = grown;
		marks->room = room;
	}
	marks->items[marks->count++] = mark;
	return 0;
}

/* --- the digest after a killed live supervisor ------------------------------------------------ */

static json_t *digest_of_file(int fd, struct error *err)
{
	uint64_t bytes = 0, records = 0;
	uint8_t chunk[16384], digest[AUDIT_DIGEST];
	char hex[SHA256_TEXT];
	struct sha256 sha;
	ssize_t n;

	sha256_init(&sha);
	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)bytes)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			records += chunk[i] == '\n';
		sha256_update(&sha, chunk, (size_t)n);
		bytes += (uint64_t)n;
	}
	if (n < 0) {
		error_errno(err, errno, AUDIT_TELEMETRY);
		return NULL;
	}
	sha256_final(&sha, digest);
	sha256_hex(digest, hex);
	return json_pack("{s:s, s:I, s:s, s:I}", "origin", "guest", "bytes", (json_int_t)bytes,
			 "sha256", hex, "records", (json_int_t)records);
}

/* Opens the telemetry file. Returns -1 if the file does not exist, or if it is longer than
 * audit_telemetry_most_bytes(). A file that is too long gets no digest. */
static int open_telemetry(const struct workspace *ws, struct stat *st)
{
	autoclose int fd =
		openat(ws->fd, AUDIT_TELEMETRY, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
			       st->st_size <= audit_telemetry_most_bytes()
		       ? steal_fd(&fd)
		       : -1;
}

/* Syncs the file and then computes its digest. Without the sync, a power failure could remove bytes
 * that the digest covers, which would look like a forgery. */
static json_t *settled_digest(int fd, struct error *err)
{
	if (file_sync_data(fd) == 0)
		return digest_of_file(fd, err);
	error_errno(err, errno, AUDIT_TELEMETRY);
	return NULL;
}

int audit_note_telemetry(const struct workspace *ws, struct error *err)
{
	struct stat st;
	autoclose int fd = open_telemetry(ws, &st);
	json_auto_t *data = fd >= 0 ? settled_digest(fd, err) : NULL;
	const struct audit_event event = {.subsystem = "telemetry", .event = EVENT, .data = data};

	if (fd < 0)
		return 0;
	return data ? audit_note(ws, &event, err) : -1;
}

int audit_vouch_telemetry(const struct workspace *ws, struct audit *audit, struct error *err)
{
	struct marks marks = {0};
	struct stat st;
	autoclose int fd = open_telemetry(ws, &st);
	json_auto_t *data = NULL;
	uint64_t known = 0;

	if (fd < 0)
		return 0;
	if (audit_each_line(audit->fd, audit_most_bytes(), take_telemetry_line, &marks, err) < 0) {
		free(marks.items);
		return -1;
	}
	known = marks.count ? marks.items[marks.count - 1].bytes : 0;
	free(marks.items);
	if ((uint64_t)st.st_size <= known)
		return 0;
	data = settled_digest(fd, err);
	if (!data || json_put(data, "late",
			      json_integer((json_int_t)((uint64_t)st.st_size - known)), err) < 0)
		return -1;
	const struct audit_event event = {AUDIT_WARNING, "telemetry", EVENT, data, 0};
	return audit_append(audit, &event, STORE_NO_SYNC, err);
}

/* ---- the file
 * ------------------------------------------------------------------------------------ */

struct reading {
	int fd;
	uint64_t at;
	struct sha256 sha;
};

/* Hashes the file up to the offset `end`. Returns 0 on success, 1 if the file is shorter, or -1
 * with err set. */
static int read_to(struct reading *reading, uint64_t end, struct error *err)
{
	uint8_t chunk[16384];

	while (reading->at < end) {
		uint64_t rest = end - reading->at;
		ssize_t n = pread(reading->fd, chunk, rest < sizeof(chunk) ? rest : sizeof(chunk),
				  (off_t)reading->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? 1 : error_errno(err, errno, AUDIT_TELEMETRY);
		sha256_update(&reading->sha, chunk, (size_t)n);
		reading->at += (uint64_t)n;
	}
	return 0;
}

static int compare_all(const struct marks *marks, int fd, struct audit_telemetry *out,
		       struct error *err)
{
	struct reading reading = {.fd = fd};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, AUDIT_TELEMETRY);
	sha256_init(&reading.sha);
	out->verdict = S_ISREG(st.st_mode) && st.st_size <= audit_telemetry_most_bytes()
			       ? AUDIT_TELEMETRY_WHOLE
			       : AUDIT_TELEMETRY_ALTERED;
	for (size_t i = 0; i < marks->count && out->verdict == AUDIT_TELEMETRY_WHOLE; i++) {
		const struct mark *mark = &marks->items[i];
		/* microagent only appends to the file. So if a digest covers fewer bytes than the
		 * digest before it, the file was altered. */
		int status = mark->bytes < reading.at ? 1 : read_to(&reading, mark->bytes, err);
		uint8_t digest[AUDIT_DIGEST];
		struct sha256 sha;

		if (status == 0) {
			sha = reading.sha;
			sha256_final(&sha, digest);
			status = memcmp(digest, mark->digest, sizeof(digest)) != 0;
		}
		if (status < 0)
			return -1;
		if (status > 0) {
			out->verdict = AUDIT_TELEMETRY_ALTERED;
			out->line = mark->line;
		} else {
			out->confirmed = reading.at;
		}
	}
	out->bytes = (uint64_t)st.st_size;
	return 0;
}

int audit_verify_telemetry(int log, int fd, struct audit_telemetry *out, struct error *err)
{
	struct audit_telemetry found = {0};
	struct marks marks = {0};
	int status = 0;

	/* A log that is too long is not read, so there are no digests to compare. */
	if (!audit_is_too_long(log))
		status = audit_each_line(log, audit_most_bytes(), take_telemetry_line, &marks, err);
	if (status == 0 && fd >= 0) {
		status = compare_all(&marks, fd, &found, err);
	} else if (status == 0) {
		/* A digest of 0 bytes needs no file. If everything that the guest reported was
		 * dropped, the log has such a digest and the file was never made. */
		for (size_t i = 0; i < marks.count && !found.line; i++)
			if (marks.items[i].bytes > 0)
				found.line = marks.items[i].line;
		found.verdict = found.line ? AUDIT_TELEMETRY_MISSING : AUDIT_TELEMETRY_NONE;
	}
	free(marks.items);
	if (status == 0)
		*out = found;
	return status;
}
