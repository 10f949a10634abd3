/* SPDX-License-Identifier: MIT */
#include "supervisor/live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "base/platform/system.h"
#include "channel/supervisor.h"
#include "supervisor/handover/leftover.h"
#include "supervisor/inputs/manifest.h"
#include "supervisor/inputs/ram_root.h"
#include "supervisor/inputs/shares.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/readiness.h"
#include "supervisor/options.h"
#include "supervisor/templates/template_siblings.h"

#define VSOCK_NAME "vsock.sock"
#define VSOCK_CONTROL_NAME "vsock.sock_1024"

/*
 * Sets the title of this process, which ps shows: "microagent-qemu-supervisor: live
 * <stateDir>/<id>". gc and file_take() look for this title. The title of a guard also has the
 * device and inode of the workspace's directory (lease_guard_role()). The title overwrites the
 * command line with which this process was executed: /proc/self/exe, and the option with the label
 * <stateDir>/<id>. This option has a long name, so that the title fits in its place.
 */
void live_set_title(const struct live *live, const char *role)
{
	autofree char *title = NULL;
	char program[SUPERVISOR_PROGRAM];

	supervisor_program(live->backend->name, program);
	if (!live->label || asprintf(&title, "%s: %s %s", program, role, live->label) < 0)
		return;
	memset(live->title, 0, live->title_room);
	strncpy(live->title, title, live->title_room - 1);
}

static int adopt_workspace(struct live *live, struct error *err)
{
	live->dir.fd = LIVE_STATE_DIR;
	live->dir.path = strdup(live->ticket.state_dir);
	live->ws.dir = &live->dir;
	live->ws.fd = LIVE_WORKSPACE;
	live->ws.id = strdup(live->ticket.id);
	live->pending = json_array();
	log_keep_last(&live->log, LIVE_WORKSPACE, "supervisor.log");
	if (!live->dir.path || !live->ws.id || !live->pending)
		return error_set(err, ERR_IO, "out of memory");
	return fd_nonblock(LIVE_REPORT, true, err);
}

/* Returns the disks of the ticket with their descriptors, as an allocated array; NULL with an
 * error. */
static struct vm_disk *list_disks(const struct live *live, struct error *err)
{
	size_t count = json_array_size(live->ticket.disks);
	struct vm_disk *disks = calloc(count + 1, sizeof(*disks));

	if (!disks)
		error_set(err, ERR_IO, "out of memory");
	for (size_t i = 0; disks && i < count; i++) {
		const json_t *disk = json_array_get(live->ticket.disks, i);
		const char *mode = json_text(disk, "mode", NULL);

		disks[i] = (struct vm_disk){
			.serial = json_text(disk, "serial", NULL),
			.fd = LIVE_DISKS + (int)i,
			.read_only = mode && strcmp(mode, "rw") != 0,
		};
	}
	return disks;
}

/* Lists the network cards of the ticket in `links`, and returns their number. The descriptors of
 * the taps follow the descriptors of the disks. */
static size_t list_links(const struct live *live, struct vm_link links[VM_LINKS_MAX])
{
	const json_t *list = json_object_get(live->ticket.links, "interfaces");
	size_t count = json_array_size(list), first = json_array_size(live->ticket.disks);

	for (size_t i = 0; i < count && i < VM_LINKS_MAX; i++)
		links[i] = (struct vm_link){
			.mac = json_text(json_array_get(list, i), "mac", ""),
			.tap_fd = LIVE_DISKS + (int)(first + i),
		};
	return count < VM_LINKS_MAX ? count : VM_LINKS_MAX;
}

/* The descriptors of the directories in config.shares. */
struct shared {
	int *fds;
	size_t count;
};

static void shared_close(struct shared *shared)
{
	for (size_t i = 0; i < shared->count; i++)
		cleanup_close(&shared->fds[i]);
	free(shared->fds);
}

static int shared_open(const struct live *live, const struct config *config, struct shared *out,
		       struct error *err)
{
	size_t count = json_array_size(config->shares);

	out->fds = malloc((count + 1) * sizeof(*out->fds));
	if (!out->fds)
		return error_set(err, ERR_IO, "out of memory");
	out->count = count;
	for (size_t i = 0; i < count; i++)
		out->fds[i] = -1;
	if (!ticket_has(&live->ticket, LIVE_CONTAINERS))
		return shares_open(config, live->backend, out->fds, err);
	/* The directory of containers is the only share. The caller has passed it as a descriptor,
	 * so no path is looked up and no rule for shares is checked. */
	out->fds[0] = fcntl(LIVE_CONTAINERS, F_DUPFD_CLOEXEC, LIVE_FD_END);
	return out->fds[0] >= 0 ? 0 : error_errno(err, errno, "directory of containers");
}

/* Adds the directory of containers as a share. A config cannot ask for this share; only
 * microagent-oci does. */
static int add_containers(const struct live *live, struct config *config, struct error *err)
{
	if (!ticket_has(&live->ticket, LIVE_CONTAINERS))
		return 0;
	if (json_array_size(config->shares) > 0)
		return error_set(
			err, ERR_INVALID,
			"a machine that runs containers can have no shared directories other than the containers': leave config.shares out");
	/* The guest caches the contents of a file until the modification time of the file changes.
	 * The guest asks the host for that time at most once a second, since the programs of an
	 * image are executed again and again. */
	config->shares = json_pack("[{s:s, s:s, s:s, s:b, s:s, s:i}]", "tag", "containers",
				   "mountpoint", CONTAINERS_MOUNTPOINT, "mode", "rw", "containers",
				   1, "cache", "always", "timeoutSeconds", 1);
	if (!config->shares || json_object_set_new(config->normalised, "shares",
						   (json_t *)(uintptr_t)config->shares) < 0)
		return error_set(err, ERR_IO, "out of memory");
	return 0;
}

static const struct vm_macos macos_files = {.hardware_model_fd = LIVE_MODEL,
					    .machine_identifier_fd = LIVE_IDENTIFIER,
					    .auxiliary_fd = LIVE_AUXILIARY};

static int begin_channels(struct live *live, const struct config *config, struct error *err)
{
	int loopback = ticket_has(&live->ticket, LIVE_LOOPBACK) ? LIVE_LOOPBACK : -1;

	live->channels = channels_new(live->loop, live->ws.fd, config, loopback, &live->log, err);
	if (!live->channels)
		return -1;
	live->readiness = readiness_new(live->loop, live->ws.fd, err);
	return live->readiness ? 0 : -1;
}

/* Returns `fd` if the command has passed this descriptor to the live supervisor, otherwise -1. */
static int given_fd(const struct live *live, enum live_fd fd)
{
	return ticket_has(&live->ticket, fd) ? (int)fd : -1;
}

/* Boots the VM. First makes the socket vsock.sock, for programs of the host, and the sockets that
 * the guest may dial, since vsockd needs them at its start. */
static int boot(struct live *live, const struct manifest *manifest, struct error *err)
{
	const struct config *config = &manifest->config;
	autoclose int control = sock_listen_at(live->ws.fd, VSOCK_CONTROL_NAME, err);
	autoclose int vsock = -1;
	autofree char *label = workspace_path(&live->ws, NULL, err);
	autofree struct vm_disk *disks = list_disks(live, err);
	__attribute__((cleanup(shared_close))) struct shared shared = {0};
	autoclose int joined = -1;
	struct vm_link links[VM_LINKS_MAX];
	struct vm_events events = live_vm_events;
	struct vm_boot spec = {
		.config = config,
		.label = label,
		.accelerator = live->ticket.accelerator,
		.kernel_fd = given_fd(live, LIVE_KERNEL),
		.initrd_fd = given_fd(live, LIVE_INITRD),
		.macos = ticket_has(&live->ticket, LIVE_MODEL) ? &macos_files : NULL,
		.use = live->ticket.reader   ? VM_READ
		       : live->ticket.writer ? VM_WRITE
					     : VM_RUN,
		.rootfs_fd = LIVE_ROOTFS,
		.base_fd = given_fd(live, LIVE_BASE),
		.disks = disks,
		.disk_count = json_array_size(live->ticket.disks),
		.workspace_fd = live->ws.fd,
		.lease_fd = LIVE_LEASE,
		.cell_number = (pid_t)live->ticket.cell_number,
		.links = links,
		.link_count = list_links(live, links),
		.vsock_listen_fd = -1,
		.origin = live->ticket.origin,
		.ram_fd = given_fd(live, LIVE_RAM),
		.card_saved = live->ticket.card_mac,
		.disks_saved = live->ticket.disks_saved,
		.ram_sealed = ticket_has(&live->ticket, LIVE_SIBLINGS),
		.state_fd = given_fd(live, LIVE_STATE),
		.log = &live->log,
	};

	/* If the root file system is in memory, the machine boots an initramfs that consists of the
	 * config's initramfs, followed by the initrd of microagent. */
	live->ram_root = !config->rootfs_path;
	if (live->ram_root) {
		joined = ram_root_join(LIVE_ROOTFS, LIVE_INITRD, err);
		if (joined < 0)
			return -1;
		spec.initrd_fd = joined;
		spec.rootfs_fd = -1;
	} else if (live_quota_begin(live, err) < 0) {
		return -1;
	}
	if (shared_open(live, config, &shared, err) < 0)
		return -1;
	spec.layer_room = live->quota.room;
	spec.share_fds = shared.fds;
	if (!live->backend->binds_vsock)
		spec.vsock_listen_fd = vsock = sock_listen_at(live->ws.fd, VSOCK_NAME, err);
	if (control < 0 || (vsock < 0 && !live->backend->binds_vsock) || !label || !disks ||
	    begin_channels(live, config, err) < 0)
		return -1;
	spec.host_ports = channels_host_ports(live->channels, &spec.host_port_count);
	spec.boot_port = CONTROL_PORT;
	if (live_control_begin(live, steal_fd(&control), config, err) < 0)
		return -1;
	if (!live->ram_root &&
	    rootfs_hand_over(&live->ws, manifest, LIVE_ROOTFS, &live->first_start, err) < 0)
		return -1;
	events.data = live;
	live->vm = live->backend->boot(live->loop, &spec, &events, err);
	if (!live->vm)
		return -1;
	ticket_close_boot_files(&live->ticket);
	return 0;
}

/* Stops passing the memory of a restored machine's template to the commands that restore other
 * machines. */
void live_siblings_end(struct live *live)
{
	if (!live->siblings)
		return;
	loop_remove(steal_ptr(&live->siblings));
	close(LIVE_SIBLINGS);
}

static void on_sibling(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct live *live = data;

	(void)loop, (void)events;
	if (template_memory_give(fd, LIVE_RAM) < 0)
		live_siblings_end(live);
}

static int begin_siblings(struct live *live, struct error *err)
{
	if (!ticket_has(&live->ticket, LIVE_SIBLINGS))
		return 0;
	live->siblings = loop_add_fd(live->loop, LIVE_SIBLINGS, LOOP_IN, on_sibling, live, err);
	return live->siblings ? 0 : -1;
}

/*
 * Checks whether the workspace's directory still exists. A person who removes the directory by hand
 * while its machine runs (rm -r) also removes all files by which a command could find and end that
 * machine. So the machine is ended when its directory is removed. The open descriptor shows the
 * removal: the link count of a removed directory is 0.
 */
static void on_directory_look(struct loop *loop, void *data)
{
	struct live *live = data;
	struct stat st;

	(void)loop;
	if (fstat(live->ws.fd, &st) < 0 || st.st_nlink > 0)
		return;
	loop_remove(live->directory_timer);
	live->directory_timer = NULL;
	live_fail(live, ERR_IO, "the workspace's directory was removed while the machine ran");
}

static int begin_life(struct live *live, struct error *err)
{
	struct manifest manifest = {0};
	int status;

	if (live_runtime_begin(live, err) < 0 ||
	    manifest_read_accepted(&live->ws, &manifest, err) < 0)
		return -1;
	live_reserve(live);
	live->memory_mib = manifest.config.memory_mib;
	live->share.pluggable = manifest.config.hotplug;
	live->share.from_start = json_array_size(manifest.config.shares) > 0;
	status = live_cgroup_begin(live, &manifest.config, err);
	if (status == 0)
		status = add_containers(live, &manifest.config, err);
	if (status == 0)
		status = live_audit_begin(live, err);
	if (status == 0)
		status = live_term_begin(live, err);
	if (status == 0)
		status = live_ask_begin(live, err);
	if (status == 0)
		status = serial_log_open(&live->serial, live->ws.fd, "serial.log",
					 limit_get(LIMIT_SERIAL_LOG_BYTES), err);
	if (status == 0)
		status = live_console_begin(live, &manifest.config, err);
	if (status == 0)
		status = boot(live, &manifest, err);
	if (status == 0)
		status = begin_siblings(live, err);
	if (status == 0) {
		live_mark(live, "vmm");
		live_runtime_describe(live);
		live_observe_begin(live, &manifest.config);
	}
	manifest_free(&manifest);
	if (status < 0)
		return -1;
	live->directory_timer =
		loop_add_interval(live->loop, limit_get(LIMIT_DIRECTORY_LOOK_MS) * NS_PER_MS,
				  on_directory_look, live, err);
	return live->directory_timer ? live_time_begin(live, err) : -1;
}

static void close_all(struct live *live)
{
	control_sock_free(live->requests);
	readiness_free(live->readiness);
	channels_free(live->channels);
	control_stream_free(live->control);
	console_free(live->console);
	live_siblings_end(live);
	live->backend->free(live->vm);
	live_observe_free(live);
	live_audit_free(live);
	cgroup_free(&live->cgroup);
	serial_log_close(&live->serial);
	broker_end(&live->broker);
	loop_free(live->loop);
	live_time_end(live);
	json_decref(live->runtime);
	json_decref(live->last_event);
	json_decref(live->asked_by);
	json_decref(live->result);
	json_decref(live->pending);
	json_decref(live->severed);
	json_decref(live->share.given);
	ticket_free(&live->ticket);
	free(live->dir.path);
	free(live->ws.id);
}

/* Gives up rights before the first byte of the guest is read. If the machine runs in this process,
 * gives up no right, since the machine needs all of them. */
static int give_up_live_rights(struct live *live, struct error *err)
{
	if (live->backend->in_process) {
		json_object_set_new(live->runtime, "files", json_string("open"));
		live_runtime_write(live);
		return channels_guard(live->channels, err);
	}
	return live_broker_begin(live, err) < 0 || channels_guard(live->channels, err) < 0
		       ? -1
		       : live_confine(live, err);
}

static int run_life(struct live *live, struct error *err)
{
	live->loop = loop_new(err);
	if (!live->loop)
		return -1;
	live->requests =
		control_sock_new(live->loop, LIVE_CONTROL, live_request, live, &live->log, err);
	if (!live->requests)
		return -1;
	if (begin_life(live, err) == 0 && give_up_live_rights(live, err) == 0) {
		memory_give_back();
		if (loop_run(live->loop, err) == 0) {
			/* If the loop has already handled the end, this call does nothing. */
			live_over(live, VM_END_KILLED, LIVE_STUCK);
			return 0;
		}
	}
	/* The loop has not run yet, so the failure must be recorded here. */
	live->outcome.intent = INTENT_FAILED;
	live->outcome.cause = *err;
	live->backend->free(live->vm);
	live->vm = NULL;
	live_over(live, VM_END_KILLED, NULL);
	return -1;
}

int live_main(const struct backend *backend, char *argv0, const char *label)
{
	struct live live = {.backend = backend,
			    .time.fd = -1,
			    .copy.fd = -1,
			    .state = STATE_STARTING,
			    .serial.fd = -1,
			    .cgroup = CGROUP_NONE,
			    .proof_fd = -1,
			    .broker = PROC_NONE,
			    .log.fd = -1};
	autofree char *own_label = strdup(label);
	struct error err = {0};
	int status;

	log_init(&live.log, STDERR_FILENO, limit_get(LIMIT_SUPERVISOR_LOG_BYTES));
	live.label = own_label;
	live.title = argv0;
	live.title_room = strlen(argv0) + 1 + strlen(options_live_prefix) + strlen(label) + 1;
	signal(SIGHUP, SIG_IGN);
	/* A machine that runs in this process has no other processes, so it needs no guard. The
	 * guard would also be a fork, after which the frameworks of macOS do not work. */
	status = backend->in_process ? 0 : live_guard_begin(&live, &err);
	live_set_title(&live, "live");
	process_set_name("microagent-live");
	if (status == 0)
		status = ticket_receive(&live.ticket, &err);
	if (status == 0)
		status = adopt_workspace(&live, &err);
	if (status == 0) {
		log_line(&live.log, "start of %s, request %s", own_label ? own_label : "?",
			 json_text(live.ticket.identity, "requestID", NULL));
		log_line(&live.log, "accelerator %s: %s",
			 accelerator_names[live.ticket.accelerator],
			 live.ticket.accelerator_reason);
		status = run_life(&live, &err);
	}
	if (status < 0)
		log_line(&live.log, "%s", err.msg);
	close_all(&live);
	if (status < 0)
		return 1;
	return live.at_rest ? LIVE_EXIT_AT_REST : 0;
}
