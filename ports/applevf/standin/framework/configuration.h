/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/Virtualization.h>

/* Returns the reason why no machine can be made from the configuration. Returns nil if a machine
 * can be made. */
extern NSString *configuration_unfit(VZVirtualMachineConfiguration *configuration);
