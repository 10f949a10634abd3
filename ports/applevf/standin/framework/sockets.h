/* SPDX-License-Identifier: MIT */
/* The host's side of the vsock device. It uses the Unix sockets of vsockd's core, which runs in the
 * machine's process. */
#pragma once

#import <Virtualization/Virtualization.h>

#import <dispatch/dispatch.h>

@class StandinMachine;

@interface StandinSockets : NSObject {
	StandinMachine *_machine; /* not retained */
	VZVirtioSocketDevice *_device;
	NSMutableDictionary *_listeners; /* by port */
	/* The sockets of the current run of QEMU; NULL: the machine does not run. */
	struct vsock_room *_room;
}

- (id)initWithMachine:(StandinMachine *)machine;
- (VZVirtioSocketDevice *)device;
/* Forgets the machine, which is being freed and must not be called any more. */
- (void)forgetMachine;

/* Makes the room for a machine that will start. The next three methods return the descriptors for
 * the machine's process: the socket to which host clients connect, the table of ports, and the
 * sockets that the table's paths name, which must have the same numbers in that process. */
- (BOOL)openRoom:(NSError **)error;
- (int)listenDescriptor;
- (int)tableDescriptor;
- (NSArray *)pathDescriptors;
- (void)closeRoom;

- (void)setListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port;
- (void)connectTo:(uint32_t)port then:(void (^)(VZVirtioSocketConnection *, NSError *))completion;

@end
