/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the Objective-C files of this folder. These files use manual retain and release,
 * and declare instance variables in @interface. They use no number literals, which need a newer
 * runtime. So these files can be compiled both for macOS and for GNUstep's runtime with the
 * stand-in of the tests.
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

/* Makes the configuration of a plan, and lets the framework validate it. The caller releases the
 * result. Returns nil with an error. */
VZVirtualMachineConfiguration *vz_configuration(const struct plan *plan, struct error *err);
/* Gives the configuration the parts that a macOS guest needs: platform, boot loader and devices.
 * vz_macos.m has this function. For processors that cannot run macOS guests, vz_macos_intel.m has
 * it. */
int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err);
/* Returns a new share of the directory; the object is autoreleased. */
VZSingleDirectoryShare *vz_directory(const char *path, bool read_only);
/* Returns the host's network interface whose identifier or display name is `name`; nil if there is
 * none. */
VZBridgedNetworkInterface *vz_interface(const char *name);

#endif
