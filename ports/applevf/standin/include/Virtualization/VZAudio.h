/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

NS_ASSUME_NONNULL_BEGIN

VZ_SINCE(12.0)
@interface VZAudioInputStreamSource : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZHostAudioInputStreamSource : VZAudioInputStreamSource
- (instancetype)init;
@end

VZ_SINCE(12.0)
@interface VZAudioOutputStreamSink : VZ_ROOT
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZHostAudioOutputStreamSink : VZAudioOutputStreamSink
- (instancetype)init;
@end

VZ_SINCE(12.0)
@interface VZVirtioSoundDeviceStreamConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZVirtioSoundDeviceInputStreamConfiguration : VZVirtioSoundDeviceStreamConfiguration
- (instancetype)init;
@property(nullable, strong) VZAudioInputStreamSource *source;
@end

VZ_SINCE(12.0)
@interface VZVirtioSoundDeviceOutputStreamConfiguration : VZVirtioSoundDeviceStreamConfiguration
- (instancetype)init;
@property(nullable, strong) VZAudioOutputStreamSink *sink;
@end

VZ_SINCE(12.0)
@interface VZAudioDeviceConfiguration : VZ_ROOT <NSCopying>
VZ_NO_INIT
@end

VZ_SINCE(12.0)
@interface VZVirtioSoundDeviceConfiguration : VZAudioDeviceConfiguration
- (instancetype)init;
@property(copy) NSArray<VZVirtioSoundDeviceStreamConfiguration *> *streams;
@end

NS_ASSUME_NONNULL_END
