/* SPDX-License-Identifier: MIT */
#import "monitor.h"

#import "dispatch.h"

#include "descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

@implementation StandinMonitor

- (id)initWithDescriptor:(int)fd
		   queue:(dispatch_queue_t)queue
		   event:(void (^)(NSDictionary *))event
		     end:(void (^)(void))end
{
	self = [super init];
	if (self) {
		_fd = fd;
		_queue = [queue retain];
		_waiting = [[NSMutableDictionary alloc] init];
		_event = [event copy];
		_end = [end copy];
		standin_thread(^{
		  [self readLines];
		});
	}
	return self;
}

- (void)dealloc
{
	close(_fd);
	[_queue release];
	[_waiting release];
	[_event release];
	[_end release];
	[super dealloc];
}

/* --- on the queue ---------------------------------------------------------------------------- */

- (BOOL)send:(NSData *)bytes descriptor:(int)fd
{
	ssize_t length = (ssize_t)[bytes length];

	if (_ended)
		return NO;
	if (fd >= 0)
		return descriptors_send(_fd, [bytes bytes], [bytes length], &fd, 1);
	return send(_fd, [bytes bytes], [bytes length], MSG_NOSIGNAL) == length;
}

- (void)execute:(NSString *)command arguments:(NSDictionary *)arguments then:(MonitorAnswer)answer
{
	[self execute:command arguments:arguments descriptor:-1 then:answer];
}

- (void)sendDescriptor:(int)fd name:(NSString *)name
{
	[self execute:@"getfd"
		 arguments:[NSDictionary dictionaryWithObject:name forKey:@"fdname"]
		descriptor:fd
		      then:nil];
	close(fd);
}

- (void)execute:(NSString *)command
	 arguments:(NSDictionary *)arguments
	descriptor:(int)fd
	      then:(MonitorAnswer)answer
{
	NSNumber *number = [NSNumber numberWithUnsignedLong:++_last];
	NSMutableDictionary *line = [NSMutableDictionary
		dictionaryWithObjectsAndKeys:command, @"execute", number, @"id", nil];

	if (arguments)
		[line setObject:arguments forKey:@"arguments"];
	NSData *bytes = [NSJSONSerialization dataWithJSONObject:line options:0 error:NULL];
	if (![self send:bytes descriptor:fd]) {
		if (answer)
			answer(nil, @"QEMU has ended");
		return;
	}
	if (answer)
		[_waiting setObject:[[answer copy] autorelease] forKey:number];
}

- (void)take:(NSDictionary *)line
{
	NSNumber *number = [line objectForKey:@"id"];

	if (!number) {
		_event(line);
		return;
	}
	MonitorAnswer answer = [[[_waiting objectForKey:number] retain] autorelease];
	[_waiting removeObjectForKey:number];
	if (answer)
		answer([line objectForKey:@"return"],
		       [[line objectForKey:@"error"] objectForKey:@"desc"]);
}

/* Reports the end of QEMU by the block `end`. First gives an error to each caller that waits for an
 * answer. */
- (void)finish
{
	NSArray *left = [_waiting allValues];

	_ended = YES;
	for (MonitorAnswer answer in left)
		answer(nil, @"QEMU has ended");
	[_waiting removeAllObjects];
	_end();
	/* Releases the blocks here. The blocks retain objects that retain this object, so otherwise
	 * none of these would ever be freed. */
	[_event release];
	[_end release];
	_event = nil;
	_end = nil;
}

/* --- the thread ------------------------------------------------------------------------------ */

- (void)takeLines:(NSMutableData *)read
{
	const char *bytes = [read bytes], *end;
	size_t left = [read length];

	while ((end = memchr(bytes, '\n', left))) {
		NSData *text = [NSData dataWithBytes:bytes length:(NSUInteger)(end - bytes)];
		NSDictionary *line = [NSJSONSerialization JSONObjectWithData:text
								     options:0
								       error:NULL];
		dispatch_async(_queue, ^{
		  if (line)
			  [self take:line];
		});
		left -= (size_t)(end + 1 - bytes);
		bytes = end + 1;
	}
	[read setData:[NSData dataWithBytes:bytes length:left]];
}

- (void)readLines
{
	NSMutableData *read = [NSMutableData data];
	char some[4096];

	for (;;) {
		ssize_t n = recv(_fd, some, sizeof(some), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		@autoreleasepool {
			[read appendBytes:some length:(NSUInteger)n];
			[self takeLines:read];
		}
	}
	dispatch_async(_queue, ^{
	  [self finish];
	});
}

@end
