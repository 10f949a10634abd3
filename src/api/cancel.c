/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/guest.h"
#include "base/cleanup.h"

struct microagent_cancel *microagent_cancel_new(struct error *err)
{
	struct microagent_cancel *cancel = malloc(sizeof(*cancel));

	if (!cancel) {
		error_errno(err, ENOMEM, "cancel");
		return NULL;
	}
	cancel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cancel->fd < 0) {
		error_errno(err, errno, "eventfd");
		free(cancel);
		return NULL;
	}
	return cancel;
}

void microagent_cancel_fire(struct microagent_cancel *cancel)
{
	const uint64_t one = 1;
	int saved = errno;

	/* It fails only when it has been thrown 2^64 times. */
	(void)!write(cancel->fd, &one, sizeof(one));
	errno = saved;
}

int microagent_cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel->fd;
}

void microagent_cancel_free(struct microagent_cancel *cancel)
{
	if (!cancel)
		return;
	close(cancel->fd);
	free(cancel);
}
