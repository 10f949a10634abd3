/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(11.0)
@interface VZEntropyDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZVirtioEntropyDeviceConfiguration : VZEntropyDeviceConfiguration
- (instancetype)init;
@end

VZ_SINCE(11.0)
@interface VZMemoryBalloonDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZVirtioTraditionalMemoryBalloonDeviceConfiguration : VZMemoryBalloonDeviceConfiguration
- (instancetype)init;
@end

VZ_SINCE(11.0)
@interface VZMemoryBalloonDevice : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZVirtioTraditionalMemoryBalloonDevice : VZMemoryBalloonDevice
@property uint64_t targetVirtualMachineMemorySize;
@end

NS_ASSUME_NONNULL_END
