/* SPDX-License-Identifier: MIT */
/* The host's side of the vsock device. This class uses the Unix sockets of vsockd's core, which
 * runs in another process (keeper/main.c). */
#pragma once

#import <Virtualization/Virtualization.h>

#import <dispatch/dispatch.h>

@class StandinMachine;

@interface StandinSockets : NSObject {
	StandinMachine *_machine; /* not retained */
	VZVirtioSocketDevice *_device;
	NSMutableDictionary *_listeners; /* the listeners, each with its port as the key */
	/* The sockets of the present run of QEMU. NULL: the machine does not run. */
	struct vsock_room *_room;
}

- (id)initWithMachine:(StandinMachine *)machine;
- (VZVirtioSocketDevice *)device;
/* Forgets the machine, which is being freed, so that it is not called any more. */
- (void)forgetMachine;

/* Creates the sockets (struct vsock_room) for a machine that will start. The next three methods
 * return file descriptors for the machine's process: the socket to which clients of the host
 * connect, the table of ports, and the sockets that the paths of the table name. The last ones must
 * have the same numbers in that process, since the paths contain these numbers. */
- (BOOL)openRoom:(NSError **)error;
- (int)listenDescriptor;
- (int)tableDescriptor;
- (NSArray *)pathDescriptors;
- (void)closeRoom;

- (void)setListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port;
- (void)connectTo:(uint32_t)port then:(void (^)(VZVirtioSocketConnection *, NSError *))completion;

@end
