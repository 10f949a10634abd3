/* SPDX-License-Identifier: MIT */
/* Connections over the machine's virtio socket device, in both directions. */
#include "applevf/vz_machine.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Passes a connection to the event loop, with a copy of its file descriptor. The original file
 * descriptor is closed when its object is freed
 * (developer.apple.com/documentation/virtualization/vzvirtiosocketconnection/filedescriptor).
 * Returns NO if the connection could not be passed. The caller must then close letter->fd if it is
 * open. */
static BOOL hand_over(MicroagentMachine *self, VZVirtioSocketConnection *connection,
		      struct letter *letter)
{
	letter->fd = fcntl([connection fileDescriptor], F_DUPFD_CLOEXEC, 3);
	letter->connection = connection;
	if (letter->fd < 0 || fcntl(letter->fd, F_SETFL, O_NONBLOCK) < 0)
		return NO;
	[self->connections addObject:connection];
	if (post_send(self->post, letter))
		return YES;
	[self->connections removeObject:connection];
	return NO;
}

static void take_connection(MicroagentMachine *self, VZVirtioSocketConnection *connection,
			    uint64_t id, NSError *error)
{
	static const char what[] = "a connection to the guest";
	struct letter letter = {.kind = LETTER_CONNECTED, .id = id, .fd = -1};

	if (connection && !self->severed && hand_over(self, connection, &letter))
		return;
	cleanup_close(&letter.fd);
	[connection close];
	if (connection)
		error_set(
			&letter.why, ERR_UNAVAILABLE,
			"%s: the connection cannot be taken, because the machine is cut off or ending",
			what);
	else
		vz_tell_error(&letter.why, what, error);
	letter.fd = -1;
	letter.connection = NULL;
	(void)post_send(self->post, &letter);
}

BOOL machine_accept(MicroagentMachine *self, VZVirtioSocketConnection *connection)
{
	struct letter letter = {
		.kind = LETTER_ACCEPTED, .port = [connection destinationPort], .fd = -1};

	if (!self->severed && hand_over(self, connection, &letter))
		return YES;
	cleanup_close(&letter.fd);
	return NO;
}

void machine_forget_connections(MicroagentMachine *self)
{
	for (VZVirtioSocketConnection *each in self->connections)
		[each close];
	[self->connections removeAllObjects];
}

void machine_listen(MicroagentMachine *self)
{
	for (size_t i = 0; i < self->port_count; i++)
		[machine_sockets(self) setSocketListener:self->listener forPort:self->ports[i]];
}

void machine_listen_no_more(MicroagentMachine *self)
{
	for (size_t i = 0; i < self->port_count; i++)
		[machine_sockets(self) removeSocketListenerForPort:self->ports[i]];
}

/* --- the loop's ------------------------------------------------------------------------------- */

void vz_connect(struct vz *vz, uint32_t port, uint64_t id)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  [machine_sockets(self)
		      connectToPort:port
		  completionHandler:^(VZVirtioSocketConnection *connection, NSError *error) {
		    take_connection(self, connection, id, error);
		  }];
	});
}

void vz_hang_up(struct vz *vz, void *connection)
{
	MicroagentMachine *self = machine_of(vz);
	VZVirtioSocketConnection *ended = connection;

	machine_do(self, ^{
	  [ended close];
	  [self->connections removeObject:ended];
	});
}
