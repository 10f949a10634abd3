/* SPDX-License-Identifier: MIT */
/*
 * Starts vsockd, which is a program of microagent. vsockd isolates itself, so it runs outside the
 * cell. If root starts vsockd, vsockd becomes the cell's user. vsockd connects to the sockets of
 * the host ports, so these sockets are given to that user first. The sockets are in a directory
 * that no other user can enter.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "backend/parts/programs.h"
#include "backend/parts/vm.h"
#include "base/argv.h"
#include "base/cleanup.h"
#include "base/vsockd_tells.h"

enum { VSOCKD_FD_GUEST = 3, VSOCKD_FD_VSOCK, VSOCKD_FD_LEASE, VSOCKD_FD_BUSY };

/* Adds the options for the host ports. vsockd does not get the workspace's descriptor. So each
 * socket is named by the path that the workspace has at this moment. */
static int add_host_ports(const struct vm_boot *boot, uid_t id, struct argv *argv,
			  struct error *err)
{
	char dir[PATH_MAX], link[32], name[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", boot->workspace_fd);
	ssize_t n = readlink(link, dir, sizeof(dir) - 1);
	if (n < 0)
		return error_errno(err, errno, "path of the workspace");
	dir[n] = '\0';
	for (size_t i = 0; i < boot->host_port_count; i++) {
		snprintf(name, sizeof(name), "vsock.sock_%u", boot->host_ports[i]);
		if (id && fchownat(boot->workspace_fd, name, id, id, AT_SYMLINK_NOFOLLOW) < 0)
			return error_errno(err, errno, "%s/%s", dir, name);
		argv_add(argv, "--host-port");
		argv_addf(argv, "%u=%s/%s", boot->host_ports[i], dir, name);
	}
	return 0;
}

static int build_vsockd_words(enum vsockd_face face, const char *program,
			      const struct vm_boot *boot, struct argv *argv, struct error *err)
{
	static const char *const faces[] = {[VSOCKD_VHOST] = "--vhost-fd",
					    [VSOCKD_PORT] = "--port-fd",
					    [VSOCKD_LINK] = "--link-fd"};
	uid_t id = cell_id();

	argv_add(argv, program);
	argv_add(argv, "--caller");
	argv_add(argv, MICROAGENT_VERSION);
	argv_add(argv, "--label");
	argv_add(argv, boot->label);
	argv_add(argv, faces[face]);
	argv_addf(argv, "%d", VSOCKD_FD_GUEST);
	argv_add(argv, "--vsock-fd");
	argv_addf(argv, "%d", VSOCKD_FD_VSOCK);
	argv_add(argv, "--lease-fd");
	argv_addf(argv, "%d", VSOCKD_FD_LEASE);
	argv_add(argv, "--busy-fd");
	argv_addf(argv, "%d", VSOCKD_FD_BUSY);
	argv_add(argv, "--guest-cid");
	argv_add(argv, "3");
	if (boot->config->confinement == CONFINEMENT_SECCOMP)
		argv_add(argv, "--unconfined");
	if (id) {
		argv_add(argv, "--uid");
		argv_addf(argv, "%u", (unsigned)id);
		argv_add(argv, "--gid");
		argv_addf(argv, "%u", (unsigned)id);
	}
	return face == VSOCKD_LINK ? 0 : add_host_ports(boot, id, argv, err);
}

static void on_busy(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	uint64_t told = 0;

	(void)loop, (void)events;
	if (read(fd, &told, sizeof(told)) != (ssize_t)sizeof(told))
		return;
	if (told >= VSOCKD_TELLS_GUEST)
		vm->events.kernel_began(vm->events.data);
	vm->busy ^= (told & VSOCKD_TELLS_STREAMS) != 0;
	vm->events.streams(vm->events.data, vm->busy);
}

static int watch_streams(struct vm *vm, struct error *err)
{
	vm->busy_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (vm->busy_fd < 0)
		return error_errno(err, errno, "eventfd");
	vm->busy_watch = loop_add_fd(vm->loop, vm->busy_fd, LOOP_IN, on_busy, vm, err);
	return vm->busy_watch ? 0 : -1;
}

int vm_start_vsockd(struct vm *vm, const struct vm_boot *boot, const struct vsockd_ends *ends,
		    struct error *err)
{
	autofree char *program = program_vsockd(err);
	autoargv struct argv words = ARGV_INIT;
	int watched = watch_streams(vm, err);
	const struct proc_fd fds[] = {
		{ends->guest, VSOCKD_FD_GUEST},
		{ends->clients, VSOCKD_FD_VSOCK},
		{boot->lease_fd, VSOCKD_FD_LEASE},
		{vm->busy_fd, VSOCKD_FD_BUSY},
	};

	if (watched < 0 || !program ||
	    build_vsockd_words(ends->face, program, boot, &words, err) < 0)
		return -1;
	const struct proc_spec spec = {
		.argv = argv_finish(&words, err),
		.fds = fds,
		.nfds = ARRAY_SIZE(fds),
		.die_with_parent = true,
		.new_session = true,
		.cwd = "/",
	};
	struct companion *vsockd =
		spec.argv ? companion_add(&vm->companions, VSOCKD_NAME, true, err) : NULL;
	return vsockd ? companion_start(vsockd, &spec, err) : -1;
}
