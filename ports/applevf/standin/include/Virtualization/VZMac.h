/* SPDX-License-Identifier: MIT */
/* macOS guests: platform, restore image, installer. Apple has these classes on Apple silicon
 * only. */
#pragma once

#import <Virtualization/VZPlatform.h>
#import <Virtualization/VZVirtualMachine.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(12.0)
@interface VZMacHardwareModel : VZ_ROOT <NSCopying>
VZ_NO_INIT
- (nullable instancetype)initWithDataRepresentation:(NSData *)dataRepresentation;
@property(readonly, copy) NSData *dataRepresentation;
@property(readonly, getter=isSupported) BOOL supported;
@end

VZ_SINCE(12.0)
@interface VZMacMachineIdentifier : VZ_ROOT <NSCopying>
- (instancetype)init;
- (nullable instancetype)initWithDataRepresentation:(NSData *)dataRepresentation;
@property(readonly, copy) NSData *dataRepresentation;
@end

typedef NS_OPTIONS(NSUInteger, VZMacAuxiliaryStorageInitializationOptions) {
	VZMacAuxiliaryStorageInitializationOptionAllowOverwrite = 1 << 0,
};

VZ_SINCE(12.0)
@interface VZMacAuxiliaryStorage : VZ_ROOT
VZ_NO_INIT
- (instancetype)initWithURL:(NSURL *)URL VZ_SINCE(13.0);
- (instancetype)initWithContentsOfURL:(NSURL *)URL;
- (nullable instancetype)
	initCreatingStorageAtURL:(NSURL *)URL
		   hardwareModel:(VZMacHardwareModel *)hardwareModel
			 options:(VZMacAuxiliaryStorageInitializationOptions)options
			   error:(NSError **)error;
@property(readonly, copy) NSURL *URL;
@end

VZ_SINCE(12.0)
@interface VZMacPlatformConfiguration : VZPlatformConfiguration
- (instancetype)init;
@property(copy) VZMacHardwareModel *hardwareModel;
@property(copy) VZMacMachineIdentifier *machineIdentifier;
@property(nullable, strong) VZMacAuxiliaryStorage *auxiliaryStorage;
@end

VZ_SINCE(12.0)
@interface VZMacOSBootLoader : VZBootLoader
- (instancetype)init;
@end

VZ_SINCE(12.0)
@interface VZMacOSConfigurationRequirements : VZ_ROOT
VZ_NO_INIT
@property(readonly, strong) VZMacHardwareModel *hardwareModel;
@property(readonly) NSUInteger minimumSupportedCPUCount;
@property(readonly) uint64_t minimumSupportedMemorySize;
@end

VZ_SINCE(12.0)
@interface VZMacOSRestoreImage : VZ_ROOT
VZ_NO_INIT
+ (void)loadFileURL:(NSURL *)fileURL
	completionHandler:(void (^)(VZMacOSRestoreImage *_Nullable restoreImage,
				    NSError *_Nullable error))completionHandler;
+ (void)fetchLatestSupportedWithCompletionHandler:
	(void (^)(VZMacOSRestoreImage *_Nullable restoreImage,
		  NSError *_Nullable error))completionHandler;
@property(readonly, getter=isSupported) BOOL supported;
@property(readonly, copy) NSURL *URL;
@property(readonly, copy) NSString *buildVersion;
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
@property(readonly, nullable)
	VZMacOSConfigurationRequirements *mostFeaturefulSupportedConfiguration;
@end

VZ_SINCE(12.0)
@interface VZMacOSInstaller : VZ_ROOT
VZ_NO_INIT
- (instancetype)initWithVirtualMachine:(VZVirtualMachine *)virtualMachine
		       restoreImageURL:(NSURL *)restoreImageFileURL;
- (void)installWithCompletionHandler:(void (^)(NSError *_Nullable error))completionHandler;
@property(readonly, strong) NSProgress *progress;
@property(readonly, strong) VZVirtualMachine *virtualMachine;
@property(readonly, copy) NSURL *restoreImageURL;
@end

VZ_SINCE(13.0)
@interface VZMacOSVirtualMachineStartOptions : VZVirtualMachineStartOptions
@property BOOL startUpFromMacOSRecovery;
@end

NS_ASSUME_NONNULL_END
