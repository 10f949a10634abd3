/* SPDX-License-Identifier: MIT */
/* Configurations and attachments that are what they were made of, and no more. */
#import "object.h"

@implementation VZBootLoader
@end

@implementation VZLinuxBootLoader

- (instancetype)initWithKernelURL:(NSURL *)kernelURL
{
	self = [self initValues];
	if (self) {
		[self setKernelURL:kernelURL];
		[self setCommandLine:@""];
	}
	return self;
}

VZ_COPIED(NSURL *, kernelURL, setKernelURL)
VZ_COPIED(NSString *, commandLine, setCommandLine)
VZ_COPIED(NSURL *, initialRamdiskURL, setInitialRamdiskURL)

@end

@implementation VZPlatformConfiguration
@end

@implementation VZGenericPlatformConfiguration

- (instancetype)init
{
	self = [self initValues];
	if (self)
		[self setMachineIdentifier:[[[VZGenericMachineIdentifier alloc] init] autorelease]];
	return self;
}

VZ_COPIED(VZGenericMachineIdentifier *, machineIdentifier, setMachineIdentifier)

@end

@implementation VZGenericMachineIdentifier

- (instancetype)init
{
	NSString *random = [[NSUUID UUID] UUIDString];

	return [self initWithDataRepresentation:[random dataUsingEncoding:NSUTF8StringEncoding]];
}

- (instancetype)initWithDataRepresentation:(NSData *)dataRepresentation
{
	self = [self initValues];
	if (self)
		[self keep:[[dataRepresentation copy] autorelease] as:@"dataRepresentation"];
	return self;
}

VZ_READ(NSData *, dataRepresentation)

@end

/* --- serial ports ---------------------------------------------------------------------------- */

@implementation VZSerialPortAttachment
VZ_SHARED
@end

@implementation VZFileHandleSerialPortAttachment

- (instancetype)initWithFileHandleForReading:(NSFileHandle *)fileHandleForReading
			fileHandleForWriting:(NSFileHandle *)fileHandleForWriting
{
	self = [self initValues];
	if (self) {
		[self keep:fileHandleForReading as:@"fileHandleForReading"];
		[self keep:fileHandleForWriting as:@"fileHandleForWriting"];
	}
	return self;
}

VZ_READ(NSFileHandle *, fileHandleForReading)
VZ_READ(NSFileHandle *, fileHandleForWriting)

@end

@implementation VZSerialPortConfiguration
VZ_STRONG(VZSerialPortAttachment *, attachment, setAttachment)
@end

@implementation VZVirtioConsoleDeviceSerialPortConfiguration
VZ_INIT
@end

/* --- memory, entropy, sockets ---------------------------------------------------------------- */

@implementation VZEntropyDeviceConfiguration
@end

@implementation VZVirtioEntropyDeviceConfiguration
VZ_INIT
@end

@implementation VZMemoryBalloonDeviceConfiguration
@end

@implementation VZVirtioTraditionalMemoryBalloonDeviceConfiguration
VZ_INIT
@end

@implementation VZSocketDeviceConfiguration
@end

@implementation VZVirtioSocketDeviceConfiguration
VZ_INIT
@end

/* --- screens and keys ------------------------------------------------------------------------ */

@implementation VZGraphicsDisplayConfiguration
@end

@implementation VZMacGraphicsDisplayConfiguration

- (instancetype)initWithWidthInPixels:(NSInteger)widthInPixels
		       heightInPixels:(NSInteger)heightInPixels
			pixelsPerInch:(NSInteger)pixelsPerInch
{
	self = [self initValues];
	if (self) {
		[self setWidthInPixels:widthInPixels];
		[self setHeightInPixels:heightInPixels];
		[self setPixelsPerInch:pixelsPerInch];
	}
	return self;
}

VZ_NUMBER(NSInteger, widthInPixels, setWidthInPixels)
VZ_NUMBER(NSInteger, heightInPixels, setHeightInPixels)
VZ_NUMBER(NSInteger, pixelsPerInch, setPixelsPerInch)

@end

@implementation VZGraphicsDeviceConfiguration
@end

@implementation VZMacGraphicsDeviceConfiguration

- (instancetype)init
{
	self = [self initValues];
	if (self)
		[self setDisplays:[NSArray array]];
	return self;
}

VZ_COPIED(NSArray *, displays, setDisplays)

@end

@implementation VZKeyboardConfiguration
@end

@implementation VZUSBKeyboardConfiguration
VZ_INIT
@end

@implementation VZMacKeyboardConfiguration
VZ_INIT
@end

@implementation VZPointingDeviceConfiguration
@end

@implementation VZUSBScreenCoordinatePointingDeviceConfiguration
VZ_INIT
@end

@implementation VZMacTrackpadConfiguration
VZ_INIT
@end
