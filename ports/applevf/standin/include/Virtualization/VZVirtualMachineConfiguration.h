/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

@class VZBootLoader, VZDirectorySharingDeviceConfiguration, VZEntropyDeviceConfiguration;
@class VZGraphicsDeviceConfiguration, VZKeyboardConfiguration, VZMemoryBalloonDeviceConfiguration;
@class VZNetworkDeviceConfiguration, VZPlatformConfiguration, VZPointingDeviceConfiguration;
@class VZSerialPortConfiguration, VZSocketDeviceConfiguration, VZStorageDeviceConfiguration;
@class VZAudioDeviceConfiguration, VZConsoleDeviceConfiguration;

VZ_SINCE(11.0)
@interface VZVirtualMachineConfiguration : VZ_ROOT <NSCopying>
@property(nullable, strong) VZBootLoader *bootLoader;
@property uint64_t memorySize;
@property NSUInteger CPUCount;
@property(strong) VZPlatformConfiguration *platform VZ_SINCE(12.0);
@property(copy) NSArray<VZAudioDeviceConfiguration *> *audioDevices VZ_SINCE(12.0);
@property(copy) NSArray<VZConsoleDeviceConfiguration *> *consoleDevices VZ_SINCE(13.0);
@property(copy)
	NSArray<VZDirectorySharingDeviceConfiguration *> *directorySharingDevices VZ_SINCE(12.0);
@property(copy) NSArray<VZEntropyDeviceConfiguration *> *entropyDevices;
@property(copy) NSArray<VZMemoryBalloonDeviceConfiguration *> *memoryBalloonDevices;
@property(copy) NSArray<VZNetworkDeviceConfiguration *> *networkDevices;
@property(copy) NSArray<VZSerialPortConfiguration *> *serialPorts;
@property(copy) NSArray<VZSocketDeviceConfiguration *> *socketDevices;
@property(copy) NSArray<VZStorageDeviceConfiguration *> *storageDevices;
@property(copy) NSArray<VZKeyboardConfiguration *> *keyboards VZ_SINCE(12.0);
@property(copy) NSArray<VZPointingDeviceConfiguration *> *pointingDevices VZ_SINCE(12.0);
@property(copy) NSArray<VZGraphicsDeviceConfiguration *> *graphicsDevices VZ_SINCE(12.0);
@end

@interface VZVirtualMachineConfiguration (VZVirtualMachineConfigurationValidation)
- (BOOL)validateWithError:(NSError **)error;
@property(class, readonly) uint64_t minimumAllowedMemorySize;
+ (uint64_t)minimumAllowedMemorySize;
@property(class, readonly) uint64_t maximumAllowedMemorySize;
+ (uint64_t)maximumAllowedMemorySize;
@property(class, readonly) NSUInteger minimumAllowedCPUCount;
+ (NSUInteger)minimumAllowedCPUCount;
@property(class, readonly) NSUInteger maximumAllowedCPUCount;
+ (NSUInteger)maximumAllowedCPUCount;
@end

NS_ASSUME_NONNULL_END
