/* SPDX-License-Identifier: MIT */
/* Runs the machine of a provisioning. The machine runs in the foreground. Its workspace `provision`
 * is in a separate state directory. */
#include <poll.h>
#include <string.h>

#include "api/foreground.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "session/bases/provision.h"
#include "session/macos/macos.h"

void provision_wait_gone(const char *dir)
{
	autofree char *path = path_join(dir, PROVISION_STATE, NULL);
	struct state_dir state;
	struct workspace ws;

	if (!path || state_dir_open(path, false, &state, NULL) < 0)
		return;
	if (workspace_open(&state, PROVISION_MACHINE, false, &ws, NULL) == 0) {
		if (ws.fd >= 0)
			(void)lease_wait_free(&ws, limit_deadline(LIMIT_KILL_MS), NULL);
		workspace_close(&ws);
	}
	state_dir_close(&state);
}

/* Returns the size of the machine's memory in MiB. The staged files are in a file system in the
 * guest's memory. This file system may use half of the memory, so twice the size of the files is
 * added to the least size. */
static int64_t memory_mib(const struct provisioning *p)
{
	int64_t least = (int64_t)limit_get(LIMIT_PROVISION_MEMORY_MIB);
	int64_t staged = p->stage.bytes >> 19;

	least += staged;
	if (p->making->macos)
		least = json_integer_value(json_object_get(p->making->macos, "memoryMiB"));
	return p->spec->machine.memory_mib > least ? p->spec->machine.memory_mib : least;
}

static int64_t cpus(const struct provisioning *p)
{
	return p->spec->machine.cpus || !p->making->macos
		       ? p->spec->machine.cpus
		       : json_integer_value(json_object_get(p->making->macos, "cpuCount"));
}

static json_t *machine_config(const struct provisioning *p, struct error *err)
{
	struct microagent_spec spec = {.machine = p->spec->machine};
	autofree char *disk = path_join(p->path, BASE_DISK, err);
	struct creation made = CREATION_NONE;
	json_auto_t *config = NULL;

	if (!disk)
		return NULL;
	made.kernel.path = p->making->kernel.path;
	made.rootfs = disk;
	spec.machine.memory_mib = memory_mib(p);
	spec.machine.cpus = cpus(p);
	/* Of the image's settings, only the environment variables are used, which are set for every
	 * command. The image's entrypoint is not run. */
	made.image.env = p->making->image.env;
	config = creation_config(p->agent, &made, &spec, err);
	if (!config || (p->making->macos && macos_put_config(p->path, config, err) < 0))
		return NULL;
	return steal_ptr(&config);
}

struct microagent *provision_agent(const struct microagent *of, const char *dir, struct error *err)
{
	autofree char *path = path_join(dir, PROVISION_STATE, err);
	struct microagent *agent;
	struct state_dir state;

	if (!path || state_dir_open(path, true, &state, err) < 0)
		return NULL;
	state_dir_close(&state);
	agent = microagent_open(path, err);
	if (!agent)
		return NULL;
	agent->backend = of->backend;
	agent->unconfined = of->unconfined;
	microagent_on_wait(agent, of->wait_fn, of->wait_data);
	return agent;
}

int provision_boot(struct provisioning *p, struct error *err)
{
	json_auto_t *request = NULL;
	json_t *config;
	char accelerator[8] = "";

	provision_log_doing(&p->log, "booting %s",
			    p->making->macos ? "it for the first time" : p->making->image.path);
	p->agent = provision_agent(p->making->agent, p->path, err);
	if (!p->agent)
		return -1;
	config = machine_config(p, err);
	request = config ? request_new(p->agent, "run", PROVISION_MACHINE, config, err) : NULL;
	if (!request ||
	    foreground_boot(p->agent, request, NULL, true, p->cancel.fd, &p->supervisor, err) < 0)
		return -1;
	microagent_accelerator(p->agent, PROVISION_MACHINE, accelerator, NULL);
	if (p->spec->booted)
		p->spec->booted(p->spec->data, accelerator);
	p->guest = microagent_connect(p->agent, PROVISION_MACHINE,
				      (uint32_t)limit_get(LIMIT_DIAL_MS), err);
	return p->guest ? 0 : -1;
}

/* Waits a moment for the supervisor's answer. If the machine has died, the answer contains the
 * reason, which replaces `err`. If no answer comes, the machine still runs, but has lost its
 * connection. Then `err` stays unchanged, and the caller ends the machine. Always returns -1. */
int provision_explain_lost(struct supervisor_run *supervisor, struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_LOST_MS);
	json_auto_t *answer = NULL;
	const char *detail;
	struct error why = {0};
	int code = 0;

	if ((err->code != ERR_UNAVAILABLE && err->code != ERR_NOT_FOUND) ||
	    supervisor->proc.pid <= 0 || fd_wait(supervisor->answer, POLLIN, deadline, &why) < 0)
		return -1;
	answer = supervisor_run_finish(supervisor, NULL, &code, &why);
	detail = json_text(json_object_get(answer, "event"), "detail", NULL);
	return detail ? error_set(err, ERR_IO, "the machine that makes the base ended: %s", detail)
		      : -1;
}

int provision_shut_down(struct provisioning *p, struct error *err)
{
	json_auto_t *response = NULL;
	const char *state, *detail;
	const json_t *event;

	provision_log_doing(&p->log, "switching the machine off");
	microagent_guest_close(steal_ptr(&p->guest));
	if (microagent_stop(p->agent, PROVISION_MACHINE, &response, err) < 0)
		return -1;
	supervisor_run_free(&p->supervisor);
	p->supervisor = (struct supervisor_run)SUPERVISOR_RUN_NONE;
	event = json_object_get(response, "event");
	state = json_text(event, "state", NULL);
	detail = json_text(event, "detail", NULL);
	if (state && strcmp(state, state_names[STATE_STOPPED]) == 0 &&
	    (!detail || !strstr(detail, "unclean")))
		return 0;
	return error_set(
		err, ERR_IO,
		"the base is not made, because the machine that makes it was not shut down cleanly (%s: %s)",
		state ? state : "no state", detail ? detail : "no detail");
}
