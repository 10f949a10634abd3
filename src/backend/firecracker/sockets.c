/* SPDX-License-Identifier: MIT */
/*
 * The sockets of Firecracker. <workspace>/vmm is the only directory of the host in Firecracker's
 * cell. In this directory Firecracker makes the sockets of its API and of the guest's vsock. The
 * directory has hard links to the sockets of the host ports that the guest may dial, and
 * Firecracker reaches these sockets only there. The directory also has two FIFOs, for Firecracker's
 * log and metrics.
 *
 * The name of the API's socket is removed as soon as the live supervisor is connected, so that no
 * other process can connect. The socket of the vsock is moved to <workspace>/vsock.sock. The broker
 * does both steps, since a live supervisor cannot make a Unix socket. Firecracker can write to the
 * directory, so a name in it could be a link to another program's socket. So each name is first
 * opened, and checked by its descriptor.
 *
 * The link. Firecracker's vsock device handles the end of a single direction wrongly. If the host
 * ends its direction, both directions end. If the guest ends its direction, the host is not told
 * (https://github.com/firecracker-microvm/firecracker/blob/v1.15.1/src/vmm/src/devices/virtio/vsock/csm/connection.rs).
 * So PID 1 of the guest makes one connection to the host's port LINK_PORT before any workload runs.
 * This connection carries the same packets as a virtio-serial port (vsockd/port.h). vsockd serves
 * the link to clients of the host through <workspace>/agent.sock. That socket exists as soon as the
 * guest's agent has reported that it serves the link. A guest that does not know the link is
 * reached only through vsock.sock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/firecracker/firecracker.h"
#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

enum { ASK_FOR_API = 'a', ASK_FOR_VSOCK = 'v', ASK_FOR_AGENT = 'g' };

/* Makes the run directory, which belongs to the user of this process and to the group of the cell.
 * Returns the directory's descriptor, which the caller closes, or -1 with an error. */
static int make_run_dir(int workspace_fd, struct error *err)
{
	uid_t id = cell_id();

	if (path_remove_tree_at(workspace_fd, VM_RUN_DIR, err) < 0)
		return -1;
	autoclose int fd = path_open_dir_at(workspace_fd, VM_RUN_DIR, true, 0700, err);
	if (fd < 0)
		return -1;
	if (id && (fchown(fd, (uid_t)-1, id) < 0 || fchmod(fd, 0770) < 0))
		return error_errno(err, errno, VM_RUN_DIR);
	return steal_fd(&fd);
}

/* Makes links to the sockets of the host ports in the run directory. The links have the same names
 * as the sockets in the workspace. */
static int link_host_ports(const struct vm_boot *boot, int run, struct error *err)
{
	uid_t id = cell_id();
	char name[32];

	for (size_t i = 0; i < boot->host_port_count; i++) {
		snprintf(name, sizeof(name), FC_VSOCK_NAME "_%u", boot->host_ports[i]);
		if ((id && fchownat(boot->workspace_fd, name, id, id, AT_SYMLINK_NOFOLLOW) < 0) ||
		    linkat(boot->workspace_fd, name, run, name, 0) < 0)
			return error_errno(err, errno, "%s", name);
	}
	return 0;
}

/* Makes a FIFO. Opens it for reading and writing, so that a read finds no end while no process
 * writes. Returns its descriptor, which the caller closes, or -1 with an error. */
static int make_fifo(int run, const char *name, struct error *err)
{
	uid_t id = cell_id();

	if (mkfifoat(run, name, 0600) < 0)
		return error_errno(err, errno, "%s", name);
	autoclose int fd = openat(run, name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || (id && fchown(fd, id, id) < 0))
		return error_errno(err, errno, "%s", name);
	return steal_fd(&fd);
}

int fc_run_open(struct firecracker *fc, const struct vm_boot *boot, struct error *err)
{
	autoclose int run = make_run_dir(boot->workspace_fd, err);

	if (run < 0 || link_host_ports(boot, run, err) < 0)
		return -1;
	fc->log_fd = make_fifo(run, FC_LOG_NAME, err);
	fc->metrics.fd = fc->log_fd < 0 ? -1 : make_fifo(run, FC_METRICS_NAME, err);
	return fc->metrics.fd < 0 ? -1 : steal_fd(&run);
}

/* --- the two sockets that Firecracker makes --------------------------------------------------- */

/* Opens the socket with this name in the run directory. Does not follow a symbolic link. Writes the
 * path of the opened socket, /proc/self/fd/N, to `link`. Returns the descriptor, which the caller
 * closes, or -1 with an error. */
static int open_socket_name(const struct vm *vm, const char *name, char link[32], struct error *err)
{
	autoclose int run =
		openat(vm->workspace_fd, VM_RUN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclose int fd = run < 0 ? -1 : openat(run, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISSOCK(st.st_mode))
		return error_set(
			err, ERR_IO,
			"%s in the workspace is not a socket: Firecracker was taken over, or another program has replaced the socket",
			name);
	snprintf(link, 32, "/proc/self/fd/%d", fd);
	return steal_fd(&fd);
}

static int connect_to_api(struct vm *vm, struct error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	autoclose int name = open_socket_name(vm, FC_API_NAME, addr.sun_path, err);
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (name < 0)
		return -1;
	if (fd < 0)
		return error_errno(err, errno, "socket");
	if (vm_keep_accepted(vm, fd, err) < 0)
		return -1;
	/* A connection is refused if Firecracker has made the socket but does not listen yet. */
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return errno == ECONNREFUSED || errno == EAGAIN
			       ? error_set(
					 err, ERR_NOT_FOUND,
					 "Firecracker does not listen on the socket of its API yet: try again in a few seconds")
			       : error_errno(err, errno, FC_API_NAME);
	autoclose int run = openat(vm->workspace_fd, VM_RUN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (unlinkat(run, FC_API_NAME, 0) < 0)
		return error_errno(err, errno, FC_API_NAME);
	return steal_fd(&fd);
}

/* Moves the socket of the vsock into the workspace. Gives the socket the owner and the mode that a
 * socket of this process has. */
static int place_vsock(const struct vm *vm, struct error *err)
{
	char link[32];
	autoclose int name = open_socket_name(vm, FC_VSOCK_NAME, link, err);
	autoclose int run = openat(vm->workspace_fd, VM_RUN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (name < 0)
		return -1;
	if ((cell_id() && chown(link, geteuid(), getegid()) < 0) || chmod(link, 0600) < 0 ||
	    linkat(AT_FDCWD, link, vm->workspace_fd, FC_VSOCK_NAME, AT_SYMLINK_FOLLOW) < 0 ||
	    unlinkat(run, FC_VSOCK_NAME, 0) < 0)
		return error_errno(err, errno, FC_VSOCK_NAME);
	return 0;
}

/* --- the link --------------------------------------------------------------------------------- */

/* Makes the socket of the link. Firecracker connects to this socket from its cell. Returns the
 * listening descriptor, which the caller closes, or -1 with an error. */
static int listen_for_link(int workspace_fd, struct error *err)
{
	uid_t id = cell_id();
	autoclose int run =
		openat(workspace_fd, VM_RUN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclose int fd = run < 0 ? -1 : sock_listen_at(run, FC_LINK_NAME, err);

	if (run < 0)
		return error_errno(err, errno, VM_RUN_DIR);
	if (fd >= 0 && id && fchownat(run, FC_LINK_NAME, id, id, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, FC_LINK_NAME);
	return steal_fd(&fd);
}

int fc_run_start_link(struct firecracker *fc, const struct vm_boot *boot, struct error *err)
{
	autoclose int guest = listen_for_link(boot->workspace_fd, err);
	autoclose int clients =
		guest < 0 ? -1 : sock_listen_at(boot->workspace_fd, AGENT_SOCK_EARLY, err);

	if (clients < 0)
		return -1;
	return vm_start_vsockd(&fc->vm, boot, &(struct vsockd_ends){VSOCKD_LINK, guest, clients},
			       err);
}

static int place_agent(const struct vm *vm, struct error *err)
{
	if (renameat(vm->workspace_fd, AGENT_SOCK_EARLY, vm->workspace_fd, AGENT_SOCK) < 0)
		return error_errno(err, errno, AGENT_SOCK);
	return 0;
}

/* Does, in the broker, the work that ask_for_socket() requests. */
static int serve_socket(void *data, const struct broker_message *in, struct broker_message *out,
			struct error *err)
{
	struct vm *vm = data;

	if (in->len != 1)
		return error_set(
			err, ERR_INVALID,
			"the broker refuses a request for a socket of the virtual machine monitor, because the request is malformed: this is a bug, or the live supervisor was taken over");
	if (broker_check_ways(err) < 0)
		return -1;
	if (in->bytes[0] == ASK_FOR_VSOCK)
		return place_vsock(vm, err);
	if (in->bytes[0] == ASK_FOR_AGENT)
		return place_agent(vm, err);
	/* The broker gives out only one connection. Otherwise the live supervisor could choose
	 * which connection a quarantine spares. */
	if (fc_of(vm)->connected)
		return error_set(
			err, ERR_CONFLICT,
			"the broker refuses a second connection to Firecracker's API, because it gives out only one: this is a bug, or the live supervisor was taken over");
	int fd = connect_to_api(vm, err);
	if (fd < 0)
		return -1;
	fc_of(vm)->connected = true;
	out->fds[out->nfds++] = fd;
	return 0;
}

const struct broker_duty fc_socket_duty = {serve_socket};

static int ask_for_socket(char which, struct broker_message *out, struct error *err)
{
	const struct broker_message in = {.len = 1, .bytes = {which}};

	return broker_ask(&fc_socket_duty, &in, out, err);
}

int fc_run_connect(struct firecracker *fc, struct error *err)
{
	struct broker_message out = {0};
	struct stat st;

	/* The broker is asked only if the API's socket exists, since this function is called again
	 * and again until then. */
	if (fstatat(fc->vm.workspace_fd, VM_RUN_DIR "/" FC_API_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"Firecracker has not made the socket of its API yet: try again in a few seconds");
	if (!broker_is_asked())
		return connect_to_api(&fc->vm, err);
	if (ask_for_socket(ASK_FOR_API, &out, err) < 0)
		return -1;
	return out.nfds == 1
		       ? out.fds[0]
		       : error_set(
				 err, ERR_INTERNAL,
				 "the broker's answer has no connection to Firecracker's API in it: this is a bug of microagent");
}

int fc_run_place_vsock(const struct firecracker *fc, struct error *err)
{
	struct broker_message out = {0};

	return broker_is_asked() ? ask_for_socket(ASK_FOR_VSOCK, &out, err)
				 : place_vsock(&fc->vm, err);
}

int fc_linked(struct vm *vm, struct error *err)
{
	struct broker_message out = {0};

	return broker_is_asked() ? ask_for_socket(ASK_FOR_AGENT, &out, err) : place_agent(vm, err);
}
