/* SPDX-License-Identifier: MIT */
/* The implementation of a VZVirtualMachine: its states, and the actions in each. Everything happens
 * on the machine's queue. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinNetwork, StandinRunner, StandinSharing, StandinSockets;

@interface StandinMachine : NSObject {
	VZVirtualMachine *_owner; /* not retained; nil: nobody has it any more */
	id<VZVirtualMachineDelegate> _delegate;
	dispatch_queue_t _queue;
	VZVirtualMachineConfiguration *_configuration;
	VZVirtualMachineState _state;
	StandinRunner *_runner;	     /* of the run under way; nil: there is none */
	void (^_pending)(NSError *); /* the completion handler of the transition under way */
	NSError *_fatal;	     /* what the run is to end with */
	StandinSockets *_sockets;
	NSArray *_networkDevices, *_sharingDevices, *_balloonDevices;
	uint64_t _balloonTarget;
	unsigned _run;
}

- (id)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration
		      queue:(dispatch_queue_t)queue
		      owner:(VZVirtualMachine *)owner;
- (void)leaveOwner;

- (dispatch_queue_t)queue;
- (VZVirtualMachineConfiguration *)configuration;
- (VZVirtualMachineState)state;
- (id<VZVirtualMachineDelegate>)delegate;
- (void)setDelegate:(id<VZVirtualMachineDelegate>)delegate;
- (StandinSockets *)sockets;
- (NSArray *)networkDevices;
- (NSArray *)sharingDevices;
- (NSArray *)balloonDevices;
/* Returns a thing of the present run, or nil. */
- (StandinRunner *)runner;

/* Ends the process if the caller is on another queue. */
- (void)requireQueue:(const char *)selector;
/* A point at which the settings may have the machine die. */
- (void)event:(NSString *)point;

- (void)start:(void (^)(NSError *))completion;
- (void)stop:(void (^)(NSError *))completion;
- (void)pause:(void (^)(NSError *))completion;
- (void)resume:(void (^)(NSError *))completion;
- (BOOL)requestStop:(NSError **)error;

- (uint64_t)balloonTarget;
- (void)setBalloonTarget:(uint64_t)target;
- (void)lostNetwork:(VZNetworkDevice *)device error:(NSError *)error;

/* Called by the runner. */
- (void)runnerIsReady;
- (void)runnerEnded:(BOOL)byGuest;

@end
