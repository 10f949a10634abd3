/* SPDX-License-Identifier: MIT */
/* The host's side of the vsock device: hybrid sockets of vsockd's core, which runs in the machine's
 * process. */
#pragma once

#import <Virtualization/Virtualization.h>

#import <dispatch/dispatch.h>

@class StandinMachine;

@interface StandinSockets : NSObject {
	StandinMachine *_machine; /* not retained */
	VZVirtioSocketDevice *_device;
	NSMutableDictionary *_listeners; /* by port */
	struct vsock_room *_room;	 /* of the running machine; NULL: none is */
}

- (id)initWithMachine:(StandinMachine *)machine;
- (VZVirtioSocketDevice *)device;
/* Called when the machine has gone and may not be asked any more. */
- (void)forgetMachine;

/* For a machine that is about to start, or nil. Three descriptors for its process: the socket that
 * host clients connect to, the table of ports, and what the table's paths name (which keep their
 * numbers there). */
- (BOOL)openRoom:(NSError **)error;
- (int)listenDescriptor;
- (int)tableDescriptor;
- (NSArray *)pathDescriptors;
- (void)closeRoom;

- (void)setListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port;
- (void)connectTo:(uint32_t)port then:(void (^)(VZVirtioSocketConnection *, NSError *))completion;

@end
