/* SPDX-License-Identifier: MIT */
/*
 * The place for one directory sharing device. A share is a device of QEMU and a process that serves
 * it, and both exist only while a directory is shared. A share that is set later is plugged in. If
 * a share is removed, its device is unplugged, and its process is ended at once. If a share is
 * replaced, the new device is plugged in when the guest has released the old one. The members of a
 * VZMultipleDirectoryShare change without this.
 */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner, StandinShare;

@interface StandinPlug : NSObject {
	StandinRunner *_runner; /* not retained */
	NSString *_tag;
	NSUInteger _number;
	StandinShare *_share;	   /* the share that is plugged in, or nil */
	VZDirectoryShare *_wanted; /* the share that must be plugged in next */
	unsigned _generation;	   /* a number in the name of the device, new for each device */
	BOOL _running, _busy;
}

- (id)initWithRunner:(StandinRunner *)runner number:(NSUInteger)number tag:(NSString *)tag;
/* Methods that make the first share: `prepare` is called before QEMU starts, `begin` when the
 * process of the share was started. */
- (BOOL)prepare:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)begin:(NSError **)error;
/* Called when the guest runs. From then on changes can be made. */
- (void)started;
- (void)change:(VZDirectoryShare *)share;
/* Called when QEMU has removed a device. */
- (void)deleted:(NSString *)device;

@end
