/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(NSInteger, VZDiskImageCachingMode) {
	VZDiskImageCachingModeAutomatic = 0,
	VZDiskImageCachingModeUncached = 1,
	VZDiskImageCachingModeCached = 2,
};

typedef NS_ENUM(NSInteger, VZDiskSynchronizationMode) {
	VZDiskSynchronizationModeFull = 0,
	VZDiskSynchronizationModeNone = 1,
};

typedef NS_ENUM(NSInteger, VZDiskImageSynchronizationMode) {
	VZDiskImageSynchronizationModeFull = 1,
	VZDiskImageSynchronizationModeFsync = 2,
	VZDiskImageSynchronizationModeNone = 3,
};

VZ_SINCE(11.0)
@interface VZStorageDeviceAttachment : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZDiskImageStorageDeviceAttachment : VZStorageDeviceAttachment
- (nullable instancetype)initWithURL:(NSURL *)url readOnly:(BOOL)readOnly error:(NSError **)error;
- (nullable instancetype)initWithURL:(NSURL *)url
			    readOnly:(BOOL)readOnly
			 cachingMode:(VZDiskImageCachingMode)cachingMode
		 synchronizationMode:(VZDiskImageSynchronizationMode)synchronizationMode
			       error:(NSError **)error VZ_SINCE(12.0);
@property(readonly) NSURL *URL;
@property(readonly, getter=isReadOnly) BOOL readOnly;
@property(readonly) VZDiskImageCachingMode cachingMode VZ_SINCE(12.0);
@property(readonly) VZDiskImageSynchronizationMode synchronizationMode VZ_SINCE(12.0);
@end

VZ_SINCE(14.0)
@interface VZDiskBlockDeviceStorageDeviceAttachment : VZStorageDeviceAttachment
- (nullable instancetype)initWithFileHandle:(NSFileHandle *)fileHandle
				   readOnly:(BOOL)readOnly
			synchronizationMode:(VZDiskSynchronizationMode)synchronizationMode
				      error:(NSError **)error;
@property(readonly) NSFileHandle *fileHandle;
@property(readonly, getter=isReadOnly) BOOL readOnly;
@property(readonly) VZDiskSynchronizationMode synchronizationMode;
@end

@class VZNetworkBlockDeviceStorageDeviceAttachment;

VZ_SINCE(14.0)
@protocol VZNetworkBlockDeviceStorageDeviceAttachmentDelegate <NSObject>
@optional
- (void)attachmentWasConnected:(VZNetworkBlockDeviceStorageDeviceAttachment *)attachment;
- (void)attachment:(VZNetworkBlockDeviceStorageDeviceAttachment *)attachment
	didEncounterError:(NSError *)error;
@end

VZ_SINCE(14.0)
@interface VZNetworkBlockDeviceStorageDeviceAttachment : VZStorageDeviceAttachment
- (nullable instancetype)initWithURL:(NSURL *)URL
			     timeout:(NSTimeInterval)timeout
		      forcedReadOnly:(BOOL)forcedReadOnly
		 synchronizationMode:(VZDiskSynchronizationMode)synchronizationMode
			       error:(NSError **)error;
- (nullable instancetype)initWithURL:(NSURL *)URL error:(NSError **)error;
+ (BOOL)validateURL:(NSURL *)URL error:(NSError **)error;
@property(readonly) NSURL *URL;
@property(readonly) NSTimeInterval timeout;
@property(readonly, getter=isForcedReadOnly) BOOL forcedReadOnly;
@property(readonly) VZDiskSynchronizationMode synchronizationMode;
@property(nullable, VZ_WEAK) id<VZNetworkBlockDeviceStorageDeviceAttachmentDelegate> delegate;
@end

VZ_SINCE(11.0)
@interface VZStorageDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@property(readonly, strong) VZStorageDeviceAttachment *attachment;
@end

VZ_SINCE(11.0)
@interface VZVirtioBlockDeviceConfiguration : VZStorageDeviceConfiguration
- (instancetype)initWithAttachment:(VZStorageDeviceAttachment *)attachment;
+ (BOOL)validateBlockDeviceIdentifier:(NSString *)blockDeviceIdentifier
				error:(NSError **)error VZ_SINCE(12.3);
@property(copy) NSString *blockDeviceIdentifier VZ_SINCE(12.3);
@end

VZ_SINCE(13.0)
@interface VZUSBMassStorageDeviceConfiguration : VZStorageDeviceConfiguration
- (instancetype)initWithAttachment:(VZStorageDeviceAttachment *)attachment;
@end

VZ_SINCE(14.0)
@interface VZNVMExpressControllerDeviceConfiguration : VZStorageDeviceConfiguration
- (instancetype)initWithAttachment:(VZStorageDeviceAttachment *)attachment;
@end

NS_ASSUME_NONNULL_END
