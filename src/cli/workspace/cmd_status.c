/* SPDX-License-Identifier: MIT */
/* status: shows everything that is known about one workspace. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/options/guest.h"
#include "cli/session/session.h"
#include "microagent_session.h"

static const json_t *find(const json_t *value, const char *const *path)
{
	for (; *path; path++)
		value = json_object_get(value, *path);
	return value;
}

/* Returns the text at a path of members in `value`; NULL if there is no text. */
#define TEXT(value, ...) json_string_value(find(value, (const char *const[]){__VA_ARGS__, NULL}))

static int status_row(struct cli_table *table, const char *name, const char *value,
		      struct error *err)
{
	const char *const cells[] = {name, value};

	return value && *value ? cli_table_row(table, cells, err) : 0;
}

static const struct {
	const char *key, *word;
} signals[] = {{"guestReady", "guest"},
	       {"shellReady", "shell"},
	       {"resultReady", "result"},
	       {"mediationReady", "mediation"}};

static int readiness_row(struct cli_table *table, const json_t *response, struct error *err)
{
	const json_t *readiness = json_object_get(response, "readiness");
	char text[64] = "";

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		const json_t *signal = json_object_get(readiness, signals[i].key);

		if (!json_is_true(json_object_get(signal, "ready")))
			continue;
		if (text[0])
			strncat(text, ", ", sizeof(text) - strlen(text) - 1);
		strncat(text, signals[i].word, sizeof(text) - strlen(text) - 1);
	}
	return status_row(table, "ready", text, err);
}

/* Returns true if the machine is starting, running or stopping. Otherwise the machine cannot be
 * ready, so its readiness is not shown. */
static bool is_live(const json_t *response)
{
	static const char *const live[] = {"starting", "running", "stopping"};
	const char *state = TEXT(response, "event", "state");

	for (size_t i = 0; state && i < ARRAY_SIZE(live); i++)
		if (strcmp(live[i], state) == 0)
			return true;
	return false;
}

/* Returns the reason why a service is not ready. Returns NULL if the service is ready, or is not
 * expected to be. Mediation is expected only if the workspace has it. A result is never expected,
 * since it comes when the command ends. */
static const char *reason(const json_t *response, const char *key)
{
	const json_t *signal = json_object_get(json_object_get(response, "readiness"), key);
	const char *error = TEXT(signal, "error");
	bool waited_for =
		strcmp(key, "resultReady") != 0 &&
		(strcmp(key, "mediationReady") != 0 || json_object_get(response, "mediation"));

	if (json_is_true(json_object_get(signal, "ready")) || !waited_for)
		return NULL;
	return error ? error : TEXT(signal, "detail");
}

/* Adds a row for each service that is not ready, like "mediation: 127.0.0.1:9900: Connection
 * refused". */
static int waiting_rows(struct cli_table *table, const json_t *response, struct error *err)
{
	char text[384];

	for (size_t i = 0; is_live(response) && i < ARRAY_SIZE(signals); i++) {
		const char *why = reason(response, signals[i].key);

		if (!why)
			continue;
		snprintf(text, sizeof(text), "%s: %.300s", signals[i].word, why);
		if (status_row(table, "not ready", text, err) < 0)
			return -1;
	}
	return 0;
}

static int result_row(struct cli_table *table, const json_t *response, struct error *err)
{
	const json_t *result = json_object_get(response, "result");
	const json_t *code = json_object_get(result, "exitCode");
	const char *error = TEXT(result, "error");
	char text[256];

	if (!json_is_integer(code))
		return 0;
	snprintf(text, sizeof(text), "exit code %" PRIdMAX "%s%s",
		 (intmax_t)json_integer_value(code), error ? ": " : "", error ? error : "");
	return status_row(table, "result", text, err);
}

static int verification_row(struct cli_table *table, const json_t *response, struct error *err)
{
	const json_t *verification = json_object_get(response, "verification");
	const json_t *ok = json_object_get(verification, "ok");
	const json_t *rootfs = json_object_get(verification, "rootfs"), *entry;
	char differing[128], text[192];
	size_t i;

	if (!json_is_boolean(ok))
		return 0;
	snprintf(differing, sizeof(differing), "no, not as prepared:");
	json_array_foreach(json_object_get(verification, "divergence"), i, entry)
	{
		const char *name = TEXT(entry, "artifact");
		size_t len = strlen(differing);

		snprintf(differing + len, sizeof(differing) - len, " %s", name ? name : "?");
	}
	snprintf(text, sizeof(text), "%s", json_is_true(ok) ? "yes" : differing);
	if (json_is_true(json_object_get(rootfs, "mayHaveChanged")))
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "; its root may have changed since %s", TEXT(rootfs, "observedAt"));
	return status_row(table, "verified", text, err);
}

/* Adds a row for each published port, like "127.0.0.1:8080 to port 80". */
static int publish_status_rows(struct cli_table *table, const json_t *network, struct error *err)
{
	const json_t *forward;
	char text[128];
	size_t i;

	json_array_foreach(json_object_get(network, "portForwards"), i, forward)
	{
		const char *host = TEXT(forward, "host");

		snprintf(text, sizeof(text),
			 host && strchr(host, ':') ? "[%s]:%d to port %d" : "%s:%d to port %d",
			 host ? host : "",
			 (int)json_integer_value(json_object_get(forward, "hostPort")),
			 (int)json_integer_value(json_object_get(forward, "guestPort")));
		if (status_row(table, "publish", text, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds a row about mediation, like "required, port 2048 to 127.0.0.1:9900". */
static int mediation_row(struct cli_table *table, const json_t *mediation, struct error *err)
{
	char text[512];

	if (!mediation)
		return 0;
	snprintf(text, sizeof(text), "%s, port %" PRIdMAX " to %s",
		 json_is_true(json_object_get(mediation, "required")) ? "required" : "optional",
		 (intmax_t)json_integer_value(json_object_get(mediation, "port")),
		 TEXT(mediation, "target"));
	return status_row(table, "mediation", text, err);
}

/* Adds a row for each shared directory of a session, like "/home/me/work on /workspace, rw". */
static int share_rows(struct cli_table *table, const json_t *shares, struct error *err)
{
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		autofree char *text = NULL;

		if (asprintf(&text, "%s on %s, %s", TEXT(share, "path"), TEXT(share, "mountpoint"),
			     TEXT(share, "mode")) < 0)
			return error_errno(err, ENOMEM, "status");
		if (status_row(table, "share", text, err) < 0)
			return -1;
	}
	return 0;
}

static int print_workspace_status(const char *name, const char *accelerator, const json_t *response,
				  const json_t *shares, struct error *err)
{
	static const char *const heads[] = {"workspace", ""};
	auto_table struct cli_table table = {0};
	const char *const heading[] = {heads[0], name};
	char end[HINT_ROOM] = "", unlimited[HINT_ROOM];

	session_add_end(response, TEXT(response, "event", "state"), end);
	hint_unlimited(response, unlimited); /* writes a text like "no limit of memory, pids" */

	if (cli_table_init(&table, ARRAY_SIZE(heading), heading, err) < 0 ||
	    status_row(&table, "state", TEXT(response, "event", "state"), err) < 0 ||
	    status_row(&table, "detail", TEXT(response, "event", "detail"), err) < 0 ||
	    status_row(&table, "since", TEXT(response, "event", "observedAt"), err) < 0 ||
	    status_row(&table, "session", end, err) < 0 ||
	    status_row(&table, "backend", TEXT(response, "backend"), err) < 0 ||
	    status_row(&table, "architecture", TEXT(response, "architecture"), err) < 0 ||
	    status_row(&table, "accelerator", accelerator, err) < 0 ||
	    status_row(&table, "confinement", TEXT(response, "confinement"), err) < 0 ||
	    status_row(&table, "cgroup", unlimited, err) < 0 ||
	    status_row(&table, "console", TEXT(response, "consoleMode"), err) < 0 ||
	    readiness_row(&table, response, err) < 0 || waiting_rows(&table, response, err) < 0 ||
	    result_row(&table, response, err) < 0 ||
	    publish_status_rows(&table, json_object_get(response, "network"), err) < 0 ||
	    mediation_row(&table, json_object_get(response, "mediation"), err) < 0 ||
	    share_rows(&table, shares, err) < 0 ||
	    status_row(&table, "kernel", TEXT(response, "verification", "kernel", "path"), err) <
		    0 ||
	    status_row(&table, "disk", TEXT(response, "verification", "rootfs", "path"), err) < 0 ||
	    verification_row(&table, response, err) < 0)
		return -1;
	cli_table_print(&table, stdout);
	return CLI_EXIT_OK;
}

struct status_values {
	bool full;
};

static const struct cli_option status_options[] = {
	{"full", 0, CLI_OPTION_FLAG, offsetof(struct status_values, full), NULL,
	 "compute a new digest of the disk, which may take long", 0, 0},
	{NULL, 0, CLI_OPTION_FLAG, 0, NULL, NULL, 0, 0},
};

/* Returns the shared directories of a session as a new reference. Returns NULL if the session has
 * none. */
static json_t *listed_shares(struct cli *cli, const char *name)
{
	struct microagent *agent = guest_open(cli, NULL, NULL);
	json_auto_t *list = agent ? microagent_session_list(agent, NULL) : NULL;
	json_t *session, *shares = NULL;
	size_t i;

	json_array_foreach(json_object_get(list, "sessions"), i, session)
	{
		if (strcmp(json_text(session, "name", ""), name) == 0)
			shares = json_object_get(session, "shares");
	}
	json_incref(shares);
	microagent_close(agent);
	return shares;
}

static int run_status(struct cli *cli, const void *values, const struct cli_words *args,
		      struct error *err)
{
	const struct status_values *v = values;
	json_auto_t *response = NULL, *shares = NULL;
	char accelerator[8] = "";
	struct microagent *agent;
	char id[GUEST_ID_ROOM];
	int status;

	if (guest_check_name(cli, args->items[0], err) < 0)
		return -1;
	agent = guest_open_living(cli, NULL, args->items[0], id, err);
	if (!agent)
		return -1;
	status = (v->full ? microagent_verify : microagent_status)(agent, id, &response, err);
	if (status == 0 && !cli->json)
		microagent_accelerator(agent, id, accelerator, NULL);
	microagent_close(agent);
	if (status < 0)
		return -1;
	if (cli->json)
		return cli_print_json(response, err);
	if (strcmp(id, args->items[0]) != 0)
		shares = listed_shares(cli, args->items[0]);
	return print_workspace_status(args->items[0], accelerator, response, shares, err);
}

const struct cli_command cli_status = {
	.name = "status",
	.args = "NAME",
	.summary = "what a workspace is doing, and whether it is still as prepared",
	.help = "With --json: the supervisor's whole answer to `inspect`.\n",
	.group = CLI_GROUP_OBSERVE,
	.options = status_options,
	.values_size = sizeof(struct status_values),
	.min_args = 1,
	.max_args = 1,
	.run = run_status,
};
