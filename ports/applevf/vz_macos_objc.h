/* SPDX-License-Identifier: MIT */
/* Functions that both vz_macos.m and vz_macos_install.m use. */
#ifndef BACKEND_APPLEVF_VZ_MACOS_OBJC_H
#define BACKEND_APPLEVF_VZ_MACOS_OBJC_H

#include "applevf/vz_objc.h"

/* Gives the configuration its platform, boot loader, screen, keyboard and pointing device. */
void vz_put_mac_platform(VZVirtualMachineConfiguration *machine, VZMacHardwareModel *model,
			 VZMacMachineIdentifier *identifier, VZMacAuxiliaryStorage *auxiliary);
int vz_mac_write(int dir, const char *name, NSData *data, struct error *err);

#endif
