/* SPDX-License-Identifier: MIT */
#include "cli/copy.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

int copy_notes_init(struct copy_notes *notes, const struct cli *cli, struct error *err)
{
	*notes = (struct copy_notes){.cli = cli, .skipped = json_array()};
	return notes->skipped ? 0 : error_errno(err, ENOMEM, "answer");
}

void copy_notes_free(struct copy_notes *notes)
{
	json_decref(notes->skipped);
	notes->skipped = NULL;
}

/* A path comes from the guest: its control bytes are not for a terminal. */
static void warn(const char *path, const char *why)
{
	autofree char *clean = strdup(path);

	for (char *p = clean; p && *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	cli_warn("left out: %s: %s", clean ? clean : "", why);
}

void copy_note_skipped(void *data, const char *path, const char *why)
{
	struct copy_notes *notes = data;
	json_t *entry;

	if (!notes->cli->json) {
		warn(path, why);
		return;
	}
	entry = json_object();
	if (json_put(entry, "path", json_string_lossy(path, strlen(path)), NULL) == 0 &&
	    json_put(entry, "why", json_string_lossy(why, strlen(why)), NULL) == 0)
		json_array_append(notes->skipped, entry);
	json_decref(entry);
}

int copy_answer(struct copy_notes *notes, struct error *err)
{
	json_auto_t *answer = json_object();
	int code = CLI_EXIT_OK;

	if (json_put(answer, "ok", json_true(), err) < 0 ||
	    json_put(answer, "skipped", json_incref(notes->skipped), err) < 0)
		code = -1;
	else if (notes->cli->json)
		code = cli_print_json(answer, err);
	copy_notes_free(notes);
	return code;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The head of the message in front of end, if it ends so. */
static bool ends_with(const struct error *err, const char *end, char *head, size_t size)
{
	size_t len = strlen(err->msg), end_len = strlen(end);

	if (len < end_len || strcmp(err->msg + len - end_len, end) != 0 || len - end_len >= size)
		return false;
	memcpy(head, err->msg, len - end_len);
	head[len - end_len] = '\0';
	return true;
}

/* What stands in the way under name: the target, or in it where that is a directory. */
static void name_obstacle(const struct copy_target *target, const char *name, const char *end,
			  struct error *err)
{
	bool itself = strcmp(name, last_component(target->path)) == 0 &&
		      strcmp(name, last_component(target->source)) != 0;
	size_t len = strlen(target->path);
	bool slash = len > 0 && target->path[len - 1] == '/';

	error_set(err, ERR_CONFLICT, "%s%s%.300s%s%s%s: remove it, or give another target",
		  target->workspace ? target->workspace : "", target->workspace ? ":" : "",
		  target->path, itself || slash ? "" : "/", itself ? "" : name, end);
}

void copy_name_target(const struct copy_target *target, struct error *err)
{
	static const char *const obstacles[] = {" is there already and no regular file",
						" is a symbolic link, which is not written through",
						": File exists"};
	static const char denied[] = ": Permission denied", temporary[] = ".microagent-";
	char head[sizeof(err->msg)];
	const char *reason;

	for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++) {
		if (ends_with(err, obstacles[i], head, sizeof(head)) && !strchr(head, '/')) {
			name_obstacle(target, head, obstacles[i], err);
			return;
		}
	}
	/* An error number is this host's: of what is copied, not of the target. */
	if (!target->workspace || err->errnum)
		return;
	if (ends_with(err, denied, head, sizeof(head)))
		error_set(err, ERR_DENIED, "%s:%.300s%s%s", target->workspace, target->path, denied,
			  target->root ? "" : ": `--user root` copies with all rights");
	reason = strstr(err->msg, ": ");
	if (strncmp(err->msg, temporary, strlen(temporary)) != 0 || !reason)
		return;
	snprintf(head, sizeof(head), "%s", reason);
	error_set(err, err->code, "%s:%.300s%.600s", target->workspace, target->path, head);
}
