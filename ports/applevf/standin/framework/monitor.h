/* SPDX-License-Identifier: MIT */
/* QEMU's machine protocol (docs/interop/qmp-spec of QEMU). All blocks are called on the queue. */
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

/* fd becomes the monitor's. event gets the events of QEMU, and the greeting too (the key QMP). end
 * is called once, when QEMU has ended, and nothing is called after it. */
- (id)initWithDescriptor:(int)fd
		   queue:(dispatch_queue_t)queue
		   event:(void (^)(NSDictionary *))event
		     end:(void (^)(void))end;
- (void)execute:(NSString *)command arguments:(NSDictionary *)arguments then:(MonitorAnswer)answer;
/* Gives QEMU a copy of fd by that name, and closes ours. */
- (void)sendDescriptor:(int)fd name:(NSString *)name;

@end
