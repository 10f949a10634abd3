/* SPDX-License-Identifier: MIT */
/*
 * Makes QEMU's whole command line, from one table by architecture, accelerator and purpose
 * (machine_row.h). No other part of the backend knows an option of QEMU. A unit test checks every
 * row word by word.
 */
#ifndef BACKEND_QEMU_COMMAND_LINE_H
#define BACKEND_QEMU_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/architecture.h"
#include "base/argv.h"
#include "base/error.h"
#include "contract/request.h"

/* The purposes of a machine. The purpose decides the machine's type in QEMU. */
enum purpose {
	PURPOSE_PLAIN,	   /* the machine gets no device later: microvm */
	PURPOSE_PLUGGABLE, /* the machine may get a device later: q35 with a spare root port */
	PURPOSE_COUNT
};

/* The descriptors of the QEMU process, by fixed number. command_line_build() uses these numbers. */
enum qemu_fd {
	QEMU_FD_QMP = 3,
	QEMU_FD_SERIAL,
	QEMU_FD_CONSOLE, /* hvc0 */
	QEMU_FD_VSOCK,	 /* the connection to vsockd: vhost-user, or the packets of a port */
	QEMU_FD_ROOTFS,
	QEMU_FD_LEASE,	 /* the lease, which QEMU holds and never uses */
	QEMU_FD_NET,	 /* the other side of the network card */
	QEMU_FD_OVERLAY, /* a file that takes the writes to a root disk in the use VM_READ */
	QEMU_FD_BASE,	 /* the disk below a root disk that is a layer */
	QEMU_FD_RAM,	 /* the memory of a machine that is saved or restored */
	QEMU_FD_END
};

/* A disk in addition to the root disk. The guest has the disks in the order of the array. */
struct machine_disk {
	const char *serial; /* the serial number, which is also the name of the disk's nodes */
	int fd;		    /* the number of the descriptor in the QEMU process */
	bool read_only;
};

/* A shared directory, with a connection to its virtiofsd. */
struct machine_share {
	const char *tag;
	int fd;
};

/* A card whose tap the caller has made, for a machine that has no card by its config. */
struct machine_link {
	const char *mac;
	int fd; /* the number of the tap's descriptor in the QEMU process */
};

/* The ways in which the guest's memory is made. */
enum machine_ram {
	RAM_OWN,     /* new memory, which only this machine and its companions have */
	RAM_FILE,    /* the file QEMU_FD_RAM, which only this machine has */
	RAM_PRIVATE, /* the file QEMU_FD_RAM; a page to which the machine writes is copied */
};

/* The kinds of card, by the descriptor QEMU_FD_NET. */
enum machine_card {
	CARD_NONE,
	CARD_STREAM, /* a stream socket, in which each frame has its length in front */
	CARD_TAP
};

struct machine {
	const struct config *config; /* some of its values are given to QEMU unchanged */
	enum architecture architecture;
	enum accelerator accelerator; /* KVM or TCG */
	enum purpose purpose;
	/* The name of the processor; NULL: the usual processor of the accelerator. */
	const char *cpu;
	const char *binary;
	const char *data[2];	     /* the directories of the firmware; NULL: QEMU's default */
	bool qboot;		     /* the firmware has MACHINE_QBOOT */
	const char *label;	     /* the label, which ps shows */
	const char *kernel, *initrd; /* the paths as QEMU sees them */
	enum machine_card card;
	const char *mac; /* the address of the card */
	/* The card is plugged in when the machine runs. Until then QEMU has only the host's side of
	 * the card. */
	bool card_later;
	enum machine_ram ram;
	bool port;     /* the guest's streams go over a virtio-serial port, which can be saved */
	bool saved;    /* the machine can be saved, and has no balloon: its memory may be shared */
	bool restored; /* the machine boots no kernel, and waits until a state is loaded */
	bool ram_root; /* there is no root disk, so the first of `disks` is /dev/vda */
	const struct machine_disk *disks;
	size_t disk_count;
	const struct machine_share *shares;
	size_t share_count;
	const struct machine_link *links;
	size_t link_count;
	bool reader;	     /* the guest's init mounts the root disk and runs nothing on it */
	bool overlay;	     /* writes to the root disk go to QEMU_FD_OVERLAY */
	bool layer;	     /* the root disk is a qcow2 layer over QEMU_FD_BASE */
	uint64_t layer_room; /* the bytes of the layer's file that may be used; 0: no bound */
	uint32_t tsc_khz;    /* the frequency of the host's time-stamp counter; 0: not known */
};

/* The most disks (not counting the root disk) and shared directories together: microvm has 24
 * places for devices. */
#define MACHINE_EXTRAS_MAX 16

/* Names of QEMU's block nodes. MACHINE_LAYER_FILE is the file of a layer. MACHINE_LAYER_ROOM is the
 * node between the layer and its file that bounds the file, if layer_room is given. */
#define MACHINE_LAYER_ROOM "rootfs-room"
#define MACHINE_LAYER_FILE "rootfs-file"
#define MACHINE_RATES "rates" /* the throttle group */
#define MACHINE_NETDEV "net0" /* the host's side of the card, for netdev_del */
#define MACHINE_LINK "link"   /* the host's side of a link, with its number; for netdev_del */
#define MACHINE_CARD_PORT \
	"card-port" /* the port for a card that is plugged later, on a machine that can be saved */
/* The largest queue of a share's device. A request has as many pages as its queue has room for,
 * but at most 256 (virtio_fs_get_tree, fs/fuse/virtio_fs.c). QEMU's default of 128 allows half a
 * MiB. */
#define SHARE_QUEUE 1024
#define MACHINE_QBOOT "qboot.rom"
#define MACHINE_SPARE "spare" /* the port of PURPOSE_PLUGGABLE for device_add */

/* Appends the command line, with argv[0]. ERR_UNSUPPORTED: there is no row for the machine. */
int command_line_build(const struct machine *machine, struct argv *argv, struct error *err);

#endif
