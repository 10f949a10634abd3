/* SPDX-License-Identifier: MIT */
/* One directory sharing device of a running machine, and the messages to its process
 * (keeper/share.c). */
#pragma once

#import <Virtualization/Virtualization.h>

@interface StandinShare : NSObject {
	int _control, _keeperEnd, _listenEnd, _qemuEnd;
	VZDirectoryShare *_share;
}

- (BOOL)open:(NSError **)error;
/* Methods that return descriptors, which the caller closes. */
- (int)keeperEnd;
- (int)listenEnd;
- (int)qemuEnd;
/* Begins to share the directories with which the device starts. */
- (BOOL)begin:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)serves:(VZDirectoryShare *)share;
/* Changes the directories of a device that runs, from several directories to several others.
 * Returns NO if the change needs a new process. */
- (BOOL)change:(VZDirectoryShare *)share;
/* Ends the process at once, so that the guest gets no answer any more. */
- (void)end;

@end
