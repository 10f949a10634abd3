/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(11.0)
@interface VZBootLoader : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZLinuxBootLoader : VZBootLoader
- (instancetype)initWithKernelURL:(NSURL *)kernelURL;
@property(copy) NSURL *kernelURL;
@property(copy) NSString *commandLine;
@property(nullable, copy) NSURL *initialRamdiskURL;
@end

VZ_SINCE(12.0)
@interface VZPlatformConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(13.0)
@interface VZGenericMachineIdentifier : VZ_ROOT <NSCopying>
- (instancetype)init;
- (nullable instancetype)initWithDataRepresentation:(NSData *)dataRepresentation;
@property(readonly, copy) NSData *dataRepresentation;
@end

VZ_SINCE(12.0)
@interface VZGenericPlatformConfiguration : VZPlatformConfiguration
- (instancetype)init;
@property(copy) VZGenericMachineIdentifier *machineIdentifier VZ_SINCE(13.0);
@end

NS_ASSUME_NONNULL_END
