/* SPDX-License-Identifier: MIT */
#import "running_devices.h"

#import "entitlements.h"
#import "guest.h"
#import "machine.h"
#import "monitor.h"
#import "object.h"
#import "plug.h"
#import "runner.h"
#import "settings.h"

/* The private object of each device. This object has the device's machine, and the device's number
 * among the devices of the same class. */
@interface StandinPlace : NSObject {
      @public
	StandinMachine *machine; /* the device's machine, not retained; nil: it was freed */
	NSUInteger number;
}
@end

@implementation StandinPlace
@end

static StandinPlace *place_of(VZStandinObject *device, const char *selector)
{
	StandinPlace *place = [device hidden];

	if (place->machine)
		[place->machine requireQueue:selector];
	return place;
}

static NSMutableArray *devices_for(NSArray *configurations, Class class, StandinMachine *machine)
{
	NSMutableArray *all = [NSMutableArray array];

	for (NSUInteger i = 0; i < [configurations count]; i++) {
		StandinPlace *place = [[[StandinPlace alloc] init] autorelease];

		place->machine = machine;
		place->number = i;
		[all addObject:[[[class alloc] initHidden:place] autorelease]];
	}
	return all;
}

void running_devices_forget(NSArray *devices)
{
	for (VZStandinObject *each in devices)
		((StandinPlace *)[each hidden])->machine = nil;
}

/* --- network --------------------------------------------------------------------------------- */

NSArray *running_network_devices(StandinMachine *machine)
{
	NSArray *configurations = [[machine configuration] networkDevices];
	NSArray *all = devices_for(configurations, [VZNetworkDevice class], machine);

	for (NSUInteger i = 0; i < [all count]; i++) {
		VZNetworkDeviceConfiguration *from = [configurations objectAtIndex:i];

		[[all objectAtIndex:i] keep:[from attachment] as:@"attachment"];
		[[all objectAtIndex:i] keep:[from MACAddress] as:@"MACAddress"];
	}
	return all;
}

/* Switches the link of the network card on or off. A card without an attachment has no link. */
static void set_link(StandinPlace *place, BOOL up)
{
	NSDictionary *arguments = [NSDictionary
		dictionaryWithObjectsAndKeys:guest_card_name(place->number), @"name",
					     [NSNumber numberWithBool:up], @"up", nil];

	[[[place->machine runner] monitor] execute:@"set_link" arguments:arguments then:nil];
}

static NSError *unfit_attachment(VZNetworkDeviceAttachment *attachment)
{
	NSDictionary *fault = settings_fault(@"setAttachment");

	if (fault)
		return settings_fault_error(fault, VZErrorNetworkError);
	if ([attachment isKindOfClass:[VZBridgedNetworkDeviceAttachment class]] &&
	    !entitlement_held(ENTITLEMENT_NETWORKING))
		return vz_error(VZErrorNetworkError, nil);
	return nil;
}

void running_devices_started(StandinMachine *machine)
{
	for (VZNetworkDevice *each in [machine networkDevices])
		if (![each attachment])
			set_link([each hidden], NO);
	[[machine runner] started];
}

void running_network_disconnect(VZNetworkDevice *device)
{
	[device keep:nil as:@"attachment"];
	set_link([device hidden], NO);
}

@implementation VZNetworkDevice

- (VZNetworkDeviceAttachment *)attachment
{
	place_of(self, "-[VZNetworkDevice attachment]");
	return [self valueOf:@"attachment"];
}

/* Sets the attachment of a card. If the card cannot have the attachment, later reports to the
 * delegate that the attachment was lost, as Apple documents. */
- (void)setAttachment:(VZNetworkDeviceAttachment *)attachment
{
	StandinPlace *place = place_of(self, "-[VZNetworkDevice setAttachment:]");
	StandinMachine *machine = place->machine;
	NSError *error = attachment ? unfit_attachment(attachment) : nil;

	if (!attachment && [[settings_fault(@"setAttachment") objectForKey:@"keep"] boolValue])
		return;

	settings_record(@"setAttachment",
			[NSDictionary dictionaryWithObject:attachment ? NSStringFromClass(
										[attachment class])
								      : @"nil"
						    forKey:@"attachment"]);
	[self keep:attachment as:@"attachment"];
	if (!error) {
		set_link(place, attachment != nil);
		return;
	}
	dispatch_async([machine queue], ^{
	  [machine lostNetwork:self error:error];
	});
}

@end

/* --- directories ----------------------------------------------------------------------------- */

NSArray *running_sharing_devices(StandinMachine *machine)
{
	NSArray *configurations = [[machine configuration] directorySharingDevices];
	NSArray *all = devices_for(configurations, [VZVirtioFileSystemDevice class], machine);

	for (NSUInteger i = 0; i < [all count]; i++) {
		VZVirtioFileSystemDeviceConfiguration *from = [configurations objectAtIndex:i];

		[[all objectAtIndex:i] keep:[from share] as:@"share"];
		[[all objectAtIndex:i] keep:[from tag] as:@"tag"];
	}
	return all;
}

@implementation VZDirectorySharingDevice
@end

@implementation VZVirtioFileSystemDevice

VZ_READ(NSString *, tag)
VZ_READ(VZDirectoryShare *, share)

- (void)setShare:(VZDirectoryShare *)share
{
	StandinPlace *place = place_of(self, "-[VZVirtioFileSystemDevice setShare:]");
	StandinRunner *runner = [place->machine runner];

	settings_record(@"setShare", [NSDictionary dictionaryWithObject:[self tag] forKey:@"tag"]);
	[[runner plugAt:place->number] change:share];
	[self keep:share as:@"share"];
}

@end

/* --- memory ---------------------------------------------------------------------------------- */

NSArray *running_balloon_devices(StandinMachine *machine)
{
	return devices_for([[machine configuration] memoryBalloonDevices],
			   [VZVirtioTraditionalMemoryBalloonDevice class], machine);
}

@implementation VZMemoryBalloonDevice
@end

@implementation VZVirtioTraditionalMemoryBalloonDevice

- (uint64_t)targetVirtualMachineMemorySize
{
	return [place_of(self,
			 "-[VZVirtioTraditionalMemoryBalloonDevice targetVirtualMachineMemorySize]")
			->machine balloonTarget];
}

- (void)setTargetVirtualMachineMemorySize:(uint64_t)target
{
	[place_of(self,
		  "-[VZVirtioTraditionalMemoryBalloonDevice setTargetVirtualMachineMemorySize:]")
			->machine setBalloonTarget:target];
}

@end
