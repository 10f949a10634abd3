/* SPDX-License-Identifier: MIT */
#include "oci/guest.h"

#include <stdio.h>
#include <string.h>

#include "api/guest.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "microagent.h"

#define WORDS_MAX 64
#define PATIENCE_MS 20000
/* The most objects, arrays and commas in an answer, together. The longest answer of an honest guest
 * is a list of processes. A Linux kernel has at most 32,768 processes unless it has many
 * processors, and each process counts as 5. */
#define STRUCTURE_MAX 163840

/* Decodes the document that microagent-container has printed. */
static int take_document(const struct microagent_result *result, json_t **out, struct error *err)
{
	json_t *document =
		json_load_plain(result->stdout_bytes, result->stdout_len, STRUCTURE_MAX, err);

	if (!document)
		return error_prefix(err, "the answer of the container's machine cannot be read");
	*out = document;
	return 0;
}

int guest_control(const struct record *record, const char *const *words, json_t **out,
		  struct error *err)
{
	const char *command[WORDS_MAX + 2] = {"microagent-container"};
	const struct microagent_exec exec = {.command = command, .user = "root"};
	const struct microagent_run_limits limits = {.timeout_ms = PATIENCE_MS, .cancel = NULL};
	autofree char *machines = record_machines(record->oci, err);
	struct microagent_result result = {0};
	struct microagent_guest *guest;
	struct microagent *agent;
	int status = -1;

	if (!record_pid(record))
		return error_set(err, ERR_CONFLICT, "container not running");
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		command[1 + i] = words[i];
	agent = machines ? microagent_open(machines, err) : NULL;
	guest = agent ? guest_handle_open(agent, record_text(record, "machine"), err) : NULL;
	if (guest && microagent_guest_run(guest, &exec, &limits, &result, err) == 0) {
		if (result.exit_code != 0)
			error_set(err, ERR_IO, "%.*s", (int)strcspn(result.stderr_bytes, "\n"),
				  result.stderr_bytes);
		else
			status = out ? take_document(&result, out, err) : 0;
		microagent_result_free(&result);
	}
	microagent_guest_close(guest);
	microagent_close(agent);
	return status;
}
