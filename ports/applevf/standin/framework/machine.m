/* SPDX-License-Identifier: MIT */
#import "machine.h"

#import "dispatch.h"
#import "mac_limit.h"
#import "monitor.h"
#import "object.h"
#import "runner.h"
#import "running_devices.h"
#import "settings.h"
#import "sockets.h"

#include <unistd.h>

#define MEBIBYTE (1024ull * 1024)

static const char *state_name(VZVirtualMachineState state)
{
	static const char *const names[] = {"stopped",	"running", "paused",   "error",
					    "starting", "pausing", "resuming", "stopping"};

	return names[state];
}

@implementation StandinMachine

- (id)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration
		      queue:(dispatch_queue_t)queue
		      owner:(VZVirtualMachine *)owner
{
	self = [super init];
	if (self) {
		_owner = owner;
		_queue = [queue retain];
		_configuration = [configuration copy];
		_balloonTarget = [_configuration memorySize];
		_sockets = [[StandinSockets alloc] initWithMachine:self];
		_networkDevices = [running_network_devices(self) retain];
		_sharingDevices = [running_sharing_devices(self) retain];
		_balloonDevices = [running_balloon_devices(self) retain];
	}
	return self;
}

- (void)dealloc
{
	[_runner forgetMachine];
	[_runner release];
	[_sockets forgetMachine];
	[_sockets release];
	[_queue release];
	[_configuration release];
	[_pending release];
	[_fatal release];
	[_networkDevices release];
	[_sharingDevices release];
	[_balloonDevices release];
	[super dealloc];
}

/* Ends the run of the machine, since the client has released the machine. */
- (void)leaveOwner
{
	_owner = nil;
	_delegate = nil;
	running_devices_forget(_networkDevices);
	running_devices_forget(_sharingDevices);
	running_devices_forget(_balloonDevices);
	[_runner kill];
}

- (dispatch_queue_t)queue
{
	return _queue;
}

- (VZVirtualMachineConfiguration *)configuration
{
	return _configuration;
}

- (VZVirtualMachineState)state
{
	return _state;
}

- (id<VZVirtualMachineDelegate>)delegate
{
	return _delegate;
}

- (void)setDelegate:(id<VZVirtualMachineDelegate>)delegate
{
	_delegate = delegate;
}

- (StandinSockets *)sockets
{
	return _sockets;
}

- (NSArray *)networkDevices
{
	return _networkDevices;
}

- (NSArray *)sharingDevices
{
	return _sharingDevices;
}

- (NSArray *)balloonDevices
{
	return _balloonDevices;
}

- (StandinRunner *)runner
{
	return _runner;
}

- (void)requireQueue:(const char *)selector
{
	if (!standin_queue_is_current(_queue))
		vz_misused(@"%s was called on another queue than the virtual machine's, \"%s\"",
			   selector, dispatch_queue_get_label(_queue));
}

/* --- states ---------------------------------------------------------------------------------- */

/* Sets the state. Reports the change by key-value observing, since clients observe the state in
 * this way (Code-Hex/vz virtualization_11.m). */
- (void)enter:(VZVirtualMachineState)state
{
	[_owner willChangeValueForKey:@"state"];
	_state = state;
	[_owner didChangeValueForKey:@"state"];
	settings_record(
		@"state",
		[NSDictionary dictionaryWithObject:[NSString stringWithUTF8String:state_name(state)]
					    forKey:@"state"]);
}

/* Calls the completion handler later, on the queue. A handler must be called once, and never before
 * the method that got the handler has returned. */
- (void)answer:(void (^)(NSError *))completion error:(NSError *)error
{
	if (!completion)
		return;
	void (^handler)(NSError *) = [completion copy];
	dispatch_async(_queue, ^{
	  handler(error);
	  [handler release];
	});
}

- (void)finish:(NSError *)error
{
	void (^completion)(NSError *) = _pending;

	_pending = nil;
	[self answer:completion error:error];
	[completion release];
}

- (BOOL)leave:(VZVirtualMachineState)from
	   or:(VZVirtualMachineState)other
	   to:(VZVirtualMachineState)state
	 then:(void (^)(NSError *))completion
{
	if (_state != from && _state != other) {
		NSString *reason = [NSString
			stringWithFormat:@"Transition from state “%s” to state “%s” is invalid.",
					 state_name(_state), state_name(state)];
		[self answer:completion
			error:vz_error(VZErrorInvalidVirtualMachineStateTransition, reason)];
		return NO;
	}
	_pending = [completion copy];
	[self enter:state];
	return YES;
}

/* --- start ----------------------------------------------------------------------------------- */

static BOOL can_read(NSURL *url)
{
	return !url || access([[url path] UTF8String], R_OK) == 0;
}

- (NSError *)whyNotToStart
{
	VZLinuxBootLoader *loader = (VZLinuxBootLoader *)[_configuration bootLoader];
	NSDictionary *fault = settings_fault(@"start");

	if (fault)
		return settings_fault_error(fault, VZErrorInternal);
	if ([loader isKindOfClass:[VZLinuxBootLoader class]])
		return can_read([loader kernelURL]) && can_read([loader initialRamdiskURL])
			       ? nil
			       : vz_error(VZErrorInternal, @"The virtual machine failed to start.");
	return mac_limit_take(self) ? nil
				    : vz_error(VZErrorVirtualMachineLimitExceeded,
					       @"The maximum supported number of active virtual "
					       @"machines has been reached.");
}

- (void)start:(void (^)(NSError *))completion
{
	NSError *error;

	if (![self leave:VZVirtualMachineStateStopped
		      or:VZVirtualMachineStateError
		      to:VZVirtualMachineStateStarting
		    then:completion])
		return;
	_run++;
	error = [self whyNotToStart];
	if (!error) {
		_runner = [[StandinRunner alloc] initWithMachine:self];
		if ([_runner launch:&error])
			return;
		[self dropRunner];
	}
	[self enter:VZVirtualMachineStateError];
	[self finish:error];
}

- (void)dropRunner
{
	mac_limit_give(self);
	[_runner forgetMachine];
	[_runner release];
	_runner = nil;
	[_sockets closeRoom];
}

- (void)runnerIsReady
{
	[self enter:VZVirtualMachineStateRunning];
	[self finish:nil];
	[self planFaults];
	running_devices_started(self);
}

/* --- its end --------------------------------------------------------------------------------- */

static NSError *stopped_unexpectedly(void)
{
	return vz_error(VZErrorInternal, @"The virtual machine stopped unexpectedly.");
}

- (void)tellDelegate:(NSError *)error
{
	settings_record(error ? @"didStopWithError" : @"guestDidStop", nil);
	if (error && [_delegate respondsToSelector:@selector(virtualMachine:didStopWithError:)])
		[_delegate virtualMachine:_owner didStopWithError:error];
	if (!error && [_delegate respondsToSelector:@selector(guestDidStopVirtualMachine:)])
		[_delegate guestDidStopVirtualMachine:_owner];
}

- (void)runnerEnded:(BOOL)byGuest
{
	VZVirtualMachineState before = _state;
	NSError *error = byGuest && !_fatal ? nil : (_fatal ? _fatal : stopped_unexpectedly());

	[[error retain] autorelease];
	[[self retain] autorelease];
	[_fatal release];
	_fatal = nil;
	[self dropRunner];
	if (before == VZVirtualMachineStateStopping)
		error = nil;
	[self enter:error ? VZVirtualMachineStateError : VZVirtualMachineStateStopped];
	if (before == VZVirtualMachineStateStopping) {
		[self finish:nil];
		return;
	}
	if (before == VZVirtualMachineStateStarting) {
		[self finish:vz_error(VZErrorInternal, @"The virtual machine failed to start.")];
		return;
	}
	[self finish:vz_error(VZErrorInvalidVirtualMachineState, nil)];
	[self tellDelegate:error];
}

- (void)dieOf:(NSError *)error
{
	if (!_runner)
		return;
	[_fatal release];
	_fatal = [error retain];
	[_runner kill];
}

/* --- faults ---------------------------------------------------------------------------------- */

- (void)after:(NSDictionary *)fault point:(NSString *)point do:(void (^)(NSDictionary *))act
{
	NSNumber *milliseconds = [fault objectForKey:@"after_ms"];
	unsigned run = _run;

	if (!milliseconds)
		return;
	dispatch_after(dispatch_time(DISPATCH_TIME_NOW, [milliseconds longLongValue] * 1000000),
		       _queue, ^{
			 NSDictionary *now = settings_fault(point);

			 if (now && run == self->_run)
				 act(now);
		       });
}

- (void)planFaults
{
	[self after:settings_in(@"faults", @"die")
		point:@"die"
		   do:^(NSDictionary *fault) {
		     [self dieOf:settings_fault_error(fault, VZErrorInternal)];
		   }];
	[self after:settings_in(@"faults", @"network")
		point:@"network"
		   do:^(NSDictionary *fault) {
		     NSUInteger number = [[fault objectForKey:@"device"] unsignedIntegerValue];

		     if (number < [self->_networkDevices count])
			     [self lostNetwork:[self->_networkDevices objectAtIndex:number]
					 error:settings_fault_error(fault, VZErrorNetworkError)];
		   }];
}

- (void)event:(NSString *)point
{
	NSDictionary *fault = nil;

	if ([[settings_in(@"faults", @"die") objectForKey:@"at"] isEqual:point])
		fault = settings_fault(@"die");
	if (fault)
		[self dieOf:settings_fault_error(fault, VZErrorInternal)];
}

- (void)lostNetwork:(VZNetworkDevice *)device error:(NSError *)error
{
	SEL told = @selector(virtualMachine:networkDevice:attachmentWasDisconnectedWithError:);

	running_network_disconnect(device);
	settings_record(@"attachmentWasDisconnected", nil);
	if ([_delegate respondsToSelector:told])
		[_delegate virtualMachine:_owner
					     networkDevice:device
			attachmentWasDisconnectedWithError:error];
}

/* --- the other transitions ------------------------------------------------------------------- */

- (void)stop:(void (^)(NSError *))completion
{
	NSDictionary *fault = settings_fault(@"stop");

	if (fault) {
		[self answer:completion error:settings_fault_error(fault, VZErrorInternal)];
		return;
	}
	if ([self leave:VZVirtualMachineStateRunning
		      or:VZVirtualMachineStatePaused
		      to:VZVirtualMachineStateStopping
		    then:completion])
		[_runner kill];
}

/* Sends a command to QEMU. The caller has already set the state that shows that the command is
 * running. Sets the state to `there` when QEMU has executed the command, or to `back` if the
 * settings have a fault for the command. */
- (void)command:(NSString *)command
	  reach:(VZVirtualMachineState)there
	   else:(VZVirtualMachineState)back
{
	NSDictionary *fault = settings_fault(command);

	if (fault) {
		[self enter:back];
		[self finish:settings_fault_error(fault, VZErrorInternal)];
		return;
	}
	NSString *word = [command isEqualToString:@"pause"] ? @"stop" : @"cont";
	[[_runner monitor] execute:word
			 arguments:nil
			      then:^(NSDictionary *answer, NSString *error) {
				(void)answer;
				if (error)
					return; /* QEMU has exited, as runnerEnded: reports */
				[self enter:there];
				[self finish:nil];
				[self event:command];
			      }];
}

- (void)pause:(void (^)(NSError *))completion
{
	if ([self leave:VZVirtualMachineStateRunning
		      or:VZVirtualMachineStateRunning
		      to:VZVirtualMachineStatePausing
		    then:completion])
		[self command:@"pause"
			reach:VZVirtualMachineStatePaused
			 else:VZVirtualMachineStateRunning];
}

- (void)resume:(void (^)(NSError *))completion
{
	if ([self leave:VZVirtualMachineStatePaused
		      or:VZVirtualMachineStatePaused
		      to:VZVirtualMachineStateResuming
		    then:completion])
		[self command:@"resume"
			reach:VZVirtualMachineStateRunning
			 else:VZVirtualMachineStatePaused];
}

- (BOOL)requestStop:(NSError **)error
{
	NSDictionary *fault = settings_fault(@"requestStop");

	settings_record(@"requestStop", nil);
	if (fault && error)
		*error = settings_fault_error(fault, VZErrorInternal);
	if (fault)
		return NO;
	if (_state != VZVirtualMachineStateRunning)
		return vz_refuse(error, VZErrorInvalidVirtualMachineState, nil);
	[[_runner monitor] execute:@"system_powerdown" arguments:nil then:nil];
	[self event:@"requestStop"];
	return YES;
}

/* --- memory ---------------------------------------------------------------------------------- */

- (uint64_t)balloonTarget
{
	return _balloonTarget;
}

/* Rounds the value down to whole MiB, and limits it to the allowed sizes, as Apple documents for
 * this class. */
- (void)setBalloonTarget:(uint64_t)target
{
	uint64_t least = [VZVirtualMachineConfiguration minimumAllowedMemorySize];
	uint64_t most = [_configuration memorySize];

	target = target / MEBIBYTE * MEBIBYTE;
	_balloonTarget = target < least ? least : target > most ? most : target;
	NSNumber *value = [NSNumber numberWithUnsignedLongLong:_balloonTarget];
	settings_record(@"balloon", [NSDictionary dictionaryWithObject:value forKey:@"target"]);
	[[_runner monitor] execute:@"balloon"
			 arguments:[NSDictionary dictionaryWithObject:value forKey:@"value"]
			      then:nil];
}

@end
