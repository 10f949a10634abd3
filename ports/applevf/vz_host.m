/* SPDX-License-Identifier: MIT */
/*
 * Finds out what the framework offers on this host. Uses a class of the framework only after a
 * check that the class exists. The program is linked weakly with the framework, so that it also
 * runs without the framework and can report that it is missing.
 */
#include "applevf/vz.h"

#import <Security/Security.h>
#include <stdio.h>

#include "applevf/vz_objc.h"
#include "base/buf.h"
#include "base/cleanup.h"

/* Returns true if this process has the entitlement. SecTaskCopyValueForEntitlement() returns NULL
 * if the process does not have it
 * (developer.apple.com/documentation/security/sectaskcopyvalueforentitlement(_:_:_:)). */
static bool is_entitled(CFStringRef name)
{
	SecTaskRef self = SecTaskCreateFromSelf(kCFAllocatorDefault);
	CFTypeRef value = self ? SecTaskCopyValueForEntitlement(self, name, NULL) : NULL;
	bool entitled = value && CFGetTypeID(value) == CFBooleanGetTypeID() &&
			CFBooleanGetValue((CFBooleanRef)value);

	if (value)
		CFRelease(value);
	if (self)
		CFRelease(self);
	return entitled;
}

static void ask_framework(struct vz_host *out)
{
	out->supported = [VZVirtualMachine isSupported];
	out->memory_min = [VZVirtualMachineConfiguration minimumAllowedMemorySize];
	out->memory_max = [VZVirtualMachineConfiguration maximumAllowedMemorySize];
	out->cpus_min = [VZVirtualMachineConfiguration minimumAllowedCPUCount];
	out->cpus_max = [VZVirtualMachineConfiguration maximumAllowedCPUCount];
}

void vz_host(struct vz_host *out)
{
	@autoreleasepool {
		NSOperatingSystemVersion os = [[NSProcessInfo processInfo] operatingSystemVersion];

		*out = (struct vz_host){0};
		out->framework = NSClassFromString(@"VZVirtualMachine") != Nil;
		out->stand_in = NSClassFromString(@"VZStandinObject") != Nil;
		out->entitled = is_entitled(CFSTR("com.apple.security.virtualization"));
		out->entitled_to_bridge = is_entitled(CFSTR("com.apple.vm.networking"));
		snprintf(out->version, sizeof(out->version), "macOS %ld.%ld.%ld",
			 (long)os.majorVersion, (long)os.minorVersion, (long)os.patchVersion);
		if (out->framework)
			ask_framework(out);
	}
}

VZBridgedNetworkInterface *vz_interface(const char *name)
{
	NSString *wanted = [NSString stringWithUTF8String:name];

	if (!wanted)
		return nil;
	for (VZBridgedNetworkInterface *each in [VZBridgedNetworkInterface networkInterfaces])
		if ([[each identifier] isEqualToString:wanted])
			return each;
	for (VZBridgedNetworkInterface *each in [VZBridgedNetworkInterface networkInterfaces])
		if ([each localizedDisplayName] &&
		    [[each localizedDisplayName] isEqualToString:wanted])
			return each;
	return nil;
}

static void list_interfaces(struct buf *out)
{
	const char *between = "";

	for (VZBridgedNetworkInterface *each in [VZBridgedNetworkInterface networkInterfaces]) {
		NSString *shown = [each localizedDisplayName];

		(void)buf_printf(out, NULL, "%s%s%s%s%s", between, [[each identifier] UTF8String],
				 shown ? " (" : "", shown ? [shown UTF8String] : "",
				 shown ? ")" : "");
		between = ", ";
	}
}

int vz_check_interface(const char *name, struct error *err)
{
	@autoreleasepool {
		autobuf struct buf names = BUF_INIT(400);

		if (vz_interface(name))
			return 0;
		list_interfaces(&names);
		return error_set(
			err, ERR_INVALID,
			"config.network.interface: \"%.60s\" is not an interface that can be bridged here, by identifier or by name: there %s %s",
			name, names.len ? "are" : "is", names.len ? buf_string(&names) : "none");
	}
}
