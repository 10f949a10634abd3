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
