/* SPDX-License-Identifier: MIT */
/* One run of a machine: QEMU, and the process that starts and ends QEMU (the keeper,
 * keeper/keeper.h). */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine, StandinMonitor, StandinPlug, StandinShare;

@interface StandinRunner : NSObject {
	StandinMachine *_machine; /* not retained */
	StandinMonitor *_monitor;
	NSMutableArray *_words;	      /* the command line of QEMU */
	NSMutableArray *_keeperWords; /* the command line of the process that starts QEMU */
	/* File descriptors for the process that starts QEMU. The client's process closes its copies
	 * after that process was started. */
	NSMutableArray *_given;
	NSMutableArray *_lent; /* file descriptors for the QEMU process that stay open here */
	NSMutableArray *_plugs;
	int _lifeline;
	BOOL _guestEnded;
}

- (id)initWithMachine:(StandinMachine *)machine;
/* Starts QEMU. Returns NO with *error set on failure. After the result YES, the machine's method
 * runnerIsReady or runnerEnded: is called later. */
- (BOOL)launch:(NSError **)error;
/* Kills QEMU at once. The machine's method runnerEnded: is called later. */
- (void)kill;
- (void)forgetMachine;
- (StandinMonitor *)monitor;
- (StandinPlug *)plugAt:(NSUInteger)index;
/* Called when the guest runs. */
- (void)started;

@end

/* Methods for the code in guest.h, which makes the command lines of a machine. */
@interface StandinRunner (Parts)
- (void)word:(NSString *)word value:(NSString *)format, ... NS_FORMAT_FUNCTION(2, 3);
/* Methods that add a file descriptor to _given or to _lent, and return the number of the file
 * descriptor. The number is the same in QEMU. */
- (int)give:(int)fd;
- (int)lend:(int)fd;
- (void)forQemu:(int)fd;
/* Methods that start the process of a share. After prepareShare: the process starts together with
 * QEMU, after plugShare: at once. */
- (void)prepareShare:(StandinShare *)share;
- (BOOL)plugShare:(StandinShare *)share;
@end
