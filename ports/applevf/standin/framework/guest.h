/* SPDX-License-Identifier: MIT */
/* Functions that add the options for each part of a machine to QEMU's command line in the runner.
 * The runner takes ownership of the file descriptors. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner;

extern void guest_begin(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern void guest_add_monitor(StandinRunner *runner, int fd);
extern void guest_add_console(StandinRunner *runner, int fd);
extern void guest_add_vsock(StandinRunner *runner, int fd);
/* Adds the PCI port into which the share with this number is plugged, at the start of the machine
 * or later. */
extern void guest_add_port(StandinRunner *runner, NSUInteger number);
extern void guest_add_share(StandinRunner *runner, NSString *name, NSString *tag, int fd,
			    NSUInteger number);
/* Functions that return the arguments with which a share is added through QEMU's monitor. Before
 * that, the share's file descriptor must be sent to the monitor under the device's name. */
extern NSString *guest_chardev(NSString *name);
extern NSDictionary *guest_socket_chardev(NSString *name);
extern NSDictionary *guest_share_device(NSString *name, NSString *tag, NSUInteger number);
extern BOOL guest_add_disks(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern BOOL guest_add_network(StandinRunner *runner, NSArray *devices);
/* Returns the name of a network card in QEMU, for the command set_link. */
extern NSString *guest_card_name(NSUInteger number);
