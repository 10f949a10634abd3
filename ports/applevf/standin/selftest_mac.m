/* SPDX-License-Identifier: MIT */
/*
 * Tests the stand-in: makes the base of a macOS guest in the steps that the documentation of
 * VZMacOSInstaller gives. The steps are restore image, requirements, auxiliary storage,
 * configuration and installation. The arguments are a directory with a disk image "disk.img", and
 * the path of the restore image.
 */
#import <Foundation/Foundation.h>
#import <Virtualization/Virtualization.h>

#include <stdio.h>
#include <stdlib.h>

static void check(BOOL good, const char *what, NSError *error)
{
	if (good && !error)
		return;
	printf("%s: %ld %s\n", what, (long)[error code], [[error localizedDescription] UTF8String]);
	exit(1);
}

static VZMacOSRestoreImage *load_image(NSString *path)
{
	dispatch_semaphore_t done = dispatch_semaphore_create(0);
	__block VZMacOSRestoreImage *loaded = nil;
	__block NSError *failed = nil;

	[VZMacOSRestoreImage loadFileURL:[NSURL fileURLWithPath:path]
		       completionHandler:^(VZMacOSRestoreImage *image, NSError *error) {
			 loaded = [image retain];
			 failed = [error retain];
			 dispatch_semaphore_signal(done);
		       }];
	dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
	check(loaded != nil, "restore image", failed);
	return loaded;
}

static VZMacPlatformConfiguration *make_platform(NSString *dir, VZMacHardwareModel *model)
{
	VZMacPlatformConfiguration *platform = [[VZMacPlatformConfiguration alloc] init];
	NSURL *storage = [NSURL fileURLWithPath:[dir stringByAppendingPathComponent:@"aux"]];
	NSError *error = nil;
	NSData *kept = [model dataRepresentation];

	platform.hardwareModel = [[VZMacHardwareModel alloc] initWithDataRepresentation:kept];
	platform.auxiliaryStorage =
		[[VZMacAuxiliaryStorage alloc] initCreatingStorageAtURL:storage
							  hardwareModel:platform.hardwareModel
								options:0
								  error:&error];
	check(platform.auxiliaryStorage != nil, "auxiliary storage", error);
	return platform;
}

static void add_mac_devices(VZVirtualMachineConfiguration *configuration, NSString *dir)
{
	NSError *error = nil;
	NSURL *url = [NSURL fileURLWithPath:[dir stringByAppendingPathComponent:@"disk.img"]];
	VZDiskImageStorageDeviceAttachment *image =
		[[VZDiskImageStorageDeviceAttachment alloc] initWithURL:url
							       readOnly:NO
								  error:&error];
	VZMacGraphicsDeviceConfiguration *graphics =
		[[VZMacGraphicsDeviceConfiguration alloc] init];

	check(image != nil, "disk", error);
	configuration.storageDevices =
		@[ [[VZVirtioBlockDeviceConfiguration alloc] initWithAttachment:image] ];
	graphics.displays =
		@[ [[VZMacGraphicsDisplayConfiguration alloc] initWithWidthInPixels:1920
								     heightInPixels:1080
								      pixelsPerInch:80] ];
	configuration.graphicsDevices = @[ graphics ];
	configuration.keyboards = @[ [[VZUSBKeyboardConfiguration alloc] init] ];
	configuration.pointingDevices =
		@[ [[VZUSBScreenCoordinatePointingDeviceConfiguration alloc] init] ];
}

static void install(VZVirtualMachineConfiguration *configuration, NSURL *url)
{
	dispatch_queue_t queue = dispatch_queue_create("mac", DISPATCH_QUEUE_SERIAL);
	dispatch_semaphore_t done = dispatch_semaphore_create(0);
	VZVirtualMachine *machine = [[VZVirtualMachine alloc] initWithConfiguration:configuration
									      queue:queue];
	__block VZMacOSInstaller *installer = nil;

	dispatch_async(queue, ^{
	  installer = [[VZMacOSInstaller alloc] initWithVirtualMachine:machine restoreImageURL:url];
	  [installer installWithCompletionHandler:^(NSError *error) {
	    check(YES, "install", error);
	    printf("installed %.2f\n", installer.progress.fractionCompleted);
	    dispatch_semaphore_signal(done);
	  }];
	});
	dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
	dispatch_sync(queue, ^{
	  [machine startWithCompletionHandler:^(NSError *error) {
	    check(YES, "start", error);
	    printf("state %ld\n", (long)machine.state);
	    dispatch_semaphore_signal(done);
	  }];
	});
	dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
}

int main(int argc, char **argv)
{
	@autoreleasepool {
		VZVirtualMachineConfiguration *configuration =
			[[VZVirtualMachineConfiguration alloc] init];
		NSError *error = nil;

		if (argc != 3)
			return 2;
		NSString *dir = [NSString stringWithUTF8String:argv[1]];
		VZMacOSRestoreImage *image = load_image([NSString stringWithUTF8String:argv[2]]);
		VZMacOSConfigurationRequirements *needs =
			image.mostFeaturefulSupportedConfiguration;
		check(image.supported && needs != nil, "not supported", nil);
		printf("build %s\n", [image.buildVersion UTF8String]);
		configuration.bootLoader = [[VZMacOSBootLoader alloc] init];
		configuration.CPUCount = needs.minimumSupportedCPUCount;
		configuration.memorySize = needs.minimumSupportedMemorySize;
		add_mac_devices(configuration, dir);
		(void)[configuration validateWithError:&error];
		printf("without: %s\n", [[error localizedDescription] UTF8String]);
		error = nil;
		configuration.platform = make_platform(dir, needs.hardwareModel);
		check([configuration validateWithError:&error], "validate", error);
		install(configuration, image.URL);
	}
	return 0;
}
