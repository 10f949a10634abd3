/* SPDX-License-Identifier: MIT */
/*
 * Installs macOS from a restore image, with the steps of Apple's documentation
 * (developer.apple.com/documentation/virtualization/installing-macos-on-a-virtual-machine). The
 * image says which hardware it supports. This code makes a machine with that hardware, an empty
 * disk and an empty auxiliary storage. The installer installs the image on this machine. Meanwhile
 * the calling thread waits, and reports the progress. All calls to the machine and the installer
 * run on the machine's queue.
 */
#include "applevf/vz_macos.h"

#include "applevf/vz_macos_objc.h"

#ifdef VZ_MACOS_GUESTS

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "contract/macos.h"

#define LOOK_MS 250
#define MIB (1ull << 20)

/* The oldest version of macOS that can be a guest. An older macOS cannot mount shares. An older
 * macOS also does not boot if its machine identifier differs from that of its installation
 * (github.com/cirruslabs/tart/issues/977), and each session has a new machine identifier. */
#define OLDEST_MACOS 13

static NSURL *url_in(const char *directory, const char *name)
{
	NSString *path = [NSString stringWithUTF8String:directory];

	return [NSURL fileURLWithPath:[path stringByAppendingPathComponent:
						      [NSString stringWithUTF8String:name]]];
}

/* --- the image -------------------------------------------------------------------------------- */

typedef void (^image_handler)(VZMacOSRestoreImage *, NSError *);

/* Calls the block `ask` with a handler, and waits. Returns the image that the handler gets, or nil
 * with err set. The caller releases the image. The handler runs on a thread of the framework. An
 * error message begins with `what`. */
static VZMacOSRestoreImage *await_image(void (^ask)(image_handler), const char *what,
					struct error *err)
{
	dispatch_semaphore_t answered = dispatch_semaphore_create(0);
	__block VZMacOSRestoreImage *image = nil;
	__block NSError *error = nil;

	ask(^(VZMacOSRestoreImage *found, NSError *why) {
	  image = [found retain];
	  error = [why retain];
	  dispatch_semaphore_signal(answered);
	});
	dispatch_semaphore_wait(answered, DISPATCH_TIME_FOREVER);
	dispatch_release(answered);
	if (!image)
		vz_tell_error(err, what, error);
	[error release];
	return image;
}

static VZMacOSRestoreImage *load_image(const char *path, struct error *err)
{
	NSURL *url = [NSURL fileURLWithPath:[NSString stringWithUTF8String:path]];

	return await_image(
		^(image_handler handler) {
		  [VZMacOSRestoreImage loadFileURL:url completionHandler:handler];
		},
		"the restore image is damaged, or is none", err);
}

/* Returns the hardware requirements of the image, or nil with err set. The result belongs to the
 * image. */
static VZMacOSConfigurationRequirements *requirements_of(VZMacOSRestoreImage *image,
							 struct error *err)
{
	NSOperatingSystemVersion version = [image operatingSystemVersion];
	VZMacOSConfigurationRequirements *requirements =
		[image isSupported] ? [image mostFeaturefulSupportedConfiguration] : nil;

	if (!requirements || ![[requirements hardwareModel] isSupported]) {
		error_set(
			err, ERR_UNSUPPORTED,
			"this Mac, or its macOS, cannot run the system in the restore image (macOS %ld.%ld): choose another restore image",
			(long)version.majorVersion, (long)version.minorVersion);
		return nil;
	}
	if (version.majorVersion >= OLDEST_MACOS)
		return requirements;
	error_set(
		err, ERR_UNSUPPORTED,
		"macOS %ld.%ld is too old, because each session is another machine, and a macOS before %d boots only on the machine on which it was installed: choose a newer one",
		(long)version.majorVersion, (long)version.minorVersion, OLDEST_MACOS);
	return nil;
}

static void describe_image(VZMacOSRestoreImage *image,
			   VZMacOSConfigurationRequirements *requirements, struct macos_image *out)
{
	NSOperatingSystemVersion version = [image operatingSystemVersion];

	if (version.patchVersion)
		snprintf(out->version, sizeof(out->version), "%ld.%ld.%ld",
			 (long)version.majorVersion, (long)version.minorVersion,
			 (long)version.patchVersion);
	else
		snprintf(out->version, sizeof(out->version), "%ld.%ld", (long)version.majorVersion,
			 (long)version.minorVersion);
	snprintf(out->build, sizeof(out->build), "%s", [[image buildVersion] UTF8String]);
	out->memory_mib = (int64_t)(([requirements minimumSupportedMemorySize] + MIB - 1) / MIB);
	out->cpus = (int64_t)[requirements minimumSupportedCPUCount];
}

/* --- the machine ------------------------------------------------------------------------------ */

static int make_disk(int dir, uint64_t bytes, struct error *err)
{
	autoclose int fd =
		openat(dir, MACOS_DISK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return error_errno(err, errno, MACOS_DISK);
	return 0;
}

static int put_disk_and_network(VZVirtualMachineConfiguration *machine, const char *directory,
				struct error *err)
{
	NSError *error = nil;
	VZDiskImageStorageDeviceAttachment *image = [[[VZDiskImageStorageDeviceAttachment alloc]
			initWithURL:url_in(directory, MACOS_DISK)
			   readOnly:NO
			cachingMode:VZDiskImageCachingModeCached
		synchronizationMode:VZDiskImageSynchronizationModeFull
			      error:&error] autorelease];
	VZVirtioNetworkDeviceConfiguration *card =
		[[[VZVirtioNetworkDeviceConfiguration alloc] init] autorelease];

	if (!image)
		return vz_tell_error(err, "the disk", error);
	[machine
		setStorageDevices:[NSArray
					  arrayWithObject:[[[VZVirtioBlockDeviceConfiguration alloc]
								  initWithAttachment:image]
								  autorelease]]];
	[card setAttachment:[[[VZNATNetworkDeviceAttachment alloc] init] autorelease]];
	[machine setNetworkDevices:[NSArray arrayWithObject:card]];
	return 0;
}

static int put_new_platform(VZVirtualMachineConfiguration *machine, VZMacHardwareModel *model,
			    const char *directory, int dir, struct error *err)
{
	NSError *error = nil;
	VZMacMachineIdentifier *identifier = [[[VZMacMachineIdentifier alloc] init] autorelease];
	VZMacAuxiliaryStorage *auxiliary = [[[VZMacAuxiliaryStorage alloc]
		initCreatingStorageAtURL:url_in(directory, MACOS_AUXILIARY)
			   hardwareModel:model
				 options:0
				   error:&error] autorelease];

	if (!auxiliary)
		return vz_tell_error(err, "the auxiliary storage", error);
	if (vz_mac_write(dir, MACOS_MODEL, [model dataRepresentation], err) < 0 ||
	    vz_mac_write(dir, MACOS_IDENTIFIER, [identifier dataRepresentation], err) < 0)
		return -1;
	vz_put_mac_platform(machine, model, identifier, auxiliary);
	return 0;
}

/* Returns the configuration of the machine for the installation, autoreleased, or nil with err
 * set. */
static VZVirtualMachineConfiguration *make_machine(const struct macos_install *job,
						   const struct macos_image *facts,
						   VZMacHardwareModel *model, struct error *err)
{
	VZVirtualMachineConfiguration *machine =
		[[[VZVirtualMachineConfiguration alloc] init] autorelease];
	int64_t memory = job->memory_mib ? job->memory_mib : facts->memory_mib;
	int64_t cpus = job->cpus ? job->cpus : facts->cpus;
	autoclose int dir = path_open_dir(job->directory, err);
	NSError *error = nil;

	if (dir < 0)
		return nil;
	if (memory < facts->memory_mib || cpus < facts->cpus) {
		error_set(
			err, ERR_INVALID,
			"macOS %s needs at least %lld MiB and %lld processors: give the base as many",
			facts->version, (long long)facts->memory_mib, (long long)facts->cpus);
		return nil;
	}
	[machine setMemorySize:(uint64_t)memory * MIB];
	[machine setCPUCount:(NSUInteger)cpus];
	if (make_disk(dir, job->disk_bytes, err) < 0 ||
	    put_new_platform(machine, model, job->directory, dir, err) < 0 ||
	    put_disk_and_network(machine, job->directory, err) < 0)
		return nil;
	if ([machine validateWithError:&error])
		return machine;
	vz_tell_error(err, "Virtualization.framework cannot make this machine", error);
	return nil;
}

/* --- the installation ------------------------------------------------------------------------- */

struct installation {
	dispatch_queue_t queue;
	dispatch_semaphore_t over;
	VZVirtualMachine *machine;
	VZMacOSInstaller *installer;
	NSProgress *progress;	/* belongs to the installer */
	NSError *error;		/* why the installation failed; nil: no failure */
	struct error exception; /* an exception of the framework, if it has thrown one */
};

static void begin_installation(struct installation *i, NSURL *image)
{
	@autoreleasepool {
		@try {
			i->installer = [[VZMacOSInstaller alloc] initWithVirtualMachine:i->machine
									restoreImageURL:image];
			i->progress = [[i->installer progress] retain];
			[i->installer installWithCompletionHandler:^(NSError *error) {
			  i->error = [error retain];
			  dispatch_semaphore_signal(i->over);
			}];
		} @catch (NSException *exception) {
			vz_tell_exception(&i->exception, "the installation", exception);
			dispatch_semaphore_signal(i->over);
		}
	}
}

/* Reports the progress until the installation is over. Any thread may read NSProgress. The
 * installer itself may be used only on the machine's queue
 * (developer.apple.com/documentation/foundation/nsprogress). */
static void follow_installation(struct installation *i, macos_told_fn *told, void *data)
{
	const int64_t step = (int64_t)LOOK_MS * (int64_t)NSEC_PER_MSEC;

	while (dispatch_semaphore_wait(i->over, dispatch_time(DISPATCH_TIME_NOW, step)) != 0) {
		@autoreleasepool {
			double done = [i->progress fractionCompleted];

			told(data, NULL, (int)(done * 100));
		}
	}
}

/* Releases the machine on its queue, after all blocks that still wait in the queue have run. */
static void end_installation(struct installation *i)
{
	dispatch_sync(i->queue, ^{
	  [i->progress release];
	  [i->installer release];
	  [i->machine release];
	});
	[i->error release];
	dispatch_release(i->over);
	dispatch_release(i->queue);
}

static int run_installation(VZVirtualMachineConfiguration *configuration, NSURL *image,
			    macos_told_fn *told, void *data, struct error *err)
{
	__block struct installation i = {
		.queue = dispatch_queue_create("microagent.installation", DISPATCH_QUEUE_SERIAL),
		.over = dispatch_semaphore_create(0),
	};
	struct installation *all = &i;
	int status = 0;

	i.machine = [[VZVirtualMachine alloc] initWithConfiguration:configuration queue:i.queue];
	dispatch_sync(i.queue, ^{
	  begin_installation(all, image);
	});
	follow_installation(all, told, data);
	if (i.exception.code)
		status = error_copy(err, &i.exception);
	else if (i.error)
		status = vz_tell_error(err, "macOS could not be installed", i.error);
	else
		told(data, NULL, 100);
	end_installation(all);
	return status;
}

static int install_image(VZMacOSRestoreImage *image, const struct macos_install *job,
			 macos_told_fn *told, void *data, struct error *err)
{
	VZMacOSConfigurationRequirements *requirements = requirements_of(image, err);
	VZVirtualMachineConfiguration *configuration;
	struct macos_image facts = {0};

	if (!requirements)
		return -1;
	describe_image(image, requirements, &facts);
	told(data, &facts, 0);
	configuration = make_machine(job, &facts, [requirements hardwareModel], err);
	return configuration ? run_installation(configuration, [image URL], told, data, err) : -1;
}

int vz_macos_install(const struct macos_install *job, macos_told_fn *told, void *data,
		     struct error *err)
{
	int status = -1;

	@autoreleasepool {
		@try {
			VZMacOSRestoreImage *image = load_image(job->restore_image, err);

			if (image)
				status = install_image(image, job, told, data, err);
			[image release];
		} @catch (NSException *exception) {
			vz_tell_exception(err, "the installation", exception);
		}
	}
	return status;
}

int vz_macos_latest(char url[MACOS_URL_SIZE], struct error *err)
{
	int status = -1;

	@autoreleasepool {
		@try {
			VZMacOSRestoreImage *image = await_image(
				^(image_handler handler) {
				  [VZMacOSRestoreImage
					  fetchLatestSupportedWithCompletionHandler:handler];
				},
				"Apple's catalog of restore images", err);
			const char *text = [[[image URL] absoluteString] UTF8String];

			if (text && strlen(text) < MACOS_URL_SIZE) {
				snprintf(url, MACOS_URL_SIZE, "%s", text);
				status = 0;
			} else if (image) {
				error_set(
					err, ERR_IO,
					"Apple's catalog names no address of a restore image: give a restore image as a file");
			}
			[image release];
		} @catch (NSException *exception) {
			vz_tell_exception(err, "Apple's catalog", exception);
		}
	}
	return status;
}

#endif
