/* SPDX-License-Identifier: MIT */
/* The share of one directory sharing device of a running machine. This class sends messages to the
 * process that serves the share (keeper/share.c). */
#pragma once

#import <Virtualization/Virtualization.h>

@interface StandinShare : NSObject {
	int _control, _keeperEnd, _listenEnd, _qemuEnd;
	VZDirectoryShare *_share;
}

- (BOOL)open:(NSError **)error;
/* Methods that return file descriptors, which the caller closes. */
- (int)keeperEnd;
- (int)listenEnd;
- (int)qemuEnd;
/* Begins to share the directories that the device has at its start. */
- (BOOL)begin:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)serves:(VZDirectoryShare *)share;
/* Changes the directories of a device while it is in use. Both the old and the new share must be of
 * several directories. Returns NO if the change needs a new process. */
- (BOOL)change:(VZDirectoryShare *)share;
/* Ends the process of the share at once, so that the guest gets no answer any more. */
- (void)end;

@end
