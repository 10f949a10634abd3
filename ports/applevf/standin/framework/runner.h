/* SPDX-License-Identifier: MIT */
/* One run of a machine: QEMU, and the process that keeps it. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine, StandinMonitor, StandinPlug, StandinShare;

@interface StandinRunner : NSObject {
	StandinMachine *_machine; /* not retained */
	StandinMonitor *_monitor;
	NSMutableArray *_words;	      /* the command line of QEMU */
	NSMutableArray *_keeperWords; /* the command line of the process that keeps QEMU */
	/* Descriptors for the keeper, which this process closes afterwards. */
	NSMutableArray *_given;
	NSMutableArray *_lent; /* descriptors for the keeper, which this process keeps open */
	NSMutableArray *_plugs;
	int _lifeline;
	BOOL _guestEnded;
}

- (id)initWithMachine:(StandinMachine *)machine;
/* Starts QEMU. If this returns YES, runnerIsReady or runnerEnded: of the machine is called
 * later. */
- (BOOL)launch:(NSError **)error;
/* Kills QEMU at once. runnerEnded: is called later. */
- (void)kill;
- (void)forgetMachine;
- (StandinMonitor *)monitor;
- (StandinPlug *)plugAt:(NSUInteger)index;
/* Called when the guest runs. */
- (void)started;

@end

/* Methods for the code that makes the command lines of a machine (guest.h). */
@interface StandinRunner (Parts)
- (void)word:(NSString *)word value:(NSString *)format, ... NS_FORMAT_FUNCTION(2, 3);
/* Adds a descriptor to _given or to _lent. Returns its number, which it also has in QEMU. */
- (int)give:(int)fd;
- (int)lend:(int)fd;
- (void)forQemu:(int)fd;
/* Methods that make the keeper start the process of a share: prepareShare: together with QEMU,
 * plugShare: at once. */
- (void)prepareShare:(StandinShare *)share;
- (BOOL)plugShare:(StandinShare *)share;
@end
