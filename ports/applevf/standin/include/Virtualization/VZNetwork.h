/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(11.0)
@interface VZMACAddress : VZ_ROOT <NSCopying>
VZ_NO_INIT
- (nullable instancetype)initWithString:(NSString *)string;
+ (instancetype)randomLocallyAdministeredAddress;
@property(readonly, copy) NSString *string;
@property(readonly) BOOL isBroadcastAddress;
@property(readonly) BOOL isMulticastAddress;
@property(readonly) BOOL isUnicastAddress;
@property(readonly) BOOL isLocallyAdministeredAddress;
@property(readonly) BOOL isUniversallyAdministeredAddress;
@end

VZ_SINCE(11.0)
@interface VZNetworkDeviceAttachment : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZNATNetworkDeviceAttachment : VZNetworkDeviceAttachment
- (instancetype)init;
@end

VZ_SINCE(11.0)
@interface VZBridgedNetworkInterface : VZ_ROOT
VZ_NO_INIT
@property(class, readonly) NSArray<VZBridgedNetworkInterface *> *networkInterfaces;
+ (NSArray<VZBridgedNetworkInterface *> *)networkInterfaces;
@property(readonly, copy) NSString *identifier;
@property(readonly, nullable, copy) NSString *localizedDisplayName;
@end

VZ_SINCE(11.0)
@interface VZBridgedNetworkDeviceAttachment : VZNetworkDeviceAttachment
- (instancetype)initWithInterface:(VZBridgedNetworkInterface *)interface;
@property(readonly, strong) VZBridgedNetworkInterface *interface;
@end

VZ_SINCE(11.0)
@interface VZFileHandleNetworkDeviceAttachment : VZNetworkDeviceAttachment
- (instancetype)initWithFileHandle:(NSFileHandle *)fileHandle;
@property(readonly) NSFileHandle *fileHandle;
@property NSInteger maximumTransmissionUnit VZ_SINCE(13.0);
@end

VZ_SINCE(11.0)
@interface VZNetworkDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@property(copy) VZMACAddress *MACAddress;
@property(nullable, strong) VZNetworkDeviceAttachment *attachment;
@end

VZ_SINCE(11.0)
@interface VZVirtioNetworkDeviceConfiguration : VZNetworkDeviceConfiguration
- (instancetype)init;
@end

VZ_SINCE(12.0)
@interface VZNetworkDevice : VZ_ROOT
VZ_NO_INIT
@property(nullable, strong) VZNetworkDeviceAttachment *attachment;
@end

NS_ASSUME_NONNULL_END
