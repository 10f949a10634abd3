/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/Virtualization.h>

/* Why no machine can be made of it, or nil. */
extern NSString *configuration_unfit(VZVirtualMachineConfiguration *configuration);
