/* SPDX-License-Identifier: MIT */
/*
 * QEMU's whole command line, from one table keyed by (architecture, accelerator, purpose). Nothing
 * else in the backend knows a QEMU option; a unit test pins every row word by word.
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

/* What a machine is for decides its type. */
enum purpose {
	PURPOSE_PLAIN,	   /* devices fixed at start: microvm */
	PURPOSE_PLUGGABLE, /* may get a device later: q35 with a spare root port */
	PURPOSE_COUNT
};

/* Descriptors of the QEMU process, by fixed number; command_line_build() names them. */
enum qemu_fd {
	QEMU_FD_QMP = 3,
	QEMU_FD_SERIAL,
	QEMU_FD_CONSOLE, /* hvc0 */
	QEMU_FD_VSOCK,	 /* vsockd: vhost-user, or a port's packets */
	QEMU_FD_ROOTFS,
	QEMU_FD_LEASE,	 /* held, never used */
	QEMU_FD_NET,	 /* of a machine with a network card */
	QEMU_FD_OVERLAY, /* over a root disk that is only looked at */
	QEMU_FD_BASE,	 /* of a root disk that is a layer */
	QEMU_FD_RAM,	 /* of a machine that is saved or restored */
	QEMU_FD_END
};

/* A disk beside the root, in the order in which the guest is to have them. */
struct machine_disk {
	const char *serial; /* also the name of its nodes */
	int fd;		    /* of the QEMU process */
	bool read_only;
};

/* A shared directory: its virtiofsd, connected. */
struct machine_share {
	const char *tag;
	int fd;
};

/* A card of a machine that has none of its own: its tap is there already. */
struct machine_link {
	const char *mac;
	int fd; /* of the QEMU process */
};

/* The guest's memory. */
enum machine_ram {
	RAM_OWN,     /* of the machine alone, and shared with its companions */
	RAM_FILE,    /* QEMU_FD_RAM, of the machine alone */
	RAM_PRIVATE, /* QEMU_FD_RAM, of which it keeps copies of what it writes to */
};

/* What is behind QEMU_FD_NET. */
enum machine_card {
	CARD_NONE,
	CARD_STREAM, /* a stream socket, frames behind their lengths */
	CARD_TAP
};

struct machine {
	const struct config *config; /* what of it is QEMU's as it stands there */
	enum architecture architecture;
	enum accelerator accelerator; /* KVM or TCG */
	enum purpose purpose;
	const char *cpu; /* NULL: what belongs to the accelerator */
	const char *binary;
	const char *data[2];	     /* directories of its firmware, where it would take others' */
	bool qboot;		     /* MACHINE_QBOOT is among its firmware */
	const char *label;	     /* shown in ps */
	const char *kernel, *initrd; /* as QEMU sees them */
	enum machine_card card;
	const char *mac; /* of the card */
	bool card_later; /* the card is plugged when the machine runs: only what is behind it is
			    there */
	enum machine_ram ram;
	bool port;     /* the guest's streams go over a virtio-serial port, which can be saved */
	bool saved;    /* can be: without a balloon, since its memory may be shared */
	bool restored; /* waits for a state to be loaded, and boots no kernel */
	bool ram_root; /* there is no root disk: the first of the disks is /dev/vda */
	const struct machine_disk *disks;
	size_t disk_count;
	const struct machine_share *shares;
	size_t share_count;
	const struct machine_link *links;
	size_t link_count;
	bool reader;	     /* the guest's init mounts the root disk and runs nothing of it */
	bool overlay;	     /* what is written to the root disk goes to QEMU_FD_OVERLAY */
	bool layer;	     /* the root disk is a qcow2 layer over QEMU_FD_BASE */
	uint64_t layer_room; /* bytes of its file that the layer can use; 0: no bound */
	uint32_t tsc_khz;    /* of the host's time-stamp counter; 0: not known */
};

/* Disks beside the root and shared directories together: microvm has 24 places for devices. */
#define MACHINE_EXTRAS_MAX 16

/* Between a layer and its file, where layer_room is given; MACHINE_LAYER_FILE is the file's node.
 */
#define MACHINE_LAYER_ROOM "rootfs-room"
#define MACHINE_LAYER_FILE "rootfs-file"
#define MACHINE_RATES "rates" /* the throttle group */
#define MACHINE_NETDEV "net0" /* to be removed by netdev_del */
#define MACHINE_LINK "link"   /* with its number, likewise */
#define MACHINE_CARD_PORT \
	"card-port" /* of a machine that can be saved: for a card that comes later */
/* Of a share's device, the most there can be: a request is of as many pages as its queue has room
 * for, up to 256 (virtio_fs_get_tree, fs/fuse/virtio_fs.c). QEMU's own 128 hold half a MiB. */
#define SHARE_QUEUE 1024
#define MACHINE_QBOOT "qboot.rom"
#define MACHINE_SPARE "spare" /* the port of PURPOSE_PLUGGABLE that device_add can use */

/* Appends the command line, argv[0] first. ERR_UNSUPPORTED for a machine without a row. */
int command_line_build(const struct machine *machine, struct argv *argv, struct error *err);

#endif
