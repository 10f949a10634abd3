/* SPDX-License-Identifier: MIT */
/* Who holds a lease, by libproc(3). Who looks just now is told with the others. */
#include <fcntl.h>
#include <libproc.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/internal.h"

#define PIDS_MAX 4096

void lease_each_holder(int lease, lease_holder_fn *fn, void *data)
{
	autofree int *pids = calloc(PIDS_MAX, sizeof(*pids));
	char path[PATH_MAX], name[2 * MAXCOMLEN + 1];
	int bytes;

	if (!pids || fcntl(lease, F_GETPATH, path) < 0)
		return;
	bytes = proc_listpidspath(PROC_ALL_PIDS, 0, path, PROC_LISTPIDSPATH_EXCLUDE_EVTONLY, pids,
				  PIDS_MAX * (int)sizeof(*pids));
	for (int i = 0; i < bytes / (int)sizeof(*pids); i++) {
		int n = pids[i] > 0 ? proc_name(pids[i], name, sizeof(name) - 1) : 0;

		if (pids[i] <= 0 || pids[i] == getpid())
			continue;
		name[n > 0 ? n : 0] = '\0';
		fn(data, pids[i], name);
	}
}
