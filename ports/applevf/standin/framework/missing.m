/* SPDX-License-Identifier: MIT */
/* A system without the framework, for a client that is linked with it weakly and asks for its
 * classes by name. */
#import <Foundation/Foundation.h>

#include <dlfcn.h>

#import "settings.h"

/* Replaces Foundation's function of this name. If the settings have "framework": false, finds no
 * class of the framework. */
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
