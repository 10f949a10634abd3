/* SPDX-License-Identifier: MIT */
/* The devices of a machine. They exist when the machine is made, and can be changed while it
 * runs. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine;

extern NSArray *running_network_devices(StandinMachine *machine);
extern NSArray *running_sharing_devices(StandinMachine *machine);
extern NSArray *running_balloon_devices(StandinMachine *machine);
/* Called when the machine of these devices has gone. */
extern void running_devices_forget(NSArray *devices);
/* Applies the changes that were made before the machine ran. */
extern void running_devices_started(StandinMachine *machine);
extern void running_network_disconnect(VZNetworkDevice *device);
