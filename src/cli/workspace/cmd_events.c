/* SPDX-License-Identifier: MIT */
/* events: shows the states that a workspace has had. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"

/* The exit code by which a shell reports a program that SIGPIPE has ended. */
#define EXIT_OUT_CLOSED (128 + SIGPIPE)

struct events_values {
	bool follow;
};

static const struct cli_option events_options[] = {
	{"follow", 'f', CLI_OPTION_FLAG, offsetof(struct events_values, follow), NULL,
	 "go on and print what is new, until the machine has ended", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

struct events {
	struct cli *cli;
	struct microagent *agent;
	const char *name;
	json_t *last; /* the last event that was printed; NULL: none */
};

/* Returns the index of the first event in `list` that was not printed yet. Returns 0 if the list
 * does not have the event that was printed last, because old events are dropped. */
static size_t first_new(const struct events *events, const json_t *list)
{
	for (size_t i = json_array_size(list); events->last && i > 0; i--)
		if (json_equal(json_array_get(list, i - 1), events->last))
			return i;
	return 0;
}

static int print_new_events(struct events *events, struct error *err)
{
	json_auto_t *answer = microagent_events(events->agent, events->name, err);
	const json_t *list = json_object_get(answer, "events");

	if (!answer)
		return -1;
	for (size_t i = first_new(events, list); i < json_array_size(list); i++) {
		json_t *event = json_array_get(list, i);
		const char *detail = json_text(event, "detail", NULL);

		if (events->cli->json) {
			if (cli_print_json(event, err) < 0)
				return -1;
		} else {
			/* Pads the state only if a detail comes after it, since a line must not end
			 * with blanks. */
			printf(detail ? "%s  %-11s  " : "%s  %s",
			       json_text(event, "observedAt", NULL),
			       json_text(event, "state", NULL));
			if (detail)
				cli_print_safe(stdout, detail);
			putchar('\n');
		}
		json_decref(events->last);
		events->last = json_incref(event);
	}
	if (fflush(stdout) == 0)
		return 0;
	events->cli->stdout_errnum = errno;
	return 1;
}

/* Prints new events until the machine has ended. The caller has opened `watch` before it read the
 * first events, so that no event is missed. */
static int follow_by(int watch, struct events *events, struct error *err)
{
	bool running = false;

	if (microagent_is_running(events->agent, events->name, &running, err) < 0)
		return -1;
	for (;;) {
		bool last = !running;
		struct error why = {0};
		int got = print_new_events(events, &why);

		/* Ends without an error if the workspace was deleted: no more events can come. */
		if (got < 0 && events->last && why.code == ERR_NOT_FOUND)
			return CLI_EXIT_OK;
		if (got < 0)
			*err = why;
		if (got == 0 && last)
			return CLI_EXIT_OK;
		if (got == 0)
			got = microagent_log_wait(events->agent, events->name, watch, STDOUT_FILENO,
						  -1, &running, err);
		if (got != 0)
			return got < 0 ? -1 : EXIT_OUT_CLOSED;
	}
}

static int run_events(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct events_values *v = values;
	char id[GUEST_ID_ROOM];
	struct events events = {.cli = cli, .name = id};
	json_auto_t *answer = NULL;
	int code = -1, watch;

	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	events.agent = guest_open_at(cli, NULL, args->items[0], id, err);
	if (!events.agent)
		return -1;
	if (v->follow) {
		watch = microagent_log_watch(events.agent, id, err);
		if (watch >= 0) {
			code = follow_by(watch, &events, err);
			microagent_log_unwatch(watch);
		}
	} else if (cli->json) {
		answer = microagent_events(events.agent, id, err);
		code = answer ? cli_print_json(answer, err) : -1;
	} else {
		code = print_new_events(&events, err) < 0 ? -1 : CLI_EXIT_OK;
	}
	json_decref(events.last);
	microagent_close(events.agent);
	return code;
}

const struct cli_command cli_events = {
	.name = "events",
	.args = "NAME",
	.summary = "the states that a workspace went through, oldest first",
	.help = "With --json: {\"events\": [...]}, and with --follow one event on a line.\n",
	.group = CLI_GROUP_OBSERVE,
	.options = events_options,
	.values_size = sizeof(struct events_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_events,
};
