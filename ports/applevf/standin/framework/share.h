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
/* Descriptors for others, who close them. */
- (int)keeperEnd;
- (int)listenEnd;
- (int)qemuEnd;
/* The directories that are shared from the start. */
- (BOOL)begin:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)serves:(VZDirectoryShare *)share;
/* Changes the share while it runs, from several directories to others. Returns NO if the change
 * needs another process. */
- (BOOL)change:(VZDirectoryShare *)share;
/* Ends it at once. No caller gets an answer any more. */
- (void)end;

@end
