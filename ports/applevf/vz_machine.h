/* SPDX-License-Identifier: MIT */
/*
 * One machine and its queue, for the files that call the machine. All functions of this header run
 * on the queue, except those whose comments say that they run on the loop. So no locks are needed.
 * The loop gives the queue a block for each call. The queue reports to the loop by letters
 * (post.h).
 *
 * The framework may answer after the loop has freed the machine. Blocks that have not yet run keep
 * the object alive. The box for letters is closed then, so the answer is dropped.
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
	NSMutableArray *connections; /* the connections whose descriptors the loop has */
	uint32_t *ports;	     /* the ports for which the listener is set */
	size_t port_count;
	int serial_in, serial_out;
	/* The number of starts, pauses, resumes and stops that have no answer yet. */
	unsigned turning;
	BOOL stop_wanted; /* the machine must be stopped as soon as `turning` is 0 */
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
/* Gives the queue a block to run. Runs on the loop. */
void machine_do(MicroagentMachine *self, void (^work)(void));

/* vz_sockets.m */
void machine_listen(MicroagentMachine *self);
void machine_listen_no_more(MicroagentMachine *self);
/* Accepts a connection that the guest has begun. Returns NO if the connection is refused. */
BOOL machine_accept(MicroagentMachine *self, VZVirtioSocketConnection *connection);
void machine_forget_connections(MicroagentMachine *self);

#endif
