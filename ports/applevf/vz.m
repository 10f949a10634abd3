/* SPDX-License-Identifier: MIT */
/* Makes, runs and ends a machine, by the methods of the framework's VZVirtualMachine. */
#include "applevf/vz_machine.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

/* --- letters ---------------------------------------------------------------------------------- */

static void tell_word(MicroagentMachine *self, enum letter_kind kind, const char *what,
		      NSError *error)
{
	struct letter letter = {.kind = kind, .fd = -1};

	if (error)
		vz_tell_error(&letter.why, what, error);
	(void)post_send(self->post, &letter);
}

/* Reports the end of the machine. Does nothing if the end was reported before. */
static void tell_end_once(MicroagentMachine *self, enum letter_kind kind, const char *what,
			  NSError *error)
{
	if (self->ended)
		return;
	self->ended = YES;
	tell_word(self, kind, what, error);
}

/* Runs a block on the machine's queue. If a call is not allowed, the framework throws an exception.
 * The exception is caught and reported as a crash of the machine, so that this process
 * continues. */
void machine_do(MicroagentMachine *self, void (^work)(void))
{
	dispatch_async(self->queue, ^{
	  @autoreleasepool {
		  @try {
			  work();
		  } @catch (NSException *exception) {
			  struct letter letter = {.kind = LETTER_CRASHED, .fd = -1};

			  vz_tell_exception(&letter.why, "the machine", exception);
			  (void)post_send(self->post, &letter);
		  }
	  }
	});
}

/* --- what the framework tells ----------------------------------------------------------------- */

static void stop_now(MicroagentMachine *self);

/* Called when a start, pause, resume or stop has finished. Stops the machine now if a stop had to
 * wait for this step. */
static void has_turned(MicroagentMachine *self)
{
	self->turning--;
	if (self->stop_wanted)
		stop_now(self);
}

static void on_started(MicroagentMachine *self, NSError *error)
{
	if (error)
		tell_end_once(self, LETTER_CRASHED, "the machine could not be started", error);
	else
		tell_word(self, LETTER_STARTED, "", nil);
	has_turned(self);
}

static void on_turned(MicroagentMachine *self, enum letter_kind kind, const char *what,
		      NSError *error)
{
	tell_word(self, kind, what, error);
	has_turned(self);
}

/* Handles the answer to a stop. Ignores an error if the machine has stopped anyway. */
static void on_stopped(MicroagentMachine *self, NSError *error)
{
	if (!error || [self->machine state] == VZVirtualMachineStateStopped ||
	    [self->machine state] == VZVirtualMachineStateError)
		tell_end_once(self, LETTER_STOPPED, "", nil);
	else
		tell_word(self, LETTER_STOPPED, "the machine could not be stopped", error);
	has_turned(self);
}

/* Stops the machine. The framework can stop only a machine that runs or is paused
 * (developer.apple.com/documentation/virtualization/vzvirtualmachine/stop(completionhandler:)). */
static void stop_now(MicroagentMachine *self)
{
	VZVirtualMachineState state = [self->machine state];

	self->stop_wanted = self->turning > 0;
	if (self->stop_wanted || self->ended)
		return;
	if (state == VZVirtualMachineStateStopped || state == VZVirtualMachineStateError) {
		tell_end_once(self, LETTER_STOPPED, "", nil);
		return;
	}
	self->turning++;
	[self->machine stopWithCompletionHandler:^(NSError *error) {
	  on_stopped(self, error);
	}];
}

@implementation MicroagentMachine

- (void)guestDidStopVirtualMachine:(VZVirtualMachine *)virtualMachine
{
	(void)virtualMachine;
	tell_end_once(self, LETTER_GUEST_STOPPED, "", nil);
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine didStopWithError:(NSError *)error
{
	(void)virtualMachine;
	tell_end_once(self, LETTER_CRASHED, "the machine has stopped", error);
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine
			     networkDevice:(VZNetworkDevice *)networkDevice
	attachmentWasDisconnectedWithError:(NSError *)error
{
	(void)virtualMachine;
	(void)networkDevice;
	tell_word(self, LETTER_NETWORK_LOST, "the network card was disconnected", error);
}

- (BOOL)listener:(VZVirtioSocketListener *)ours
	shouldAcceptNewConnection:(VZVirtioSocketConnection *)connection
		 fromSocketDevice:(VZVirtioSocketDevice *)device
{
	(void)ours;
	(void)device;
	return machine_accept(self, connection);
}

- (void)dealloc
{
	[machine release];
	[listener release];
	[connections release];
	if (queue)
		dispatch_release(queue);
	cleanup_close(&serial_in);
	cleanup_close(&serial_out);
	free(ports);
	post_free(post);
	[super dealloc];
}

@end

/* --- the loop's side -------------------------------------------------------------------------- */

static int copy_ports(MicroagentMachine *self, const struct plan *plan)
{
	self->ports = calloc(plan->port_count + 1, sizeof(*self->ports));
	if (!self->ports)
		return -1;
	for (size_t i = 0; i < plan->port_count; i++)
		self->ports[i] = plan->ports[i];
	self->port_count = plan->port_count;
	return 0;
}

/* Makes the framework's machine. Runs on the machine's queue, as all calls to the machine must. */
static void make_machine(MicroagentMachine *self, VZVirtualMachineConfiguration *configuration)
{
	self->machine = [[VZVirtualMachine alloc] initWithConfiguration:configuration
								  queue:self->queue];
	[self->machine setDelegate:self];
	[self->listener setDelegate:self];
}

static int fill_machine(MicroagentMachine *self, const struct plan *plan, struct error *err)
{
	VZVirtualMachineConfiguration *configuration = vz_configuration(plan, err);
	__block struct error why = {0};

	if (!configuration)
		return -1;
	dispatch_sync(self->queue, ^{
	  @autoreleasepool {
		  @try {
			  make_machine(self, configuration);
		  } @catch (NSException *exception) {
			  vz_tell_exception(&why, "the machine", exception);
		  }
	  }
	});
	[configuration release];
	return why.code == ERR_NONE ? 0 : error_copy(err, &why);
}

static MicroagentMachine *new_machine(void)
{
	@autoreleasepool {
		MicroagentMachine *self = [[MicroagentMachine alloc] init];

		self->serial_in = self->serial_out = -1;
		self->queue = dispatch_queue_create("microagent.machine", DISPATCH_QUEUE_SERIAL);
		self->listener = [[VZVirtioSocketListener alloc] init];
		self->connections = [[NSMutableArray alloc] init];
		return self;
	}
}

struct vz *vz_new(struct plan *plan, struct post *post, struct error *err)
{
	MicroagentMachine *self = new_machine();

	if (copy_ports(self, plan) < 0)
		error_errno(err, ENOMEM, "machine");
	else if (fill_machine(self, plan, err) == 0) {
		self->post = post;
		self->serial_in = steal_fd(&plan->serial_in);
		self->serial_out = steal_fd(&plan->serial_out);
		return (struct vz *)self;
	}
	[self release];
	return NULL;
}

void vz_start(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  self->turning++;
	  machine_listen(self);
	  [self->machine startWithCompletionHandler:^(NSError *error) {
	    on_started(self, error);
	  }];
	});
}

void vz_pause(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  self->turning++;
	  [self->machine pauseWithCompletionHandler:^(NSError *error) {
	    on_turned(self, LETTER_PAUSED, "the machine could not be paused", error);
	  }];
	});
}

void vz_resume(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  self->turning++;
	  [self->machine resumeWithCompletionHandler:^(NSError *error) {
	    on_turned(self, LETTER_RESUMED, "the machine could not be resumed", error);
	  }];
	});
}

void vz_stop(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  stop_now(self);
	});
}

void vz_press_power(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	machine_do(self, ^{
	  NSError *error = nil;
	  BOOL asked = [self->machine requestStopWithError:&error];
	  struct letter letter = {.kind = LETTER_POWER, .fd = -1};

	  if (!asked)
		  vz_tell_error(&letter.why, "the guest cannot be asked to switch itself off",
				error);
	  (void)post_send(self->post, &letter);
	});
}

/* Sets the memory of the guest. Reads the size back and reports it, since the framework silently
 * changes a size that is not allowed. */
void vz_set_memory(struct vz *vz, int64_t mib)
{
	MicroagentMachine *self = machine_of(vz);
	uint64_t bytes = (uint64_t)mib << 20;

	machine_do(self, ^{
	  VZVirtioTraditionalMemoryBalloonDevice *balloon =
		  (VZVirtioTraditionalMemoryBalloonDevice *)[[self->machine memoryBalloonDevices]
			  firstObject];
	  struct letter letter = {.kind = LETTER_BALLOON, .fd = -1};

	  [balloon setTargetVirtualMachineMemorySize:bytes];
	  if ([balloon targetVirtualMachineMemorySize] != bytes)
		  error_set(
			  &letter.why, ERR_INVALID,
			  "the balloon was not set, because Virtualization.framework has set %llu MiB instead of the %lld that were asked for: try again",
			  (unsigned long long)([balloon targetVirtualMachineMemorySize] >> 20),
			  (long long)mib);
	  (void)post_send(self->post, &letter);
	});
}

/* Gives the machine a directory. Makes the share now and not in the block, since the caller may
 * free `path` before the block runs. */
void vz_share(struct vz *vz, const char *path, bool read_only)
{
	MicroagentMachine *self = machine_of(vz);

	@autoreleasepool {
		VZSingleDirectoryShare *share = path ? vz_directory(path, read_only) : nil;

		machine_do(self, ^{
		  VZVirtioFileSystemDevice *device =
			  (VZVirtioFileSystemDevice *)[[self->machine directorySharingDevices]
				  firstObject];
		  struct letter letter = {.kind = share ? LETTER_SHARED : LETTER_UNSHARED,
					  .fd = -1};

		  if (!self->severed)
			  [device setShare:share];
		  if (!device || [device share] != share)
			  error_set(
				  &letter.why, ERR_CONFLICT,
				  "the directory was not shared or taken away, because the machine is cut off, or its device refused the change: make another machine");
		  (void)post_send(self->post, &letter);
		});
	}
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Removes the delegates, listeners and connections, so that the framework reports no further
 * event. */
static void let_go(MicroagentMachine *self)
{
	[self->machine setDelegate:nil];
	[self->listener setDelegate:nil];
	machine_listen_no_more(self);
	machine_forget_connections(self);
}

static void stop_for_good(MicroagentMachine *self, dispatch_semaphore_t done)
{
	let_go(self);
	if (![self->machine canStop]) {
		dispatch_semaphore_signal(done);
		return;
	}
	[self->machine stopWithCompletionHandler:^(NSError *error) {
	  (void)error;
	  dispatch_semaphore_signal(done);
	}];
}

void vz_free(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);
	int64_t wait = (int64_t)(limit_get(LIMIT_VMM_END_MS) * NS_PER_MS);
	dispatch_semaphore_t done;

	if (!vz)
		return;
	done = dispatch_semaphore_create(0);
	machine_do(self, ^{
	  stop_for_good(self, done);
	});
	(void)dispatch_semaphore_wait(done, dispatch_time(DISPATCH_TIME_NOW, wait));
	dispatch_release(done);
	[self release];
}
