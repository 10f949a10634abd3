/* SPDX-License-Identifier: MIT */
#include "base/platform/passing.h"

#include <sys/socket.h>

/* The socket option SO_PASSRIGHTS exists since Linux 6.16, and older headers do not define it. Its
 * number is the same on all supported architectures. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

void passing_refuse(int sock)
{
	const int off = 0;

	(void)setsockopt(sock, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
}
