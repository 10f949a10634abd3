/* SPDX-License-Identifier: MIT */
/* The devices of a machine, which are there from its making and can be changed while it runs. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinMachine;

extern NSArray *running_network_devices(StandinMachine *machine);
extern NSArray *running_sharing_devices(StandinMachine *machine);
extern NSArray *running_balloon_devices(StandinMachine *machine);
/* The machine of these has gone. */
extern void running_devices_forget(NSArray *devices);
/* What was changed before it ran holds. */
extern void running_devices_started(StandinMachine *machine);
extern void running_network_disconnect(VZNetworkDevice *device);
