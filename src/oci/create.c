/* SPDX-License-Identifier: MIT */
/*
 * The command create. The first step reads the config, and refuses a wrong config before anything
 * is made. The second step makes the record and locks the record. Then the keeper and the stand-in
 * (standin.h) are started, and wait. Both are put into cgroups, and the hooks, which need the
 * stand-in's pid, are run. Then the keeper makes the machine, and the stand-in makes the container.
 * The last step writes the pid file.
 *
 * containerd and CRI-O mark a container of a pod by annotations. Such a container is made in the
 * machine of the pod's first container.
 */
#include "oci/create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "oci/binds.h"
#include "oci/bundle.h"
#include "oci/console.h"
#include "oci/describe.h"
#include "oci/group.h"
#include "oci/hooks.h"
#include "oci/machine.h"
#include "oci/record.h"
#include "oci/trail.h"

struct create {
	const struct oci *oci;
	const struct create_options *options;
	struct record record;
	json_t *document; /* the document that owns the strings of config */
	struct oci_config config;
	char *bundle; /* the bundle's absolute path */
	/* The record of the pod's first container. Its .dir is -1 if this container is the first
	 * one, or has no pod. */
	struct record sandbox;
	char machine[MACHINE_NAME], guest[GUEST_NAME];
	char *share;
	json_t *ticket, *boot, *groups;
	struct standin standin, keeper;
	bool hooked; /* true once the first hook was begun */
};

int write_pid_file(const char *path, pid_t pid, struct error *err)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", (int)pid);

	return path ? path_replace_file_at(AT_FDCWD, path, text, (size_t)len, 0644, PATH_NO_SYNC,
					   err)
		    : 0;
}

/* --- the machine of the container ------------------------------------------------------------ */

static int find_machine(struct create *c, struct error *err)
{
	const char *sandbox = machine_sandbox(&c->config);

	if (sandbox && strcmp(sandbox, c->record.id) != 0) {
		if (record_open(c->oci, sandbox, &c->sandbox, err) < 0)
			return error_prefix(err, "the pod's sandbox");
		if (!record_pid(&c->sandbox))
			return error_set(err, ERR_CONFLICT,
					 "the pod's sandbox %.64s: container not running", sandbox);
		snprintf(c->machine, sizeof(c->machine), "%s",
			 json_text(c->sandbox.state, "machine", ""));
	} else if (record_machine_name(c->oci, c->record.id, c->machine, err) < 0) {
		return -1;
	}
	record_guest_name(c->oci, c->record.id, c->guest);
	c->share = record_share(c->oci, c->machine, err);
	return c->share ? 0 : -1;
}

/* --- the record and the ticket --------------------------------------------------------------- */

static int put_section(json_t *state, const char *key, const json_t *section, struct error *err)
{
	return section ? json_put(state, key, json_deep_copy(section), err) : 0;
}

static json_t *new_state(struct create *c, struct error *err)
{
	char created[CLOCK_TEXT], boot[37];
	json_auto_t *state = json_object();

	clock_rfc3339(clock_real_ns(), created);
	if (process_boot_id(boot, err) < 0)
		return NULL;
	autofree char *rootfs = c->config.root_path[0] == '/'
					? strdup(c->config.root_path)
					: path_join(c->bundle, c->config.root_path, err);
	if (!rootfs || json_put_string(state, "id", c->record.id, err) < 0 ||
	    json_put_string(state, "bootID", boot, err) < 0 ||
	    json_put_string(state, "bundle", c->bundle, err) < 0 ||
	    json_put_string(state, "rootfs", rootfs, err) < 0 ||
	    json_put_string(state, "created", created, err) < 0 ||
	    json_put_string(state, "owner", "root", err) < 0 ||
	    json_put_string(state, "machine", c->machine, err) < 0 ||
	    json_put_string(state, "guest", c->guest, err) < 0 ||
	    json_put(state, "owns", json_boolean(c->sandbox.dir < 0), err) < 0 ||
	    json_put_optional(state, "sandbox", c->sandbox.dir < 0 ? NULL : c->sandbox.id, err) <
		    0 ||
	    json_put(state, "terminal", json_boolean(c->config.process.terminal), err) < 0 ||
	    json_put(state, "cgroups", json_incref(c->groups), err) < 0)
		return NULL;
	if (put_section(state, "annotations", c->config.annotations, err) < 0 ||
	    put_section(state, "hooks", json_object_get(c->document, "hooks"), err) < 0 ||
	    put_section(state, "boot", c->boot, err) < 0 ||
	    put_section(state, "seccomp", c->config.seccomp, err) < 0 ||
	    json_put(state, "process", json_incref(json_object_get(c->document, "process")), err) <
		    0)
		return NULL;
	return json_incref(state);
}

static int put_process(json_t *state, const char *pid, const char *time,
		       const struct standin *process, struct error *err)
{
	uint64_t began = 0;

	if (process->pid == 0)
		return 0;
	return process_start_time(process->pid, &began, err) < 0 ||
			       json_put(state, pid, json_integer(process->pid), err) < 0 ||
			       json_put(state, time, json_integer((json_int_t)began), err) < 0
		       ? -1
		       : 0;
}

/* Writes state.json, which stays on the disk even if this process is killed. */
static int write_state(struct create *c, struct error *err)
{
	json_t *state = new_state(c, err);

	if (!state)
		return -1;
	if (put_process(state, "pid", "startTime", &c->standin, err) < 0 ||
	    put_process(state, "keeperPid", "keeperStartTime", &c->keeper, err) < 0) {
		json_decref(state);
		return -1;
	}
	return record_write(&c->record, state, err);
}

json_t *standin_ticket(const struct oci *oci, const char *id, const char *machine,
		       const struct oci_process *process, json_t *contained, struct error *err)
{
	json_auto_t *ticket = json_object();
	json_auto_t *owned = contained;
	autofree char *machines = record_machines(oci, err);

	if (!machines || !owned || json_put_string(ticket, "id", id, err) < 0 ||
	    json_put_optional(ticket, "log", oci->log, err) < 0 ||
	    json_put_optional(ticket, "logFormat", oci->log_format, err) < 0 ||
	    json_put(ticket, "debug", json_boolean(oci->debug), err) < 0 ||
	    json_put_string(ticket, "machines", machines, err) < 0 ||
	    json_put_string(ticket, "machine", machine, err) < 0 ||
	    put_words(ticket, "args", process->args, err) < 0 ||
	    json_put_string(ticket, "cwd", process->cwd, err) < 0 ||
	    json_put(ticket, "terminal", json_boolean(process->terminal), err) < 0 ||
	    (process->rlimits &&
	     json_put(ticket, "rlimits", json_incref(process->rlimits), err) < 0) ||
	    json_put(ticket, "contained", json_incref(owned), err) < 0)
		return NULL;
	return json_incref(ticket);
}

int put_rootfs(json_t *ticket, const char *share, const char *guest, struct error *err)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/rootfs", share, guest) >= sizeof(path))
		return error_errno(err, ENAMETOOLONG, "%.200s", share);
	return json_put_string(ticket, "rootfs", path, err);
}

static int write_ticket(struct create *c, struct error *err)
{
	const struct describe describe = {
		.config = &c->config,
		.guest = c->guest,
		.of_pod = machine_is_of_pod(&c->config),
		.sandbox = c->sandbox.dir < 0 ? NULL : record_text(&c->sandbox, "guest"),
		.sandbox_pid = c->sandbox.dir < 0 ? 0 : record_pid(&c->sandbox),
		.share = c->share,
		.bundle = c->bundle,
	};
	json_t *contained = describe_container(&describe, err);
	autofree char *record = record_path(&c->record, "", err);
	autofree char *holder = c->sandbox.dir < 0 ? NULL : record_path(&c->sandbox, "", err);

	c->ticket = contained && record ? standin_ticket(c->oci, c->record.id, c->machine,
							 &c->config.process, contained, err)
					: NULL;
	if (!c->ticket || json_put_string(c->ticket, "record", record, err) < 0 ||
	    json_put_string(c->ticket, "holder", holder ? holder : record, err) < 0 ||
	    put_rootfs(c->ticket, c->share, c->guest, err) < 0 ||
	    json_put(c->ticket, "first", json_true(), err) < 0)
		return -1;
	if (c->sandbox.dir >= 0)
		return 0;
	c->boot = machine_boot(c->oci, c->record.id, &c->config, c->share, err);
	return c->boot ? json_put(c->ticket, "boot", json_incref(c->boot), err) : -1;
}

/* --- the stand-in ---------------------------------------------------------------------------- */

/* Sets spec->network to a descriptor of the network namespace whose path the config has; to -1 if
 * the config has no path. Sets spec->own_network to true if the config asks for a new network
 * namespace. Must be called before this process enters another namespace: there a path below /proc
 * could lead to another process. */
static int open_network(const struct create *c, struct standin_spec *spec, struct error *err)
{
	const struct oci_namespace *network =
		oci_config_namespace(&c->config, OCI_NAMESPACE_NETWORK);
	struct stat named, own, first;

	spec->network = -1;
	spec->own_network = network && !network->path;
	if (!network || !network->path)
		return 0;
	autoclose int fd = open(network->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &named) < 0 || stat("/proc/self/ns/net", &own) < 0)
		return error_errno(err, errno, "linux.namespaces: %.200s", network->path);
	/* Refuses the host's own network, which Docker's configs may name by its path: the guest
	 * would get the frames that are sent to the host's links. The network of process 1 is the
	 * host's network, even if the engine runs in another network namespace. */
	if ((named.st_dev == own.st_dev && named.st_ino == own.st_ino) ||
	    (stat("/proc/1/ns/net", &first) == 0 && named.st_dev == first.st_dev &&
	     named.st_ino == first.st_ino))
		return error_set(
			err, ERR_UNSUPPORTED,
			"linux.namespaces: network %.200s is not supported: a machine cannot have the host's network; run the container without the host's network namespace",
			network->path);
	spec->network = steal_fd(&fd);
	return 0;
}

static int start_standin(struct create *c, struct error *err)
{
	const struct oci_process *process = &c->config.process;
	int fds[3] = {0, 1, 2};
	struct standin_spec spec = {.title = STANDIN_TITLE,
				    .id = c->record.id,
				    .ticket = c->ticket,
				    .fds = fds,
				    .terminal = process->terminal,
				    .network = -1,
				    .within = c->keeper.pidfd};
	autoclose int console = -1;

	if (process->terminal && !c->options->console_socket)
		return error_set(
			err, ERR_INVALID,
			"process.terminal: a terminal needs the --console-socket of an engine: give one, or set it to false");
	if (process->terminal) {
		console = console_open(c->options->console_socket, (uint16_t)process->rows,
				       (uint16_t)process->columns, err);
		if (console < 0)
			return -1;
		fds[0] = fds[1] = fds[2] = console;
	}
	/* If there is a keeper, the stand-in joins the keeper's network. A later container of a pod
	 * has no keeper, and joins the network that its config names. */
	if (c->keeper.pidfd < 0 && open_network(c, &spec, err) < 0)
		return -1;
	int status = standin_start(&spec, &c->standin, err);
	cleanup_close(&spec.network);
	return status;
}

static int start_machine_keeper(struct create *c, struct error *err)
{
	autoclose int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = {nothing, nothing, nothing};
	struct standin_spec spec = {.title = KEEPER_TITLE,
				    .id = c->record.id,
				    .ticket = c->ticket,
				    .fds = fds,
				    .network = -1,
				    .within = -1};

	if (nothing < 0)
		return error_errno(err, errno, "/dev/null");
	if (open_network(c, &spec, err) < 0)
		return -1;
	int status = standin_start(&spec, &c->keeper, err);
	cleanup_close(&spec.network);
	return status;
}

static int make_steps(struct create *c, struct error *err)
{
	const char *group = c->config.cgroups_path;
	json_auto_t *state = NULL;
	bool owns;

	if (group && !*group)
		group = NULL;
	if (find_machine(c, err) < 0)
		return -1;
	/* Records the cgroups before they are made, since this process may be killed while it makes
	 * them. */
	if ((group && group_missing(group, c->groups, err) < 0) || write_state(c, err) < 0 ||
	    group_make(c->groups, err) < 0)
		return -1;
	owns = c->sandbox.dir < 0;
	if ((owns && binds_open(c->share, err) < 0) || write_ticket(c, err) < 0 ||
	    (owns && start_machine_keeper(c, err) < 0) || start_standin(c, err) < 0)
		return -1;
	if (group && ((c->keeper.pid && group_enter(group, c->keeper.pid, err) < 0) ||
		      group_enter(group, c->standin.pid, err) < 0))
		return -1;
	if (write_state(c, err) < 0)
		return -1;
	state = container_state(&c->record);
	c->hooked = true;
	if (state)
		json_object_set_new(state, "status", json_string("creating"));
	if (hooks_run(&c->config, OCI_PRESTART, state, err) < 0 ||
	    hooks_run(&c->config, OCI_CREATE_RUNTIME, state, err) < 0)
		return -1;
	if (c->keeper.pid && (standin_go(&c->keeper, c->standin.pidfd, err) < 0 ||
			      standin_hear(&c->keeper, err) < 0))
		return -1;
	if (trail_created(&c->record, &c->config, err) < 0 ||
	    standin_go(&c->standin, -1, err) < 0 || standin_hear(&c->standin, err) < 0)
		return -1;
	return write_pid_file(c->options->pid_file, c->standin.pid, err);
}

static int prepare(struct create *c, const char *id, struct error *err)
{
	c->bundle = path_absolute(c->options->bundle ? c->options->bundle : ".", err);
	c->groups = json_array();
	if (!c->bundle || bundle_read(c->oci, c->bundle, &c->document, &c->config, err) < 0)
		return -1;
	return record_make(c->oci, id, &c->record, err);
}

static void create_free(struct create *c)
{
	record_close(&c->record);
	record_close(&c->sandbox);
	oci_config_free(&c->config);
	json_decref(c->document);
	json_decref(c->ticket);
	json_decref(c->boot);
	json_decref(c->groups);
	free(c->bundle);
	free(c->share);
}

int create_container(const struct oci *oci, const char *id, const struct create_options *options,
		     struct standin *standin, struct error *err)
{
	struct create c = {.oci = oci,
			   .options = options,
			   .record = RECORD_NONE,
			   .sandbox = RECORD_NONE,
			   .standin = STANDIN_NONE,
			   .keeper = STANDIN_NONE};
	struct error ignored = {0};
	int status = prepare(&c, id, err);

	if (status == 0) {
		status = make_steps(&c, err);
		if (status < 0) {
			standin_end(&c.standin);
			standin_release(&c.keeper);
			(void)(c.hooked ? dispose_container : remove_container)(&c.record,
										&ignored);
		}
	}
	standin_close(&c.keeper);
	create_free(&c);
	if (status == 0)
		*standin = c.standin;
	return status;
}
