/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <libproc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/platform/process_list.h"
#include "store/internal.h"

#define PIDS_MAX 4096

bool taken_by(int fd, char *out, size_t size)
{
	static const char live[] = "-supervisor: live ";
	autofree int *pids = calloc(PIDS_MAX, sizeof(*pids));
	char path[PATH_MAX];
	int bytes;

	if (!pids || fcntl(fd, F_GETPATH, path) < 0)
		return false;
	bytes = proc_listpidspath(PROC_ALL_PIDS, 0, path, PROC_LISTPIDSPATH_EXCLUDE_EVTONLY, pids,
				  PIDS_MAX * (int)sizeof(*pids));
	for (int i = 0; i < bytes / (int)sizeof(*pids); i++) {
		autobuf struct buf title = BUF_INIT(PROCESS_TITLE_BYTES);
		const char *label;

		if (pids[i] <= 0 || process_title(pids[i], &title) < 0 ||
		    strncmp(buf_string(&title), "microagent-", 11) != 0)
			continue;
		label = strstr(buf_string(&title), live);
		if (!label)
			continue;
		snprintf(out, size, "%s", label + strlen(live));
		return true;
	}
	return false;
}
