/* SPDX-License-Identifier: MIT */
/*
 * Shared directories: a virtiofsd each, in a cell, in a user namespace of its own (idmap.h). It can
 * see the one directory, read-only if so asked, and it has the rights over files that its few ids
 * give it and no others: what is ours, and what a guest's root made before. It can make no file
 * set-user-ID or set-group-ID (mode_filter.h).
 *
 * Its listening socket is made, connected to and unlinked here, so that there is never a name by
 * which anybody else could come first. A directory's place in the cell carries the workspace's
 * name, for ps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/qemu/cell_args.h"
#include "backend/qemu/confinement.h"
#include "backend/qemu/idmap.h"
#include "backend/qemu/mode_filter.h"
#include "backend/qemu/programs.h"
#include "backend/qemu/vm.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"

#define SOCKET_NAME "share.sock"
/* Where the directory, which comes by descriptor, is to be found by bwrap, which takes names: over
 * a directory that every system has and no cell needs, in a mount namespace of bwrap's own. */
#define STAGE "/sys"
/* A descriptor for every file that the guest knows of. */
#define FILES_MAX 1000000u

enum { VIRTIOFSD_FD_LISTEN = 3, VIRTIOFSD_FD_LEASE, BWRAP_FD_FILTER };

/* Its work: it acts as the guest's users and changes owners, among the mapped ids. */
static const char *const capabilities[] = {
	"CAP_CHOWN",	  "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
	"CAP_SETGID",	  "CAP_SETUID",	      "CAP_MKNOD",  "CAP_SETFCAP",
	"CAP_SYS_CHROOT", "CAP_SETPCAP",      NULL};

int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err)
{
	ends->listen = sock_listen_at(workspace_fd, SOCKET_NAME, err);
	if (ends->listen < 0)
		return -1;
	ends->qemu = sock_connect_at(workspace_fd, SOCKET_NAME, err);
	unlinkat(workspace_fd, SOCKET_NAME, 0);
	return ends->qemu < 0 ? -1 : 0;
}

/* In -o a comma begins the next option and a backslash takes the meaning from what follows. */
static void add_source(struct argv *argv, const char *path)
{
	autofree char *escaped = malloc(2 * strlen(path) + 1);
	char *to = escaped;

	for (; escaped && *path; path++) {
		if (*path == ',' || *path == '\\')
			*to++ = '\\';
		*to++ = *path;
	}
	argv_add(argv, "-o");
	if (!escaped) {
		argv->failed = true;
		return;
	}
	*to = '\0';
	argv_addf(argv, "source=%s", escaped);
}

static void build_virtiofsd_words(const char *program, const char *source, struct argv *argv)
{
	struct rlimit files = {0};
	rlim_t most = FILES_MAX;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < most)
		most = files.rlim_max;
	argv_add(argv, program);
	argv_add(argv, "-f");
	argv_addf(argv, "--fd=%d", VIRTIOFSD_FD_LISTEN);
	add_source(argv, source);
	/* The cell is the sandbox; a chroot in it needs no right to mount. */
	argv_add(argv, "-o");
	argv_add(argv, "sandbox=chroot");
	argv_add(argv, "-o");
	argv_add(argv, "log_level=err");
	argv_addf(argv, "--rlimit-nofile=%llu", (unsigned long long)most);
}

static int start_virtiofsd(struct companion *companion, const struct cell_spec *cell,
			   const struct vm_share_ends *ends, const struct vm_share *share,
			   int userns, struct error *err)
{
	autoargv struct argv words = ARGV_INIT;
	autoclose int filter = -1;

	if (mode_filter_open(&filter, err) < 0)
		return -1;
	const struct proc_fd fds[] = {
		{ends->listen, VIRTIOFSD_FD_LISTEN},
		{share->lease_fd, VIRTIOFSD_FD_LEASE},
		{filter, BWRAP_FD_FILTER},
	};

	cell_arguments(cell, &words);
	const struct proc_spec spec = {
		.argv = argv_finish(&words, err),
		.envp = cell_environment,
		.fds = fds,
		.nfds = ARRAY_SIZE(fds),
		.die_with_parent = true,
		.new_session = true,
		.userns_fd = userns,
		.bind_at = STAGE,
		.bind_fd = share->dir_fd,
		.bind_read_only = share->read_only,
		.cwd = "/",
	};
	return spec.argv ? companion_start(companion, &spec, err) : -1;
}

static struct companion *start_share_cell(struct vm *vm, const struct vm_share *share,
					  const struct vm_share_ends *ends, const char *bwrap,
					  struct error *err)
{
	autofree char *program = program_virtiofsd(err);
	autofree char *place = NULL;
	autoargv struct argv words = ARGV_INIT;
	autoclose int userns = -1;
	char name[COMPANION_NAME];
	struct idmap map;

	if (!program || idmap_find(&map, err) < 0 || idmap_namespace(&map, &userns, err) < 0)
		return NULL;
	if (asprintf(&place, "/share%s", share->label) < 0) {
		place = NULL;
		error_errno(err, ENOMEM, "share");
		return NULL;
	}
	build_virtiofsd_words(program, place, &words);
	const struct cell_share seen = {
		.from = STAGE,
		.to = place,
		.read_only = share->read_only,
	};
	const struct cell_spec cell = {
		.bwrap = bwrap,
		.program = program,
		.argv = argv_finish(&words, err),
		.capabilities = capabilities,
		.share = &seen,
		.filter = BWRAP_FD_FILTER,
	};
	snprintf(name, sizeof(name), VIRTIOFSD_NAME " %s", share->tag);
	struct companion *companion =
		cell.argv ? companion_add(&vm->companions, name, true, err) : NULL;
	if (!companion || start_virtiofsd(companion, &cell, ends, share, userns, err) == 0)
		return companion;
	companion_drop(companion);
	return NULL;
}

struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err)
{
	autofree char *bwrap = confinement_bwrap(err);

	return bwrap ? start_share_cell(vm, share, ends, bwrap, err) : NULL;
}

int vm_start_shares(struct vm *vm, const struct vm_boot *boot, struct vm_ends *ends,
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
			.label = boot->label,
			.workspace_fd = boot->workspace_fd,
			.lease_fd = boot->lease_fd,
		};

		if (!vm_start_share(vm, &share, &ends->shares[i], err))
			return error_prefix(err, "config.shares[%zu]", i);
	}
	return 0;
}
