/* SPDX-License-Identifier: MIT */
/*
 * The configuration of a whole machine, and its validation. The texts of errors are Apple's if they
 * are published (facts.md). Other errors have a text of this project, and Apple's code.
 */
#import "configuration.h"

#import "entitlements.h"
#import "object.h"
#import "settings.h"

#include <sys/socket.h>
#include <unistd.h>

#define MEBIBYTE (1024ull * 1024)

/* Apple documents no value for these two limits. A test can set other values in the settings. */
#define MEMORY_MIN (32 * MEBIBYTE)
#define CPUS_MIN 1

/* The limits of an MTU in bytes, from Apple's page about maximumTransmissionUnit. */
enum { MTU_MIN = 1500, MTU_MAX = 65535 };

@implementation VZVirtualMachineConfiguration

- (instancetype)init
{
	self = [self initValues];
	if (self) {
		[self setMemorySize:512 * MEBIBYTE];
		[self setCPUCount:CPUS_MIN];
		[self setPlatform:[[[VZGenericPlatformConfiguration alloc] init] autorelease]];
	}
	return self;
}

VZ_STRONG(VZBootLoader *, bootLoader, setBootLoader)
VZ_STRONG(VZPlatformConfiguration *, platform, setPlatform)
VZ_NUMBER(uint64_t, memorySize, setMemorySize)
VZ_NUMBER(NSUInteger, CPUCount, setCPUCount)

VZ_LIST(audioDevices, setAudioDevices)
VZ_LIST(consoleDevices, setConsoleDevices)
VZ_LIST(directorySharingDevices, setDirectorySharingDevices)
VZ_LIST(entropyDevices, setEntropyDevices)
VZ_LIST(memoryBalloonDevices, setMemoryBalloonDevices)
VZ_LIST(networkDevices, setNetworkDevices)
VZ_LIST(serialPorts, setSerialPorts)
VZ_LIST(socketDevices, setSocketDevices)
VZ_LIST(storageDevices, setStorageDevices)
VZ_LIST(keyboards, setKeyboards)
VZ_LIST(pointingDevices, setPointingDevices)
VZ_LIST(graphicsDevices, setGraphicsDevices)

@end

/* --- what is wrong with it ------------------------------------------------------------------- */

static NSString *unfit_size(VZVirtualMachineConfiguration *c)
{
	uint64_t memory = [c memorySize];
	NSUInteger cpus = [c CPUCount];

	if (memory % MEBIBYTE)
		return @"The memory size is not a multiple of 1 megabyte.";
	if (memory < [VZVirtualMachineConfiguration minimumAllowedMemorySize] ||
	    memory > [VZVirtualMachineConfiguration maximumAllowedMemorySize])
		return @"The memory size is out of range.";
	if (cpus < [VZVirtualMachineConfiguration minimumAllowedCPUCount] ||
	    cpus > [VZVirtualMachineConfiguration maximumAllowedCPUCount])
		return @"The number of CPUs is out of range.";
	return nil;
}

static NSString *unfit_mac(VZVirtualMachineConfiguration *c)
{
	VZMacPlatformConfiguration *platform = (VZMacPlatformConfiguration *)[c platform];

	if (![platform isKindOfClass:[VZMacPlatformConfiguration class]])
		return @"A macOS boot loader needs a Mac platform.";
	if (![platform hardwareModel])
		return @"“hardwareModel” is nil.";
	if (![[platform hardwareModel] isSupported])
		return @"The hardware model is not supported on this host.";
	if (![platform auxiliaryStorage])
		return @"“auxiliaryStorage” is nil.";
	if (access([[[[platform auxiliaryStorage] URL] path] UTF8String], R_OK | W_OK) < 0)
		return @"Failed to lock auxiliary storage.";
	if (![[c storageDevices] count])
		return @"A macOS guest needs a storage device.";
	return [[c graphicsDevices] count] ? nil : @"A macOS guest needs a graphics device.";
}

static BOOL is_efi(VZVirtualMachineConfiguration *c)
{
	return [[c bootLoader] isKindOfClass:[VZEFIBootLoader class]];
}

static NSString *unfit_boot(VZVirtualMachineConfiguration *c)
{
	if (![c bootLoader])
		return @"“bootLoader” is nil.";
	if ([[c bootLoader] isKindOfClass:[VZMacOSBootLoader class]])
		return unfit_mac(c);
	if ([[c platform] isKindOfClass:[VZGenericPlatformConfiguration class]])
		return nil;
	return is_efi(c) ? @"An EFI boot loader needs a generic platform."
			 : @"A Linux boot loader needs a generic platform.";
}

/* Returns the reason why the attachment cannot carry network frames, or nil if it can. Refuses a
 * datagram socket that is not connected. */
static NSString *unfit_frames(VZFileHandleNetworkDeviceAttachment *attachment)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	NSInteger mtu = [attachment maximumTransmissionUnit];

	if (mtu < MTU_MIN || mtu > MTU_MAX)
		return @"The maximum transmission unit is out of range.";
	if (getpeername([[attachment fileHandle] fileDescriptor], (struct sockaddr *)&peer,
			&length) < 0)
		return @"The network attachment’s socket is not connected.";
	return nil;
}

static NSString *unfit_network(VZVirtualMachineConfiguration *c)
{
	NSString *reason = nil;

	for (VZNetworkDeviceConfiguration *each in [c networkDevices]) {
		if ([[each attachment] isKindOfClass:[VZBridgedNetworkDeviceAttachment class]] &&
		    !entitlement_held(ENTITLEMENT_NETWORKING))
			return @"Using VZBridgedNetworkDeviceAttachment in a process that lacks "
			       @"the "
			       @"“com.apple.vm.networking” entitlement.";
		if ([[each MACAddress] isMulticastAddress])
			return @"The MAC address is no unicast address.";
		if ([[each attachment] isKindOfClass:[VZFileHandleNetworkDeviceAttachment class]] &&
		    !reason)
			reason = unfit_frames((id)[each attachment]);
	}
	return reason;
}

static NSString *unfit_directory(VZSharedDirectory *directory)
{
	NSString *path = [[directory URL] path];
	BOOL is_directory = NO;

	if (![[NSFileManager defaultManager] fileExistsAtPath:path isDirectory:&is_directory] ||
	    !is_directory)
		return [NSString stringWithFormat:@"The directory “%@” doesn’t exist.", path];
	return nil;
}

static NSString *unfit_share(VZDirectoryShare *share)
{
	NSString *reason = nil;

	if ([share isKindOfClass:[VZSingleDirectoryShare class]])
		return unfit_directory([(VZSingleDirectoryShare *)share directory]);
	for (VZSharedDirectory *each in [[(VZMultipleDirectoryShare *)share directories] allValues])
		if (!reason)
			reason = unfit_directory(each);
	return reason;
}

static NSString *unfit_sharing(VZVirtualMachineConfiguration *c)
{
	NSMutableSet *tags = [NSMutableSet set];

	for (VZVirtioFileSystemDeviceConfiguration *each in [c directorySharingDevices]) {
		NSString *reason = unfit_share([each share]);

		if (reason)
			return reason;
		if ([tags containsObject:[each tag]])
			return @"Two directory sharing devices have the same tag.";
		[tags addObject:[each tag]];
	}
	return nil;
}

/* Returns the reason why the storage devices are not valid, or nil if they are valid. Two devices
 * must not have the same attachment, since two writers would destroy the image. */
static NSString *unfit_storage(VZVirtualMachineConfiguration *c)
{
	NSMutableArray *seen = [NSMutableArray array];

	for (VZStorageDeviceConfiguration *each in [c storageDevices]) {
		if (![each attachment] ||
		    [seen indexOfObjectIdenticalTo:[each attachment]] != NSNotFound)
			return @"The storage device attachment is invalid.";
		[seen addObject:[each attachment]];
		if ([each isKindOfClass:[VZNVMExpressControllerDeviceConfiguration class]] &&
		    ![[c platform] isKindOfClass:[VZGenericPlatformConfiguration class]])
			return @"An NVM Express controller needs a generic platform.";
	}
	return nil;
}

static NSString *unfit_number(VZVirtualMachineConfiguration *c)
{
	if ([[c socketDevices] count] > 1)
		return @"Number of socket devices is greater than the maximum number supported.";
	if ([[c memoryBalloonDevices] count] > 1)
		return @"Number of memory balloon devices is greater than the maximum number "
		       @"supported.";
	for (VZVirtioGraphicsDeviceConfiguration *each in [c graphicsDevices])
		if ([each isKindOfClass:[VZVirtioGraphicsDeviceConfiguration class]] &&
		    [[each scanouts] count] > 1)
			return @"Number of scanouts is greater than the maximum number supported.";
	return nil;
}

/* Returns the reason why the console devices are not valid, or nil if they are valid. Checks only
 * the rule of Apple's documentation: a device must not have more ports than its maximum. */
static NSString *unfit_console(VZVirtualMachineConfiguration *c)
{
	for (VZVirtioConsoleDeviceConfiguration *each in [c consoleDevices]) {
		uint32_t most = [[each ports] maximumPortCount];

		if (most < [[(VZStandinObject *)[each ports] valueOf:@"all"] count])
			return @"The maximum port count is less than the number of ports.";
	}
	return nil;
}

/* Returns which part of the configuration Apple's framework supports, but this stand-in does not.
 * Returns nil if there is no such part. */
static NSString *unfit_here(VZVirtualMachineConfiguration *c)
{
	if (is_efi(c))
		return @"The stand-in has no EFI firmware.";
	for (VZStorageDeviceConfiguration *each in [c storageDevices])
		if ([[each attachment]
			    isKindOfClass:[VZNetworkBlockDeviceStorageDeviceAttachment class]])
			return @"The stand-in has no network block devices.";
	if ([[c audioDevices] count] || [[c consoleDevices] count])
		return @"The stand-in has no audio and no console devices.";
	return nil;
}

NSString *configuration_unfit(VZVirtualMachineConfiguration *c)
{
	static NSString *(*const checks[])(VZVirtualMachineConfiguration *) = {
		unfit_boot,    unfit_size,    unfit_number,  unfit_storage,
		unfit_network, unfit_sharing, unfit_console, unfit_here};
	NSString *reason = nil;

	if (!entitlement_held(ENTITLEMENT_VIRTUALIZATION))
		return @"The process doesn’t have the “com.apple.security.virtualization” "
		       @"entitlement.";
	if (!settings_flag(@"supported", YES))
		return @"Virtualization is not available on this hardware.";
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks) && !reason; i++)
		reason = checks[i](c);
	return reason;
}

@implementation VZVirtualMachineConfiguration (VZVirtualMachineConfigurationValidation)

- (BOOL)validateWithError:(NSError **)error
{
	NSDictionary *fault = settings_fault(@"validate");
	NSString *reason = configuration_unfit(self);

	settings_record(@"validate", [NSDictionary dictionaryWithObject:reason ? reason : @""
								 forKey:@"reason"]);
	if (fault) {
		if (error)
			*error = settings_fault_error(fault,
						      VZErrorInvalidVirtualMachineConfiguration);
		return NO;
	}
	if (reason)
		return vz_refuse(error, VZErrorInvalidVirtualMachineConfiguration, reason);
	return YES;
}

+ (uint64_t)minimumAllowedMemorySize
{
	return settings_number(@"minimumMemory", MEMORY_MIN);
}

+ (uint64_t)maximumAllowedMemorySize
{
	unsigned long long pages = (unsigned long long)sysconf(_SC_PHYS_PAGES);
	unsigned long long bytes = pages * (unsigned long long)sysconf(_SC_PAGESIZE);

	return settings_number(@"maximumMemory", bytes / MEBIBYTE * MEBIBYTE);
}

+ (NSUInteger)minimumAllowedCPUCount
{
	return CPUS_MIN;
}

+ (NSUInteger)maximumAllowedCPUCount
{
	return (NSUInteger)settings_number(@"maximumCPUs",
					   (unsigned long long)sysconf(_SC_NPROCESSORS_ONLN));
}

@end
