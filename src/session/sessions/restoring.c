/* SPDX-License-Identifier: MIT */
/* Decides whether a session is restored from its base's template, and reports whether it was
 * restored or booted. The supervisor compares the template with this host
 * (supervisor/templates/template_open.c), and the backend loads it
 * (backend/qemu/save_restore.c). */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/machine.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "channel/lifeline.h"
#include "contract/fields.h"
#include "session/sessions/session.h"

/* Returns a text about the first property in the spec that a restored session cannot have, besides
 * those of its machine that machine_check_saved() knows. Returns NULL if the spec has no such
 * property. */
static const char *asked_beyond(const struct microagent *agent,
				const struct microagent_session_spec *spec)
{
	const struct {
		bool given;
		const char *what;
	} rows[] = {
		{spec->cold, "a boot was asked for"},
		{spec->machine.network && !strcmp(spec->machine.network, "bridged"),
		 "it is on a bridge"},
		{spec->no_share, "it was made without a spare port for a shared directory"},
		{session_has_share(spec) && !session_can_be_given(agent, spec),
		 "it has more shared directories than a running machine can get"},
		{session_reviews(spec) > PLUGS_MAX,
		 "it has more reviewed directories than a running machine can get"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].given)
			return rows[i].what;
	return NULL;
}

static int check_fits(const struct microagent_session *session, const struct base *base,
		      const struct microagent_session_spec *spec, const struct base_template *of,
		      struct error *err)
{
	const struct microagent_machine machine = base_machine(base, &spec->machine);
	const char *beyond = asked_beyond(session->agent, spec);
	int64_t memory = json_integer_value(json_object_get(of->record, "memoryMiB"));
	int64_t cpus = json_integer_value(json_object_get(of->record, "cpuCount"));
	const json_t *disk = json_object_get(of->record, "disk");

	if (beyond)
		return error_set(err, ERR_CONFLICT, "%s", beyond);
	if (machine_check_saved(&spec->machine, err) < 0)
		return -1;
	if (!session->agent->backend->templates)
		return error_set(err, ERR_CONFLICT,
				 "backend %s cannot restore machines from a template",
				 session->agent->backend->name);
	if (machine.memory_mib != memory)
		return error_set(err, ERR_CONFLICT,
				 "the session has %lld MiB of memory, but the template has %lld",
				 (long long)machine.memory_mib, (long long)memory);
	if (machine.cpus != cpus)
		return error_set(err, ERR_CONFLICT,
				 "the session has %lld processors, but the template has %lld",
				 (long long)machine.cpus, (long long)cpus);
	if (session->quota_bytes <= json_integer_value(json_object_get(disk, "bytes")))
		return error_set(
			err, ERR_CONFLICT,
			"the session's quota has no room for the template's disk: give a larger quota");
	return 0;
}

int session_find_template(const struct microagent_session *session, const struct base *base,
			  const struct microagent_session_spec *spec, struct origin *out)
{
	auto_template struct base_template of = BASE_TEMPLATE_NONE;
	struct error why = {0};
	int is = base_template_open(base, &of, &why);
	int disk = -1;

	if (is > 0 && check_fits(session, base, spec, &of, &why) == 0)
		disk = base_template_disk(&of, &why);
	if (disk >= 0)
		snprintf(out->template, sizeof(out->template), "%s", of.sha256);
	else if (is != 0)
		snprintf(out->cold, sizeof(out->cold), "%.255s", why.msg);
	return disk;
}

int session_put_origin(const struct origin *origin, json_t *record, struct error *err)
{
	if (origin->template[0])
		return json_put_string(record, "template", origin->template, err);
	return origin->cold[0]
		       ? json_put(record, "cold",
				  json_string_lossy(origin->cold, strlen(origin->cold)), err)
		       : 0;
}

/* --- starting a session ---------------------------------------------------------------------- */

#define LIFELINE_OPTION "--lifeline-fd=3"
static_assert(SUPERVISOR_HANDED == 3, "the descriptor that the option names");
#define OPTIONS_MOST 3

int session_start_with(struct microagent_session *session, const char *const *options,
		       struct error *err)
{
	const char *all[OPTIONS_MOST + 2] = {NULL};
	autoline int line = -1;
	autoclose int far_end = -1;
	size_t count = 0;
	int status;

	while (count < OPTIONS_MOST && options[count]) {
		all[count] = options[count];
		count++;
	}
	/* A complete session must live on when the process that starts it exits, unless that
	 * process owns the session. So such a session is started without a lifeline. */
	if (session->mark < 0 && !session->owned)
		return workspace_start_with_options(session->agent, all, session->id, err);
	if (lifeline_open(&line, &far_end, err) < 0)
		return -1;
	all[count] = LIFELINE_OPTION;
	session->agent->handed = &far_end;
	session->agent->nhanded = 1;
	status = workspace_start_with_options(session->agent, all, session->id, err);
	session->agent->handed = NULL;
	session->agent->nhanded = 0;
	if (status < 0)
		return -1;
	lifeline_cut(&session->lifeline);
	session->lifeline = steal_fd(&line);
	return 0;
}

/* Starts the session from its template if it has one. (If the session has run before, the
 * supervisor notices this and boots it.) If the session has directories or may get some later, its
 * machine must not share its memory with other machines, because a machine with shared memory
 * cannot be given a directory. A session gets its directories after the start, and a member of a
 * pool may get some when it is claimed. */
int session_start(struct microagent_session *session, struct error *err)
{
	bool shares = json_object_get(session->record, "shares") ||
		      strcmp(json_text(session->record, "source", ""), SESSION_POOL) == 0;
	const char *base = json_text(session->record, "base", NULL);
	const char *options[3] = {NULL};
	autofree char *state = state_of_sessions(session->agent, err);
	autofree char *option = NULL;
	size_t count = 0;

	if (!state)
		return -1;
	if (!base || !json_object_get(session->record, "template"))
		return session_start_with(session, options, err);
	if (asprintf(&option, "--template=%s/" BASES_DIR "/%s" BUNDLE_SUFFIX "/" TEMPLATE_DIR,
		     state, base) < 0) {
		option = NULL;
		return error_errno(err, ENOMEM, "session");
	}
	options[count++] = option;
	if (shares)
		options[count++] = "--own-memory";
	return session_start_with(session, options, err);
}

int session_boot_told(const struct workspace *ws, json_t *entry, struct error *err)
{
	json_auto_t *runtime = workspace_read(ws, "runtime.json", NULL);
	json_t *boot = json_object_get(runtime, "boot");

	return json_is_object(boot) ? json_put(entry, "boot", json_incref(boot), err) : 0;
}
