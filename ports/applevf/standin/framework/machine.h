/* SPDX-License-Identifier: MIT */
/* The object that does the work of a VZVirtualMachine. The object stores the machine's state, and
 * decides which calls are allowed in each state. All methods must be called on the machine's
 * queue. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinNetwork, StandinRunner, StandinSharing, StandinSockets;

@interface StandinMachine : NSObject {
	VZVirtualMachine *_owner; /* not retained; nil: the client has released the machine */
	id<VZVirtualMachineDelegate> _delegate;
	dispatch_queue_t _queue;
	VZVirtualMachineConfiguration *_configuration;
	VZVirtualMachineState _state;
	StandinRunner *_runner;	     /* the present run of QEMU; nil: none */
	void (^_pending)(NSError *); /* the completion handler of the present transition */
	NSError *_fatal;	     /* the error with which the present run will end */
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
/* Returns the present run of QEMU, or nil if the machine does not run. */
- (StandinRunner *)runner;

/* Ends the process if the caller is not on the machine's queue. */
- (void)requireQueue:(const char *)selector;
/* Reports that the machine has come to this point, for example "start". If the settings have the
 * fault "die" for this point, ends the machine with an error. */
- (void)event:(NSString *)point;

- (void)start:(void (^)(NSError *))completion;
- (void)stop:(void (^)(NSError *))completion;
- (void)pause:(void (^)(NSError *))completion;
- (void)resume:(void (^)(NSError *))completion;
- (BOOL)requestStop:(NSError **)error;

- (uint64_t)balloonTarget;
- (void)setBalloonTarget:(uint64_t)target;
- (void)lostNetwork:(VZNetworkDevice *)device error:(NSError *)error;

/* Methods that the class StandinRunner calls. */
- (void)runnerIsReady;
- (void)runnerEnded:(BOOL)byGuest;

@end
