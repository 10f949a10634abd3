/* SPDX-License-Identifier: MIT */
#import "object.h"
#import "settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum { MAC_BYTES = 6, MAC_MULTICAST = 1, MAC_LOCAL = 2, MTU_DEFAULT = 1500 };

@implementation VZMACAddress

/* Accepts only a string of six pairs of hexadecimal digits with colons between the pairs. */
- (instancetype)initWithString:(NSString *)string
{
	unsigned byte[MAC_BYTES];
	int end = 0;
	const char *text = [string UTF8String];

	self = [self initValues];
	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &byte[0], &byte[1], &byte[2], &byte[3],
		   &byte[4], &byte[5], &end) != MAC_BYTES ||
	    end != 3 * MAC_BYTES - 1 || text[end]) {
		[self release];
		return nil;
	}
	[self keep:[string lowercaseString] as:@"string"];
	return self;
}

+ (instancetype)randomLocallyAdministeredAddress
{
	unsigned char b[MAC_BYTES];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		abort();
	b[0] = (unsigned char)((b[0] & ~MAC_MULTICAST) | MAC_LOCAL);
	NSString *text = [NSString stringWithFormat:@"%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1],
						    b[2], b[3], b[4], b[5]];
	return [[[self alloc] initWithString:text] autorelease];
}

VZ_READ(NSString *, string)

static unsigned first_byte(VZMACAddress *address)
{
	return (unsigned)strtoul([[address string] UTF8String], NULL, 16);
}

- (BOOL)isBroadcastAddress
{
	return [[self string] isEqualToString:@"ff:ff:ff:ff:ff:ff"];
}

- (BOOL)isMulticastAddress
{
	return (first_byte(self) & MAC_MULTICAST) != 0;
}

- (BOOL)isUnicastAddress
{
	return ![self isMulticastAddress];
}

- (BOOL)isLocallyAdministeredAddress
{
	return (first_byte(self) & MAC_LOCAL) != 0;
}

- (BOOL)isUniversallyAdministeredAddress
{
	return ![self isLocallyAdministeredAddress];
}

@end

@implementation VZNetworkDeviceAttachment
VZ_SHARED
@end

@implementation VZNATNetworkDeviceAttachment
VZ_INIT
@end

/* --- bridges --------------------------------------------------------------------------------- */

@implementation VZBridgedNetworkInterface
VZ_SHARED

/* Returns the interfaces of an ordinary Mac, which are used if the settings have no
 * "interfaces". */
static NSArray *default_interfaces(void)
{
	NSDictionary *ethernet =
		[NSDictionary dictionaryWithObjectsAndKeys:@"en0", @"identifier", @"Ethernet",
							   @"displayName", nil];

	return [NSArray arrayWithObject:ethernet];
}

+ (NSArray *)networkInterfaces
{
	NSArray *known = settings_value(@"interfaces");
	NSMutableArray *all = [NSMutableArray array];

	for (NSDictionary *each in known ? known : default_interfaces()) {
		VZBridgedNetworkInterface *interface = [[self alloc] initValues];

		[interface keep:[each objectForKey:@"identifier"] as:@"identifier"];
		[interface keep:[each objectForKey:@"displayName"] as:@"localizedDisplayName"];
		[interface keep:[each objectForKey:@"bridge"] as:@"bridge"];
		[all addObject:interface];
		[interface release];
	}
	return all;
}

VZ_READ(NSString *, identifier)
VZ_READ(NSString *, localizedDisplayName)

@end

@implementation VZBridgedNetworkDeviceAttachment

- (instancetype)initWithInterface:(VZBridgedNetworkInterface *)interface
{
	self = [self initValues];
	if (self)
		[self keep:interface as:@"interface"];
	return self;
}

VZ_READ(VZBridgedNetworkInterface *, interface)

@end

@implementation VZFileHandleNetworkDeviceAttachment

/* Raises an exception if the file handle is not a datagram socket. The two texts of the exception
 * come from a report about Apple's framework (Code-Hex/vz#96). */
- (instancetype)initWithFileHandle:(NSFileHandle *)fileHandle
{
	int type = 0;
	socklen_t length = sizeof(type);
	NSString *reason = nil;

	if (getsockopt([fileHandle fileDescriptor], SOL_SOCKET, SO_TYPE, &type, &length) < 0)
		reason = [NSString stringWithFormat:@"Failed to get file descriptor properties: %s",
						    strerror(errno)];
	else if (type != SOCK_DGRAM)
		reason = @"The fileHandle must be a datagram socket";
	if (reason)
		vz_raise(@"*** -[VZFileHandleNetworkDeviceAttachment initWithFileHandle:]: %@",
			 reason);
	self = [self initValues];
	if (self) {
		[self keep:fileHandle as:@"fileHandle"];
		[self setMaximumTransmissionUnit:MTU_DEFAULT];
	}
	return self;
}

VZ_READ(NSFileHandle *, fileHandle)
VZ_NUMBER(NSInteger, maximumTransmissionUnit, setMaximumTransmissionUnit)

@end

@implementation VZNetworkDeviceConfiguration
VZ_COPIED(VZMACAddress *, MACAddress, setMACAddress)
VZ_STRONG(VZNetworkDeviceAttachment *, attachment, setAttachment)
@end

@implementation VZVirtioNetworkDeviceConfiguration

- (instancetype)init
{
	self = [self initValues];
	if (self)
		[self setMACAddress:[VZMACAddress randomLocallyAdministeredAddress]];
	return self;
}

@end
