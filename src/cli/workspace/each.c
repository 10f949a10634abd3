/* SPDX-License-Identifier: MIT */
#include "cli/workspace/each.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/output/hint.h"
#include "microagent_session.h"

static const char *state_of(const json_t *response)
{
	const char *state = json_text(json_object_get(response, "event"), "state", NULL);

	return state ? state : "unknown";
}

/* Returns the detail of the last event, if it reports that the machine did not end cleanly;
 * otherwise NULL. */
static const char *trouble_of(const json_t *response)
{
	const char *detail = json_text(json_object_get(response, "event"), "detail", NULL);

	return detail && (strstr(detail, "unclean") || strstr(detail, "no machine was running"))
		       ? detail
		       : NULL;
}

json_t *each_failure(const struct cli *cli, const char *name, const struct error *why,
		     struct error *err)
{
	json_auto_t *failure = json_object();
	char hint[HINT_ROOM];

	if (json_put(failure, "ok", json_false(), err) < 0 ||
	    json_put_string(failure, "name", name, err) < 0 ||
	    json_put_error(failure, why, err) < 0)
		return NULL;
	hint_find(cli, why->reason, why->subject, hint);
	if (*hint && json_put(failure, "hint", json_string_lossy(hint, strlen(hint)), err) < 0)
		return NULL;
	return steal_ptr(&failure);
}

struct each {
	struct cli *cli;
	struct progress *progress;
	each_fn *fn;
	each_look_fn *look;
	/* finds the state directory that has the workspace; NULL: the names are names of sessions,
	 * which all are in one state directory */
	guest_open_fn *place;
	bool many;
};

static struct microagent *each_open(const struct each *each, const char *name,
				    char id[GUEST_ID_ROOM], struct error *err)
{
	if (each->place)
		return each->place(each->cli, each->progress, name, id, err);
	snprintf(id, GUEST_ID_ROOM, "%s", name);
	return guest_open(each->cli, each->progress, err);
}

/* Calls the function for one name, and adds the result to `list`. Stores the first failure in
 * *first. */
static int act(const struct each *each, const char *name, json_t *list, struct error *first,
	       struct error *err)
{
	struct cli *cli = each->cli;
	char id[GUEST_ID_ROOM];
	struct error why = {0};
	struct microagent *agent = each_open(each, name, id, &why);
	const char *foretold = agent && each->look && !cli->json ? each->look(agent, id) : NULL;
	json_t *response = NULL;
	int status = agent ? each->fn(agent, id, &response, &why) : -1;

	microagent_close(agent);
	if (status < 0) {
		if (first->code == ERR_NONE)
			*first = why;
		else if (!cli->json)
			cli_warn_error(cli, "", &why);
		response = each_failure(cli, name, &why, err);
	} else if (!cli->json) {
		printf("%s: %s\n", name, foretold ? foretold : state_of(response));
		if (trouble_of(response))
			cli_warn("%s: %s", name, trouble_of(response));
	}
	if (!response || json_array_append_new(list, response) < 0)
		return response ? error_errno(err, ENOMEM, "answers") : -1;
	return 0;
}

static int run_all(const struct each *each, const struct cli_words *names, struct error *err)
{
	struct cli *cli = each->cli;
	json_auto_t *list = json_array(), *answer = json_object();
	struct error first = {0};
	bool ok;

	for (size_t i = 0; i < names->count; i++) {
		if (act(each, names->items[i], list, &first, err) < 0)
			return -1;
	}
	ok = first.code == ERR_NONE;
	if (!ok && (!cli->json || !each->many)) {
		*err = first;
		return -1;
	}
	if (cli->json && !each->many)
		return cli_print_json(json_array_get(list, 0), err);
	if (cli->json && (json_put(answer, "ok", json_boolean(ok), err) < 0 ||
			  json_put(answer, "responses", json_incref(list), err) < 0 ||
			  cli_print_json(answer, err) < 0))
		return -1;
	return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

int each_run(struct cli *cli, const struct cli_words *names, const char *doing, each_fn *fn,
	     each_look_fn *look, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	/* Allows `delete` only for workspaces. A session is removed by `session destroy`, which
	 * also closes and archives its audit log. */
	guest_open_fn *place = fn == microagent_delete ? guest_open_own : guest_open_living;
	const struct each each = {cli, &progress, fn, look, place, names->count > 1};

	for (size_t i = 0; i < names->count; i++) {
		if (guest_check_name(cli, names->items[i], err) < 0)
			return -1;
	}
	progress_start(&progress, doing);
	return run_all(&each, names, err);
}

int each_run_sessions(struct cli *cli, const struct cli_words *names,
		      const struct each_sessions *what, struct error *err)
{
	autoprogress struct progress progress = PROGRESS_INIT;
	const struct each each = {cli,	      &progress, what->fn,
				  what->look, NULL,	 what->many || names->count > 1};
	struct error why = {0};

	for (size_t i = 0; i < names->count; i++) {
		if (microagent_session_check_name(names->items[i], &why) < 0)
			return cli_usage_error(cli, &why, err);
	}
	progress_start(&progress, what->doing);
	return run_all(&each, names, err);
}
