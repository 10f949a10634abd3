/* SPDX-License-Identifier: MIT */
/*
 * A client must make every call to a machine on the machine's queue. The calls that create the
 * machine, and those for its delegate and its lists of devices, are allowed on every thread, since
 * public programs do so (facts.md).
 */
#import "configuration.h"
#import "machine.h"
#import "object.h"
#import "settings.h"
#import "sockets.h"

@implementation VZVirtualMachine

static StandinMachine *machine_of(VZVirtualMachine *virtual_machine)
{
	return [virtual_machine hidden];
}

static StandinMachine *on_queue(VZVirtualMachine *virtual_machine, const char *selector)
{
	[machine_of(virtual_machine) requireQueue:selector];
	return machine_of(virtual_machine);
}

- (instancetype)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration
{
	return [self initWithConfiguration:configuration queue:dispatch_get_main_queue()];
}

- (instancetype)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration
				queue:(dispatch_queue_t)queue
{
	NSString *reason = configuration_unfit(configuration);

	if (reason)
		vz_raise(@"Invalid virtual machine configuration. %@", reason);
	StandinMachine *machine = [[StandinMachine alloc] initWithConfiguration:configuration
									  queue:queue
									  owner:self];
	self = [self initHidden:machine];
	[machine release];
	return self;
}

- (void)dealloc
{
	[machine_of(self) leaveOwner];
	[super dealloc];
}

+ (BOOL)isSupported
{
	return settings_flag(@"supported", YES);
}

- (VZVirtualMachineState)state
{
	return [on_queue(self, "-[VZVirtualMachine state]") state];
}

- (id<VZVirtualMachineDelegate>)delegate
{
	return [machine_of(self) delegate];
}

- (void)setDelegate:(id<VZVirtualMachineDelegate>)delegate
{
	[machine_of(self) setDelegate:delegate];
}

- (BOOL)canStart
{
	VZVirtualMachineState state = [on_queue(self, "-[VZVirtualMachine canStart]") state];

	return state == VZVirtualMachineStateStopped || state == VZVirtualMachineStateError;
}

- (BOOL)canStop
{
	VZVirtualMachineState state = [on_queue(self, "-[VZVirtualMachine canStop]") state];

	return state == VZVirtualMachineStateRunning || state == VZVirtualMachineStatePaused;
}

- (BOOL)canPause
{
	return [on_queue(self, "-[VZVirtualMachine canPause]") state] ==
	       VZVirtualMachineStateRunning;
}

- (BOOL)canResume
{
	return [on_queue(self, "-[VZVirtualMachine canResume]") state] ==
	       VZVirtualMachineStatePaused;
}

- (BOOL)canRequestStop
{
	return [on_queue(self, "-[VZVirtualMachine canRequestStop]") state] ==
	       VZVirtualMachineStateRunning;
}

/* --- devices --------------------------------------------------------------------------------- */

- (NSArray *)directorySharingDevices
{
	return [machine_of(self) sharingDevices];
}

- (NSArray *)memoryBalloonDevices
{
	return [machine_of(self) balloonDevices];
}

- (NSArray *)networkDevices
{
	return [machine_of(self) networkDevices];
}

- (NSArray *)socketDevices
{
	StandinMachine *machine = machine_of(self);

	if (![[[machine configuration] socketDevices] count])
		return [NSArray array];
	return [NSArray arrayWithObject:[[machine sockets] device]];
}

/* --- what it does ---------------------------------------------------------------------------- */

- (void)startWithCompletionHandler:(void (^)(NSError *))completionHandler
{
	[on_queue(self, "-[VZVirtualMachine startWithCompletionHandler:]") start:completionHandler];
}

- (void)startWithOptions:(VZVirtualMachineStartOptions *)options
	completionHandler:(void (^)(NSError *))completionHandler
{
	(void)options;
	[on_queue(self, "-[VZVirtualMachine startWithOptions:completionHandler:]")
		start:completionHandler];
}

- (void)stopWithCompletionHandler:(void (^)(NSError *))completionHandler
{
	[on_queue(self, "-[VZVirtualMachine stopWithCompletionHandler:]") stop:completionHandler];
}

- (void)pauseWithCompletionHandler:(void (^)(NSError *))completionHandler
{
	[on_queue(self, "-[VZVirtualMachine pauseWithCompletionHandler:]") pause:completionHandler];
}

- (void)resumeWithCompletionHandler:(void (^)(NSError *))completionHandler
{
	[on_queue(self, "-[VZVirtualMachine resumeWithCompletionHandler:]")
		resume:completionHandler];
}

- (BOOL)requestStopWithError:(NSError **)error
{
	return [on_queue(self, "-[VZVirtualMachine requestStopWithError:]") requestStop:error];
}

@end
