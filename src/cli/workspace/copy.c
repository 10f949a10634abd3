/* SPDX-License-Identifier: MIT */
#include "cli/workspace/copy.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/platform/waitable.h"
#include "cli/options/guest_path.h"

int copy_refuse_dash(struct cli *cli, const char *host_path, struct error *err)
{
	if (strcmp(host_path, "-") != 0)
		return 0;
	return cli_usage(
		cli, err,
		"\"-\" does not mean stdin or stdout here: `microagent exec NAME -- cat /PATH` prints a file, `microagent exec -i NAME -- sh -c 'cat >/PATH'` writes one, and ./- is a file with the name \"-\"");
}

int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct progress *progress,
		    struct error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	*notes = (struct copy_notes){.cli = cli, .progress = progress, .skipped = json_array()};
	notes->signals = signal_fd_open(&set);
	if (notes->skipped && notes->signals >= 0)
		return 0;
	error_errno(err, errno, "signals");
	json_decref(notes->skipped);
	return -1;
}

static void note_skipped(void *data, const char *path, const char *why)
{
	struct copy_notes *notes = data;
	json_auto_t *entry = NULL;

	notes->count++;
	if (notes->cli->json && notes->count <= COPY_LISTED_MAX) {
		entry = json_object();
		if (json_put(entry, "path", json_string_lossy(path, strlen(path)), NULL) == 0 &&
		    json_put(entry, "why", json_string_lossy(why, strlen(why)), NULL) == 0)
			json_array_append(notes->skipped, entry);
	} else if (!notes->cli->json && notes->count <= COPY_LINES_MAX) {
		cli_warn("left out: %.200s%s: %s", path, strlen(path) > 200 ? "..." : "", why);
	}
}

static void note_progress(void *data, uint64_t bytes, const char *path)
{
	struct copy_notes *notes = data;
	double seconds, mib = (double)bytes / (1 << 20);
	sigset_t set;

	/* From now on a signal must not end the program without a cleanup, since the copy has
	 * begun. */
	if (!notes->flowing) {
		notes->flowing = true;
		notes->began_ns = clock_mono_ns();
		sigemptyset(&set);
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGHUP);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	if (!notes->progress->on)
		return;
	seconds = (double)(clock_mono_ns() - notes->began_ns) / (double)NS_PER_S;
	progress_detail(notes->progress, "%.1f MiB, %.1f MiB/s  %s", mib,
			seconds > 0.1 ? mib / seconds : 0.0, path);
}

struct microagent_copy copy_options(struct copy_notes *notes, const char *user, int64_t limit)
{
	return (struct microagent_copy){
		.user = user,
		.skipped = note_skipped,
		.data = notes,
		.progress = note_progress,
		.cancel = notes->signals,
		.limit_bytes = (uint64_t)limit,
	};
}

static int print_copied(const struct copy_notes *notes, struct error *err)
{
	json_auto_t *answer = json_object();

	if (!notes->cli->json) {
		if (notes->count > COPY_LINES_MAX)
			cli_warn("%zu files were left out in all; `--json` lists %d", notes->count,
				 COPY_LISTED_MAX);
		return CLI_EXIT_OK;
	}
	if (json_put(answer, "ok", json_true(), err) < 0 ||
	    json_put(answer, "skipped", json_incref(notes->skipped), err) < 0)
		return -1;
	if (notes->count > COPY_LISTED_MAX &&
	    json_put(answer, "skippedMore",
		     json_integer((json_int_t)notes->count - COPY_LISTED_MAX), err) < 0)
		return -1;
	return cli_print_json(answer, err);
}

int copy_answer(struct copy_notes *notes, int status, struct error *err)
{
	int code = status, signal;

	if (status == 0)
		code = print_copied(notes, err);
	else if ((signal = signal_fd_take(notes->signals)) != 0)
		code = 128 + signal;
	close(notes->signals);
	json_decref(notes->skipped);
	return code;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* If the message ends with `end`, copies the part before `end` to `head` and returns true. */
static bool ends_with(const struct error *err, const char *end, char *head, size_t size)
{
	size_t len = strlen(err->msg), end_len = strlen(end);

	if (len < end_len || strcmp(err->msg + len - end_len, end) != 0 || len - end_len >= size)
		return false;
	memcpy(head, err->msg, len - end_len);
	head[len - end_len] = '\0';
	return true;
}

/* Returns true if the target is a device or a pipe of this host, or a link to one. The message must
 * not advise the user to remove such a file. */
static bool is_device(const struct copy_target *target)
{
	struct stat st;

	return !target->workspace && stat(target->path, &st) == 0 && !S_ISDIR(st.st_mode) &&
	       !S_ISREG(st.st_mode);
}

/* Sets the error for a file that is in the way of the copy. `name` is the last component of the
 * file's path. The file is the target itself; if the target is a directory, the file is in it. */
static void name_obstacle(const struct copy_target *target, const char *name, const char *end,
			  struct error *err)
{
	bool itself = strcmp(name, last_component(target->path)) == 0 &&
		      strcmp(name, last_component(target->source)) != 0;
	size_t len = strlen(target->path);
	bool slash = len > 0 && target->path[len - 1] == '/';

	error_set(err, ERR_CONFLICT, "%s%s%.300s%s%s%s: %sgive another target",
		  target->workspace ? target->workspace : "", target->workspace ? ":" : "",
		  target->path, itself || slash ? "" : "/", itself ? "" : name, end,
		  is_device(target) ? "" : "remove it, or ");
}

/* Replaces NAME in a message "NAME: REASON" by the full path of the target. Returns false if NAME
 * is not the last component of that path. */
static bool name_full_path(const struct copy_target *target, struct error *err)
{
	const char *const names[] = {last_component(target->path), last_component(target->source)};
	char reason[sizeof(err->msg)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (len == 0 || strncmp(err->msg, names[i], len) != 0 ||
		    strncmp(err->msg + len, ": ", 2) != 0)
			continue;
		snprintf(reason, sizeof(reason), "%s", err->msg + len);
		error_set(err, err->code, "%s:%.300s%.600s", target->workspace, target->path,
			  reason);
		return true;
	}
	return false;
}

void copy_name_target(const struct copy_target *target, struct error *err)
{
	static const char *const obstacles[] = {
		" already exists and is not a regular file",
		" is a symbolic link; nothing is written through it", ": File exists"};
	static const char denied[] = ": Permission denied";
	char head[sizeof(err->msg)];
	enum error_reason reason = err->reason;

	for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++) {
		if (ends_with(err, obstacles[i], head, sizeof(head)) && !strchr(head, '/')) {
			name_obstacle(target, head, obstacles[i], err);
			return;
		}
	}
	/* Leaves an error with an errno as it is: it comes from this host, and already names the
	 * file. */
	if (err->errnum)
		return;
	if (!target->workspace) {
		if (target->from)
			guest_path_error(target->from, err);
	} else if (ends_with(err, denied, head, sizeof(head))) {
		error_set(err, ERR_DENIED, "%s:%.300s%s", target->workspace, target->path, denied);
		error_reason(err, reason, "");
	} else if (!name_full_path(target, err)) {
		guest_path_error(target->workspace, err);
	}
}
