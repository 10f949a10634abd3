/* SPDX-License-Identifier: MIT */
/* One directory sharing device of a running machine: what its process (keeper/share.c) is told. */
#pragma once

#import <Virtualization/Virtualization.h>

@interface StandinShare : NSObject {
	int _control, _keeperEnd, _listenEnd, _qemuEnd;
	VZDirectoryShare *_share;
}

- (BOOL)open:(NSError **)error;
/* For others, who close them. */
- (int)keeperEnd;
- (int)listenEnd;
- (int)qemuEnd;
/* What is shared from the start. */
- (BOOL)begin:(VZDirectoryShare *)share error:(NSError **)error;
- (BOOL)serves:(VZDirectoryShare *)share;
/* While it runs: from several directories to others. NO: it takes another process. */
- (BOOL)change:(VZDirectoryShare *)share;
/* At once; nobody gets an answer from it any more. */
- (void)end;

@end
