/* SPDX-License-Identifier: MIT */
/*
 * Connects one directory sharing device of the framework with QEMU. QEMU has a device, and a
 * process serves that device, only while a directory is shared. If the client sets a share while
 * the machine runs, the device is plugged in. If the client removes the share, the device is
 * unplugged, and the process is killed at once. If the client replaces the share, the new device is
 * plugged in when the guest has released the old device. If only the directories of a
 * VZMultipleDirectoryShare change, no device is plugged or unplugged.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner, StandinShare;

@interface StandinPlug : NSObject {
	StandinRunner *_runner; /* not retained */
	NSString *_tag;
	NSUInteger _number;
	StandinShare *_share;	   /* the share that is plugged in, or nil */
	VZDirectoryShare *_wanted; /* the share that the client wants next */
	unsigned _generation;	   /* a number in the device's name, different for each device */
	BOOL _running, _busy;
}

- (id)initWithRunner:(StandinRunner *)runner number:(NSUInteger)number tag:(NSString *)tag;
/* Methods for a share that exists from the start of the machine. prepare: is called before QEMU
 * starts, begin: when the process of the share was started. */
- (BOOL)prepare:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)begin:(NSError **)error;
/* Called when the guest runs. From then on change: may be called. */
- (void)started;
- (void)change:(VZDirectoryShare *)share;
/* Called when QEMU has removed the device with this name. */
- (void)deleted:(NSString *)device;

@end
