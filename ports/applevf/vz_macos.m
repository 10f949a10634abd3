/* SPDX-License-Identifier: MIT */
/*
 * Adds the platform, boot loader and devices of a macOS guest to a configuration. The platform
 * works only with macOS's boot loader. macOS boots only with the hardware model and the auxiliary
 * storage with which it was installed
 * (developer.apple.com/documentation/virtualization/vzmacauxiliarystorage). The machine has a
 * screen, a keyboard and a pointing device although nobody uses them, as in Apple's sample
 * (developer.apple.com/documentation/virtualization/running-macos-in-a-virtual-machine-on-apple-silicon).
 */
#include "applevf/vz_macos.h"

#include "applevf/vz_objc.h"

#ifdef VZ_MACOS_GUESTS

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "contract/macos.h"

int vz_macos_check(struct error *err)
{
	(void)err;
	return 0;
}

static NSData *data_of(const char *path)
{
	NSString *name = [NSString stringWithUTF8String:path];

	return name ? [NSData dataWithContentsOfFile:name] : nil;
}

/* Returns the hardware model from the file at `path`, autoreleased, or nil with err set. */
static VZMacHardwareModel *model_of(const char *path, struct error *err)
{
	NSData *data = data_of(path);
	VZMacHardwareModel *model =
		data ? [[[VZMacHardwareModel alloc] initWithDataRepresentation:data] autorelease]
		     : nil;

	if (!model) {
		error_set(
			err, ERR_INVALID,
			"config.macos.hardwareModelPath: %s is not a hardware model: name the file that the installation made",
			path);
		return nil;
	}
	if ([model isSupported])
		return model;
	error_set(
		err, ERR_UNSUPPORTED,
		"config.macos.hardwareModelPath: this Mac, or its macOS, runs no machines of %s: use another Mac",
		path);
	return nil;
}

/* Returns the machine identifier from the file at `path`, autoreleased, or nil with err set. */
static VZMacMachineIdentifier *identifier_of(const char *path, struct error *err)
{
	NSData *data = data_of(path);
	VZMacMachineIdentifier *identifier =
		data ? [[[VZMacMachineIdentifier alloc] initWithDataRepresentation:data]
			       autorelease]
		     : nil;

	if (!identifier)
		error_set(
			err, ERR_INVALID,
			"config.macos.machineIdentifierPath: %s is not a machine identifier: name the file that the installation made",
			path);
	return identifier;
}

static void put_screen_and_hands(VZVirtualMachineConfiguration *machine)
{
	VZMacGraphicsDisplayConfiguration *display =
		[[[VZMacGraphicsDisplayConfiguration alloc] initWithWidthInPixels:1280
								   heightInPixels:800
								    pixelsPerInch:80] autorelease];
	VZMacGraphicsDeviceConfiguration *screen =
		[[[VZMacGraphicsDeviceConfiguration alloc] init] autorelease];
	VZUSBKeyboardConfiguration *keyboard =
		[[[VZUSBKeyboardConfiguration alloc] init] autorelease];
	VZUSBScreenCoordinatePointingDeviceConfiguration *pointer =
		[[[VZUSBScreenCoordinatePointingDeviceConfiguration alloc] init] autorelease];

	[screen setDisplays:[NSArray arrayWithObject:display]];
	[machine setGraphicsDevices:[NSArray arrayWithObject:screen]];
	[machine setKeyboards:[NSArray arrayWithObject:keyboard]];
	[machine setPointingDevices:[NSArray arrayWithObject:pointer]];
}

void vz_put_mac_platform(VZVirtualMachineConfiguration *machine, VZMacHardwareModel *model,
			 VZMacMachineIdentifier *identifier, VZMacAuxiliaryStorage *auxiliary)
{
	VZMacPlatformConfiguration *platform =
		[[[VZMacPlatformConfiguration alloc] init] autorelease];

	[platform setHardwareModel:model];
	[platform setMachineIdentifier:identifier];
	[platform setAuxiliaryStorage:auxiliary];
	[machine setPlatform:platform];
	[machine setBootLoader:[[[VZMacOSBootLoader alloc] init] autorelease]];
	put_screen_and_hands(machine);
}

int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err)
{
	VZMacHardwareModel *model = model_of(macos->hardware_model, err);
	VZMacMachineIdentifier *identifier =
		model ? identifier_of(macos->machine_identifier, err) : nil;
	NSURL *url;

	if (!identifier)
		return -1;
	url = [NSURL fileURLWithPath:[NSString stringWithUTF8String:macos->auxiliary]];
	vz_put_mac_platform(machine, model, identifier,
			    [[[VZMacAuxiliaryStorage alloc] initWithURL:url] autorelease]);
	return 0;
}

int vz_mac_write(int dir, const char *name, NSData *data, struct error *err)
{
	return path_replace_file_at(dir, name, [data bytes], [data length], 0600, PATH_SYNC, err);
}

int vz_macos_identify(const char *directory, struct error *err)
{
	autoclose int dir = path_open_dir(directory, err);

	if (dir < 0)
		return -1;
	@autoreleasepool {
		VZMacMachineIdentifier *fresh = [[[VZMacMachineIdentifier alloc] init] autorelease];

		return vz_mac_write(dir, MACOS_IDENTIFIER, [fresh dataRepresentation], err);
	}
}

#endif
