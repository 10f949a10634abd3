/* SPDX-License-Identifier: MIT */
/* Cuts all connections of a machine for a quarantine. Runs on the machine's queue. */
#include "applevf/vz_machine.h"

/* Detaches the network cards by setting their property `attachment` to nil. A card is detached if
 * the property is nil after that (.../vznetworkdevice/attachment). Returns NULL if all cards are
 * detached, otherwise a text that says what is not detached. */
static const char *cut_cards(MicroagentMachine *self)
{
	for (VZNetworkDevice *each in [self->machine networkDevices]) {
		[each setAttachment:nil];
		if ([each attachment])
			return "a network card that keeps its attachment";
	}
	return NULL;
}

static const char *cut_shares(MicroagentMachine *self)
{
	for (VZDirectorySharingDevice *each in [self->machine directorySharingDevices]) {
		VZVirtioFileSystemDevice *device = (VZVirtioFileSystemDevice *)each;

		[device setShare:nil];
		if ([device share])
			return "a shared directory that is kept";
	}
	return NULL;
}

/* Closes all connections that are still open. The event loop has already closed the connections
 * that it knew. A connection that is closed here stays in the list until the event loop calls
 * vz_hang_up(). */
static const char *cut_connections(MicroagentMachine *self)
{
	for (VZVirtioSocketConnection *each in self->connections) {
		[each close];
		if ([each fileDescriptor] >= 0)
			return "a connection of the guest's that stays open";
	}
	return NULL;
}

static void put_name(json_t *names, NSUInteger count, const char *one, const char *many)
{
	if (count > 0)
		json_array_append_new(names,
				      json_sprintf("%s (%lu %s)", one, (unsigned long)count, many));
}

/* Cuts all connections between guest and host, and adds the names of these channels to `names`.
 * Returns NULL, or a text that says what could not be cut. */
static const char *sever_all(MicroagentMachine *self, json_t *names)
{
	NSUInteger cards = [[self->machine networkDevices] count];
	NSUInteger shares = [[self->machine directorySharingDevices] count];
	VZVirtualMachineState state = [self->machine state];
	const char *left = cut_cards(self);

	put_name(names, cards, "network", "detached");
	if (!left)
		left = cut_shares(self);
	put_name(names, shares, "shares", "taken away");
	machine_listen_no_more(self);
	put_name(names, self->port_count, "vsock listeners", "removed");
	if (!left)
		left = cut_connections(self);
	if (!left && state != VZVirtualMachineStateRunning && state != VZVirtualMachineStatePaused)
		left = "a machine that does not run any more";
	return left;
}

void vz_sever(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  struct letter letter = {.kind = LETTER_SEVERED, .fd = -1, .names = json_array()};
	  const char *left;

	  self->severed = YES;
	  left = sever_all(self, letter.names);
	  if (left)
		  error_set(&letter.why, ERR_IO, "there is %s", left);
	  if (!post_send(self->post, &letter))
		  json_decref(letter.names);
	});
}
