/* SPDX-License-Identifier: MIT */
/* QEMU's machine protocol (docs/interop/qmp-spec of QEMU). All blocks that are passed to a monitor
 * are called on its queue. */
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

/* Takes over `fd`. `event` is called for each event of QEMU, and for its greeting (an object with
 * the key QMP). `end` is called once, when QEMU has ended, and no block is called after it. */
- (id)initWithDescriptor:(int)fd
		   queue:(dispatch_queue_t)queue
		   event:(void (^)(NSDictionary *))event
		     end:(void (^)(void))end;
- (void)execute:(NSString *)command arguments:(NSDictionary *)arguments then:(MonitorAnswer)answer;
/* Sends QEMU a copy of `fd` under the name `name`, and closes `fd`. */
- (void)sendDescriptor:(int)fd name:(NSString *)name;

@end
