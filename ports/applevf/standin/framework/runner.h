/* SPDX-License-Identifier: MIT */
/* One run of a machine: QEMU, and the process that keeps it. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine, StandinMonitor, StandinPlug, StandinShare;

@interface StandinRunner : NSObject {
	StandinMachine *_machine; /* not retained */
	StandinMonitor *_monitor;
	NSMutableArray *_words;	      /* of QEMU */
	NSMutableArray *_keeperWords; /* of the process that keeps it */
	NSMutableArray *_given;	      /* descriptors for it, which are closed here */
	NSMutableArray *_lent;	      /* descriptors for it, which stay open here */
	NSMutableArray *_plugs;
	int _lifeline;
	BOOL _guestEnded;
}

- (id)initWithMachine:(StandinMachine *)machine;
/* Starts the run. runnerIsReady or runnerEnded: tells the machine the result. */
- (BOOL)launch:(NSError **)error;
/* Ends the run at once; runnerEnded: follows. */
- (void)kill;
- (void)forgetMachine;
- (StandinMonitor *)monitor;
- (StandinPlug *)plugAt:(NSUInteger)index;
/* Called when the guest runs. */
- (void)started;

@end

/* For the code that puts the machine together. */
@interface StandinRunner (Parts)
- (void)word:(NSString *)word value:(NSString *)format, ... NS_FORMAT_FUNCTION(2, 3);
/* The number is the descriptor's number in QEMU too. */
- (int)give:(int)fd;
- (int)lend:(int)fd;
- (void)forQemu:(int)fd;
/* Starts the process of a share, at the start or later. */
- (void)prepareShare:(StandinShare *)share;
- (BOOL)plugShare:(StandinShare *)share;
@end
