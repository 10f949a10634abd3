/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZVirtualMachineConfiguration.h>

NS_ASSUME_NONNULL_BEGIN

@class VZDirectorySharingDevice, VZMemoryBalloonDevice, VZNetworkDevice, VZSocketDevice;
@class VZVirtualMachine, VZConsoleDevice, VZGraphicsDevice;

typedef NS_ENUM(NSInteger, VZVirtualMachineState) {
	VZVirtualMachineStateStopped = 0,
	VZVirtualMachineStateRunning = 1,
	VZVirtualMachineStatePaused = 2,
	VZVirtualMachineStateError = 3,
	VZVirtualMachineStateStarting = 4,
	VZVirtualMachineStatePausing = 5,
	VZVirtualMachineStateResuming = 6,
	VZVirtualMachineStateStopping VZ_SINCE(12.0) = 7,
	VZVirtualMachineStateSaving VZ_SINCE(14.0) = 8,
	VZVirtualMachineStateRestoring VZ_SINCE(14.0) = 9,
};

VZ_SINCE(11.0)
@protocol VZVirtualMachineDelegate <NSObject>
@optional
- (void)guestDidStopVirtualMachine:(VZVirtualMachine *)virtualMachine;
- (void)virtualMachine:(VZVirtualMachine *)virtualMachine didStopWithError:(NSError *)error;
- (void)virtualMachine:(VZVirtualMachine *)virtualMachine
			     networkDevice:(VZNetworkDevice *)networkDevice
	attachmentWasDisconnectedWithError:(NSError *)error VZ_SINCE(12.0);
@end

VZ_SINCE(13.0)
@interface VZVirtualMachineStartOptions : VZ_ROOT
@end

VZ_SINCE(11.0)
@interface VZVirtualMachine : VZ_ROOT
VZ_NO_INIT
- (instancetype)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration;
- (instancetype)initWithConfiguration:(VZVirtualMachineConfiguration *)configuration
				queue:(dispatch_queue_t)queue;

@property(class, readonly, getter=isSupported) BOOL supported;
+ (BOOL)isSupported;
@property(readonly) VZVirtualMachineState state;
@property(nullable, VZ_WEAK) id<VZVirtualMachineDelegate> delegate;
@property(readonly) BOOL canStart;
@property(readonly) BOOL canStop VZ_SINCE(12.0);
@property(readonly) BOOL canPause;
@property(readonly) BOOL canResume;
@property(readonly) BOOL canRequestStop;
@property(readonly, copy)
	NSArray<VZDirectorySharingDevice *> *directorySharingDevices VZ_SINCE(12.0);
@property(readonly, copy) NSArray<VZMemoryBalloonDevice *> *memoryBalloonDevices;
@property(readonly, copy) NSArray<VZNetworkDevice *> *networkDevices VZ_SINCE(12.0);
@property(readonly, copy) NSArray<VZSocketDevice *> *socketDevices;

- (void)startWithCompletionHandler:(void (^)(NSError *_Nullable errorOrNil))completionHandler;
- (void)startWithOptions:(VZVirtualMachineStartOptions *)options
	completionHandler:(void (^)(NSError *_Nullable errorOrNil))completionHandler VZ_SINCE(13.0);
- (void)stopWithCompletionHandler:(void (^)(NSError *_Nullable errorOrNil))completionHandler
	VZ_SINCE(12.0);
- (void)pauseWithCompletionHandler:(void (^)(NSError *_Nullable errorOrNil))completionHandler;
- (void)resumeWithCompletionHandler:(void (^)(NSError *_Nullable errorOrNil))completionHandler;
- (BOOL)requestStopWithError:(NSError **)error;
@end

NS_ASSUME_NONNULL_END
