/* SPDX-License-Identifier: MIT */
#include "guest/agent/agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "guest/agent/agent_parts.h"
#include "guest/agent/answer.h"
#include "guest/agent/apply.h"

/* The time for which the agent waits, after all commands have exited, until the host has read the
 * last bytes. */
#define FAREWELL_NS (500 * NS_PER_MS)

static void report(struct agent *agent, const char *what, const char *why)
{
	char text[700];

	snprintf(text, sizeof(text), "%.100s: %.500s", what, why);
	agent->machine->log(text);
}

void agent_say(struct agent *agent, char *text)
{
	struct error err = {0};

	if (!text)
		agent->machine->log("out of memory: a message to the host is lost");
	else if (framed_is_open(&agent->control) && framed_send(&agent->control, text, &err) < 0)
		report(agent, "a message to the host is lost", err.msg);
	free(text);
}

static void on_workload_result(void *data, char *text)
{
	struct agent *agent = data;

	/* The workload may be from the config of an earlier host. This host does not expect the
	 * result of that workload, so the result is dropped. */
	if (agent->back || !agent->config.has_command) {
		free(text);
		return;
	}
	agent->told_late = agent->stopping;
	agent_say(agent, text);
}

int agent_init(struct agent *agent, struct loop *loop, const struct machine *machine,
	       void *machine_data, const char *etc, const char *cgroup_mount, int program_fd,
	       struct error *err)
{
	*agent = (struct agent){.loop = loop,
				.machine = machine,
				.machine_data = machine_data,
				.control = {.fd = -1}};
	if (server_init(&agent->server, loop, etc, cgroup_mount, program_fd, err) < 0)
		return -1;
	watched_ports_init(&agent->ports, loop, machine, &agent->control);
	exec_report_begin(&agent->report, &agent->server.context.jobs, &agent->control);
	agent->server.workload.result = on_workload_result;
	agent->server.workload.data = agent;
	return 0;
}

/* --- the config ------------------------------------------------------------------------------ */

/* Sends `ready` and starts the workload. Called when all disks and shares are mounted and it is
 * known whether commands can be traced. */
static void be_ready(struct agent *agent)
{
	struct guest_config *config = &agent->config;

	if (!agent->applied || (config->telemetry && !agent->telemetry.status))
		return;
	watched_ports_tell(&agent->ports);
	agent_say(agent, answer_ready(NULL));
	telemetry_tell(&agent->telemetry);
	agent->report.on = config->audit;
	if (config->has_command)
		workload_begin(&agent->server.workload, &config->workload, config->attach,
			       config->keep);
}

/* Refuses a config by closing the control stream. The host then ends the machine, because the
 * machine cannot be used without its config. */
static void refuse_config(struct agent *agent, const char *why)
{
	report(agent, "the run config cannot be applied", why);
	framed_close(&agent->control);
}

static void on_applied(void *data, const char *error)
{
	struct agent *agent = data;

	if (error) {
		refuse_config(agent, error);
	} else {
		agent->applied = true;
		be_ready(agent);
	}
	apply_free(steal_ptr(&agent->apply));
}

static void on_traceable(void *data)
{
	struct agent *agent = data;

	agent->server.context.traced = agent->telemetry.works;
	be_ready(agent);
}

/* Applies the config. `more` is true if renew() has not finished its work, and attach() must do
 * what is missing. */
static int apply_config(struct agent *agent, bool more, struct error *err)
{
	struct guest_config *config = &agent->config;

	if (config->hostname && agent->machine->set_hostname(config->hostname, err) < 0)
		return -1;
	if (json_array_size(config->publishes) > 0 &&
	    agent->machine->publish(agent->loop, agent->server.mux, config->publishes,
				    agent->server.context.program_fd, err) < 0)
		return -1;
	watched_ports_reset(&agent->ports);
	watched_ports_add(&agent->ports, config->publishes);
	json_decref(agent->server.context.env);
	agent->server.context.env = json_incref(config->env);
	/* A tracer that already runs continues, and sends its status again, so that this host also
	 * learns what is traced. */
	if (!config->telemetry) {
		telemetry_free(&agent->telemetry);
		agent->telemetry = (struct telemetry){0};
		agent->server.context.traced = false;
	} else if (!agent->telemetry.loop) {
		telemetry_begin(&agent->telemetry, agent->loop, &agent->control,
				agent->machine->trace, on_traceable, agent);
	}
	if (json_array_size(config->shares) > 0)
		agent->server.context.may_block = true;
	if (!more && json_array_size(config->disks) == 0 && json_array_size(config->shares) == 0 &&
	    !json_object_get(config->doc, "network")) {
		agent->applied = true;
		be_ready(agent);
		return 0;
	}
	agent->apply = apply_start(agent->loop, agent->machine->attach, config->doc, on_applied,
				   agent, err);
	return agent->apply ? 0 : -1;
}

/* Refuses a second config. A machine gets one config at each boot, and one more each time that a
 * machine is restored from its template. */
static int check_config(const struct agent *agent, const struct guest_config *config,
			struct error *err)
{
	if (agent->configured && !agent->back)
		return error_set(
			err, ERR_CONFLICT,
			"the guest already has a config for this boot, and takes no second one: this is a bug of microagent on the host");
	if (agent->back && !config->renews)
		return error_set(
			err, ERR_INVALID,
			"the guest refuses the config, because a config for a restored machine must have \"renew\": this is a bug of microagent on the host");
	if (config->has_command && agent->server.workload.job)
		return error_set(
			err, ERR_CONFLICT,
			"the guest refuses the config, because it has a command and the command of the earlier config still runs: this is a bug of microagent on the host");
	return 0;
}

static int take_config(struct agent *agent, json_t *doc, struct error *err)
{
	struct guest_config config = {0};
	bool more = false;

	if (config_decode(doc, &config, err) < 0)
		return -1;
	if (check_config(agent, &config, err) < 0 ||
	    (config.renews && agent->machine->renew(&config.renew, &more, err) < 0)) {
		config_free(&config);
		return -1;
	}
	/* The frozen commands continue only after renew(). Before renew() the kernel's random
	 * numbers were the same as those of the saved machine. */
	agent_thaw(agent);
	config_free(&agent->config);
	agent->config = config;
	agent->configured = true;
	agent->applied = agent->back = false;
	server_listen_again(&agent->server);
	return apply_config(agent, more, err);
}

/* --- a share that comes later ---------------------------------------------------------------- */

static void on_share_mounted(void *data, const char *error)
{
	struct agent *agent = data;

	agent_say(agent, answer_mounted(error, NULL));
	apply_free(steal_ptr(&agent->apply));
}

static void take_mount(struct agent *agent, json_t *doc)
{
	struct error err = {0};

	if (agent->apply)
		error_set(
			&err, ERR_CONFLICT,
			"the guest is still mounting the directory of an earlier request: try again in a few seconds");
	else
		agent->apply = apply_start(agent->loop, agent->machine->attach, doc,
					   on_share_mounted, agent, &err);
	agent->server.context.may_block = true;
	if (err.code)
		agent_say(agent, answer_mounted(err.msg, NULL));
}

/* --- a port that is published later ---------------------------------------------------------- */

static void take_publish(struct agent *agent, json_t *doc)
{
	json_t *publishes = NULL;
	struct error err;

	if (json_get_array(doc, "", "publishes", JSON_REQUIRED, &publishes, &err) < 0 ||
	    agent->machine->publish(agent->loop, agent->server.mux, publishes,
				    agent->server.context.program_fd, &err) < 0) {
		agent_say(agent, answer_published(err.msg, NULL));
		return;
	}
	watched_ports_add(&agent->ports, publishes);
	watched_ports_tell(&agent->ports);
	agent_say(agent, answer_published(NULL, NULL));
}

/* Stops telling the host about ports that are no longer published. The guest's listener for such a
 * port stays open, which does no harm, because the host no longer connects to the port. */
static int take_unpublish(struct agent *agent, json_t *doc, struct error *err)
{
	json_t *publishes = NULL;

	if (json_get_array(doc, "", "publishes", JSON_REQUIRED, &publishes, err) < 0)
		return -1;
	watched_ports_remove(&agent->ports, publishes);
	return 0;
}

/* --- the machine is about to be killed ------------------------------------------------------- */

static void on_reports_settled(void *data)
{
	struct agent *agent = data;

	exec_report_settle(&agent->report);
	agent_say(agent, answer_settled(NULL));
}

/* --- the control stream ---------------------------------------------------------------------- */

static int take_control(void *data, const uint8_t *payload, size_t len, struct error *err)
{
	struct agent *agent = data;
	json_auto_t *doc = json_load_strict(payload, len, err);
	enum host_message kind;
	int64_t realtime_ns = 0;

	if (!doc)
		return -1;
	if (!json_is_object(doc))
		return error_set(
			err, ERR_INVALID,
			"the host's message to the guest is not a JSON object: this is a bug of microagent on the host");
	if (config_message_kind(doc, &kind, &realtime_ns, err) < 0)
		return -1;
	if (realtime_ns > 0)
		agent->machine->set_time(realtime_ns, agent->back);
	if (kind == HOST_CONFIG && take_config(agent, doc, err) < 0)
		return -1;
	if (kind == HOST_TIME)
		agent_thaw(agent); /* the host sends the time when a save is finished */
	if (kind == HOST_MOUNT)
		take_mount(agent, doc);
	if (kind == HOST_PUBLISH)
		take_publish(agent, doc);
	if (kind == HOST_UNPUBLISH && take_unpublish(agent, doc, err) < 0)
		return -1;
	if (kind == HOST_QUIESCE)
		agent_quiesce(agent, json_is_true(json_object_get(doc, "goesOn")));
	if (kind == HOST_SETTLE)
		telemetry_settle(&agent->telemetry, on_reports_settled, agent);
	if (kind == HOST_POWER_OFF)
		agent->machine->power_off(agent->machine_data);
	return 1;
}

static void on_control_input(void *data)
{
	struct agent *agent = data;
	struct error err = {0};

	if (framed_take(&agent->control, take_control, agent, &err) < 0)
		refuse_config(agent, err.msg);
	else if (agent->control.ended)
		framed_close(&agent->control);
}

static void on_control_drained(void *data)
{
	struct agent *agent = data;

	telemetry_go_on(&agent->telemetry);
}

static void on_control_lost(void *data, const char *why)
{
	struct agent *agent = data;

	if (!agent->stopping && !agent->config.template)
		report(agent, "the control stream to the host has ended", why);
}

static const struct framed_owner control_owner = {
	.input = on_control_input,
	.drained = on_control_drained,
	.lost = on_control_lost,
};

static void greet_host(struct agent *agent)
{
	char boot_id[37] = "";

	process_boot_id(boot_id, NULL);
	agent_say(agent, answer_hello(boot_id, agent->back, agent->server.mux != NULL, NULL));
}

int agent_control(struct agent *agent, int fd, struct error *err)
{
	if (framed_open(&agent->control, agent->loop, fd, (size_t)limit_get(LIMIT_FRAME_BYTES),
			&control_owner, agent, err) < 0)
		return -1;
	greet_host(agent);
	return 0;
}

void agent_control_carried(struct agent *agent, struct mux_stream *stream)
{
	framed_open_carried(&agent->control, agent->loop, &mux_carrier, stream,
			    (size_t)limit_get(LIMIT_FRAME_BYTES), &control_owner, agent);
	greet_host(agent);
}

/* --- the end --------------------------------------------------------------------------------- */

static void set_deadline(struct agent *agent, uint64_t from_now_ns);

/* Handles one of the two deadlines after agent_stop(). At the first deadline, kills the commands
 * that still run. At the second deadline, makes the agent exit, even if the host has not read all
 * messages. */
static void on_stop_deadline(struct loop *loop, void *data)
{
	struct agent *agent = data;

	(void)loop;
	agent->deadline = NULL;
	if (agent->farewell) {
		agent->done = true;
		return;
	}
	job_table_kill(&agent->server.context.jobs);
	agent->farewell = true;
	set_deadline(agent, FAREWELL_NS);
}

static void set_deadline(struct agent *agent, uint64_t from_now_ns)
{
	loop_remove(agent->deadline);
	agent->deadline = loop_add_timer(agent->loop, clock_mono_ns() + from_now_ns,
					 on_stop_deadline, agent, NULL);
	agent->done = !agent->deadline;
}

void agent_stop(struct agent *agent)
{
	if (agent->stopping)
		return;
	agent->stopping = true;
	agent_thaw(agent); /* a frozen command cannot react to SIGTERM */
	if (agent->configured)
		agent_say(agent, answer_ending(NULL));
	server_stop_listening(&agent->server);
	job_table_hang_up(&agent->server.context.jobs);
	set_deadline(agent, limit_get(LIMIT_POWER_GRACE_MS) * NS_PER_MS);
}

void agent_settle(struct agent *agent)
{
	server_sweep(&agent->server);
	if (!agent->stopping || agent->done || agent->server.context.jobs.count > 0)
		return;
	if (!agent->farewell) {
		agent->farewell = true;
		set_deadline(agent, FAREWELL_NS);
	}
	workload_release(&agent->server.workload);
	if (!conns_are_quiet(&agent->server.conns))
		return;
	/* The tracer may still have messages for the host, so the agent exits only when the tracer
	 * has sent these messages. */
	if (!telemetry_is_over(&agent->telemetry)) {
		agent->told_late = true;
		telemetry_finish(&agent->telemetry);
		return;
	}
	/* The agent shuts down the control stream for sending, and the host closes the stream when
	 * it has read the last message. The agent waits for that. */
	if (agent->told_late && framed_is_open(&agent->control)) {
		if (agent->control.out.len > 0)
			return;
		framed_end_sending(&agent->control);
		if (!agent->control.ended)
			return;
	}
	agent->done = true;
}

void agent_free(struct agent *agent)
{
	loop_remove(agent->deadline);
	loop_remove(agent->rest_timer);
	apply_free(agent->apply);
	telemetry_free(&agent->telemetry);
	watched_ports_free(&agent->ports);
	framed_close(&agent->control);
	server_free(&agent->server);
	config_free(&agent->config);
}
