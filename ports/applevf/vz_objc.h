/* SPDX-License-Identifier: MIT */
/*
 * What the Objective-C files of this folder share. They are written for manual retain and release,
 * with instance variables in @interface and no literals by which only a newer runtime makes
 * numbers: the same text is compiled for macOS, and for GNUstep's runtime with a stand-in.
 */
#ifndef BACKEND_APPLEVF_VZ_OBJC_H
#define BACKEND_APPLEVF_VZ_OBJC_H

#import <Foundation/Foundation.h>
#import <Virtualization/Virtualization.h>

#include "applevf/plan.h"
#include "base/error.h"

/* "<what>: <what the framework says> (<domain> <code>)". Returns -1. */
int vz_tell_error(struct error *err, const char *what, NSError *error);
/* The same of an exception, which is how the framework tells of a mistake of its client's. */
int vz_tell_exception(struct error *err, const char *what, NSException *exception);

/* New, with a reference of the caller's, and found valid; nil. */
VZVirtualMachineConfiguration *vz_configuration(const struct plan *plan, struct error *err);
/* The platform of a macOS guest, its boot loader, and the devices that it must have; vz_macos.m,
 * and vz_macos_intel.m where there are none. */
int vz_put_macos(VZVirtualMachineConfiguration *machine, const struct plan_macos *macos,
		 struct error *err);
/* Autoreleased. */
VZSingleDirectoryShare *vz_directory(const char *path, bool read_only);
/* The interface of that identifier or display name; nil. */
VZBridgedNetworkInterface *vz_interface(const char *name);

#endif
