/* SPDX-License-Identifier: MIT */
/*
 * An audit log that an attacker has written into. It is read, whatever it is, and continued. A log
 * that was whole stays whole with one more line. A log that was torn or broken stays so at the same
 * line, or at a line before the new ones.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "store/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory, since the log is synced with each line. */
static char base[] = "/dev/shm/microagent-fuzz-XXXXXX";
static struct state_dir dir = {.fd = -1};
static struct workspace ws;

static void remove_directory(void)
{
	(void)path_remove_tree_at(AT_FDCWD, base, NULL);
}

/* Makes <base>/state/s, a session, once for all inputs. */
static void make_session(void)
{
	static char path[sizeof(base) + 8];

	if (dir.fd >= 0)
		return;
	if (!mkdtemp(base) || atexit(remove_directory) != 0)
		abort();
	snprintf(path, sizeof(path), "%s/state", base);
	if (state_dir_open(path, true, &dir, NULL) < 0 ||
	    workspace_open(&dir, "s", true, &ws, NULL) < 0 ||
	    path_replace_file_at(ws.fd, "session.json", "{}", 2, 0600, PATH_NO_SYNC, NULL) < 0)
		abort();
}

static struct audit_report verify(void)
{
	autoclose int fd = openat(ws.fd, AUDIT_LOG, O_RDONLY | O_CLOEXEC);
	struct audit_report report;

	if (fd < 0 || audit_verify(fd, "s", NULL, &report, NULL) < 0)
		abort();
	if ((report.verdict == AUDIT_TORN || report.verdict == AUDIT_BROKEN) !=
		    (report.bad_line > 0) ||
	    (report.bad_line > 0 && !*report.why))
		abort();
	return report;
}

/* Input that begins with 'V' comes after a log that is whole. Any other input is the whole log. */
static void put_log(const uint8_t *data, size_t size)
{
	static const struct audit_event event = {.subsystem = "fuzz", .event = "fuzz"};
	bool behind = size > 0 && data[0] == 'V';
	int fd;

	unlinkat(ws.fd, AUDIT_LOG, 0);
	if (behind && (audit_note(&ws, &event, NULL) < 0 || audit_note(&ws, &event, NULL) < 0))
		abort();
	fd = openat(ws.fd, AUDIT_LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, data + behind, size - behind, NULL) < 0)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct audit_event event = {.subsystem = "fuzz", .event = "fuzz"};
	struct audit_report before, after;

	make_session();
	put_log(data, size);
	before = verify();
	if (audit_note(&ws, &event, NULL) < 0)
		return 0; /* the log is closed */
	after = verify();
	if (before.verdict == AUDIT_OPEN &&
	    (after.verdict != AUDIT_OPEN || after.lines != before.lines + 1))
		abort();
	if (before.verdict == AUDIT_TORN &&
	    (after.verdict != AUDIT_TORN || after.bad_line != before.bad_line))
		abort();
	if (before.verdict == AUDIT_BROKEN && size > 0 && after.verdict != AUDIT_BROKEN)
		abort();
	return 0;
}
