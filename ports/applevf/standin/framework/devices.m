/* SPDX-License-Identifier: MIT */
/* Configurations and attachments that only store the values that they were made with. */
#import "object.h"

#include <fcntl.h>

/* More ports than any client needs. A larger index shows a mistake of the client. */
#define VZ_CONSOLE_PORTS 512

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

@implementation VZEFIBootLoader
VZ_INIT
VZ_STRONG(VZEFIVariableStore *, variableStore, setVariableStore)
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

@implementation VZFileSerialPortAttachment

/* Opens the file at once, and keeps it open. The guest's output is appended to the file if
 * shouldAppend is YES, and otherwise replaces the file's contents. */
- (instancetype)initWithURL:(NSURL *)url append:(BOOL)shouldAppend error:(NSError **)error
{
	int how = O_WRONLY | O_CREAT | O_CLOEXEC | (shouldAppend ? O_APPEND : O_TRUNC);
	int fd = [url isFileURL] ? open([[url path] UTF8String], how, 0644) : -1;

	self = [self initValues];
	if (fd < 0) {
		vz_refuse(error, VZErrorInternal, @"The serial port’s file cannot be opened.");
		[self release];
		return nil;
	}
	[self keep:[[[NSFileHandle alloc] initWithFileDescriptor:fd closeOnDealloc:YES] autorelease]
		as:@"file"];
	[self keep:[[url copy] autorelease] as:@"URL"];
	[self keep:[NSNumber numberWithBool:shouldAppend] as:@"append"];
	return self;
}

VZ_READ(NSURL *, URL)

- (BOOL)append
{
	return [[self valueOf:@"append"] boolValue];
}

@end

@implementation VZSpiceAgentPortAttachment

- (instancetype)init
{
	self = [self initValues];
	if (self)
		[self setSharesClipboard:YES];
	return self;
}

VZ_NUMBER(BOOL, sharesClipboard, setSharesClipboard)

/* The name by which the SPICE agent in a guest finds its port. */
+ (NSString *)spiceAgentPortName
{
	return @"com.redhat.spice.0";
}

@end

@implementation VZSerialPortConfiguration
VZ_STRONG(VZSerialPortAttachment *, attachment, setAttachment)
@end

@implementation VZVirtioConsoleDeviceSerialPortConfiguration
VZ_INIT
@end

/* --- consoles -------------------------------------------------------------------------------- */

@implementation VZConsolePortConfiguration
VZ_STRONG(VZSerialPortAttachment *, attachment, setAttachment)
@end

@implementation VZVirtioConsolePortConfiguration
VZ_INIT
VZ_COPIED(NSString *, name, setName)
VZ_NUMBER(BOOL, isConsole, setIsConsole)
@end

@implementation VZVirtioConsolePortConfigurationArray

/* Returns the ports by their index, with NSNull for an index that has no port. */
- (NSArray *)all
{
	NSArray *all = [self valueOf:@"all"];

	return all ? all : [NSArray array];
}

- (uint32_t)maximumPortCount
{
	NSNumber *set = [self valueOf:@"maximumPortCount"];

	return set ? [set unsignedIntValue] : (uint32_t)[[self all] count];
}

- (void)setMaximumPortCount:(uint32_t)count
{
	[self keep:[NSNumber numberWithUnsignedInt:count] as:@"maximumPortCount"];
}

- (VZVirtioConsolePortConfiguration *)objectAtIndexedSubscript:(NSUInteger)portIndex
{
	NSArray *all = [self all];
	id port = portIndex < [all count] ? [all objectAtIndex:portIndex] : nil;

	return port == [NSNull null] ? nil : port;
}

- (void)setObject:(VZVirtioConsolePortConfiguration *)configuration
	atIndexedSubscript:(NSUInteger)portIndex
{
	NSMutableArray *all = [[[self all] mutableCopy] autorelease];

	if (portIndex >= VZ_CONSOLE_PORTS)
		vz_raise(@"The port index %lu is out of range.", (unsigned long)portIndex);
	while ([all count] <= portIndex)
		[all addObject:[NSNull null]];
	[all replaceObjectAtIndex:portIndex
		       withObject:configuration ? (id)configuration : [NSNull null]];
	while ([all lastObject] == [NSNull null])
		[all removeLastObject];
	[self keep:all as:@"all"];
}

@end

@implementation VZConsoleDeviceConfiguration
@end

@implementation VZVirtioConsoleDeviceConfiguration

- (instancetype)init
{
	VZStandinObject *ports = [[VZVirtioConsolePortConfigurationArray alloc] initValues];

	self = [self initValues];
	[self keep:ports as:@"ports"];
	[ports release];
	return self;
}

VZ_READ(VZVirtioConsolePortConfigurationArray *, ports)

@end

/* --- sound ----------------------------------------------------------------------------------- */

@implementation VZAudioInputStreamSource
VZ_SHARED
@end

@implementation VZHostAudioInputStreamSource
VZ_INIT
@end

@implementation VZAudioOutputStreamSink
VZ_SHARED
@end

@implementation VZHostAudioOutputStreamSink
VZ_INIT
@end

@implementation VZVirtioSoundDeviceStreamConfiguration
@end

@implementation VZVirtioSoundDeviceInputStreamConfiguration
VZ_INIT
VZ_STRONG(VZAudioInputStreamSource *, source, setSource)
@end

@implementation VZVirtioSoundDeviceOutputStreamConfiguration
VZ_INIT
VZ_STRONG(VZAudioOutputStreamSink *, sink, setSink)
@end

@implementation VZAudioDeviceConfiguration
@end

@implementation VZVirtioSoundDeviceConfiguration
VZ_INIT
VZ_LIST(streams, setStreams)
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

VZ_INIT
VZ_LIST(displays, setDisplays)

@end

@implementation VZVirtioGraphicsScanoutConfiguration

- (instancetype)initWithWidthInPixels:(NSInteger)widthInPixels
		       heightInPixels:(NSInteger)heightInPixels
{
	self = [self initValues];
	if (self) {
		[self setWidthInPixels:widthInPixels];
		[self setHeightInPixels:heightInPixels];
	}
	return self;
}

VZ_NUMBER(NSInteger, widthInPixels, setWidthInPixels)
VZ_NUMBER(NSInteger, heightInPixels, setHeightInPixels)

@end

@implementation VZVirtioGraphicsDeviceConfiguration
VZ_INIT
VZ_LIST(scanouts, setScanouts)
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
