/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(12.0)
@interface VZSharedDirectory : VZ_ROOT
VZ_NO_INIT
- (instancetype)initWithURL:(NSURL *)url readOnly:(BOOL)readOnly;
@property(readonly, copy) NSURL *URL;
@property(readonly, getter=isReadOnly) BOOL readOnly;
@end

VZ_SINCE(12.0)
@interface VZDirectoryShare : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZSingleDirectoryShare : VZDirectoryShare
- (instancetype)initWithDirectory:(VZSharedDirectory *)directory;
@property(readonly, strong) VZSharedDirectory *directory;
@end

VZ_SINCE(12.0)
@interface VZMultipleDirectoryShare : VZDirectoryShare
- (instancetype)init;
- (instancetype)initWithDirectories:(NSDictionary<NSString *, VZSharedDirectory *> *)directories;
@property(readonly, copy) NSDictionary<NSString *, VZSharedDirectory *> *directories;
+ (BOOL)validateName:(NSString *)name error:(NSError **)error;
+ (nullable NSString *)canonicalizedNameFromName:(NSString *)name;
@end

VZ_SINCE(12.0)
@interface VZDirectorySharingDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZVirtioFileSystemDeviceConfiguration : VZDirectorySharingDeviceConfiguration
- (instancetype)initWithTag:(NSString *)tag;
+ (BOOL)validateTag:(NSString *)tag error:(NSError **)error;
@property(copy) NSString *tag;
@property(nullable, strong) VZDirectoryShare *share;
@property(class, readonly) NSString *macOSGuestAutomountTag VZ_SINCE(13.0);
+ (NSString *)macOSGuestAutomountTag VZ_SINCE(13.0);
@end

VZ_SINCE(12.0)
@interface VZDirectorySharingDevice : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZVirtioFileSystemDevice : VZDirectorySharingDevice
@property(readonly, copy) NSString *tag;
@property(nullable, strong) VZDirectoryShare *share;
@end

NS_ASSUME_NONNULL_END
