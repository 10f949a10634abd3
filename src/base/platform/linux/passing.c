/* SPDX-License-Identifier: MIT */
#include "base/platform/passing.h"

#include <sys/socket.h>

/* Linux has the socket option SO_PASSRIGHTS since 6.16. Older headers do not define the option. The
 * number of the option is the same on all supported architectures. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void passing_refuse(int sock)
{
	const int off = 0;

	(void)setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}
