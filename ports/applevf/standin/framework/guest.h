/* SPDX-License-Identifier: MIT */
/* QEMU's words for each part of a machine. The runner takes over a descriptor that is given. */
#pragma once

#import <Virtualization/Virtualization.h>

@class StandinRunner;

extern void guest_begin(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern void guest_add_monitor(StandinRunner *runner, int fd);
extern void guest_add_console(StandinRunner *runner, int fd);
extern void guest_add_vsock(StandinRunner *runner, int fd);
/* The words for the share of this number, which comes with the machine or later. */
extern void guest_add_port(StandinRunner *runner, NSUInteger number);
extern void guest_add_share(StandinRunner *runner, NSString *name, NSString *tag, int fd,
			    NSUInteger number);
/* The same words as arguments of QEMU's monitor, where the descriptor has the device's name. */
extern NSString *guest_chardev(NSString *name);
extern NSDictionary *guest_socket_chardev(NSString *name);
extern NSDictionary *guest_share_device(NSString *name, NSString *tag, NSUInteger number);
extern BOOL guest_add_disks(StandinRunner *runner, VZVirtualMachineConfiguration *configuration);
extern BOOL guest_add_network(StandinRunner *runner, NSArray *devices);
/* The name of a card in QEMU, for set_link. */
extern NSString *guest_card_name(NSUInteger number);
