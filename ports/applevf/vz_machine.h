/* SPDX-License-Identifier: MIT */
/*
 * One machine and its dispatch queue, for the files that call the machine. All functions of this
 * header run on the queue, except those whose comments say that they run on the thread of the event
 * loop. So no locks are needed. For each call, the event loop gives a block to the queue. The queue
 * answers the event loop with messages (letters, post.h).
 *
 * The framework may answer after the event loop has freed the machine. Blocks that have not run yet
 * retain the object. The list of messages is closed by then, so the answer is dropped.
 */
#ifndef BACKEND_APPLEVF_VZ_MACHINE_H
#define BACKEND_APPLEVF_VZ_MACHINE_H

#include "applevf/vz.h"
#include "applevf/vz_objc.h"

@interface MicroagentMachine : NSObject <VZVirtualMachineDelegate, VZVirtioSocketListenerDelegate> {
      @public
	struct post *post;
	dispatch_queue_t queue;
	VZVirtualMachine *machine;
	VZVirtioSocketListener *listener;
	NSMutableArray *connections; /* the connections that were passed to the event loop */
	uint32_t *ports;	     /* the host's ports to which the guest may connect */
	size_t port_count;
	int serial_in, serial_out;
	/* How many starts, pauses, resumes and stops have not finished yet. */
	unsigned turning;
	BOOL stop_wanted; /* the machine must stop as soon as `turning` is 0 */
	BOOL severed, ended;
}
@end

static inline MicroagentMachine *machine_of(struct vz *vz)
{
	return (MicroagentMachine *)vz;
}

static inline VZVirtioSocketDevice *machine_sockets(MicroagentMachine *self)
{
	return (VZVirtioSocketDevice *)[[self->machine socketDevices] firstObject];
}

/* vz.m */
/* Runs a block on the machine's queue. Called on the thread of the event loop. */
void machine_do(MicroagentMachine *self, void (^work)(void));

/* vz_sockets.m */
void machine_listen(MicroagentMachine *self);
void machine_listen_no_more(MicroagentMachine *self);
/* Handles a new connection from the guest. Returns NO if the connection is refused. */
BOOL machine_accept(MicroagentMachine *self, VZVirtioSocketConnection *connection);
void machine_forget_connections(MicroagentMachine *self);

#endif
