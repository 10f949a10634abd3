/* SPDX-License-Identifier: MIT */
/*
 * Serves shared directories. Each directory has a virtiofsd in a cell, in a separate user namespace
 * (idmap.h). The virtiofsd sees only this directory, which may be read-only. Few ids are mapped
 * into the namespace. So the virtiofsd has rights only over the files of this process's user, and
 * over the files that a guest's root has made. The virtiofsd cannot give a file a set-user-ID bit,
 * a set-group-ID bit or a capability (share_filter.h).
 *
 * This process makes the virtiofsd's listening socket, connects to this socket and removes the
 * socket's name, so that no other process can connect. The path of the directory in the cell
 * contains the name of the workspace, so ps shows this name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/parts/cell_args.h"
#include "backend/parts/confinement.h"
#include "backend/parts/idmap.h"
#include "backend/parts/programs.h"
#include "backend/parts/share_filter.h"
#include "backend/parts/virtiofsd.h"
#include "backend/parts/vm.h"
#include "base/broker.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/platform/linux/isolate.h"
#include "store/share/pass.h"

#define SOCKET_NAME "share.sock"
/* The path at which bwrap finds the shared directory. bwrap accepts only names, but the directory
 * is given by descriptor. So the directory is mounted at this path, in a mount namespace that only
 * bwrap has. Every system has the path, and no cell needs the files that are there. */
#define STAGE "/sys"
/* The path in the cell of a library that replaces some functions of the C library in virtiofsd
 * (src/virtiofsd/preload.c). */
#define PRELOAD_IN_CELL "/preload.so"

/* The first byte of a request to the broker, which says whether the guest may write. The second
 * byte is the index of the directory in the pass, as a digit. */
#define MODE_WRITABLE 'w'
#define MODE_READ_ONLY 'r'

enum { VIRTIOFSD_FD_LISTEN = 3, VIRTIOFSD_FD_LEASE };

/* The capabilities that virtiofsd needs to act as the guest's users, and to change owners. The
 * capabilities hold only for the mapped ids. */
#define CAPABILITIES                                                                             \
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID", \
		"CAP_MKNOD", "CAP_SYS_CHROOT", "CAP_SETPCAP"
static const char *const capabilities[] = {CAPABILITIES, NULL};
/* The files of container images have capabilities, so virtiofsd must be able to set them. */
static const char *const capabilities_for_containers[] = {CAPABILITIES, "CAP_SETFCAP", NULL};

int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err)
{
	ends->listen = sock_listen_at(workspace_fd, SOCKET_NAME, err);
	if (ends->listen < 0)
		return -1;
	ends->vmm = sock_connect_at(workspace_fd, SOCKET_NAME, err);
	unlinkat(workspace_fd, SOCKET_NAME, 0);
	return ends->vmm < 0 ? -1 : 0;
}

/* --- the process of a virtiofsd -------------------------------------------------------------- */

/* The parameters with which a virtiofsd is started. */
struct server {
	const struct vm_share *share;
	int listen, stderr_fd;
	bool for_parent; /* the value of the member `for_parent` of struct proc_spec */
};

static int spawn_virtiofsd(const struct server *server, const struct cell_spec *base, int userns,
			   struct proc *out, struct error *err)
{
	autoargv struct argv words = ARGV_INIT;
	struct cell_spec cell = *base;
	autoclose int preload = virtiofsd_preload_open(err), filter = -1, program = -1;

	if (preload < 0 || share_filter_open(server->share->containers, &filter, err) < 0)
		return -1;
	struct proc_fd fds[6] = {
		{server->stderr_fd, 2},
		{server->listen, VIRTIOFSD_FD_LISTEN},
		{server->share->lease_fd, VIRTIOFSD_FD_LEASE},
	};
	struct cell_data data[2] = {{preload, PRELOAD_IN_CELL, false}};
	size_t nfds = 3;

	cell.fds = fds;
	cell.nfds = nfds;
	cell.data = data;
	cell.ndata = 1;
	cell.filter = filter;
	/* The cell gets a copy of the program, since the user of the namespace cannot open the
	 * program by its name. */
	if (!cell_is_reachable(base->program)) {
		program = open(base->program, O_RDONLY | O_CLOEXEC);
		if (program < 0)
			return error_errno(err, errno, "%s", base->program);
		data[cell.ndata++] = (struct cell_data){program, base->program, true};
		cell.program = NULL;
	}
	const struct cell_numbers numbers = cell_numbers(&cell);
	for (size_t i = 0; i < cell.ndata; i++)
		fds[nfds++] = (struct proc_fd){data[i].fd, numbers.data + (int)i};
	fds[nfds++] = (struct proc_fd){filter, numbers.filter};
	cell_arguments(&cell, &words);
	const struct proc_spec spec = {
		.argv = argv_finish(&words, err),
		.envp = cell_environment,
		.fds = fds,
		.nfds = nfds,
		.die_with_parent = true,
		.for_parent = server->for_parent,
		.new_session = true,
		.userns_fd = userns,
		.bind_at = STAGE,
		.bind_fd = server->share->dir_fd,
		.bind_follows = server->share->containers,
		.bind_read_only = server->share->read_only,
		.cwd = "/",
		.confine = isolate_tcp,
	};
	return spec.argv ? proc_spawn(&spec, out, err) : -1;
}

static int start_in_cell(const struct server *server, const char *bwrap,
			 const struct virtiofsd *program, struct proc *out, struct error *err)
{
	static const char *const preloading[] = {"LD_PRELOAD", PRELOAD_IN_CELL, NULL};
	autofree char *place = NULL;
	autoargv struct argv words = ARGV_INIT;
	autoclose int userns = -1;
	struct idmap map;

	if (server->share->containers) {
		if (idmap_identity_namespace(&userns, err) < 0)
			return -1;
	} else if (idmap_find(server->share->dir_fd, &map, err) < 0 ||
		   idmap_namespace(&map, &userns, err) < 0) {
		return -1;
	}
	if (asprintf(&place, "/share%s", server->share->label) < 0) {
		place = NULL;
		return error_errno(err, ENOMEM, "share");
	}
	const struct virtiofsd_service service = {
		.listen_fd = VIRTIOFSD_FD_LISTEN,
		.source = place,
		.terms = server->share->terms,
		.containers = server->share->containers,
	};
	if (virtiofsd_check(program, &service, err) < 0)
		return -1;
	virtiofsd_arguments(program, &service, &words);
	const struct cell_share seen = {
		.from = STAGE,
		.to = place,
		.read_only = server->share->read_only,
	};
	const struct cell_spec cell = {
		.bwrap = bwrap,
		.program = program->path,
		.argv = argv_finish(&words, err),
		.environment = preloading,
		.capabilities =
			server->share->containers ? capabilities_for_containers : capabilities,
		.share = &seen,
	};
	return cell.argv ? spawn_virtiofsd(server, &cell, userns, out, err) : -1;
}

static int start_server_process(const struct server *server, struct proc *out, struct error *err)
{
	autofree char *bwrap = confinement_bwrap(err);
	struct virtiofsd program = {0};

	if (!bwrap || virtiofsd_find(&program, err) < 0)
		return -1;
	int status = start_in_cell(server, bwrap, &program, out, err);
	virtiofsd_free(&program);
	return status;
}

/* --- the broker's duty ----------------------------------------------------------------------- */

/* Opens the directory that the pass names. The pass comes from the command that has asked for the
 * share. Returns the directory's descriptor, which the caller closes, or -1 with an error. A
 * request can get fewer rights than the pass gives, and never more. The directory must meet the
 * same rules that the command has checked. */
static int open_given(const struct vm *vm, size_t number, bool read_only, struct share_terms *terms,
		      struct error *err)
{
	const char *label = vm->label;
	autofree char *state_dir = strndup(label, (size_t)(strrchr(label, '/') - label));
	json_auto_t *programs = programs_here(vm->kind->binaries);
	const struct share_wish wish = {
		.state_dir = state_dir, .read_only = read_only, .programs = programs};

	if (!state_dir || !programs)
		return error_errno(err, ENOMEM, "share");
	return share_pass_redeem(label, number, &wish, terms, err);
}

/* Reads the request. A live supervisor that was taken over may have sent it, so each part is
 * checked. */
static int read_asked(const struct broker_message *in, bool *read_only, size_t *number,
		      struct error *err)
{
	const char *digit = in->bytes + 1;
	bool known = in->bytes[0] == MODE_WRITABLE || in->bytes[0] == MODE_READ_ONLY;

	if (in->nfds != 1 || in->len != 2 || !known || *digit < '0' || *digit >= '0' + PLUGS_MAX)
		return error_set(
			err, ERR_INVALID,
			"the broker refuses a request to share a directory, because the request is malformed: this is a bug, or the live supervisor was taken over");
	*read_only = in->bytes[0] == MODE_READ_ONLY;
	*number = (size_t)(*digit - '0');
	return 0;
}

static int serve_share(void *data, const struct broker_message *in, struct broker_message *out,
		       struct error *err)
{
	struct vm *vm = data;
	struct vm_share share = {
		.label = vm->label, .workspace_fd = vm->workspace_fd, .lease_fd = vm->lease_fd};
	struct server server = {.share = &share, .for_parent = true};
	struct proc proc = PROC_NONE;
	size_t number = 0;

	if (!vm->pluggable)
		return error_set(
			err, ERR_CONFLICT,
			"the machine cannot be given a directory while it runs, because it was made without a spare port for one (config.hotplug): make another machine");
	if (broker_check_ways(err) < 0 || read_asked(in, &share.read_only, &number, err) < 0)
		return -1;
	autoclose int dir = open_given(vm, number, share.read_only, &share.terms, err);
	if (dir < 0)
		return -1;
	share.dir_fd = dir;
	server.stderr_fd = in->fds[0];
	struct vm_share_ends ends = {-1, -1};
	int status = vm_open_share(vm->workspace_fd, &ends, err);
	server.listen = ends.listen;
	if (status == 0)
		status = start_server_process(&server, &proc, err);
	cleanup_close(&ends.listen);
	if (status < 0) {
		cleanup_close(&ends.vmm);
		return -1;
	}
	out->fds[0] = proc.pidfd;
	out->fds[1] = ends.vmm;
	out->nfds = 2;
	memcpy(out->bytes, &proc.pid, sizeof(proc.pid));
	out->len = sizeof(proc.pid);
	return 0;
}

const struct broker_duty vm_share_duty = {serve_share};

static int ask_for_server(const struct companion *companion, const struct vm_share *share,
			  size_t number, int *vmm_end, struct proc *proc, struct error *err)
{
	struct broker_message in = {.nfds = 1, .fds = {companion->stderr_fd}};
	struct broker_message out;

	in.len = (size_t)snprintf(in.bytes, sizeof(in.bytes), "%c%zu",
				  share->read_only ? MODE_READ_ONLY : MODE_WRITABLE, number);
	if (broker_ask(&vm_share_duty, &in, &out, err) < 0)
		return -1;
	proc->pidfd = out.fds[0];
	memcpy(&proc->pid, out.bytes, sizeof(proc->pid));
	*vmm_end = out.fds[1];
	return 0;
}

/* --- companions ------------------------------------------------------------------------------ */

static struct companion *add_share(struct vm *vm, const struct vm_share *share, struct error *err)
{
	char name[COMPANION_NAME];

	snprintf(name, sizeof(name), VIRTIOFSD_NAME " %s", share->tag);
	return companion_add(&vm->companions, name, true, err);
}

struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err)
{
	struct companion *companion = add_share(vm, share, err);
	struct proc proc = PROC_NONE;

	if (!companion)
		return NULL;
	const struct server server = {
		.share = share, .listen = ends->listen, .stderr_fd = companion->stderr_fd};
	if (start_server_process(&server, &proc, err) == 0) {
		companion_adopt(companion, &proc);
		return companion;
	}
	companion_drop(companion);
	return NULL;
}

struct companion *vm_start_plug(struct vm *vm, const struct vm_share *share, size_t number,
				int *vmm_end, struct error *err)
{
	struct companion *companion = add_share(vm, share, err);
	struct proc proc = PROC_NONE;

	if (!companion)
		return NULL;
	if (ask_for_server(companion, share, number, vmm_end, &proc, err) == 0) {
		companion_adopt(companion, &proc);
		return companion;
	}
	companion_drop(companion);
	return NULL;
}

int vm_start_shares(struct vm *vm, const struct vm_boot *boot, const struct vm_share_ends *ends,
		    struct error *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(boot->config->shares, i, item)
	{
		const char *mode = json_text(item, "mode", NULL);
		const struct vm_share share = {
			.tag = json_text(item, "tag", NULL),
			.dir_fd = boot->share_fds[i],
			.read_only = strcmp(mode, "ro") == 0,
			.terms = share_terms(item),
			.containers = json_is_true(json_object_get(item, "containers")),
			.label = boot->label,
			.workspace_fd = boot->workspace_fd,
			.lease_fd = boot->lease_fd,
		};

		if (!vm_start_share(vm, &share, &ends[i], err))
			return error_prefix(err, "config.shares[%zu]", i);
	}
	return 0;
}
