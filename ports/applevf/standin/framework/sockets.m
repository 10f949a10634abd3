/* SPDX-License-Identifier: MIT */
#import "sockets.h"

#import "dispatch.h"
#import "machine.h"
#import "object.h"
#import "settings.h"

#include "room.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* --- connections ----------------------------------------------------------------------------- */

@implementation VZVirtioSocketConnection

- (id)initWithDescriptor:(int)fd from:(uint32_t)source to:(uint32_t)destination
{
	self = [self initValues];
	if (self) {
		[self keep:[NSNumber numberWithInt:fd] as:@"fileDescriptor"];
		[self keep:[NSNumber numberWithUnsignedInt:source] as:@"sourcePort"];
		[self keep:[NSNumber numberWithUnsignedInt:destination] as:@"destinationPort"];
	}
	return self;
}

- (void)dealloc
{
	[self close];
	[super dealloc];
}

- (uint32_t)destinationPort
{
	return [[self valueOf:@"destinationPort"] unsignedIntValue];
}

- (uint32_t)sourcePort
{
	return [[self valueOf:@"sourcePort"] unsignedIntValue];
}

- (int)fileDescriptor
{
	return [[self valueOf:@"fileDescriptor"] intValue];
}

- (void)close
{
	@synchronized(self) {
		int fd = [self fileDescriptor];

		[self keep:[NSNumber numberWithInt:-1] as:@"fileDescriptor"];
		if (fd >= 0)
			close(fd);
	}
}

@end

@implementation VZVirtioSocketListener

- (id<VZVirtioSocketListenerDelegate>)delegate
{
	return [[self valueOf:@"delegate"] nonretainedObjectValue];
}

- (void)setDelegate:(id<VZVirtioSocketListenerDelegate>)delegate
{
	[self keep:delegate ? [NSValue valueWithNonretainedObject:delegate] : nil as:@"delegate"];
}

@end

@implementation VZSocketDevice
@end

@implementation VZVirtioSocketDevice

static StandinSockets *sockets_of(VZVirtioSocketDevice *device)
{
	return [device hidden];
}

- (void)setSocketListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port
{
	[sockets_of(self) setListener:listener forPort:port];
}

- (void)removeSocketListenerForPort:(uint32_t)port
{
	[sockets_of(self) setListener:nil forPort:port];
}

- (void)connectToPort:(uint32_t)port
	completionHandler:(void (^)(VZVirtioSocketConnection *, NSError *))completionHandler
{
	[sockets_of(self) connectTo:port then:completionHandler];
}

@end

/* --- the device behind it -------------------------------------------------------------------- */

static void record_port(NSString *call, uint32_t port)
{
	settings_record(call,
			[NSDictionary dictionaryWithObject:[NSNumber numberWithUnsignedInt:port]
						    forKey:@"port"]);
}

/* Returns a number that is used as the guest's port of a connection from the guest. This process
 * does not know the real port. */
static uint32_t some_port(void)
{
	static uint32_t last = 49152;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

@implementation StandinSockets

- (id)initWithMachine:(StandinMachine *)machine
{
	self = [super init];
	if (self) {
		_machine = machine;
		_listeners = [[NSMutableDictionary alloc] init];
	}
	return self;
}

- (void)dealloc
{
	[self closeRoom];
	[_listeners release];
	[super dealloc];
}

/* Returns a new device object at each call. This object does not retain the device, since the
 * device retains this object, and neither would ever be freed. */
- (VZVirtioSocketDevice *)device
{
	return [[[VZVirtioSocketDevice alloc] initHidden:self] autorelease];
}

- (void)forgetMachine
{
	_machine = nil;
}

- (void)requireQueue:(const char *)selector
{
	if (_machine)
		[_machine requireQueue:selector];
}

/* --- while it runs --------------------------------------------------------------------------- */

- (BOOL)openRoom:(NSError **)error
{
	_room = room_open();
	if (!_room)
		return vz_refuse(error, VZErrorInternal,
				 [NSString stringWithFormat:@"The sockets: %s.", strerror(errno)]);
	for (NSNumber *port in _listeners)
		room_set_port(_room, [port unsignedIntValue]);
	struct vsock_room *room = room_keep(_room);
	dispatch_queue_t queue = [_machine queue];
	standin_thread(^{
	  int fd;
	  uint32_t port;

	  while ((fd = room_accept(room, &port)) >= 0)
		  [self offer:fd port:port queue:queue];
	  room_drop(room);
	});
	return YES;
}

- (int)listenDescriptor
{
	return _room->clients.listen;
}

- (int)tableDescriptor
{
	return _room->table_fd;
}

- (NSArray *)pathDescriptors
{
	NSMutableArray *all = [NSMutableArray array];

	for (int i = 0; i < ROOM_PORTS; i++)
		[all addObject:[NSNumber numberWithInt:_room->ports[i].path]];
	return all;
}

- (void)closeRoom
{
	if (!_room)
		return;
	room_close(_room);
	room_drop(_room);
	_room = NULL;
}

/* --- listeners ------------------------------------------------------------------------------- */

- (void)setListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port
{
	NSNumber *key = [NSNumber numberWithUnsignedInt:port];

	[self requireQueue:listener ? "setSocketListener:forPort:"
				    : "removeSocketListenerForPort:"];
	record_port(listener ? @"setSocketListener" : @"removeSocketListener", port);
	if (!listener) {
		[_listeners removeObjectForKey:key];
		if (_room)
			room_clear_port(_room, port);
		return;
	}
	[_listeners setObject:listener forKey:key];
	if (_room && !room_set_port(_room, port))
		vz_misused(@"the stand-in has %d ports for listeners, and no more", ROOM_PORTS);
}

/* Passes a connection from the guest to the queue. There the port's listener accepts or refuses the
 * connection. Called on the thread that accepts connections. */
- (void)offer:(int)fd port:(uint32_t)port queue:(dispatch_queue_t)queue
{
	VZVirtioSocketConnection *connection =
		[[VZVirtioSocketConnection alloc] initWithDescriptor:fd from:some_port() to:port];

	dispatch_async(queue, ^{
	  [self decide:connection];
	  [connection release];
	});
}

- (void)decide:(VZVirtioSocketConnection *)connection
{
	uint32_t port = [connection destinationPort];
	VZVirtioSocketListener *listener =
		[_listeners objectForKey:[NSNumber numberWithUnsignedInt:port]];
	id<VZVirtioSocketListenerDelegate> delegate = [listener delegate];
	SEL question = @selector(listener:shouldAcceptNewConnection:fromSocketDevice:);
	BOOL accepted = [delegate respondsToSelector:question] &&
			[delegate listener:listener
				shouldAcceptNewConnection:connection
					 fromSocketDevice:[self device]];

	record_port(accepted ? @"accepted" : @"rejected", port);
	if (!accepted)
		[connection close];
	[_machine event:@"accept"];
}

/* --- connections to the guest ---------------------------------------------------------------- */

- (NSError *)refusal:(uint32_t)port
{
	NSDictionary *fault = settings_fault(@"connect");
	NSNumber *only = [fault objectForKey:@"port"];

	if (fault && (!only || [only unsignedIntValue] == port))
		return [NSError errorWithDomain:NSPOSIXErrorDomain code:ECONNRESET userInfo:nil];
	if (!_room)
		return vz_error(VZErrorInvalidVirtualMachineState, nil);
	return nil;
}

- (void)connectTo:(uint32_t)port then:(void (^)(VZVirtioSocketConnection *, NSError *))completion
{
	dispatch_queue_t queue = [_machine queue];

	[self requireQueue:"connectToPort:completionHandler:"];
	record_port(@"connectToPort", port);
	NSError *refusal = [self refusal:port];
	if (refusal) {
		dispatch_async(queue, ^{
		  completion(nil, refusal);
		});
		return;
	}
	struct vsock_room *room = room_keep(_room);
	standin_thread(^{
	  [self dial:port room:room queue:queue then:completion];
	  room_drop(room);
	});
}

- (void)dial:(uint32_t)port
	 room:(struct vsock_room *)room
	queue:(dispatch_queue_t)queue
	 then:(void (^)(VZVirtioSocketConnection *, NSError *))completion
{
	uint32_t source = 0;
	int fd = room_connect(room, port, &source);
	NSError *error = nil;
	VZVirtioSocketConnection *connection = nil;

	if (fd < 0)
		error = [NSError errorWithDomain:NSPOSIXErrorDomain code:errno userInfo:nil];
	else
		connection =
			[[[VZVirtioSocketConnection alloc] initWithDescriptor:fd
									 from:source
									   to:port] autorelease];
	dispatch_async(queue, ^{
	  completion(connection, error);
	  [self->_machine event:@"connect"];
	});
}

@end
