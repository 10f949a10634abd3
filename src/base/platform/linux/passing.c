/* SPDX-License-Identifier: MIT */
#include "base/platform/passing.h"

#include <sys/socket.h>

/* Since Linux 6.16; the number on all supported architectures. Older headers do not define it. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void passing_refuse(int sock)
{
	const int off = 0;

	(void)setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}
