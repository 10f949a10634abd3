/* SPDX-License-Identifier: MIT */
/*
 * Makes a VZVirtualMachineConfiguration from a plan. The host caches the disks, and writes its
 * cache to the storage when the guest asks for a flush. "automatic" caching is not used, since
 * Linux guests have lost data with it (github.com/utmapp/UTM/issues/4840,
 * github.com/lima-vm/lima/issues/1957).
 */
#include "applevf/vz.h"

#include "applevf/vz_objc.h"
#include "base/cleanup.h"

static NSString *string_of(const char *text)
{
	NSString *string = [NSString stringWithUTF8String:text];

	return string ? string : @"";
}

static NSURL *url_of(const char *path)
{
	return [NSURL fileURLWithPath:string_of(path)];
}

VZSingleDirectoryShare *vz_directory(const char *path, bool read_only)
{
	VZSharedDirectory *directory =
		[[[VZSharedDirectory alloc] initWithURL:url_of(path)
					       readOnly:read_only] autorelease];

	return [[[VZSingleDirectoryShare alloc] initWithDirectory:directory] autorelease];
}

/* Sets the boot loader and platform of a Linux guest. The Linux boot loader works only with the
 * generic platform (developer.apple.com/documentation/virtualization/vzlinuxbootloader). */
static void put_linux_platform(VZVirtualMachineConfiguration *machine, const struct plan *plan)
{
	VZLinuxBootLoader *loader =
		[[[VZLinuxBootLoader alloc] initWithKernelURL:url_of(plan->kernel)] autorelease];

	[loader setCommandLine:string_of(plan->command_line)];
	if (plan->initrd)
		[loader setInitialRamdiskURL:url_of(plan->initrd)];
	[machine setBootLoader:loader];
	[machine setPlatform:[[[VZGenericPlatformConfiguration alloc] init] autorelease]];
}

static int put_platform(VZVirtualMachineConfiguration *machine, const struct plan *plan,
			struct error *err)
{
	if (!plan->kernel)
		return vz_put_macos(machine, &plan->macos, err);
	put_linux_platform(machine, plan);
	return 0;
}

/* --- disks ------------------------------------------------------------------------------------ */

/* Returns the device of a disk, autoreleased, or nil with err set. The guest sees the device's
 * identifier as the disk's serial number. */
static VZStorageDeviceConfiguration *disk_of(const struct plan_disk *disk, struct error *err)
{
	NSError *error = nil;
	VZDiskImageStorageDeviceAttachment *image = [[[VZDiskImageStorageDeviceAttachment alloc]
			initWithURL:url_of(disk->path)
			   readOnly:disk->read_only
			cachingMode:VZDiskImageCachingModeCached
		synchronizationMode:VZDiskImageSynchronizationModeFull
			      error:&error] autorelease];
	VZVirtioBlockDeviceConfiguration *device;

	if (!image) {
		vz_tell_error(err, disk->path, error);
		return nil;
	}
	if (![VZVirtioBlockDeviceConfiguration validateBlockDeviceIdentifier:string_of(disk->serial)
								       error:&error]) {
		vz_tell_error(err, disk->serial, error);
		return nil;
	}
	device = [[[VZVirtioBlockDeviceConfiguration alloc] initWithAttachment:image] autorelease];
	[device setBlockDeviceIdentifier:string_of(disk->serial)];
	return device;
}

static int put_disks(VZVirtualMachineConfiguration *machine, const struct plan *plan,
		     struct error *err)
{
	NSMutableArray *devices = [NSMutableArray arrayWithCapacity:plan->disk_count];

	for (size_t i = 0; i < plan->disk_count; i++) {
		VZStorageDeviceConfiguration *device = disk_of(&plan->disks[i], err);

		if (!device)
			return -1;
		[devices addObject:device];
	}
	[machine setStorageDevices:devices];
	return 0;
}

/* --- shared directories ----------------------------------------------------------------------- */

static int put_shares(VZVirtualMachineConfiguration *machine, const struct plan *plan,
		      struct error *err)
{
	NSMutableArray *devices = [NSMutableArray arrayWithCapacity:plan->share_count];

	for (size_t i = 0; i < plan->share_count; i++) {
		const struct plan_share *share = &plan->shares[i];
		NSString *tag = string_of(share->tag);
		VZVirtioFileSystemDeviceConfiguration *device;
		NSError *error = nil;

		if (![VZVirtioFileSystemDeviceConfiguration validateTag:tag error:&error])
			return vz_tell_error(err, share->tag, error);
		device = [[[VZVirtioFileSystemDeviceConfiguration alloc] initWithTag:tag]
			autorelease];
		if (share->path)
			[device setShare:vz_directory(share->path, share->read_only)];
		[devices addObject:device];
	}
	[machine setDirectorySharingDevices:devices];
	return 0;
}

/* --- network ---------------------------------------------------------------------------------- */

/* Returns the attachment of the network card, autoreleased, or nil with err set. */
static VZNetworkDeviceAttachment *attachment_of(const struct plan *plan, struct error *err)
{
	VZBridgedNetworkInterface *interface;

	if (plan->network == NETWORK_NAT)
		return [[[VZNATNetworkDeviceAttachment alloc] init] autorelease];
	interface = vz_interface(plan->interface);
	if (interface)
		return [[[VZBridgedNetworkDeviceAttachment alloc] initWithInterface:interface]
			autorelease];
	error_set(
		err, ERR_INVALID,
		"config.network.interface: \"%.60s\" does not exist any more: name another interface",
		plan->interface);
	return nil;
}

static int put_network(VZVirtualMachineConfiguration *machine, const struct plan *plan,
		       struct error *err)
{
	VZVirtioNetworkDeviceConfiguration *card;
	VZNetworkDeviceAttachment *attachment;

	if (plan->network == NETWORK_ISOLATED)
		return 0;
	attachment = attachment_of(plan, err);
	if (!attachment)
		return -1;
	card = [[[VZVirtioNetworkDeviceConfiguration alloc] init] autorelease];
	[card setAttachment:attachment];
	[machine setNetworkDevices:[NSArray arrayWithObject:card]];
	return 0;
}

/* --- what every machine has ------------------------------------------------------------------- */

/* Gives the machine its serial console. The file descriptors must stay open as long as the machine
 * exists. The file descriptors are closed when the machine is freed. */
static void put_console(VZVirtualMachineConfiguration *machine, const struct plan *plan)
{
	NSFileHandle *in, *out;
	VZFileHandleSerialPortAttachment *attachment;
	VZVirtioConsoleDeviceSerialPortConfiguration *port;

	if (plan->serial_in < 0)
		return;
	in = [[[NSFileHandle alloc] initWithFileDescriptor:plan->serial_in
					    closeOnDealloc:NO] autorelease];
	out = [[[NSFileHandle alloc] initWithFileDescriptor:plan->serial_out
					     closeOnDealloc:NO] autorelease];
	attachment = [[[VZFileHandleSerialPortAttachment alloc] initWithFileHandleForReading:in
									fileHandleForWriting:out]
		autorelease];
	port = [[[VZVirtioConsoleDeviceSerialPortConfiguration alloc] init] autorelease];
	[port setAttachment:attachment];
	[machine setSerialPorts:[NSArray arrayWithObject:port]];
}

static void put_devices(VZVirtualMachineConfiguration *machine)
{
	[machine setEntropyDevices:[NSArray arrayWithObject:[[[VZVirtioEntropyDeviceConfiguration
								    alloc] init] autorelease]]];
	[machine setMemoryBalloonDevices:
			 [NSArray arrayWithObject:
					  [[[VZVirtioTraditionalMemoryBalloonDeviceConfiguration
						  alloc] init] autorelease]]];
	[machine
		setSocketDevices:[NSArray
					 arrayWithObject:[[[VZVirtioSocketDeviceConfiguration alloc]
								 init] autorelease]]];
}

static int fill_configuration(VZVirtualMachineConfiguration *machine, const struct plan *plan,
			      struct error *err)
{
	NSError *error = nil;

	[machine setMemorySize:(uint64_t)plan->memory_mib << 20];
	[machine setCPUCount:(NSUInteger)plan->cpus];
	put_console(machine, plan);
	put_devices(machine);
	if (put_platform(machine, plan, err) < 0 || put_disks(machine, plan, err) < 0 ||
	    put_shares(machine, plan, err) < 0 || put_network(machine, plan, err) < 0)
		return -1;
	if ([machine validateWithError:&error])
		return 0;
	return vz_tell_error(err, "Virtualization.framework cannot make this machine", error);
}

VZVirtualMachineConfiguration *vz_configuration(const struct plan *plan, struct error *err)
{
	VZVirtualMachineConfiguration *machine = nil;
	int status = -1;

	@autoreleasepool {
		machine = [[VZVirtualMachineConfiguration alloc] init];
		@try {
			status = fill_configuration(machine, plan, err);
		} @catch (NSException *exception) {
			vz_tell_exception(err, "the machine's configuration", exception);
		}
	}
	if (status == 0)
		return machine;
	[machine release];
	return nil;
}

int vz_check(const struct plan *plan, struct error *err)
{
	bool whole = plan_is_whole(plan);
	VZVirtualMachineConfiguration *machine = whole ? vz_configuration(plan, err) : nil;

	if (whole && !machine)
		return -1;
	[machine release];
	return 0;
}
