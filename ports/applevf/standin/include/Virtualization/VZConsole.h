/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZSerialPort.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(13.0)
@interface VZConsolePortConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@property(nullable, strong) VZSerialPortAttachment *attachment;
@end

VZ_SINCE(13.0)
@interface VZVirtioConsolePortConfiguration : VZConsolePortConfiguration
- (instancetype)init;
@property(nullable, copy) NSString *name;
@property BOOL isConsole;
@end

VZ_SINCE(13.0)
@interface VZVirtioConsolePortConfigurationArray : VZ_ROOT <NSCopying>
VZ_NO_INIT
@property uint32_t maximumPortCount;
- (nullable VZVirtioConsolePortConfiguration *)objectAtIndexedSubscript:(NSUInteger)portIndex;
- (void)setObject:(nullable VZVirtioConsolePortConfiguration *)configuration
	atIndexedSubscript:(NSUInteger)portIndex;
@end

VZ_SINCE(13.0)
@interface VZConsoleDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(13.0)
@interface VZVirtioConsoleDeviceConfiguration : VZConsoleDeviceConfiguration
- (instancetype)init;
@property(readonly) VZVirtioConsolePortConfigurationArray *ports;
@end

NS_ASSUME_NONNULL_END
