/* SPDX-License-Identifier: MIT */
/* One VM of QEMU's: what is said over its monitor, and typed on its consoles. */
#ifndef BACKEND_QEMU_QEMU_H
#define BACKEND_QEMU_QEMU_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "backend/parts/vm.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/qmp.h"

/* Zeroed: nobody is waiting. */
struct qemu_balloon {
	int64_t wanted_mib, actual_mib;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* What QEMU has of a shared directory: nothing, its connection to the virtiofsd under a name, a
 * character device of that, a device that the guest may see. */
enum slot_has { SLOT_SERVER, SLOT_DESCRIPTOR, SLOT_CHARDEV, SLOT_DEVICE };

/* A function of the spare port. */
struct qemu_slot {
	struct companion *server; /* NULL: it was ended */
	int qemu_fd;		  /* QEMU's connection to it, until it is QEMU's own; -1 */
	char tag[64];
	enum slot_has has;
	bool leaving; /* its device was asked to go */
};

/* The shared directories that were given to the running guest. Zeroed: none. */
struct qemu_plug {
	struct qemu_slot slots[PLUGS_MAX];
	size_t count, at; /* at: the one that is being attached, from the last to the first */
	bool leaving;
	struct error why; /* that it comes to nothing */
	vm_share_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* Whoever waits for a new bound of the layer, or for the pause. Zeroed: nobody. */
struct qemu_waiter {
	vm_done_fn *fn;
	void *data;
};

/* Whoever waits for the machine to be saved. Zeroed: nobody. */
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
	int64_t memory_mib; /* that it was booted with */
	struct qemu_balloon balloon;
	struct qemu_plug plug;
	struct qemu_waiter room, pausing;
	struct qemu_saving saving;
	enum vm_origin origin;
	int state_fd; /* until it is loaded; -1 */
	enum machine_ram ram;
	bool card_due;	/* it is plugged when the restored machine runs */
	bool ram_apart; /* its state has no memory in it */
	bool begun;	/* of one with its memory in the state: it was told to go on */
	bool paused;	/* a disk is full, or qemu_pause() was called */
	bool looking;	/* QEMU was asked why it stands still, after looked_at resumes of ours */
	unsigned looked_at, resumes;

	int serial_fd, console_fd; /* ttyS0 and hvc0, which share a log */
	struct loop_watch *serial_watch, *console_watch;
	bool hvc_spoke; /* last of the two: what is typed goes there */
	bool hvc_typed; /* where the line went that is being typed */
	bool in_line;	/* its end is not typed yet */
};
static_assert(offsetof(struct qemu, vm) == 0, "qemu_of() is a cast");

static inline struct qemu *qemu_of(struct vm *vm)
{
	return (struct qemu *)vm;
}

/* The ends of the channels that are QEMU's and its companions', until these are started. */
struct qemu_ends {
	struct vm_share_ends shares[MACHINE_EXTRAS_MAX];
	size_t share_count;
	int qmp, serial, console, vsock_qemu, vsock_vsockd;
	int net_qemu, net_gate; /* -1: no such network */
	int qemu_stderr;
};

/* start.c: starts the cell with QEMU in it, which vm_release() then lets go. */
int qemu_start(struct qemu *qemu, const struct vm_boot *boot, const struct qemu_ends *ends,
	       struct error *err);
/* boot.c */
struct vm *qemu_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		     struct error *err);
void qemu_free(struct vm *vm); /* accepts NULL */

/* monitor.c: what QEMU tells by its monitor, and is told. */
extern const struct qmp_events qemu_monitor_events; /* data is to be the struct qemu */
int qemu_power_button(struct vm *vm, struct error *err);
int qemu_resume(struct vm *vm, struct error *err);
int qemu_unplug_net(struct vm *vm, struct error *err);

/* room.c */
int qemu_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
int qemu_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err);

/* save_restore.c */
int qemu_save(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
void qemu_on_migration(struct qemu *qemu, const json_t *body);
/* QEMU has opened its memory: what it is not to have goes, and the state is loaded. */
void qemu_begin_saved(struct qemu *qemu);
void qemu_plug_card(struct qemu *qemu); /* it runs, and is to have one */
/* facts.c */
int qemu_save_facts(const struct config *config, enum accelerator accelerator, json_t *facts,
		    struct error *err);

/* serial.c */
/* theirs: QEMU's ends */
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
