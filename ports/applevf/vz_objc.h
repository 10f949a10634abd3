/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the Objective-C files of this folder. These files use manual retain and release,
 * and declare instance variables in @interface. The files use no number literals, which need a
 * newer Objective-C runtime. So these files can be compiled both for macOS and, with the stand-in
 * of the tests, for GNUstep.
 */
#ifndef BACKEND_APPLEVF_VZ_OBJC_H
#define BACKEND_APPLEVF_VZ_OBJC_H

#import <Foundation/Foundation.h>
#import <Virtualization/Virtualization.h>

#include "applevf/plan.h"
#include "base/error.h"

/* Sets `err` to "<what>: <the framework's text> (<domain> <code>)". Returns -1. */
int vz_tell_error(struct error *err, const char *what, NSError *error);
/* Sets `err` from an exception. The framework throws exceptions for mistakes of its caller. Returns
 * -1. */
int vz_tell_exception(struct error *err, const char *what, NSException *exception);

/* Makes the configuration of a plan, and lets the framework validate the configuration. The caller
 * releases the result. Returns nil with err set on failure. */
VZVirtualMachineConfiguration *vz_configuration(const struct plan *plan, struct error *err);
/* Gives the configuration the parts that a macOS guest needs: platform, boot loader and devices.
 * Defined in vz_macos.m, and for processors that cannot run macOS guests in vz_macos_intel.m. */
int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err);
/* Returns a new share of the directory; the object is autoreleased. */
VZSingleDirectoryShare *vz_directory(const char *path, bool read_only);
/* Returns the host's network interface whose identifier or display name is `name`, or nil if there
 * is no such interface. */
VZBridgedNetworkInterface *vz_interface(const char *name);

#endif
