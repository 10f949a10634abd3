/* SPDX-License-Identifier: MIT */
/*
 * One machine and its queue, for the files that speak to it. Everything here that is not said to be
 * the loop's runs on the queue, so that there are no locks: what the loop wants is a block given to
 * it, what it has to tell is a letter.
 *
 * An answer may come when nobody waits any more. The object is kept by the blocks that are under
 * way, and has the box for letters, which is closed by then and takes none.
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
	NSMutableArray *connections; /* that the loop has descriptors of */
	uint32_t *ports;	     /* that the listener is on */
	size_t port_count;
	int serial_in, serial_out;
	unsigned turning; /* starts, pauses, resumes and stops that have no answer yet */
	BOOL stop_wanted; /* as soon as there are none */
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
/* Gives the queue work; the loop's. */
void machine_do(MicroagentMachine *self, void (^work)(void));

/* vz_sockets.m */
void machine_listen(MicroagentMachine *self);
void machine_listen_no_more(MicroagentMachine *self);
/* The guest's: whether it is taken. */
BOOL machine_accept(MicroagentMachine *self, VZVirtioSocketConnection *connection);
void machine_forget_connections(MicroagentMachine *self);

#endif
