/* SPDX-License-Identifier: MIT */
/*
 * A very small client of Virtualization.framework, for the tests of the stand-in. This client makes
 * a machine from its arguments. Then the client reads commands from stdin, one on each line, and
 * answers each command with one line. The client prints events on separate lines, which begin with
 * '!'.
 */
#import <Foundation/Foundation.h>
#import <Security/Security.h>
#import <Virtualization/Virtualization.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void say(NSString *format, ...) NS_FORMAT_FUNCTION(1, 2);
static void say(NSString *format, ...)
{
	va_list words;

	va_start(words, format);
	NSString *line = [[NSString alloc] initWithFormat:format arguments:words];
	va_end(words);
	/* Prints the line with one write(), so that lines of several threads do not mix. */
	dprintf(STDOUT_FILENO, "%s\n", [line UTF8String]);
	[line release];
}

static NSString *words_of(NSError *error)
{
	if (!error)
		return @"ok";
	return [NSString stringWithFormat:@"%@ %ld %@", [error domain], (long)[error code],
					  [error localizedDescription]];
}

@interface Client : NSObject <VZVirtualMachineDelegate, VZVirtioSocketListenerDelegate> {
	dispatch_queue_t _queue;
	VZVirtualMachineConfiguration *_configuration;
	VZVirtualMachine *_machine;
	VZVirtioSocketConnection *_connection; /* the last connection */
	VZVirtioSocketListener *_listener;
	BOOL _accepts;
}
@end

@implementation Client

/* --- the configuration ----------------------------------------------------------------------- */

static NSURL *file(NSString *path)
{
	return [NSURL fileURLWithPath:path];
}

static void add_disk(VZVirtualMachineConfiguration *configuration, NSString *path)
{
	NSError *error = nil;
	VZDiskImageStorageDeviceAttachment *image =
		[[VZDiskImageStorageDeviceAttachment alloc] initWithURL:file(path)
							       readOnly:NO
								  error:&error];

	if (!image) {
		say(@"disk: %@", words_of(error));
		exit(1);
	}
	VZVirtioBlockDeviceConfiguration *disk =
		[[VZVirtioBlockDeviceConfiguration alloc] initWithAttachment:image];
	disk.blockDeviceIdentifier = @"rootfs";
	configuration.storageDevices = @[ disk ];
	[disk release];
	[image release];
}

static void add_network(VZVirtualMachineConfiguration *configuration, NSString *kind)
{
	VZVirtioNetworkDeviceConfiguration *card =
		[[VZVirtioNetworkDeviceConfiguration alloc] init];
	VZNetworkDeviceAttachment *attachment;

	if ([kind isEqualToString:@"bridged"])
		attachment = [[VZBridgedNetworkDeviceAttachment alloc]
			initWithInterface:[VZBridgedNetworkInterface.networkInterfaces
						  objectAtIndex:0]];
	else
		attachment = [[VZNATNetworkDeviceAttachment alloc] init];
	card.attachment = attachment;
	configuration.networkDevices = @[ card ];
	[attachment release];
	[card release];
}

/* Without a name, the result is a VZSingleDirectoryShare. With a name, the result is a
 * VZMultipleDirectoryShare with one directory. Returns nil if the path is empty. */
static VZDirectoryShare *share_of(NSString *path, NSString *name, BOOL readOnly)
{
	VZSharedDirectory *directory =
		[[[VZSharedDirectory alloc] initWithURL:file(path) readOnly:readOnly] autorelease];

	if (![path length])
		return nil;
	if (!name)
		return [[[VZSingleDirectoryShare alloc] initWithDirectory:directory] autorelease];
	return [[[VZMultipleDirectoryShare alloc]
		initWithDirectories:[NSDictionary dictionaryWithObject:directory
								forKey:name]] autorelease];
}

static void add_share(VZVirtualMachineConfiguration *configuration, NSString *path)
{
	VZVirtioFileSystemDeviceConfiguration *device =
		[[VZVirtioFileSystemDeviceConfiguration alloc] initWithTag:@"shares"];

	device.share = share_of(path, @"one", YES);
	configuration.directorySharingDevices = @[ device ];
	[device release];
}

/* Sends the guest's console to the standard error of this program. The console gets no input. */
static void add_plain_devices(VZVirtualMachineConfiguration *configuration)
{
	VZVirtioConsoleDeviceSerialPortConfiguration *port =
		[[[VZVirtioConsoleDeviceSerialPortConfiguration alloc] init] autorelease];
	NSFileHandle *out =
		[[[NSFileHandle alloc] initWithFileDescriptor:STDERR_FILENO] autorelease];

	port.attachment = [[[VZFileHandleSerialPortAttachment alloc]
		initWithFileHandleForReading:nil
			fileHandleForWriting:out] autorelease];
	configuration.serialPorts = @[ port ];
	configuration.entropyDevices =
		@[ [[[VZVirtioEntropyDeviceConfiguration alloc] init] autorelease] ];
	configuration.socketDevices =
		@[ [[[VZVirtioSocketDeviceConfiguration alloc] init] autorelease] ];
	configuration.memoryBalloonDevices =
		@[ [[[VZVirtioTraditionalMemoryBalloonDeviceConfiguration alloc] init]
			autorelease] ];
}

/* Sends the guest's console to a file. */
static void set_serial_file(VZVirtualMachineConfiguration *configuration, NSString *path,
			    BOOL append)
{
	NSError *error = nil;
	VZFileSerialPortAttachment *attachment =
		[[VZFileSerialPortAttachment alloc] initWithURL:file(path)
							 append:append
							  error:&error];

	if (!attachment) {
		say(@"serial: %@", words_of(error));
		exit(1);
	}
	[[configuration.serialPorts objectAtIndex:0] setAttachment:attachment];
	[attachment release];
}

/* Adds a network card whose frames go through a socket. `value` is "FD" or "FD,MTU". FD is the
 * number of the socket's file descriptor. */
static void add_frames(VZVirtualMachineConfiguration *configuration, NSString *value)
{
	NSArray *numbers = [value componentsSeparatedByString:@","];
	NSFileHandle *socket = [[[NSFileHandle alloc]
		initWithFileDescriptor:[[numbers objectAtIndex:0] intValue]] autorelease];
	VZVirtioNetworkDeviceConfiguration *card =
		[[[VZVirtioNetworkDeviceConfiguration alloc] init] autorelease];
	VZFileHandleNetworkDeviceAttachment *attachment =
		[[[VZFileHandleNetworkDeviceAttachment alloc] initWithFileHandle:socket]
			autorelease];

	if ([numbers count] > 1)
		attachment.maximumTransmissionUnit = [[numbers objectAtIndex:1] integerValue];
	card.attachment = attachment;
	configuration.networkDevices = @[ card ];
}

static void add_usb_disk(VZVirtualMachineConfiguration *configuration, NSString *path)
{
	VZDiskImageStorageDeviceAttachment *image =
		[[[VZDiskImageStorageDeviceAttachment alloc] initWithURL:file(path)
								readOnly:YES
								   error:NULL] autorelease];

	configuration.storageDevices = [configuration.storageDevices
		arrayByAddingObject:[[[VZUSBMassStorageDeviceConfiguration alloc]
					    initWithAttachment:image] autorelease]];
}

/* Adds a further disk. `value` is the number of a file descriptor of a block device of this host,
 * or a URL of NBD. */
static void add_block_device(VZVirtualMachineConfiguration *configuration, NSString *value,
			     Class class)
{
	NSError *error = nil;
	VZStorageDeviceAttachment *attachment;

	if ([value rangeOfString:@":"].location == NSNotFound)
		attachment = [[VZDiskBlockDeviceStorageDeviceAttachment alloc]
			 initWithFileHandle:[[[NSFileHandle alloc]
						    initWithFileDescriptor:[value intValue]]
						    autorelease]
				   readOnly:NO
			synchronizationMode:VZDiskSynchronizationModeNone
				      error:&error];
	else
		attachment = [[VZNetworkBlockDeviceStorageDeviceAttachment alloc]
			initWithURL:[NSURL URLWithString:value]
			      error:&error];
	if (!attachment) {
		say(@"block: %@", words_of(error));
		exit(1);
	}
	configuration.storageDevices = [configuration.storageDevices
		arrayByAddingObject:[[[class alloc] initWithAttachment:attachment] autorelease]];
	[attachment release];
}

static void add_screens(VZVirtualMachineConfiguration *configuration, int count)
{
	VZVirtioGraphicsDeviceConfiguration *device =
		[[[VZVirtioGraphicsDeviceConfiguration alloc] init] autorelease];
	NSMutableArray *scanouts = [NSMutableArray array];

	for (int i = 0; i < count; i++)
		[scanouts addObject:[[[VZVirtioGraphicsScanoutConfiguration alloc]
					    initWithWidthInPixels:1280
						   heightInPixels:800] autorelease]];
	device.scanouts = scanouts;
	configuration.graphicsDevices = @[ device ];
}

/* Makes the machine boot by EFI, with a new variable store. */
static void set_efi(VZVirtualMachineConfiguration *configuration, NSString *path)
{
	NSError *error = nil;
	VZEFIVariableStore *store =
		[[VZEFIVariableStore alloc] initCreatingVariableStoreAtURL:file(path)
								   options:0
								     error:&error];
	VZEFIBootLoader *loader = [[[VZEFIBootLoader alloc] init] autorelease];

	if (!store) {
		say(@"efi: %@", words_of(error));
		exit(1);
	}
	loader.variableStore = store;
	configuration.bootLoader = loader;
	[store release];
}

static void add_sound(VZVirtualMachineConfiguration *configuration)
{
	VZVirtioSoundDeviceConfiguration *device =
		[[[VZVirtioSoundDeviceConfiguration alloc] init] autorelease];
	VZVirtioSoundDeviceOutputStreamConfiguration *out =
		[[[VZVirtioSoundDeviceOutputStreamConfiguration alloc] init] autorelease];

	out.sink = [[[VZHostAudioOutputStreamSink alloc] init] autorelease];
	device.streams = @[ out ];
	configuration.audioDevices = @[ device ];
}

/* Adds a console device with one port. `value` is "NUMBER" or "NUMBER,MAXIMUM": the port's number,
 * and the device's largest number of ports. */
static void add_port(VZVirtualMachineConfiguration *configuration, NSString *value)
{
	NSArray *numbers = [value componentsSeparatedByString:@","];
	VZVirtioConsoleDeviceConfiguration *device =
		[[[VZVirtioConsoleDeviceConfiguration alloc] init] autorelease];
	VZVirtioConsolePortConfiguration *port =
		[[[VZVirtioConsolePortConfiguration alloc] init] autorelease];

	port.name = VZSpiceAgentPortAttachment.spiceAgentPortName;
	port.attachment = [[[VZSpiceAgentPortAttachment alloc] init] autorelease];
	[device.ports setObject:port
		atIndexedSubscript:(NSUInteger)[[numbers objectAtIndex:0] integerValue]];
	if ([numbers count] > 1)
		device.ports.maximumPortCount = (uint32_t)[[numbers objectAtIndex:1] integerValue];
	configuration.consoleDevices = @[ device ];
}

/* Adds devices that this project's supervisor does not use, but other clients of the framework
 * do. */
static void add_other(VZVirtualMachineConfiguration *configuration, NSString *key, NSString *value)
{
	if ([key isEqualToString:@"serial"] || [key isEqualToString:@"append"])
		set_serial_file(configuration, value, [key isEqualToString:@"append"]);
	else if ([key isEqualToString:@"frames"])
		add_frames(configuration, value);
	else if ([key isEqualToString:@"usb"])
		add_usb_disk(configuration, value);
	else if ([key isEqualToString:@"nvme"])
		add_block_device(configuration, value,
				 [VZNVMExpressControllerDeviceConfiguration class]);
	else if ([key isEqualToString:@"block"])
		add_block_device(configuration, value, [VZVirtioBlockDeviceConfiguration class]);
	else if ([key isEqualToString:@"screens"])
		add_screens(configuration, [value intValue]);
	else if ([key isEqualToString:@"efi"])
		set_efi(configuration, value);
	else if ([key isEqualToString:@"platform"])
		configuration.platform = [[[VZMacPlatformConfiguration alloc] init] autorelease];
	else if ([key isEqualToString:@"sound"])
		add_sound(configuration);
	else if ([key isEqualToString:@"port"])
		add_port(configuration, value);
}

/* Handles one argument: "kernel=PATH", "initrd=PATH", "words=TEXT", "memory=BYTES", "disk=PATH",
 * "net=nat", "share=PATH", or an argument of add_other(). */
- (void)configure:(NSString *)word
{
	NSUInteger equals = [word rangeOfString:@"="].location;
	NSString *key = [word substringToIndex:equals],
		 *value = [word substringFromIndex:equals + 1];
	VZLinuxBootLoader *loader = (VZLinuxBootLoader *)_configuration.bootLoader;

	if ([key isEqualToString:@"kernel"])
		_configuration.bootLoader =
			[[[VZLinuxBootLoader alloc] initWithKernelURL:file(value)] autorelease];
	else if ([key isEqualToString:@"initrd"])
		loader.initialRamdiskURL = file(value);
	else if ([key isEqualToString:@"words"])
		loader.commandLine = value;
	else if ([key isEqualToString:@"memory"])
		_configuration.memorySize = (uint64_t)[value longLongValue];
	else if ([key isEqualToString:@"disk"])
		add_disk(_configuration, value);
	else if ([key isEqualToString:@"net"])
		add_network(_configuration, value);
	else if ([key isEqualToString:@"share"])
		add_share(_configuration, value);
	else
		add_other(_configuration, key, value);
}

- (BOOL)openWith:(NSArray *)words
{
	NSError *error = nil;

	_queue = dispatch_queue_create("selftest", DISPATCH_QUEUE_SERIAL);
	_configuration = [[VZVirtualMachineConfiguration alloc] init];
	_configuration.memorySize = 256ull << 20;
	add_plain_devices(_configuration);
	for (NSString *word in words)
		[self configure:word];
	BOOL valid = [_configuration validateWithError:&error];
	say(@"validate: %@", words_of(valid ? nil : error));
	if (!valid)
		return NO;
	_machine = [[VZVirtualMachine alloc] initWithConfiguration:_configuration queue:_queue];
	_machine.delegate = self;
	return YES;
}

/* --- what happens ---------------------------------------------------------------------------- */

- (void)guestDidStopVirtualMachine:(VZVirtualMachine *)virtualMachine
{
	say(@"!guestDidStop %ld", (long)virtualMachine.state);
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine didStopWithError:(NSError *)error
{
	say(@"!didStopWithError %ld %@", (long)virtualMachine.state, words_of(error));
}

- (void)virtualMachine:(VZVirtualMachine *)virtualMachine
			     networkDevice:(VZNetworkDevice *)networkDevice
	attachmentWasDisconnectedWithError:(NSError *)error
{
	(void)virtualMachine;
	say(@"!disconnected %d %@", networkDevice.attachment != nil, words_of(error));
}

- (void)observeValueForKeyPath:(NSString *)keyPath
		      ofObject:(id)object
			change:(NSDictionary *)change
		       context:(void *)context
{
	(void)context;
	say(@"!observed %@ %@ %d", keyPath, [change objectForKey:NSKeyValueChangeNewKey],
	    object == _machine);
}

- (void)keepConnection:(VZVirtioSocketConnection *)connection
{
	[connection retain];
	[_connection release];
	_connection = connection;
}

- (BOOL)listener:(VZVirtioSocketListener *)listener
	shouldAcceptNewConnection:(VZVirtioSocketConnection *)connection
		 fromSocketDevice:(VZVirtioSocketDevice *)socketDevice
{
	if (_accepts)
		[self keepConnection:connection];
	say(@"!asked %u %d", connection.destinationPort,
	    listener == _listener && socketDevice != nil);
	return _accepts;
}

/* --- what it is told ------------------------------------------------------------------------- */

/* Writes the text and a newline to the connection, unless the text is empty. Then reads until a
 * newline has come, and returns what it has read. Returns "cut" or "closed" if the connection has
 * ended. */
- (NSString *)talk:(NSString *)text
{
	char answer[65536];
	size_t length = 0;
	NSString *line = [text stringByAppendingString:@"\n"];
	int fd = _connection.fileDescriptor;

	if ([text length] && write(fd, [line UTF8String], strlen([line UTF8String])) < 0)
		return @"closed";
	while (length < sizeof(answer) - 1 && !memchr(answer, '\n', length)) {
		ssize_t n = read(fd, answer + length, sizeof(answer) - 1 - length);

		if (n <= 0)
			return length ? @"cut" : @"closed";
		length += (size_t)n;
	}
	answer[length - 1] = '\0';
	return [NSString stringWithUTF8String:answer];
}

/* Returns the first bytes that come from the connection, with a dot in place of each byte that is
 * not printable ASCII. */
- (NSString *)hear
{
	char some[4096];
	ssize_t n = read(_connection.fileDescriptor, some, sizeof(some) - 1);

	for (ssize_t i = 0; i < n; i++)
		if (some[i] < ' ' || some[i] > '~')
			some[i] = '.';
	some[n < 0 ? 0 : n] = '\0';
	return [NSString stringWithUTF8String:some];
}

- (void)connect:(uint32_t)port
{
	VZVirtioSocketDevice *device =
		(VZVirtioSocketDevice *)[_machine.socketDevices objectAtIndex:0];

	[device connectToPort:port
		completionHandler:^(VZVirtioSocketConnection *connection, NSError *error) {
		  [self keepConnection:connection];
		  say(@"connect: %@ %u", words_of(error), connection.destinationPort);
		}];
}

- (void)listen:(uint32_t)port
{
	VZVirtioSocketDevice *device =
		(VZVirtioSocketDevice *)[_machine.socketDevices objectAtIndex:0];

	if (!_listener) {
		_listener = [[VZVirtioSocketListener alloc] init];
		_listener.delegate = self;
	}
	[device setSocketListener:_listener forPort:port];
	say(@"listen: ok");
}

- (void)unlisten:(uint32_t)port
{
	[(VZVirtioSocketDevice *)[_machine.socketDevices objectAtIndex:0]
		removeSocketListenerForPort:port];
	say(@"unlisten: ok");
}

- (void)balloon:(uint64_t)bytes
{
	VZVirtioTraditionalMemoryBalloonDevice *balloon =
		(VZVirtioTraditionalMemoryBalloonDevice *)[_machine.memoryBalloonDevices
			objectAtIndex:0];

	balloon.targetVirtualMachineMemorySize = bytes;
	say(@"balloon: %llu", (unsigned long long)balloon.targetVirtualMachineMemorySize);
}

- (void)attach:(NSString *)kind
{
	VZNetworkDevice *card = [_machine.networkDevices objectAtIndex:0];
	VZNetworkDeviceAttachment *attachment = nil;

	if ([kind isEqualToString:@"nat"])
		attachment = [[[VZNATNetworkDeviceAttachment alloc] init] autorelease];
	if ([kind isEqualToString:@"bridged"])
		attachment = [[[VZBridgedNetworkDeviceAttachment alloc]
			initWithInterface:[VZBridgedNetworkInterface.networkInterfaces
						  objectAtIndex:0]] autorelease];
	card.attachment = attachment;
	say(@"attach: %d", card.attachment != nil);
}

- (void)share:(NSString *)path name:(NSString *)name
{
	VZVirtioFileSystemDevice *device =
		(VZVirtioFileSystemDevice *)[_machine.directorySharingDevices objectAtIndex:0];

	device.share = share_of(path, name, NO);
	say(@"share: %d", device.share != nil);
}

- (void)requestStop
{
	NSError *error = nil;
	BOOL asked = [_machine requestStopWithError:&error];

	say(@"requestStop: %@", words_of(asked ? nil : error));
}

- (void)entitlement:(NSString *)name
{
	SecTaskRef task = SecTaskCreateFromSelf(kCFAllocatorDefault);
	CFTypeRef value =
		SecTaskCopyValueForEntitlement(task, (CFStringRef)(const void *)name, NULL);

	say(@"entitlement: %d", value && CFGetTypeID(value) == CFBooleanGetTypeID() &&
					CFBooleanGetValue((CFBooleanRef)value));
	if (value)
		CFRelease(value);
	CFRelease(task);
}

- (void)transition:(SEL)selector name:(NSString *)name
{
	[_machine performSelector:selector
		       withObject:[[^(NSError *error) {
			 say(@"%@: %@ %ld", name, words_of(error), (long)self->_machine.state);
		       } copy] autorelease]];
}

static SEL transition_of(NSString *word)
{
	if ([word isEqualToString:@"start"])
		return @selector(startWithCompletionHandler:);
	if ([word isEqualToString:@"stop"])
		return @selector(stopWithCompletionHandler:);
	if ([word isEqualToString:@"pause"])
		return @selector(pauseWithCompletionHandler:);
	return [word isEqualToString:@"resume"] ? @selector(resumeWithCompletionHandler:) : NULL;
}

/* Executes one command. `word` is the first word of the line, and `argument` is the text after it.
 * Runs on the machine's queue. */
- (void)obey:(NSString *)word with:(NSString *)argument
{
	if (transition_of(word))
		[self transition:transition_of(word) name:word];
	else if ([word isEqualToString:@"state"])
		say(@"state: %ld %d%d%d%d%d", (long)_machine.state, _machine.canStart,
		    _machine.canStop, _machine.canPause, _machine.canResume,
		    _machine.canRequestStop);
	else if ([word isEqualToString:@"connect"])
		[self connect:(uint32_t)[argument longLongValue]];
	else if ([word isEqualToString:@"listen"])
		[self listen:(uint32_t)[argument longLongValue]];
	else if ([word isEqualToString:@"unlisten"])
		[self unlisten:(uint32_t)[argument longLongValue]];
	else if ([word isEqualToString:@"balloon"])
		[self balloon:(uint64_t)[argument longLongValue]];
	else if ([word isEqualToString:@"attach"])
		[self attach:argument];
	else if ([word isEqualToString:@"share"])
		[self share:argument name:@"two"];
	else if ([word isEqualToString:@"single"])
		[self share:argument name:nil];
	else if ([word isEqualToString:@"requestStop"])
		[self requestStop];
	else if ([word isEqualToString:@"entitlement"])
		[self entitlement:argument];
	else if ([word isEqualToString:@"observe"]) {
		[_machine addObserver:self
			   forKeyPath:argument
			      options:NSKeyValueObservingOptionNew
			      context:NULL];
		say(@"observe: ok");
	} else if ([word isEqualToString:@"unobserve"]) {
		[_machine removeObserver:self forKeyPath:argument];
		say(@"unobserve: ok");
	} else
		say(@"what is %@?", word);
}

- (void)take:(NSString *)line
{
	NSUInteger space = [line rangeOfString:@" "].location;
	NSString *word = space == NSNotFound ? line : [line substringToIndex:space];
	NSString *argument = space == NSNotFound ? @"" : [line substringFromIndex:space + 1];

	if ([word isEqualToString:@"talk"])
		say(@"talk: %@", [self talk:argument]);
	else if ([word isEqualToString:@"hear"])
		say(@"hear: %@", [self hear]);
	else if ([word isEqualToString:@"accepts"])
		say(@"accepts: %d", _accepts = [argument isEqualToString:@"yes"]);
	else if ([word isEqualToString:@"close"]) {
		[_connection close];
		say(@"close: %d", _connection.fileDescriptor);
	} else if ([word isEqualToString:@"change"]) {
		_configuration.CPUCount = 99;
		((VZLinuxBootLoader *)_configuration.bootLoader).kernelURL = file(@"/nonexistent");
		say(@"change: ok");
	} else if ([word isEqualToString:@"wrong-queue"])
		[_machine startWithCompletionHandler:^(NSError *error) {
		  (void)error;
		}];
	else
		dispatch_async(_queue, ^{
		  [self obey:word with:argument];
		});
}

@end

int main(int argc, char **argv)
{
	char line[65536];

	@autoreleasepool {
		NSMutableArray *words = [NSMutableArray array];
		Client *client = [[Client alloc] init];

		for (int i = 1; i < argc; i++)
			[words addObject:[NSString stringWithUTF8String:argv[i]]];
		if (![client openWith:words])
			return 1;
		while (fgets(line, sizeof(line), stdin)) {
			line[strcspn(line, "\n")] = '\0';
			[client take:[NSString stringWithUTF8String:line]];
		}
	}
	return 0;
}
