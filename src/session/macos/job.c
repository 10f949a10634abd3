/* SPDX-License-Identifier: MIT */
/* Runs the supervisor for a job: to make files for a macOS guest (supervisor/macos_job.c). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "contract/macos.h"
#include "session/macos/macos.h"

struct hearing {
	void (*event)(void *data, const json_t *event);
	void *data;
	json_t *answer;	 /* the last line that is JSON and not an event */
	char words[256]; /* the last line that is not JSON; used if the supervisor gives no
			  * answer */
};

static void on_job_line(void *data, const char *text)
{
	struct hearing *h = data;
	json_auto_t *line = json_load_strict(text, strlen(text), NULL);

	if (json_text(line, "event", NULL)) {
		if (h->event)
			h->event(h->data, line);
	} else if (json_is_object(line)) {
		json_decref(h->answer);
		h->answer = steal_ptr(&line);
	} else if (*text) {
		snprintf(h->words, sizeof(h->words), "%s", text);
	}
}

int macos_job_run(const struct making *m, const json_t *job,
		  void (*event)(void *data, const json_t *event), void *data, struct error *err)
{
	struct hearing hearing = {.event = event, .data = data};
	autofree char *program = supervisor_find(MACOS_BACKEND, err);
	autofree char *line = program ? json_line(job, err) : NULL;
	const char *const argv[] = {program, MACOS_OPTION, NULL};
	const struct macos_child child = {
		.argv = argv, .input = line, .line = on_job_line, .data = &hearing};
	int code = 0, status;

	if (!line)
		return -1;
	status = macos_child_run(m, &child, &code, err);
	if (status == 0 && hearing.answer)
		status = supervisor_error(hearing.answer, err);
	else if (status == 0)
		status = error_set(err, ERR_IO,
				   "the supervisor ended with exit code %d and no answer%s%s", code,
				   hearing.words[0] ? ": " : "", hearing.words);
	json_decref(hearing.answer);
	return status;
}
