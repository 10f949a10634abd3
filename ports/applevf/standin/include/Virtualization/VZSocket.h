/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

@class VZVirtioSocketConnection, VZVirtioSocketDevice, VZVirtioSocketListener;

VZ_SINCE(11.0)
@interface VZSocketDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZVirtioSocketDeviceConfiguration : VZSocketDeviceConfiguration
- (instancetype)init;
@end

VZ_SINCE(11.0)
@interface VZSocketDevice : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZVirtioSocketDevice : VZSocketDevice
- (void)setSocketListener:(VZVirtioSocketListener *)listener forPort:(uint32_t)port;
- (void)removeSocketListenerForPort:(uint32_t)port;
- (void)connectToPort:(uint32_t)port
	completionHandler:(void (^)(VZVirtioSocketConnection *_Nullable connection,
				    NSError *_Nullable error))completionHandler;
@end

VZ_SINCE(11.0)
@interface VZVirtioSocketConnection : VZ_ROOT
VZ_NO_INIT
@property(readonly) uint32_t destinationPort;
@property(readonly) uint32_t sourcePort;
@property(readonly) int fileDescriptor;
- (void)close;
@end

VZ_SINCE(11.0)
@protocol VZVirtioSocketListenerDelegate <NSObject>
@optional
- (BOOL)listener:(VZVirtioSocketListener *)listener
	shouldAcceptNewConnection:(VZVirtioSocketConnection *)connection
		 fromSocketDevice:(VZVirtioSocketDevice *)socketDevice;
@end

VZ_SINCE(11.0)
@interface VZVirtioSocketListener : VZ_ROOT
@property(nullable, VZ_WEAK) id<VZVirtioSocketListenerDelegate> delegate;
@end

NS_ASSUME_NONNULL_END
