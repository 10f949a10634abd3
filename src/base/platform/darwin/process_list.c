/* SPDX-License-Identifier: MIT */
/* libproc(3), and sysctl(3)'s KERN_PROCARGS2: the number of arguments, the path of the executable,
 * NULs, and the arguments as they are in the process's memory now. */
#include "base/platform/process_list.h"

#include <errno.h>
#include <libproc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysctl.h>

#include "base/cleanup.h"

/* More than there can be at a time; kern.maxproc is below it. */
#define PIDS_MAX 65536

int process_each(process_fn *fn, void *data, struct error *err)
{
	autofree pid_t *pids = calloc(PIDS_MAX, sizeof(*pids));
	int count = pids ? proc_listallpids(pids, PIDS_MAX * (int)sizeof(*pids)) : -1;

	if (count < 0)
		return error_errno(err, pids ? errno : ENOMEM, "the list of processes");
	for (int i = 0; i < count; i++)
		if (pids[i] > 0 && fn(data, pids[i], err) < 0)
			return -1;
	return 0;
}

int process_title(pid_t pid, struct buf *out)
{
	int name[] = {CTL_KERN, KERN_PROCARGS2, (int)pid};
	size_t len = 0, at = sizeof(int);
	autofree char *text = NULL;

	if (sysctl(name, ARRAY_SIZE(name), NULL, &len, NULL, 0) < 0)
		return -1;
	text = malloc(len);
	if (!text || sysctl(name, ARRAY_SIZE(name), text, &len, NULL, 0) < 0)
		return -1;
	while (at < len && text[at])
		at++;
	while (at < len && !text[at])
		at++;
	/* The environment is behind them, which is not wanted and may be long. */
	if (at < len && len - at > PROCESS_TITLE_BYTES / 2)
		len = at + PROCESS_TITLE_BYTES / 2;
	return at < len ? buf_append(out, text + at, len - at, NULL) : -1;
}
