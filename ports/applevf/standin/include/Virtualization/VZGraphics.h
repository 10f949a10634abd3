/* SPDX-License-Identifier: MIT */
/* Screens, keyboards and pointing devices. macOS guests must have these devices, and Linux guests
 * may have them. */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

/* Apple added this class in macOS 14.0, as a base of older classes. Here the class does not have
 * the mark VZ_SINCE(14.0), since each use of an older class would then give a warning. */
@interface VZGraphicsDisplayConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZMacGraphicsDisplayConfiguration : VZGraphicsDisplayConfiguration
- (instancetype)initWithWidthInPixels:(NSInteger)widthInPixels
		       heightInPixels:(NSInteger)heightInPixels
			pixelsPerInch:(NSInteger)pixelsPerInch;
@property NSInteger widthInPixels;
@property NSInteger heightInPixels;
@property NSInteger pixelsPerInch;
@end

VZ_SINCE(12.0)
@interface VZGraphicsDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZMacGraphicsDeviceConfiguration : VZGraphicsDeviceConfiguration
- (instancetype)init;
@property(copy) NSArray<VZMacGraphicsDisplayConfiguration *> *displays;
@end

VZ_SINCE(13.0)
@interface VZVirtioGraphicsScanoutConfiguration : VZGraphicsDisplayConfiguration
- (instancetype)initWithWidthInPixels:(NSInteger)widthInPixels
		       heightInPixels:(NSInteger)heightInPixels;
@property NSInteger widthInPixels;
@property NSInteger heightInPixels;
@end

VZ_SINCE(13.0)
@interface VZVirtioGraphicsDeviceConfiguration : VZGraphicsDeviceConfiguration
- (instancetype)init;
@property(copy) NSArray<VZVirtioGraphicsScanoutConfiguration *> *scanouts;
@end

VZ_SINCE(12.0)
@interface VZKeyboardConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZUSBKeyboardConfiguration : VZKeyboardConfiguration
- (instancetype)init;
@end

VZ_SINCE(14.0)
@interface VZMacKeyboardConfiguration : VZKeyboardConfiguration
- (instancetype)init;
@end

VZ_SINCE(12.0)
@interface VZPointingDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZUSBScreenCoordinatePointingDeviceConfiguration : VZPointingDeviceConfiguration
- (instancetype)init;
@end

VZ_SINCE(13.0)
@interface VZMacTrackpadConfiguration : VZPointingDeviceConfiguration
- (instancetype)init;
@end

NS_ASSUME_NONNULL_END
