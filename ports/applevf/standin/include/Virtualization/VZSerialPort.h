/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(11.0)
@interface VZSerialPortAttachment : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(11.0)
@interface VZFileHandleSerialPortAttachment : VZSerialPortAttachment
- (instancetype)initWithFileHandleForReading:(nullable NSFileHandle *)fileHandleForReading
			fileHandleForWriting:(nullable NSFileHandle *)fileHandleForWriting;
@property(readonly, nullable) NSFileHandle *fileHandleForReading;
@property(readonly, nullable) NSFileHandle *fileHandleForWriting;
@end

VZ_SINCE(11.0)
@interface VZFileSerialPortAttachment : VZSerialPortAttachment
- (nullable instancetype)initWithURL:(NSURL *)url append:(BOOL)shouldAppend error:(NSError **)error;
@property(readonly) NSURL *URL;
@property(readonly) BOOL append;
@end

VZ_SINCE(13.0)
@interface VZSpiceAgentPortAttachment : VZSerialPortAttachment
- (instancetype)init;
@property BOOL sharesClipboard;
@property(class, readonly, copy) NSString *spiceAgentPortName;
+ (NSString *)spiceAgentPortName;
@end

VZ_SINCE(11.0)
@interface VZSerialPortConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@property(nullable, strong) VZSerialPortAttachment *attachment;
@end

VZ_SINCE(11.0)
@interface VZVirtioConsoleDeviceSerialPortConfiguration : VZSerialPortConfiguration
- (instancetype)init;
@end

NS_ASSUME_NONNULL_END
