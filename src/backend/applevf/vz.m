/* SPDX-License-Identifier: MIT */
/*
 * One machine, and its queue. Everything in this file that is not said to be the loop's runs on the
 * queue, so that there are no locks: what the loop wants is a block given to it, what it has to
 * tell is a letter.
 *
 * An answer may come when nobody waits any more. The object is kept by the blocks that are under
 * way, and has the box for letters, which is closed by then and takes none.
 */
#include "backend/applevf/vz.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/applevf/vz_objc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"

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
	BOOL starting, stop_wanted, severed, ended;
}
@end

/* --- letters ---------------------------------------------------------------------------------- */

static void tell(MicroagentMachine *self, enum letter_kind kind, const char *what, NSError *error)
{
	struct letter letter = {.kind = kind, .fd = -1};

	if (error)
		vz_error(&letter.why, what, error);
	(void)post_send(self->post, &letter);
}

/* The end of the machine is told once, by whoever hears of it first. */
static void tell_end(MicroagentMachine *self, enum letter_kind kind, const char *what,
		     NSError *error)
{
	if (self->ended)
		return;
	self->ended = YES;
	tell(self, kind, what, error);
}

/* Gives the queue work, and sees to it that an exception, by which the framework tells of what it
 * does not allow, is an error of the machine and not the end of everything. */
static void on_queue(MicroagentMachine *self, void (^work)(void))
{
	dispatch_async(self->queue, ^{
	  @autoreleasepool {
		  @try {
			  work();
		  } @catch (NSException *exception) {
			  struct letter letter = {.kind = LETTER_CRASHED, .fd = -1};

			  vz_exception(&letter.why, "the machine", exception);
			  (void)post_send(self->post, &letter);
		  }
	  }
	});
}

/* --- connections ------------------------------------------------------------------------------ */

/* A descriptor of the loop's own: the connection's is closed with the object
 * (developer.apple.com/documentation/virtualization/vzvirtiosocketconnection/filedescriptor). */
static BOOL hand_over(MicroagentMachine *self, VZVirtioSocketConnection *connection,
		      struct letter *letter)
{
	letter->fd = fcntl([connection fileDescriptor], F_DUPFD_CLOEXEC, 3);
	letter->connection = connection;
	if (letter->fd < 0 || fcntl(letter->fd, F_SETFL, O_NONBLOCK) < 0)
		return NO;
	[self->connections addObject:connection];
	if (post_send(self->post, letter))
		return YES;
	[self->connections removeObject:connection];
	return NO;
}

static void take_connection(MicroagentMachine *self, VZVirtioSocketConnection *connection,
			    uint64_t id, NSError *error)
{
	static const char what[] = "a connection to the guest";
	struct letter letter = {.kind = LETTER_CONNECTED, .id = id, .fd = -1};

	if (connection && !self->severed && hand_over(self, connection, &letter))
		return;
	cleanup_close(&letter.fd);
	[connection close];
	if (connection)
		error_set(&letter.why, ERR_UNAVAILABLE, "%s: it cannot be taken now", what);
	else
		vz_error(&letter.why, what, error);
	letter.fd = -1;
	letter.connection = NULL;
	(void)post_send(self->post, &letter);
}

static void forget_connections(MicroagentMachine *self)
{
	for (VZVirtioSocketConnection *each in self->connections)
		[each close];
	[self->connections removeAllObjects];
}

static VZVirtioSocketDevice *socket_device(MicroagentMachine *self)
{
	return (VZVirtioSocketDevice *)[[self->machine socketDevices] firstObject];
}

static void listen_on_ports(MicroagentMachine *self)
{
	for (size_t i = 0; i < self->port_count; i++)
		[socket_device(self) setSocketListener:self->listener forPort:self->ports[i]];
}

static void remove_listeners(MicroagentMachine *self)
{
	for (size_t i = 0; i < self->port_count; i++)
		[socket_device(self) removeSocketListenerForPort:self->ports[i]];
}

/* --- what the framework tells ----------------------------------------------------------------- */

static void stop_now(MicroagentMachine *self);

static void on_started(MicroagentMachine *self, NSError *error)
{
	self->starting = NO;
	if (error) {
		tell_end(self, LETTER_CRASHED, "the machine could not be started", error);
		return;
	}
	tell(self, LETTER_STARTED, "", nil);
	if (self->stop_wanted)
		stop_now(self);
}

/* An error that comes with the end of the machine is none: it was to end. */
static void on_stopped(MicroagentMachine *self, NSError *error)
{
	if (!error || [self->machine state] == VZVirtualMachineStateStopped ||
	    [self->machine state] == VZVirtualMachineStateError)
		tell_end(self, LETTER_STOPPED, "", nil);
	else
		tell(self, LETTER_STOPPED, "the machine could not be stopped", error);
}

/* developer.apple.com/documentation/virtualization/vzvirtualmachine/stop(completionhandler:): of one
 * that runs or is paused. */
static void stop_now(MicroagentMachine *self)
{
	VZVirtualMachineState state = [self->machine state];

	self->stop_wanted = YES;
	if (self->starting || self->ended)
		return;
	if (state == VZVirtualMachineStateStopped || state == VZVirtualMachineStateError) {
		tell_end(self, LETTER_STOPPED, "", nil);
		return;
	}
	[self->machine stopWithCompletionHandler:^(NSError *error) {
	  on_stopped(self, error);
	}];
}

@implementation MicroagentMachine

- (void)guestDidStopVirtualMachine:(VZVirtualMachine *)virtualMachine
{
	(void)virtualMachine;
	tell_end(self, LETTER_GUEST_STOPPED, "", nil);
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine didStopWithError:(NSError *)error
{
	(void)virtualMachine;
	tell_end(self, LETTER_CRASHED, "the machine has stopped", error);
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine
				 networkDevice:(VZNetworkDevice *)networkDevice
	attachmentWasDisconnectedWithError:(NSError *)error
{
	(void)virtualMachine;
	(void)networkDevice;
	tell(self, LETTER_NETWORK_LOST, "the network card was disconnected", error);
}

- (BOOL)listener:(VZVirtioSocketListener *)ours
	shouldAcceptNewConnection:(VZVirtioSocketConnection *)connection
		 fromSocketDevice:(VZVirtioSocketDevice *)device
{
	struct letter letter = {
		.kind = LETTER_ACCEPTED, .port = [connection destinationPort], .fd = -1};

	(void)ours;
	(void)device;
	if (!severed && hand_over(self, connection, &letter))
		return YES;
	cleanup_close(&letter.fd);
	return NO;
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

static MicroagentMachine *machine_of(struct vz *vz)
{
	return (MicroagentMachine *)vz;
}

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

/* On the queue, as all that is said to it. */
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
			  vz_exception(&why, "the machine", exception);
		  }
	  }
	});
	[configuration release];
	return why.code == ERR_NONE ? 0 : error_copy(err, &why);
}

struct vz *vz_new(struct plan *plan, struct post *post, struct error *err)
{
	MicroagentMachine *self = [[MicroagentMachine alloc] init];

	self->serial_in = self->serial_out = -1;
	self->queue = dispatch_queue_create("microagent.machine", DISPATCH_QUEUE_SERIAL);
	self->listener = [[VZVirtioSocketListener alloc] init];
	self->connections = [[NSMutableArray alloc] init];
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

	on_queue(self, ^{
	  self->starting = YES;
	  listen_on_ports(self);
	  [self->machine startWithCompletionHandler:^(NSError *error) {
	    on_started(self, error);
	  }];
	});
}

void vz_pause(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  [self->machine pauseWithCompletionHandler:^(NSError *error) {
	    tell(self, LETTER_PAUSED, "the machine could not be paused", error);
	  }];
	});
}

void vz_resume(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  [self->machine resumeWithCompletionHandler:^(NSError *error) {
	    tell(self, LETTER_RESUMED, "the machine could not be resumed", error);
	  }];
	});
}

void vz_stop(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  stop_now(self);
	});
}

void vz_press_power(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  NSError *error = nil;
	  BOOL asked = [self->machine requestStopWithError:&error];
	  struct letter letter = {.kind = LETTER_POWER, .fd = -1};

	  if (!asked)
		  vz_error(&letter.why, "the guest cannot be asked to switch itself off", error);
	  (void)post_send(self->post, &letter);
	});
}

void vz_set_memory(struct vz *vz, int64_t mib)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  VZVirtioTraditionalMemoryBalloonDevice *balloon =
		  (VZVirtioTraditionalMemoryBalloonDevice *)[[self->machine memoryBalloonDevices]
			  firstObject];

	  [balloon setTargetVirtualMachineMemorySize:(uint64_t)mib << 20];
	  tell(self, LETTER_BALLOON, "", nil);
	});
}

/* The bytes are the loop's, and gone before the queue comes to it. */
void vz_share(struct vz *vz, const char *path, bool read_only)
{
	MicroagentMachine *self = machine_of(vz);

	@autoreleasepool {
		VZSingleDirectoryShare *share = path ? vz_directory(path, read_only) : nil;

		on_queue(self, ^{
		  VZVirtioFileSystemDevice *device =
			  (VZVirtioFileSystemDevice *)[[self->machine directorySharingDevices]
				  firstObject];
		  struct letter letter = {.kind = share ? LETTER_SHARED : LETTER_UNSHARED, .fd = -1};

		  if (!self->severed)
			  [device setShare:share];
		  if (!device || [device share] != share)
			  error_set(&letter.why, ERR_CONFLICT,
				    "the machine's device for a directory does not take it");
		  (void)post_send(self->post, &letter);
		});
	}
}

void vz_connect(struct vz *vz, uint32_t port, uint64_t id)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  [socket_device(self) connectToPort:port
			   completionHandler:^(VZVirtioSocketConnection *connection, NSError *error) {
			     take_connection(self, connection, id, error);
			   }];
	});
}

void vz_hang_up(struct vz *vz, void *connection)
{
	MicroagentMachine *self = machine_of(vz);
	VZVirtioSocketConnection *ended = connection;

	on_queue(self, ^{
	  [ended close];
	  [self->connections removeObject:ended];
	});
}

/* --- quarantine ------------------------------------------------------------------------------- */

/* Each step is looked at after it was taken. A network attachment that is set to nil is gone when
 * the property says so (.../vznetworkdevice/attachment). NULL: it is gone. */
static const char *cut_cards(MicroagentMachine *self)
{
	for (VZNetworkDevice *each in [self->machine networkDevices]) {
		[each setAttachment:nil];
		if ([each attachment])
			return "a network card that keeps its attachment";
	}
	return NULL;
}

static const char *cut_shares(MicroagentMachine *self)
{
	for (VZDirectorySharingDevice *each in [self->machine directorySharingDevices]) {
		VZVirtioFileSystemDevice *device = (VZVirtioFileSystemDevice *)each;

		[device setShare:nil];
		if ([device share])
			return "a shared directory that is kept";
	}
	return NULL;
}

/* They stay in the list until the loop is done with them too. */
static const char *cut_connections(MicroagentMachine *self)
{
	for (VZVirtioSocketConnection *each in self->connections) {
		[each close];
		if ([each fileDescriptor] >= 0)
			return "a connection of the guest's that stays open";
	}
	return NULL;
}

static void put_name(json_t *names, NSUInteger count, const char *one, const char *many)
{
	if (count > 0)
		json_array_append_new(names, json_sprintf("%s (%lu %s)", one, (unsigned long)count,
							  many));
}

/* What there was of each, and is no more. */
static const char *sever_all(MicroagentMachine *self, json_t *names)
{
	NSUInteger cards = [[self->machine networkDevices] count];
	NSUInteger shares = [[self->machine directorySharingDevices] count];
	NSUInteger open = [self->connections count];
	VZVirtualMachineState state = [self->machine state];
	const char *left = cut_cards(self);

	put_name(names, cards, "network", "detached");
	if (!left)
		left = cut_shares(self);
	put_name(names, shares, "shares", "taken away");
	remove_listeners(self);
	put_name(names, self->port_count, "vsock listeners", "removed");
	if (!left)
		left = cut_connections(self);
	json_array_append_new(names, json_sprintf("vsock connections (%lu closed)",
						  (unsigned long)open));
	if (!left && state != VZVirtualMachineStateRunning && state != VZVirtualMachineStatePaused)
		left = "a machine that does not run any more";
	return left;
}

void vz_sever(struct vz *vz)
{
	MicroagentMachine *self = machine_of(vz);

	on_queue(self, ^{
	  struct letter letter = {.kind = LETTER_SEVERED, .fd = -1, .names = json_array()};
	  const char *left;

	  self->severed = YES;
	  left = sever_all(self, letter.names);
	  if (left)
		  error_set(&letter.why, ERR_IO, "there is %s", left);
	  if (!post_send(self->post, &letter))
		  json_decref(letter.names);
	});
}

/* --- its end ---------------------------------------------------------------------------------- */

/* Its delegate is nobody's any more, whatever comes yet. */
static void let_go(MicroagentMachine *self)
{
	[self->machine setDelegate:nil];
	[self->listener setDelegate:nil];
	remove_listeners(self);
	forget_connections(self);
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
	on_queue(self, ^{
	  stop_for_good(self, done);
	});
	(void)dispatch_semaphore_wait(done, dispatch_time(DISPATCH_TIME_NOW, wait));
	dispatch_release(done);
	[self release];
}
