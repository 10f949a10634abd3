/* SPDX-License-Identifier: MIT */
/*
 * Makes the broker of a live supervisor. The live supervisor reads what a guest, its VMM and its
 * companions write, so an attacker in the guest may gain control of it. Therefore the live
 * supervisor has no more rights than it needs (live_confine.c), and a broker does the duties that
 * need more rights. The broker is a copy of this process, forked when the VMM runs and before the
 * first byte of the guest is read. The table below has every duty of the broker, with the reason
 * for each.
 *
 * The supervisor stays the parent of bwrap and of the companions, even of those companions that the
 * broker starts. These processes and the broker exit with the supervisor. When the broker exits,
 * the supervisor exits too, and all other processes with it: without the broker the supervisor
 * could end none of them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/connecting.h"
#include "base/json.h"
#include "base/platform/passing.h"
#include "base/platform/process.h"
#include "channel/dial.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"
#include "supervisor/live/live_audit.h"
#include "supervisor/live/watch_base.h"
#include "supervisor/live/watch_opens.h"
#include "supervisor/live/watch_vmm.h"

#define ROWS_MAX 16

/* The VMM's pidfd, by which the broker can kill the VMM even if the VMM does not descend from the
 * supervisor any more. The VMM loses this descent if the monitor of its cell, which is its parent,
 * exits first. */
static int vmm_pidfd = -1;

static size_t list_duties(struct live *live, struct watch_vmm *vmm,
			  struct connecting_ports *targets, struct broker_row *out)
{
	const struct broker_row all[ROWS_MAX] = {
		{&proc_kill_duty, &vmm_pidfd,
		 "kill a process that descends from the supervisor: they run as other users"},
		{&proc_start_time_duty, NULL,
		 "read when a process that descends from the supervisor began, which makes its number its own: /proc is closed"},
		{live->backend->sever_duty, live->vm,
		 "quarantine: kill what is no cell, list the VMM's sockets and shut them down, for which one must be allowed to trace it"},
		{live->backend->socket_duty, live->vm,
		 "connect to the VMM's API, and put its vsock socket and the link's in their places: as for connecting to the guest"},
		{live->backend->share_duty, live->vm,
		 "start what serves a directory, for which the asking command has given a pass: it needs a user namespace and a cell"},
		{!ticket_has(&live->ticket, LIVE_RAM) ? NULL : live->backend->proc_duty, live->vm,
		 "take /proc from the VMM's cell before its guest runs: one must have made it"},
		{&dial_duty, &live->ws.fd,
		 "connect to the guest's vsock.sock or agent.sock: who may make Unix sockets reaches all daemons of the host"},
		{&target_duty, live->channels,
		 "look up the name of a declared target, by a program of the host"},
		{&connecting_duty, targets,
		 "connect to a declared target: who may connect can connect any socket, also one that a VMM that was taken over has handed on"},
		{&port_duty, NULL,
		 "listen at a published port while its server in the guest does, and guard it from other users: who may listen gets a port of the kernel's choice for any socket"},
		{&watch_vmm_duty, vmm,
		 "list the VMM's sockets and children: as for the quarantine"},
		{&watch_base_duty, live_observe_base(live),
		 "look at the base under a session's layer: it lies in a directory of others"},
		{live_observe_opens(live) ? &watch_opens_duty : NULL, live_observe_opens(live),
		 "read who opened a file of the session, and name the program: it is another user's"},
		{live->audit ? &security_log_duty : NULL, live_audit_log(live),
		 "append a line of this session to the security log of today: it has the lines of all sessions, and lies in a directory of others"},
		{&cgroup_duty, &live->cgroup,
		 "leave the cgroup, kill what is in it, remove it, when the machine is over: the supervisor is killed if it does not end soon"},
		{&live_remove_duty, live,
		 "remove the workspace after `run --remove`, or a session that is over, with its log's archive: they lie in directories of others"},
	};
	size_t n = 0;

	for (size_t i = 0; i < ROWS_MAX; i++)
		if (all[i].duty)
			out[n++] = all[i];
	return n;
}

static void begin_broker(void *data)
{
	struct live *live = data;

	live_set_title(live, "broker");
	process_set_name("microagent-keep");
	live_quarantine_prepare();
}

/* Exits when the broker has exited. Without the broker, the supervisor can end the VMM only by its
 * own exit. */
static void on_broker_lost(struct loop *loop, int code, void *data) __attribute__((noreturn));
static void on_broker_lost(struct loop *loop, int code, void *data)
{
	struct live *live = data;
	char text[96];

	(void)loop;
	snprintf(text, sizeof(text), "the supervisor's broker %s %d",
		 code > 128 ? "died by signal" : "ended with code", code > 128 ? code - 128 : code);
	log_line(&live->log, "%s", text);
	live_observe_companion(live, text);
	live->outcome.intent = INTENT_FAILED;
	error_set(&live->outcome.cause, ERR_IO, "%s", text);
	live_over(live, VM_END_KILLED, NULL);
	_exit(1);
}

static size_t list_kept(const struct live *live, int keep[7 + VM_BROKER_FDS])
{
	const struct audit *audit = live_audit_log(live);
	const int always[] = {live->dir.fd, live->ws.fd, LIVE_LEASE, live->proof_fd};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		keep[n++] = always[i];
	if (live->cgroup.home >= 0)
		keep[n++] = live->cgroup.home;
	if (audit && audit->security_fd >= 0)
		keep[n++] = audit->security_fd;
	if (live_observe_opens(live))
		keep[n++] = watch_opens_fd(live_observe_opens(live));
	if (!live->backend->broker_fds)
		return n;
	size_t own = live->backend->broker_fds(live->vm, keep + n);
	if (own > 0)
		vmm_pidfd = keep[n];
	return n + own;
}

static void note_broker(struct live *live)
{
	uint64_t ticks = 0;
	struct error ignored;

	if (proc_start_time(live->broker.pid, &ticks, &ignored) == 0)
		json_object_set_new(live->runtime, "broker",
				    json_pack("{s:I, s:I}", "pid", (json_int_t)live->broker.pid,
					      "startTime", (json_int_t)ticks));
	live_runtime_write(live);
}

/* Makes the sockets of this process refuse descriptors that other processes pass. Only the socket
 * control.sock still accepts them, since commands pass descriptors to the supervisor through it.
 * The broker does things for the supervisor's sockets that it does not do for the VMM's sockets. So
 * an attacker who controls the VMM and the supervisor must not be able to pass a socket of the VMM
 * to the supervisor. */
static int refuse_passed(struct error *err)
{
	DIR *own = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (!own)
		return error_errno(err, errno, "/proc/self/fd");
	while ((entry = readdir(own))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd != LIVE_CONTROL)
			passing_refuse(fd);
	}
	closedir(own);
	return 0;
}

int live_broker_begin(struct live *live, struct error *err)
{
	static struct broker_row rows[ROWS_MAX];
	static struct connecting_ports targets;
	static struct watch_vmm vmm;
	int keep[7 + VM_BROKER_FDS + LIVE_QUARANTINE_SOCKETS];
	struct broker_spec spec = {.rows = rows, .keep = keep, .begin = begin_broker, .data = live};
	struct audit *audit = live_audit_log(live);
	size_t sockets;

	live->proof_fd = quarantine_proof_open(&live->ws, err);
	if (live->proof_fd < 0)
		return -1;
	vmm.own_sockets = live->backend->binds_vsock;
	targets.count = channels_target_ports(live->channels, targets.at, CONNECTING_PORTS_MAX);
	spec.count = list_duties(live, &vmm, &targets, rows);
	spec.nkeep = list_kept(live, keep);
	sockets = live_quarantine_note_sockets(live, keep + spec.nkeep);
	spec.nkeep += sockets;
	vmm.vmm.pid = (pid_t)json_integer_value(json_object_get(live->runtime, "pid"));
	vmm.vmm.pidfd = vmm_pidfd;
	if (refuse_passed(err) < 0 || broker_start(&spec, &live->broker, err) < 0)
		return error_prefix(err, "broker");
	for (size_t i = spec.nkeep - sockets; i < spec.nkeep; i++)
		close(keep[i]);
	/* Only the broker keeps this descriptor, because a process that has it could write the
	 * proof of a quarantine. */
	cleanup_close(&live->proof_fd);
	if (audit && audit->security_fd >= 0)
		close(steal_fd(&audit->security_fd));
	/* Only the broker keeps this descriptor of cgroup.procs. When a process is moved by writing
	 * to it, the kernel checks the rights of the user who opened it. If root runs machines,
	 * that user was root. */
	cleanup_close(&live->cgroup.home);
	note_broker(live);
	return loop_add_proc(live->loop, &live->broker, on_broker_lost, live, err) ? 0 : -1;
}
