/* SPDX-License-Identifier: MIT */
/* One VM of QEMU: the talk with its monitor, and its consoles. */
#ifndef BACKEND_QEMU_QEMU_H
#define BACKEND_QEMU_QEMU_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "backend/parts/vm.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/qmp.h"

/* The function that waits for a new size of the guest. Zeroed: none. */
struct qemu_balloon {
	int64_t wanted_mib, actual_mib;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* How much QEMU has of a shared directory: nothing; a connection to the virtiofsd under a name; a
 * character device for it; a device that the guest may see. */
enum slot_has { SLOT_SERVER, SLOT_DESCRIPTOR, SLOT_CHARDEV, SLOT_DEVICE };

/* A device function of the spare port. */
struct qemu_slot {
	struct companion *server; /* NULL: we have ended it */
	int qemu_fd;		  /* QEMU's connection to the server until QEMU has it; -1 */
	char tag[64];
	enum slot_has has;
	bool leaving; /* the guest was asked to release its device */
};

/* The shared directories that were given to the running guest. Zeroed: none. */
struct qemu_plug {
	struct qemu_slot slots[PLUGS_MAX];
	size_t count, at; /* at: the slot being attached, from the last to the first */
	bool leaving;
	struct error why; /* why it fails */
	vm_share_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* The function that waits for a new bound of the layer, or for a pause. Zeroed: none. */
struct qemu_waiter {
	vm_done_fn *fn;
	void *data;
};

/* The function that waits until the machine is saved. Zeroed: none. */
struct qemu_saving {
	vm_saved_fn *fn;
	void *data;
	uint64_t stopped_ns;
	struct loop_watch *timer;
};

struct qemu {
	struct vm vm; /* first: a struct vm of this backend is the beginning of one of these */
	struct qmp *qmp;
	enum architecture architecture;
	bool emulated;	    /* by TCG */
	int64_t memory_mib; /* memory that it was booted with */
	struct qemu_balloon balloon;
	struct qemu_plug plug;
	struct qemu_waiter room, pausing;
	struct qemu_saving saving;
	enum vm_origin origin;
	int state_fd; /* the state until it is loaded; -1 */
	enum machine_ram ram;
	bool card_due;	/* the card is plugged when the restored machine runs */
	bool ram_apart; /* its state has no memory in it */
	bool begun;	/* with the memory in the state: the VM was told to go on */
	bool paused;	/* a disk is full, or qemu_pause() was called */
	bool looking;	/* QEMU was asked why it stands still, after looked_at of our resumes */
	unsigned looked_at, resumes;

	int serial_fd, console_fd; /* ttyS0 and hvc0, which share a log */
	struct loop_watch *serial_watch, *console_watch;
	bool hvc_spoke; /* hvc0 spoke last: what is typed goes there */
	bool hvc_typed; /* the line that is being typed went to hvc0 */
	bool in_line;	/* the end of that line is not typed yet */
};
static_assert(offsetof(struct qemu, vm) == 0, "qemu_of() is a cast");

static inline struct qemu *qemu_of(struct vm *vm)
{
	return (struct qemu *)vm;
}

/* The ends of channels for QEMU and its companions, until these are started. */
struct qemu_ends {
	struct vm_share_ends shares[MACHINE_EXTRAS_MAX];
	size_t share_count;
	int qmp, serial, console, vsock_qemu, vsock_vsockd;
	int net_qemu, net_gate; /* -1: no such network */
	int qemu_stderr;
};

/* start.c: starts the cell with QEMU in it. vm_release() lets QEMU run afterwards. */
int qemu_start(struct qemu *qemu, const struct vm_boot *boot, const struct qemu_ends *ends,
	       struct error *err);
/* boot.c */
struct vm *qemu_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		     struct error *err);
void qemu_free(struct vm *vm); /* accepts NULL */

/* monitor.c: the talk with QEMU's monitor. */
extern const struct qmp_events qemu_monitor_events; /* data must be the struct qemu */
int qemu_power_button(struct vm *vm, struct error *err);
int qemu_resume(struct vm *vm, struct error *err);
int qemu_unplug_net(struct vm *vm, struct error *err);

/* room.c */
int qemu_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
int qemu_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err);

/* save_restore.c */
int qemu_save(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
void qemu_on_migration(struct qemu *qemu, const json_t *body);
/* Called when QEMU has opened its memory. Takes away what QEMU must not have, and loads the
 * state. */
void qemu_begin_saved(struct qemu *qemu);
void qemu_plug_card(struct qemu *qemu); /* when the VM runs and needs a card */
/* facts.c */
int qemu_save_facts(const struct config *config, enum accelerator accelerator, json_t *facts,
		    struct error *err);

/* serial.c */
/* *serial and *console are QEMU's ends. */
int qemu_open_serial(struct qemu *qemu, int *serial, int *console, struct error *err);
void qemu_serial_drain(struct qemu *qemu);
size_t qemu_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* balloon.c */
int qemu_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);
void qemu_on_balloon_change(struct qemu *qemu, const json_t *body);

/* plug.c */
int qemu_share_attach(struct vm *vm, const struct vm_share *shares, size_t count, vm_share_fn *fn,
		      void *data, struct error *err);
int qemu_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
void qemu_on_device_deleted(struct qemu *qemu, const json_t *body);
void qemu_plug_close(struct qemu *qemu);

#endif
