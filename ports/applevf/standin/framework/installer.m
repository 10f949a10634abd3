/* SPDX-License-Identifier: MIT */
/*
 * An installer that installs nothing. A client can watch and cancel its steps, as with Apple's
 * installer, and a test can make them fail. At the end the installer writes a line to the beginning
 * of the first disk, which shows that the installation is complete. A machine counts as in use from
 * the start to the end of its installation.
 */
#import "dispatch.h"
#import "machine.h"
#import "object.h"
#import "settings.h"

#include <string.h>
#include <unistd.h>

enum { STEPS = 100, STEP_MS = 2 };

@implementation VZMacOSInstaller

static StandinMachine *machine_behind(VZVirtualMachine *virtual_machine)
{
	return [virtual_machine hidden];
}

- (instancetype)initWithVirtualMachine:(VZVirtualMachine *)virtualMachine
		       restoreImageURL:(NSURL *)restoreImageFileURL
{
	StandinMachine *machine = machine_behind(virtualMachine);

	[machine requireQueue:"-[VZMacOSInstaller initWithVirtualMachine:restoreImageURL:]"];
	if (![[[machine configuration] platform] isKindOfClass:[VZMacPlatformConfiguration class]])
		vz_raise(@"The virtual machine's platform is not macOS.");
	if (![restoreImageFileURL isFileURL])
		vz_raise(@"%@ is no file URL.", restoreImageFileURL);
	self = [self initValues];
	if (self) {
		[self keep:virtualMachine as:@"virtualMachine"];
		[self keep:[[restoreImageFileURL copy] autorelease] as:@"restoreImageURL"];
		[self keep:[NSProgress discreteProgressWithTotalUnitCount:STEPS] as:@"progress"];
	}
	return self;
}

VZ_READ(VZVirtualMachine *, virtualMachine)
VZ_READ(NSURL *, restoreImageURL)

- (NSProgress *)progress
{
	[machine_behind([self virtualMachine]) requireQueue:"-[VZMacOSInstaller progress]"];
	return [self valueOf:@"progress"];
}

/* --- the installation ------------------------------------------------------------------------ */

- (NSError *)whyNotToInstall
{
	NSString *path = [[self restoreImageURL] path];

	if ([[self virtualMachine] state] != VZVirtualMachineStateStopped)
		return vz_error(VZErrorInvalidVirtualMachineState, nil);
	if (access([path UTF8String], R_OK) < 0)
		return vz_error(VZErrorInstallationFailed, nil);
	return nil;
}

- (NSError *)writeMark
{
	VZMacPlatformConfiguration *platform =
		(id)[[machine_behind([self virtualMachine]) configuration] platform];
	VZStorageDeviceConfiguration *disk = [[[machine_behind([self virtualMachine]) configuration]
		storageDevices] firstObject];
	NSData *model = [[platform hardwareModel] dataRepresentation];
	NSMutableData *mark = [NSMutableData dataWithBytes:"installed "
						    length:strlen("installed ")];

	[mark appendData:model];
	int fd = [[[disk attachment] valueOf:@"image"] fileDescriptor];
	if (pwrite(fd, [mark bytes], [mark length], 0) != (ssize_t)[mark length])
		return vz_error(VZErrorInstallationFailed, nil);
	return nil;
}

- (void)finish:(NSError *)error then:(void (^)(NSError *))completion
{
	if (!error)
		error = [self writeMark];
	settings_record(@"installed", nil);
	completion(error);
}

- (void)step:(int)step then:(void (^)(NSError *))completion
{
	NSProgress *progress = [self progress];
	NSDictionary *fault = step == STEPS / 2 ? settings_fault(@"install") : nil;

	[progress setCompletedUnitCount:step];
	if (fault || [progress isCancelled] || step == STEPS) {
		NSError *error =
			fault ? settings_fault_error(fault, VZErrorInstallationFailed) : nil;

		if (!fault && step < STEPS)
			error = vz_error(VZErrorOperationCancelled, nil);
		[self finish:error then:completion];
		return;
	}
	int64_t step_ms = (int64_t)settings_number(@"macInstallStepMs", STEP_MS);
	dispatch_after(dispatch_time(DISPATCH_TIME_NOW, step_ms * (int64_t)NSEC_PER_MSEC),
		       [machine_behind([self virtualMachine]) queue], ^{
			 [self step:step + 1 then:completion];
		       });
}

- (void)installWithCompletionHandler:(void (^)(NSError *))completionHandler
{
	StandinMachine *machine = machine_behind([self virtualMachine]);

	[machine requireQueue:"-[VZMacOSInstaller installWithCompletionHandler:]"];
	if ([self valueOf:@"begun"])
		vz_raise(@"The installation has been started before.");
	if ([[self progress] isCancelled])
		vz_raise(@"The installation was cancelled before it was started.");
	[self keep:@"begun" as:@"begun"];
	NSError *error = [self whyNotToInstall];
	settings_record(@"install", nil);
	dispatch_async([machine queue], ^{
	  if (error)
		  completionHandler(error);
	  else
		  [self step:1 then:completionHandler];
	});
}

@end
