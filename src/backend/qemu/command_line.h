/* SPDX-License-Identifier: MIT */
/*
 * Makes QEMU's whole command line, from one table by architecture, accelerator and purpose
 * (machine_row.h). No other part of the backend knows QEMU's options. A unit test checks each word
 * of every row.
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

/* The purposes of a machine. The purpose decides which machine type of QEMU is used. */
enum purpose {
	PURPOSE_PLAIN, /* the machine gets no device later; its type is microvm */
	/* The machine may get a device later; its type is q35 with a spare root port. */
	PURPOSE_PLUGGABLE,
	PURPOSE_COUNT
};

/* The fixed numbers of descriptors in the QEMU process. command_line_build() uses these numbers. */
enum qemu_fd {
	QEMU_FD_QMP = 3,
	QEMU_FD_SERIAL,
	QEMU_FD_CONSOLE, /* the virtio console, hvc0 */
	/* The connection to vsockd, which carries vhost-user or the packets of a port. */
	QEMU_FD_VSOCK,
	QEMU_FD_ROOTFS,
	QEMU_FD_LEASE,	 /* the lease; QEMU holds it open and never uses it */
	QEMU_FD_NET,	 /* the host's side of the network card */
	QEMU_FD_OVERLAY, /* a file that takes the writes to a root disk whose use is VM_READ */
	QEMU_FD_BASE,	 /* the base disk below a root disk that is a layer */
	QEMU_FD_RAM,	 /* the memory of a machine that is saved or restored */
	QEMU_FD_END
};

/* A disk in addition to the root disk. The guest sees the disks in the order of the array. */
struct machine_disk {
	const char *serial; /* the serial number, which is also the name of the disk's nodes */
	int fd;		    /* the number of the descriptor in the QEMU process */
	bool read_only;
};

/* A shared directory. `fd` is the number, in the QEMU process, of the connection to the directory's
 * virtiofsd. */
struct machine_share {
	const char *tag;
	int fd;
};

/* A card whose tap the caller has made. The config of the machine asks for no card of its own. */
struct machine_link {
	const char *mac;
	int fd; /* the number of the tap's descriptor in the QEMU process */
};

/* The kinds of memory that a guest can have. */
enum machine_ram {
	RAM_OWN,  /* new memory, which only this machine and its companions use */
	RAM_FILE, /* the file QEMU_FD_RAM, which only this machine uses */
	/* The file QEMU_FD_RAM, which is shared; a page that the machine writes to is copied
	 * first. */
	RAM_PRIVATE,
};

/* The kinds of network card. The kind says what the descriptor QEMU_FD_NET is. */
enum machine_card {
	CARD_NONE,
	CARD_STREAM, /* a stream socket, on which each frame comes after its length */
	CARD_TAP
};

struct machine {
	/* The machine's config, from which some values are given to QEMU unchanged. */
	const struct config *config;
	enum architecture architecture;
	enum accelerator accelerator; /* KVM or TCG, and never AUTO */
	enum purpose purpose;
	/* The name of the processor. NULL: the usual processor of the accelerator. */
	const char *cpu;
	const char *binary;
	/* The directories with the firmware. NULL entries come last; if both are NULL, QEMU uses
	 * its default. */
	const char *data[2];
	bool qboot;		     /* the firmware directories have the file MACHINE_QBOOT */
	const char *label;	     /* the machine's label, which ps shows */
	const char *kernel, *initrd; /* the paths of kernel and initrd as QEMU sees them */
	enum machine_card card;
	const char *mac; /* the MAC address of the card */
	/* The card is plugged in only when the machine runs. Until then QEMU has only the host's
	 * side of the card. */
	bool card_later;
	enum machine_ram ram;
	/* The guest's streams go over a virtio-serial port, with which a machine can be saved. */
	bool port;
	/* The machine can be saved; it has no balloon, since its memory may be shared. */
	bool saved;
	bool restored; /* the machine boots no kernel, and waits until a state is loaded */
	bool ram_root; /* there is no root disk, so the first of `disks` is /dev/vda */
	/* The entries of `disks` are plugged in only when the machine runs. Until then QEMU has only their
	 * nodes. */
	bool disks_later;
	const struct machine_disk *disks;
	size_t disk_count;
	const struct machine_share *shares;
	size_t share_count;
	const struct machine_link *links;
	size_t link_count;
	bool reader;	     /* the guest's init mounts the root disk and runs nothing on it */
	bool overlay;	     /* writes to the root disk go to the file QEMU_FD_OVERLAY */
	bool layer;	     /* the root disk is a qcow2 layer whose base is QEMU_FD_BASE */
	uint64_t layer_room; /* the most bytes that may be used of the layer's file; 0: no limit */
	/* The frequency of the host's time-stamp counter in kHz; 0: not known. */
	uint32_t tsc_khz;
};

/* The most disks and shared directories together, without the root disk. microvm has 24 slots for
 * devices. */
#define MACHINE_EXTRAS_MAX 16

/* Names of QEMU's block nodes. MACHINE_LAYER_FILE is the file of a layer. MACHINE_LAYER_ROOM is a
 * node between the layer and its file, which limits the file if layer_room is given. */
#define MACHINE_LAYER_ROOM "rootfs-room"
#define MACHINE_LAYER_FILE "rootfs-file"
#define MACHINE_RATES "rates" /* the name of the throttle group */
#define MACHINE_NETDEV "net0" /* the name of the host's side of the card, for netdev_del */
/* The beginning of the name of the host's side of a link, for netdev_del. The link's number
 * follows. */
#define MACHINE_LINK "link"
#define MACHINE_CARD_PORT \
	"card-port" /* the port for the card of a restored machine; the card is plugged in later */
/* The port for the disks of a restored machine other than its root disk. Each disk is one PCI function
 * of the port, so there may be 8 of them. The disks are plugged in later. */
#define MACHINE_DISK_PORT "disk-port"
/* The length of the largest queue of a share's device. A request has as many pages as its queue has
 * room for, but at most 256 (virtio_fs_get_tree, fs/fuse/virtio_fs.c). QEMU's default length of 128
 * allows requests of half a MiB. */
#define SHARE_QUEUE 1024
#define MACHINE_QBOOT "qboot.rom"
#define MACHINE_SPARE "spare" /* the port of a PURPOSE_PLUGGABLE machine, for device_add */

/* Appends the whole command line, including argv[0], to `argv`. Fails with ERR_UNSUPPORTED if the
 * table has no row for the machine. */
int command_line_build(const struct machine *machine, struct argv *argv, struct error *err);

#endif
