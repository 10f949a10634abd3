/* SPDX-License-Identifier: MIT */
/* Simulates a macOS without the framework, for a client that is linked weakly with the framework
 * and looks the framework's classes up by name. */
#import <Foundation/Foundation.h>

#include <dlfcn.h>

#import "settings.h"

/* Replaces Foundation's function NSClassFromString(). If the settings have "framework": false, the
 * function returns nil for every class of the framework. */
Class NSClassFromString(NSString *name)
{
	static Class (*foundations)(NSString *);

	if (are_classes_there && [name hasPrefix:@"VZ"] &&
	    ![name isEqualToString:@"VZStandinObject"] && !settings_flag(@"framework", YES))
		return Nil;
	if (!foundations)
		foundations = (Class(*)(NSString *))dlsym(RTLD_NEXT, "NSClassFromString");
	return foundations(name);
}
