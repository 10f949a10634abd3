/* SPDX-License-Identifier: MIT */
/* A connection to QEMU that uses QEMU's machine protocol (docs/interop/qmp-spec of QEMU). All
 * blocks that a caller passes to a monitor are called on the monitor's queue. */
#pragma once

#import <Foundation/Foundation.h>
#import <dispatch/dispatch.h>

typedef void (^MonitorAnswer)(NSDictionary *answer, NSString *error);

@interface StandinMonitor : NSObject {
	int _fd;
	unsigned long _last;
	BOOL _ended;
	dispatch_queue_t _queue;
	NSMutableDictionary *_waiting;
	void (^_event)(NSDictionary *);
	void (^_end)(void);
}

/* Takes ownership of `fd`. The block `event` is called for each event of QEMU, and for QEMU's
 * greeting, an object with the key QMP. The block `end` is called once, when QEMU has exited. After
 * that no block is called. */
- (id)initWithDescriptor:(int)fd
		   queue:(dispatch_queue_t)queue
		   event:(void (^)(NSDictionary *))event
		     end:(void (^)(void))end;
- (void)execute:(NSString *)command arguments:(NSDictionary *)arguments then:(MonitorAnswer)answer;
/* Sends QEMU a copy of `fd`, which QEMU knows by the name `name`, and closes `fd`. */
- (void)sendDescriptor:(int)fd name:(NSString *)name;

@end
