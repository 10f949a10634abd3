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

typedef NS_OPTIONS(NSUInteger, VZEFIVariableStoreInitializationOptions) {
	VZEFIVariableStoreInitializationOptionAllowOverwrite = 1 << 0,
};

VZ_SINCE(13.0)
@interface VZEFIVariableStore : VZ_ROOT
VZ_NO_INIT
- (instancetype)initWithURL:(NSURL *)URL;
- (nullable instancetype)
	initCreatingVariableStoreAtURL:(NSURL *)URL
			       options:(VZEFIVariableStoreInitializationOptions)options
				 error:(NSError **)error;
@property(readonly, copy) NSURL *URL;
@end

VZ_SINCE(13.0)
@interface VZEFIBootLoader : VZBootLoader
- (instancetype)init;
@property(nullable, strong) VZEFIVariableStore *variableStore;
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
