/* SPDX-License-Identifier: MIT */
#import "mac_limit.h"

#import "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LIMIT = 2 };

static NSMutableDictionary *places; /* the sockets' file descriptors; the key is the machine */

/* Reserves one of the two places for running macOS guests, by binding a socket to a name with the
 * place's number. While the socket is open, no other process can bind this name. Returns the
 * socket, or -1 if the place is in use. */
static int bind_place(unsigned number)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *settings = getenv("MICROAGENT_STANDIN_VZ");
	size_t length = settings ? strlen(settings) : 0;
	/* The socket's name has only the last 80 bytes of a long path, since two paths usually
	 * differ in their last bytes. */
	const char *tail = settings ? settings + (length > 80 ? length - 80 : 0) : "";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "vz-mac-%u%s", number, tail);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

BOOL mac_limit_take(id machine)
{
	unsigned limit = (unsigned)settings_number(@"macLimit", LIMIT);

	for (unsigned i = 0; i < limit; i++) {
		int fd = bind_place(i);

		if (fd < 0)
			continue;
		if (!places)
			places = [[NSMutableDictionary alloc] init];
		[places setObject:[[[NSFileHandle alloc] initWithFileDescriptor:fd
								 closeOnDealloc:YES] autorelease]
			   forKey:[NSValue valueWithNonretainedObject:machine]];
		return YES;
	}
	return NO;
}

void mac_limit_give(id machine)
{
	[places removeObjectForKey:[NSValue valueWithNonretainedObject:machine]];
}
