/* SPDX-License-Identifier: MIT */
/* Facts from libproc(3) and sysctl(3) about any process of this user. This file was compiled and
 * linked for macOS, but never run there. */
#include <errno.h>
#include <libproc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fcntl.h>
#include <sys/proc_info.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/process.h"

/* The number of additional processes for which there is room, since processes may start after their
 * number was read. */
#define MORE_PROCESSES 64

static int read_bsd_info(pid_t pid, struct proc_bsdinfo *out)
{
	return proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, out, sizeof(*out)) == (int)sizeof(*out) ? 0
											      : -1;
}

pid_t process_parent(pid_t pid)
{
	struct proc_bsdinfo info;

	return read_bsd_info(pid, &info) < 0 ? 0 : (pid_t)info.pbi_ppid;
}

/* Stores the time at which the process started, in microseconds of the wall clock. */
int process_start_time(pid_t pid, uint64_t *began, struct error *err)
{
	struct proc_bsdinfo info;

	if (pid <= 0 || read_bsd_info(pid, &info) < 0)
		return error_set(err, ERR_NOT_FOUND, "no process has the pid %d", (int)pid);
	*began = info.pbi_start_tvsec * 1000000 + info.pbi_start_tvusec;
	return 0;
}

/* Always fails, because no documented call reports which pages belong to one process alone. */
int process_memory(pid_t pid, struct process_memory *out, struct error *err)
{
	(void)pid;
	(void)out;
	return error_set(err, ERR_UNSUPPORTED,
			 "macOS does not show which memory belongs to one process alone");
}

int process_boot_id(char out[37], struct error *err)
{
	char id[64] = "";
	size_t size = sizeof(id) - 1;

	if (sysctlbyname("kern.bootsessionuuid", id, &size, NULL, 0) < 0)
		return error_errno(err, errno, "kern.bootsessionuuid");
	if (strlen(id) != 36)
		return error_set(err, ERR_IO, "kern.bootsessionuuid: \"%s\"", id);
	memcpy(out, id, 37);
	return 0;
}

/* Appends the arguments from the result of KERN_PROCARGS2. This result consists of the number of
 * arguments as an int, the path of the program, one or more NULs, and the arguments. */
static int put_arguments(const char *bytes, size_t size, struct buf *out)
{
	const char *at = bytes + sizeof(int), *end = bytes + size;
	int count;

	if (size < sizeof(count))
		return -1;
	memcpy(&count, bytes, sizeof(count));
	at += strnlen(at, (size_t)(end - at));
	while (at < end && !*at)
		at++;
	for (; count > 0 && at < end; count--) {
		size_t len = strnlen(at, (size_t)(end - at));

		if (buf_append(out, at, len, NULL) < 0 || buf_append(out, "", 1, NULL) < 0)
			return -1;
		at += len + 1;
	}
	return 0;
}

int process_arguments(pid_t pid, struct buf *out)
{
	int name[] = {CTL_KERN, KERN_PROCARGS2, pid}, most_name[] = {CTL_KERN, KERN_ARGMAX};
	size_t before = out->len, size = sizeof(int);
	int most = 0;

	if (sysctl(most_name, 2, &most, &size, NULL, 0) < 0 || most <= 0)
		return -1;
	size = (size_t)most;
	autofree char *bytes = malloc(size);
	if (!bytes || sysctl(name, 3, bytes, &size, NULL, 0) < 0)
		return -1;
	if (put_arguments(bytes, size, out) == 0)
		return 0;
	out->len = before;
	return -1;
}

void process_name(pid_t pid, char out[17])
{
	char name[2 * MAXCOMLEN + 1] = "";

	if (proc_name(pid, name, sizeof(name)) <= 0 || !*name)
		memcpy(name, "?", sizeof("?"));
	name[15] = '\0';
	memcpy(out, name, 16);
}

int process_each(process_fn *fn, void *data, struct error *err)
{
	int count = proc_listallpids(NULL, 0), rc = 0;
	size_t size = ((size_t)(count > 0 ? count : 0) + MORE_PROCESSES) * sizeof(pid_t);
	autofree pid_t *pids = malloc(size);

	if (!pids)
		return error_errno(err, ENOMEM, "list of processes");
	count = proc_listallpids(pids, (int)size);
	if (count <= 0)
		return error_errno(err, errno, "list of processes");
	for (int i = 0; rc == 0 && i < count; i++)
		rc = pids[i] > 0 ? fn(pids[i], data) : 0;
	return rc;
}

/* --- open files ------------------------------------------------------------------------------- */

static bool look_at_descriptor(pid_t pid, int fd, const char *name,
			       struct vnode_fdinfowithpath *info, struct process_file *out)
{
	const struct vinfo_stat *st = &info->pvip.vip_vi.vi_stat;
	const char *slash;

	if (proc_pidfdinfo(pid, fd, PROC_PIDFDVNODEPATHINFO, info, sizeof(*info)) !=
	    (int)sizeof(*info))
		return false;
	slash = strrchr(info->pvip.vip_path, '/');
	if (!slash || strcmp(slash + 1, name) != 0)
		return false;
	*out = (struct process_file){info->pvip.vip_path, info->pfi.fi_openflags & FREAD,
				     (dev_t)st->vst_dev, st->vst_ino};
	return true;
}

int process_each_file(pid_t pid, const char *name, process_file_fn *fn, void *data)
{
	int size = proc_pidinfo(pid, PROC_PIDLISTFDS, 0, NULL, 0), rc = 0;
	autofree struct proc_fdinfo *fds = size > 0 ? malloc((size_t)size) : NULL;
	struct vnode_fdinfowithpath info;
	struct process_file file;

	if (!fds)
		return 0;
	size = proc_pidinfo(pid, PROC_PIDLISTFDS, 0, fds, size);
	for (int i = 0; rc == 0 && i < size / (int)sizeof(*fds); i++)
		if (fds[i].proc_fdtype == PROX_FDTYPE_VNODE &&
		    look_at_descriptor(pid, fds[i].proc_fd, name, &info, &file))
			rc = fn(&file, data);
	return rc;
}
