/* SPDX-License-Identifier: MIT */
/* Between the files of the guest handle. */
#ifndef API_GUEST_H
#define API_GUEST_H

#include "api/api.h"
#include "channel/lines.h"

struct microagent_guest {
	struct existing existing;
	struct lines lines;
};

struct microagent_cancel {
	int fd; /* eventfd, readable once thrown; never read */
};

/* -1 when absent, as poll() likes it. */
static inline int cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel ? cancel->fd : -1;
}

#endif
