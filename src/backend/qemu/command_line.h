/* SPDX-License-Identifier: MIT */
/*
 * Makes QEMU's whole command line, from one table keyed by (architecture, accelerator, purpose).
 * Nothing else in the backend knows a QEMU option. A unit test checks every row word by word.
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

/* What a machine is for. This decides its type. */
enum purpose {
	PURPOSE_PLAIN,	   /* devices fixed at start: microvm */
	PURPOSE_PLUGGABLE, /* may get a device later: q35 with a spare root port */
	PURPOSE_COUNT
};

/* The descriptors of the QEMU process, by fixed number. command_line_build() uses these numbers. */
enum qemu_fd {
	QEMU_FD_QMP = 3,
	QEMU_FD_SERIAL,
	QEMU_FD_CONSOLE, /* hvc0 */
	QEMU_FD_VSOCK,	 /* vsockd: vhost-user, or a port's packets */
	QEMU_FD_ROOTFS,
	QEMU_FD_LEASE,	 /* only held, never used */
	QEMU_FD_NET,	 /* for a machine with a network card */
	QEMU_FD_OVERLAY, /* over a root disk that is only read */
	QEMU_FD_BASE,	 /* for a root disk that is a layer */
	QEMU_FD_RAM,	 /* for a machine that is saved or restored */
	QEMU_FD_END
};

/* A disk beside the root. The guest has the disks in the order of the array. */
struct machine_disk {
	const char *serial; /* also the name of its nodes */
	int fd;		    /* of the QEMU process */
	bool read_only;
};

/* A shared directory, with a connection to its virtiofsd. */
struct machine_share {
	const char *tag;
	int fd;
};

/* A card whose tap exists already, for a machine that has no card of its own. */
struct machine_link {
	const char *mac;
	int fd; /* of the QEMU process */
};

/* How the guest's memory is made. */
enum machine_ram {
	RAM_OWN,     /* only for this machine and its companions */
	RAM_FILE,    /* QEMU_FD_RAM, only for this machine */
	RAM_PRIVATE, /* QEMU_FD_RAM; pages that the machine writes to are copied */
};

/* What QEMU_FD_NET is. */
enum machine_card {
	CARD_NONE,
	CARD_STREAM, /* a stream socket, frames behind their lengths */
	CARD_TAP
};

struct machine {
	const struct config *config; /* parts of it go to QEMU unchanged */
	enum architecture architecture;
	enum accelerator accelerator; /* KVM or TCG */
	enum purpose purpose;
	const char *cpu; /* NULL: the usual one of the accelerator */
	const char *binary;
	const char *data[2];	     /* directories of its firmware, if it would use other ones */
	bool qboot;		     /* its firmware includes MACHINE_QBOOT */
	const char *label;	     /* shown in ps */
	const char *kernel, *initrd; /* as QEMU sees them */
	enum machine_card card;
	const char *mac; /* of the card */
	bool card_later; /* the card is plugged when the machine runs; until then there is only its
			  * other side */
	enum machine_ram ram;
	bool port;     /* the guest's streams go over a virtio-serial port, which can be saved */
	bool saved;    /* can be saved: no balloon, since its memory may be shared */
	bool restored; /* waits for a state that is loaded, and boots no kernel */
	bool ram_root; /* there is no root disk: the first of the disks is /dev/vda */
	const struct machine_disk *disks;
	size_t disk_count;
	const struct machine_share *shares;
	size_t share_count;
	const struct machine_link *links;
	size_t link_count;
	bool reader;	     /* the guest's init mounts the root disk and runs nothing on it */
	bool overlay;	     /* writes to the root disk go to QEMU_FD_OVERLAY */
	bool layer;	     /* the root disk is a qcow2 layer over QEMU_FD_BASE */
	uint64_t layer_room; /* bytes of its file that the layer can use; 0: no bound */
	uint32_t tsc_khz;    /* frequency of the host's time-stamp counter; 0: not known */
};

/* The most disks beside the root and shared directories together: microvm has 24 places for
 * devices. */
#define MACHINE_EXTRAS_MAX 16

/* Names of nodes. If layer_room is given, MACHINE_LAYER_ROOM is between a layer and its file.
 * MACHINE_LAYER_FILE is the file's node. */
#define MACHINE_LAYER_ROOM "rootfs-room"
#define MACHINE_LAYER_FILE "rootfs-file"
#define MACHINE_RATES "rates" /* the throttle group */
#define MACHINE_NETDEV "net0" /* netdev_del removes it */
#define MACHINE_LINK "link"   /* with its number; netdev_del removes it */
#define MACHINE_CARD_PORT \
	"card-port" /* for a card that comes later, on a machine that can be saved */
/* The largest queue of a share's device. A request has as many pages as its queue has room for, up
 * to 256 (virtio_fs_get_tree, fs/fuse/virtio_fs.c). QEMU's default of 128 allows half a MiB. */
#define SHARE_QUEUE 1024
#define MACHINE_QBOOT "qboot.rom"
#define MACHINE_SPARE "spare" /* the port of PURPOSE_PLUGGABLE for device_add */

/* Appends the command line, argv[0] first. ERR_UNSUPPORTED for a machine without a row. */
int command_line_build(const struct machine *machine, struct argv *argv, struct error *err);

#endif
