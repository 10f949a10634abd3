/* SPDX-License-Identifier: MIT */
#include "supervisor/live/telemetry_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/sync.h"

int telemetry_check(const json_t *message, struct error *err)
{
	json_auto_t *own = json_incref((json_t *)(uintptr_t)message);
	json_t *records = NULL;
	const json_t *record;
	int64_t lost = 0;
	size_t i;

	if (json_get_array(own, "telemetry", "records", JSON_REQUIRED, &records, err) < 0 ||
	    json_get_int(own, "telemetry", "lost", JSON_OPTIONAL, 0, UINT32_MAX, &lost, err) < 0)
		return -1;
	if (json_array_size(records) > TELEMETRY_RECORDS)
		return error_set(
			err, ERR_INVALID,
			"the guest's message \"telemetry\" is malformed: records has more than %d entries; this is a bug, or the guest attacks its host",
			TELEMETRY_RECORDS);
	json_array_foreach(records, i, record) if (!json_is_object(record)) return error_set(
		err, ERR_INVALID,
		"the guest's message \"telemetry\" is malformed: records[%zu] is not an object; this is a bug, or the guest attacks its host",
		i);
	return 0;
}

json_t *telemetry_read_status(const json_t *message, bool *whole, struct error *err)
{
	json_auto_t *own = json_incref((json_t *)(uintptr_t)message);
	static const char *const keys[] = {"exec", "files", "writes", "network"};
	json_auto_t *facts = json_pack("{s:s}", "origin", "guest");
	const char *detail = NULL;

	*whole = true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		bool traced = false;

		if (json_get_bool(own, "telemetry-status", keys[i], JSON_REQUIRED, &traced, err) <
			    0 ||
		    json_put(facts, keys[i], json_boolean(traced), err) < 0)
			return NULL;
		*whole &= traced;
	}
	if (json_get_string(own, "telemetry-status", "detail", JSON_OPTIONAL, &detail, err) < 0)
		return NULL;
	if (detail && strlen(detail) > 512) {
		error_set(
			err, ERR_INVALID,
			"the guest's message \"telemetry-status\" is malformed: detail is too long; this is a bug, or the guest attacks its host");
		return NULL;
	}
	if (detail && json_put_string(facts, "detail", detail, err) < 0)
		return NULL;
	return steal_ptr(&facts);
}

void telemetry_open(struct telemetry_log *log, int dir)
{
	*log = (struct telemetry_log){.dir = dir, .fd = -1};
}

/* Hashes the records of earlier boots that are already in the file, since the digest covers the
 * whole file. */
static int hash_what_is_there(struct telemetry_log *log, int fd, struct error *err)
{
	uint8_t chunk[16384];
	ssize_t n;

	sha256_init(&log->sha);
	log->bytes = 0;
	while ((n = pread(fd, chunk, sizeof(chunk), (off_t)log->bytes)) > 0) {
		sha256_update(&log->sha, chunk, (size_t)n);
		log->bytes += (uint64_t)n;
	}
	return n < 0 ? error_errno(err, errno, TELEMETRY_LOG) : 0;
}

static int begin_telemetry_file(struct telemetry_log *log, struct error *err)
{
	autoclose int fd = -1;
	struct stat st;

	if (log->fd >= 0)
		return 0;
	fd = openat(log->dir, TELEMETRY_LOG,
		    O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, TELEMETRY_LOG);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_IO,
			TELEMETRY_LOG
			" is not a regular file, so nothing can be recorded in it: something else than microagent has put it there");
	if (st.st_size > audit_telemetry_most_bytes())
		return error_set(
			err, ERR_IO,
			TELEMETRY_LOG
			" has %lld bytes, more than microagent writes: something else has written to it, so nothing more is recorded in it",
			(long long)st.st_size);
	if (hash_what_is_there(log, fd, err) < 0)
		return -1;
	log->fd = steal_fd(&fd);
	return 0;
}

static int add_telemetry_record(struct buf *lines, const json_t *record, const char *now,
				struct error *err)
{
	json_auto_t *line =
		json_pack("{s:s, s:s, s:O}", "ts", now, "origin", "guest", "record", record);
	autofree char *text = line ? json_line(line, err) : NULL;

	return text ? buf_printf(lines, err, "%s\n", text) : -1;
}

/* Writes either all lines or none, since readers could not parse a file that ends within a line. */
static int write_lines(struct telemetry_log *log, const struct buf *lines, struct error *err)
{
	ssize_t n;

	if (log->bytes + lines->len > limit_get(LIMIT_TELEMETRY_BYTES))
		return error_set(err, ERR_UNAVAILABLE, TELEMETRY_LOG " is full");
	n = write(log->fd, buf_bytes(lines), lines->len);
	if (n != (ssize_t)lines->len) {
		int errnum = n < 0 ? errno : ENOSPC;

		if (n > 0 && ftruncate(log->fd, (off_t)log->bytes) < 0)
			/* The file is closed. When the next records come, it is opened again and
			 * its contents are hashed. */
			log->fd = (close(log->fd), -1);
		return error_errno(err, errnum, TELEMETRY_LOG);
	}
	sha256_update(&log->sha, buf_bytes(lines), lines->len);
	log->bytes += lines->len;
	return 0;
}

static int put_records(struct telemetry_log *log, const json_t *records, struct error *err)
{
	autobuf struct buf lines = {0};
	char now[CLOCK_TEXT];
	const json_t *record;
	size_t i;

	clock_rfc3339(clock_real_ns(), now);
	json_array_foreach(records, i, record) if (add_telemetry_record(&lines, record, now, err) <
						   0) return -1;
	return lines.len == 0 || (begin_telemetry_file(log, err) == 0 &&
				  write_lines(log, &lines, err) == 0)
		       ? 0
		       : -1;
}

int telemetry_take(struct telemetry_log *log, const json_t *message, struct error *err)
{
	const json_t *records = json_object_get(message, "records");
	json_int_t lost = json_integer_value(json_object_get(message, "lost"));

	log->changed = true;
	log->dropped += lost > 0 ? (uint64_t)lost : 0;
	if (put_records(log, records, err) < 0) {
		log->dropped += json_array_size(records);
		return -1;
	}
	log->records += json_array_size(records);
	return 0;
}

json_t *telemetry_digest(struct telemetry_log *log)
{
	uint8_t digest[SHA256_BYTES];
	char hex[SHA256_TEXT];
	struct sha256 sha = log->sha;

	if (!log->changed)
		return NULL;
	/* The file must be on the disk before its digest is. Otherwise a loss of power could leave
	 * a file that does not match the digest, as if it had been forged. */
	if (log->fd >= 0)
		(void)file_sync_data(log->fd);
	log->changed = false;
	if (log->bytes == 0)
		sha256_init(&sha);
	sha256_final(&sha, digest);
	sha256_hex(digest, hex);
	return json_pack("{s:s, s:I, s:s, s:I, s:I}", "origin", "guest", "bytes",
			 (json_int_t)log->bytes, "sha256", hex, "records", (json_int_t)log->records,
			 "dropped", (json_int_t)log->dropped);
}

void telemetry_close(struct telemetry_log *log)
{
	cleanup_close(&log->fd);
	log->fd = -1;
}
