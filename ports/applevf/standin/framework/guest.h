/* SPDX-License-Identifier: MIT */
/* Functions that add QEMU's command line words for each part of a machine to the runner. The runner
 * takes over the descriptors. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner;

extern void guest_begin(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern void guest_add_monitor(StandinRunner *runner, int fd);
extern void guest_add_console(StandinRunner *runner, int fd);
extern void guest_add_vsock(StandinRunner *runner, int fd);
/* Adds the PCI port for the share with this number. The share is plugged in there at the start of
 * the machine or later. */
extern void guest_add_port(StandinRunner *runner, NSUInteger number);
extern void guest_add_share(StandinRunner *runner, NSString *name, NSString *tag, int fd,
			    NSUInteger number);
/* Functions that return the parts of a share as arguments for QEMU's monitor. The share's
 * descriptor was sent to the monitor under the device's name. */
extern NSString *guest_chardev(NSString *name);
extern NSDictionary *guest_socket_chardev(NSString *name);
extern NSDictionary *guest_share_device(NSString *name, NSString *tag, NSUInteger number);
extern BOOL guest_add_disks(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern BOOL guest_add_network(StandinRunner *runner, NSArray *devices);
/* Returns the name that a card has in QEMU, for set_link. */
extern NSString *guest_card_name(NSUInteger number);
