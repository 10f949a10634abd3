/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the Objective-C files of this folder share. These files use manual retain
 * and release, declare instance variables in @interface, and use no number literals, which need a
 * newer runtime. So the same files can be compiled for macOS, and for GNUstep's runtime with a
 * stand-in of the framework.
 */
#ifndef BACKEND_APPLEVF_VZ_OBJC_H
#define BACKEND_APPLEVF_VZ_OBJC_H

#import <Foundation/Foundation.h>
#import <Virtualization/Virtualization.h>

#include "applevf/plan.h"
#include "base/error.h"

/* Sets `err` to "<what>: <the framework's text> (<domain> <code>)". Returns -1. */
int vz_tell_error(struct error *err, const char *what, NSError *error);
/* Sets `err` from an exception, by which the framework reports a mistake of its caller. Returns
 * -1. */
int vz_tell_exception(struct error *err, const char *what, NSException *exception);

/* Makes the configuration of a plan, which the framework then validates. The caller releases the
 * result. Returns nil with an error. */
VZVirtualMachineConfiguration *vz_configuration(const struct plan *plan, struct error *err);
/* Gives the configuration the parts that a macOS guest must have: platform, boot loader and
 * devices. The implementation is in vz_macos.m, and in vz_macos_intel.m for processors that have no
 * macOS guests. */
int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err);
/* Returns a new share of the directory; the object is autoreleased. */
VZSingleDirectoryShare *vz_directory(const char *path, bool read_only);
/* Returns the host's interface whose identifier or display name is `name`, or nil. */
VZBridgedNetworkInterface *vz_interface(const char *name);

#endif
