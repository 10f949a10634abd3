/* SPDX-License-Identifier: MIT */
/*
 * The slot of one directory sharing device. A share is a device of QEMU with a process behind it.
 * Both exist while something is shared. A share that comes later is plugged in. A share that goes
 * is unplugged, and its process is ended at once. A share that replaces another one comes when the
 * guest has let go of the old one. The members of a VZMultipleDirectoryShare come and go without
 * this slot.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner, StandinShare;

@interface StandinPlug : NSObject {
	StandinRunner *_runner; /* not retained */
	NSString *_tag;
	NSUInteger _number;
	StandinShare *_share;	   /* what is plugged in, or nil */
	VZDirectoryShare *_wanted; /* what is wanted */
	unsigned _generation;	   /* number of the device, for its name */
	BOOL _running, _busy;
}

- (id)initWithRunner:(StandinRunner *)runner number:(NSUInteger)number tag:(NSString *)tag;
/* Called before QEMU starts, and after its process has ended. */
- (BOOL)prepare:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)begin:(NSError **)error;
/* Called when the guest runs, and changes can be made. */
- (void)started;
- (void)change:(VZDirectoryShare *)share;
/* Called when QEMU has let go of a device. */
- (void)deleted:(NSString *)device;

@end
