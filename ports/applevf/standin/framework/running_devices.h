/* SPDX-License-Identifier: MIT */
/* The devices of a machine that exist from the time that the machine was made, and that can be
 * changed while the machine runs. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine;

extern NSArray *running_network_devices(StandinMachine *machine);
extern NSArray *running_sharing_devices(StandinMachine *machine);
extern NSArray *running_balloon_devices(StandinMachine *machine);
/* Makes the devices forget their machine. Called when the machine is freed, since the devices may
 * live longer. */
extern void running_devices_forget(NSArray *devices);
/* Applies the changes that were made before the machine ran. Called when the machine runs. */
extern void running_devices_started(StandinMachine *machine);
extern void running_network_disconnect(VZNetworkDevice *device);
