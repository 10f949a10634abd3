/* SPDX-License-Identifier: MIT */
/* Finds and verifies the audit logs of existing and of destroyed sessions. */
#include "store/audit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "session/sessions/session.h"

#define WHERE_LIVE "session"
#define WHERE_ARCHIVED "archive"

/* --- found ------------------------------------------------------------------------------------ */

struct found_log {
	char name[SESSION_NAME_ROOM];
	const char *where;
	char *path;
	int fd;
};

static void found_log_free(struct found_log *found)
{
	free(found->path);
	cleanup_close(&found->fd);
}
#define auto_found __attribute__((cleanup(found_log_free)))

/* Returns the path of the session's log in the directory `where`. The caller frees the path. */
static char *log_path(const struct microagent *agent, const char *where, const char *name,
		      struct error *err)
{
	bool live = strcmp(where, WHERE_LIVE) == 0;
	char *path = NULL;

	if (asprintf(&path, "%s/%s/%s%s/" AUDIT_LOG, agent->state_path,
		     live ? SESSIONS_DIR : ARCHIVE_DIR, name, live ? BUNDLE_SUFFIX : "") >= 0)
		return path;
	error_errno(err, ENOMEM, "audit");
	return NULL;
}

/* Opens the session's log in the directory found->where. ERR_NOT_FOUND: this directory has no log
 * of the session. */
static int open_at(const struct microagent *agent, const char *where, struct found_log *found,
		   struct error *err)
{
	autofree char *path = log_path(agent, where, found->name, err);
	struct stat st;

	if (!path)
		return -1;
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(
			err, ERR_CONFLICT,
			"%s is %s, not an audit log: move it away, and put the log in its place if you have it",
			path,
			S_ISDIR(st.st_mode)   ? "a directory"
			: S_ISLNK(st.st_mode) ? "a symbolic link"
					      : "not a regular file");
	autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	found->fd = steal_fd(&fd);
	found->where = where;
	found->path = steal_ptr(&path);
	return 0;
}

static int find_log(const struct microagent *agent, const char *word, struct found_log *found,
		    struct error *err)
{
	struct error why = {0};

	if (session_audited_parse(word, found->name, err) < 0)
		return -1;
	/* The directory of live sessions is checked first, because the destruction of a session
	 * moves the log from there to the archive. In the opposite order, a log could be missed
	 * while it is moved. */
	if (open_at(agent, WHERE_LIVE, found, &why) == 0)
		return 0;
	if (why.code == ERR_NOT_FOUND && open_at(agent, WHERE_ARCHIVED, found, &why) == 0)
		return 0;
	if (why.code != ERR_NOT_FOUND)
		return error_copy(err, &why);
	error_set(err, ERR_NOT_FOUND, "there is no audit log of session %s in %s", found->name,
		  agent->state_path);
	return error_reason(err, REASON_NO_AUDIT_LOG, found->name);
}

/* --- the verbs -------------------------------------------------------------------------------- */

int microagent_audit_read(struct microagent *agent, const char *word,
			  int (*fn)(void *data, const char *line, size_t len, struct error *err),
			  void *data, struct error *err)
{
	auto_found struct found_log found = {.fd = -1};

	if (find_log(agent, word, &found, err) < 0)
		return -1;
	if (audit_each_line(found.fd, audit_most_bytes(), fn, data, err) < 0)
		return error_prefix(err, "%s", found.path);
	return 0;
}

static json_t *report_json(const struct found_log *found, const struct audit_report *report,
			   const struct audit_telemetry *telemetry)
{
	bool ok = (report->verdict == AUDIT_OPEN || report->verdict == AUDIT_CLOSED) &&
		  telemetry->verdict != AUDIT_TELEMETRY_ALTERED &&
		  telemetry->verdict != AUDIT_TELEMETRY_MISSING;
	json_t *answer =
		json_pack("{s:b, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I}", "ok", ok, "session",
			  found->name, "where", found->where, "path", found->path, "verdict",
			  audit_verdict_names[report->verdict], "lines", (json_int_t)report->lines,
			  "confirmed", (json_int_t)report->confirmed, "lost",
			  (json_int_t)report->lost, "clockSetBack", (json_int_t)report->set_back);
	json_t *told;

	if (report->bad_line)
		json_object_set_new(answer, "badLine", json_integer((json_int_t)report->bad_line));
	if (*report->why)
		json_object_set_new(answer, "why",
				    json_string_lossy(report->why, strlen(report->why)));
	if (report->unconfirmed)
		json_object_set_new(answer, "unconfirmedLine",
				    json_integer((json_int_t)report->unconfirmed));
	if (*report->head)
		json_object_set_new(answer, "head", json_string(report->head));
	told = json_pack("{s:s, s:I, s:I}", "verdict", audit_telemetry_names[telemetry->verdict],
			 "bytes", (json_int_t)telemetry->bytes, "confirmedBytes",
			 (json_int_t)telemetry->confirmed);
	if (telemetry->line)
		json_object_set_new(told, "line", json_integer((json_int_t)telemetry->line));
	json_object_set_new(answer, "telemetry", told);
	return answer;
}

/* Searches for digests that the security log got after this process had read it. The audit log was
 * read after the security log, so it may have newer lines. If a live session has just written its
 * last line, the security log may still lack the digest of this line. */
static int look_for_late_digests(const struct microagent *agent, const char *name,
				 struct audit_report *report, struct error *err)
{
	struct audit_heads heads = {0};
	uint64_t line = report->unconfirmed;

	if (!line)
		return 0;
	if (audit_heads_load(agent->state_path, name, &heads, err) < 0)
		return -1;
	while (line <= report->lines && line <= heads.count && heads.known[line - 1])
		line++;
	audit_heads_free(&heads);
	report->unconfirmed =
		line < report->lines || (line == report->lines && report->verdict != AUDIT_OPEN)
			? line
			: 0;
	return 0;
}

/* Verifies the session's telemetry. Finds the telemetry file anew, because the destruction of the
 * session may have moved it since the log was opened. */
static int verify_telemetry(const struct microagent *agent, const struct found_log *found,
			    struct audit_telemetry *out, struct error *err)
{
	autoclose int fd = -1;

	if (session_telemetry_open(agent, found->name, &fd, err) < 0)
		return -1;
	return audit_verify_telemetry(found->fd, fd, out, err);
}

/* Reports a closed log as broken if the telemetry has bytes after the last digest in the log. If
 * the log is open, the next line will have a digest of such bytes. A closed log gets no more
 * lines. */
static void look_behind_last_digest(struct audit_report *report,
				    const struct audit_telemetry *telemetry)
{
	if (report->verdict != AUDIT_CLOSED || telemetry->verdict != AUDIT_TELEMETRY_WHOLE ||
	    telemetry->bytes == telemetry->confirmed)
		return;
	report->verdict = AUDIT_BROKEN;
	report->bad_line = report->lines;
	snprintf(report->why, sizeof(report->why),
		 "it closes the log, but " AUDIT_TELEMETRY " has %llu bytes after its last digest",
		 (unsigned long long)(telemetry->bytes - telemetry->confirmed));
}

/* Reports a log that the security log does not confirm. Each line of an audit log is noted in the
 * security log before the next line is written. If the security log of the audit log's day exists
 * but has no line about the audit log, then lines of the security log were lost, or the security
 * log belongs to another state directory. If the security log of that day does not exist, it was
 * moved to another place, and nothing is reported. */
static void look_for_its_day(const struct microagent *agent, struct audit_report *report)
{
	if (report->verdict != AUDIT_CLOSED || report->confirmed || report->unconfirmed != 1 ||
	    !security_log_has_day(agent->state_path, report->day))
		return;
	report->verdict = AUDIT_UNCONFIRMED;
	snprintf(report->why, sizeof(report->why),
		 "the security log of %s exists, but has no line of this log", report->day);
}

/* Reports an archived log that is not closed. Such a log is a fault, because `session destroy`
 * closes a log before it archives the log. */
static void look_for_its_end(const struct found_log *found, struct audit_report *report)
{
	if (report->verdict != AUDIT_OPEN || strcmp(found->where, WHERE_ARCHIVED) != 0)
		return;
	report->verdict = AUDIT_UNCONFIRMED;
	snprintf(
		report->why, sizeof(report->why),
		"it is archived, but its last line does not close it: its end was cut off, or the disk was full");
}

/* Reports a removed log: the security log has lines about this log, but neither the directory of
 * live sessions nor the archive has the log. */
static int verify_removed(const struct microagent *agent, struct found_log *found, size_t lines,
			  struct audit_report *out, struct error *err)
{
	autofree char *live = log_path(agent, WHERE_LIVE, found->name, err);

	if (!live)
		return -1;
	*strrchr(live, '/') = '\0';
	found->where = access(live, F_OK) == 0 ? WHERE_LIVE : WHERE_ARCHIVED;
	found->path = log_path(agent, found->where, found->name, err);
	if (!found->path)
		return -1;
	*out = (struct audit_report){.verdict = AUDIT_BROKEN, .bad_line = 1};
	snprintf(out->why, sizeof(out->why),
		 "the log is gone, but the security log has %zu lines of it", lines);
	return 0;
}

json_t *microagent_audit_verify(struct microagent *agent, const char *word, struct error *err)
{
	auto_found struct found_log found = {.fd = -1};
	struct audit_heads heads = {0};
	struct audit_report report = {0};
	struct audit_telemetry telemetry = {0};
	json_auto_t *passed_over = NULL;
	struct error why = {0};
	json_t *answer = NULL;
	int status;

	/* The security log is read before the audit log. In the opposite order, the security log
	 * could have digests of lines that this process has not read. */
	if (session_audited_parse(word, found.name, err) < 0 ||
	    audit_heads_load(agent->state_path, found.name, &heads, err) < 0)
		return NULL;
	status = find_log(agent, word, &found, &why);
	if (status < 0 && why.code == ERR_NOT_FOUND && heads.archive_removed)
		error_set(err, ERR_NOT_FOUND,
			  "the archive of %s was removed, as the security log says", found.name);
	else if (status < 0 && why.code == ERR_NOT_FOUND && heads.count > 0)
		status = verify_removed(agent, &found, heads.count, &report, err);
	else if (status < 0)
		error_copy(err, &why);
	else
		status = audit_verify(found.fd, found.name, &heads, &report, err) < 0
				 ? -1
				 : verify_telemetry(agent, &found, &telemetry, err);
	passed_over = json_incref(heads.passed_over);
	audit_heads_free(&heads);
	if (status < 0 || look_for_late_digests(agent, found.name, &report, err) < 0)
		return NULL;
	look_behind_last_digest(&report, &telemetry);
	look_for_its_day(agent, &report);
	look_for_its_end(&found, &report);
	answer = report_json(&found, &report, &telemetry);
	if (!answer || (json_array_size(passed_over) > 0 &&
			json_object_set(answer, "passedOver", passed_over) < 0)) {
		json_decref(answer);
		error_errno(err, ENOMEM, "audit");
		return NULL;
	}
	return answer;
}

/* --- the list --------------------------------------------------------------------------------- */

static int add_log(const struct microagent *agent, const char *where, const char *name,
		   json_t *list, struct error *err)
{
	autofree char *path = log_path(agent, where, name, err);
	struct stat st;
	json_t *entry;

	if (!path)
		return -1;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0; /* the session never had a log, or another process is moving its log: the
			   * list gets no entry for the session */
	entry = json_pack("{s:s, s:s, s:s, s:I}", "session", name, "where", where, "path", path,
			  "bytes", (json_int_t)st.st_size);
	if (!entry || json_array_append_new(list, entry) < 0)
		return error_errno(err, ENOMEM, "audit");
	return 0;
}

static int add_directory(const struct microagent *agent, const char *where, json_t *list,
			 struct error *err)
{
	bool live = strcmp(where, WHERE_LIVE) == 0;
	autofree char *path = path_join(agent->state_path, live ? SESSIONS_DIR : ARCHIVE_DIR, err);
	char name[SESSION_NAME_ROOM];
	const struct dirent *entry;

	if (!path)
		return -1;
	autodir DIR *dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", path);
	while ((entry = readdir(dir))) {
		bool is_bundle = entry->d_name[kind_name_length(entry->d_name)] != '\0';
		bool is_one =
			is_bundle == live && session_audited_parse(entry->d_name, name, NULL) == 0;

		if (is_one && add_log(agent, where, name, list, err) < 0)
			return -1;
	}
	return 0;
}

static int by_session(const void *a, const void *b)
{
	json_t *const *one = a, *const *other = b;

	return strcmp(json_text(*one, "session", NULL), json_text(*other, "session", NULL));
}

static json_t *sorted(const json_t *list)
{
	size_t count = json_array_size(list);
	autofree json_t **items = calloc(count + 1, sizeof(json_t *));
	json_t *answer = json_array();

	for (size_t i = 0; items && i < count; i++)
		items[i] = json_array_get(list, i);
	if (items)
		qsort(items, count, sizeof(json_t *), by_session);
	for (size_t i = 0; items && i < count; i++)
		json_array_append(answer, items[i]);
	return answer;
}

json_t *microagent_audit_list(struct microagent *agent, struct error *err)
{
	json_auto_t *list = json_array();

	if (add_directory(agent, WHERE_LIVE, list, err) < 0 ||
	    add_directory(agent, WHERE_ARCHIVED, list, err) < 0)
		return NULL;
	return json_pack("{s:o}", "audits", sorted(list));
}
