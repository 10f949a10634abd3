/* SPDX-License-Identifier: MIT */
/*
 * The place of one directory sharing device. A share is a device of QEMU's with a process behind
 * it, which is there while something is shared: one that comes later is plugged in, one that goes
 * is unplugged and its process ended at once, and one in the place of another comes when the guest
 * has let go of that. The members of a VZMultipleDirectoryShare come and go without it.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner, StandinShare;

@interface StandinPlug : NSObject {
	StandinRunner *_runner; /* not retained */
	NSString *_tag;
	NSUInteger _number;
	StandinShare *_share;	   /* what is plugged in, or nil */
	VZDirectoryShare *_wanted; /* what is to be */
	unsigned _generation;	   /* of the device, for its name */
	BOOL _running, _busy;
}

- (id)initWithRunner:(StandinRunner *)runner number:(NSUInteger)number tag:(NSString *)tag;
/* Before QEMU starts, and when its process has been. */
- (BOOL)prepare:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)begin:(NSError **)error;
/* The guest runs, and changes can be made. */
- (void)started;
- (void)change:(VZDirectoryShare *)share;
/* QEMU has let go of a device. */
- (void)deleted:(NSString *)device;

@end
