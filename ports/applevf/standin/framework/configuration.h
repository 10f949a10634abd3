/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/Virtualization.h>

/* Returns why no machine can be made of the configuration; nil if one can. */
extern NSString *configuration_unfit(VZVirtualMachineConfiguration *configuration);
