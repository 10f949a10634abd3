/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/Virtualization.h>

/* Returns why no machine can be made of the configuration, or nil. */
extern NSString *configuration_unfit(VZVirtualMachineConfiguration *configuration);
