/* SPDX-License-Identifier: MIT */
/* One VM of QEMU: the connection to its monitor, and its consoles. */
#ifndef BACKEND_QEMU_QEMU_H
#define BACKEND_QEMU_QEMU_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "backend/parts/vm.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/qmp.h"

/* The function that is called when the guest's memory has its new size. All 0: no size was asked
 * for. */
struct qemu_balloon {
	int64_t wanted_mib, actual_mib;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* The steps in which QEMU gets a shared directory. SLOT_SERVER: nothing; SLOT_DESCRIPTOR: a
 * descriptor of the connection to the virtiofsd, under a name; SLOT_CHARDEV: also a character
 * device for this connection; SLOT_DEVICE: also a device, which the guest may see. */
enum slot_has { SLOT_SERVER, SLOT_DESCRIPTOR, SLOT_CHARDEV, SLOT_DEVICE };

/* A device function of the spare port. */
struct qemu_slot {
	struct companion *server; /* the virtiofsd; NULL: it was ended by this process */
	int qemu_fd;		  /* QEMU's end of the connection, until QEMU has it; else -1 */
	char tag[64];
	enum slot_has has;
	bool leaving; /* the guest was asked to release its device */
};

/* The shared directories that were given to the running guest. All 0: none. */
struct qemu_plug {
	struct qemu_slot slots[PLUGS_MAX];
	size_t count, at; /* at: the slot that is attached now; the last slot is attached first */
	bool leaving;
	struct error why; /* why the directories could not be given */
	vm_share_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* The function that is called when the layer has its new bound, or when the VM is paused. All 0:
 * none. */
struct qemu_waiter {
	vm_done_fn *fn;
	void *data;
};

/* The function that is called when the machine is saved. All 0: none. */
struct qemu_saving {
	vm_saved_fn *fn;
	void *data;
	uint64_t stopped_ns;
	struct loop_watch *timer;
};

struct qemu {
	struct vm vm; /* the first member, so that qemu_of() can cast a struct vm */
	struct qmp *qmp;
	enum architecture architecture;
	bool emulated;	    /* the machine is emulated by TCG */
	int64_t memory_mib; /* the memory with which the machine was booted */
	struct qemu_balloon balloon;
	struct qemu_plug plug;
	struct qemu_waiter room, pausing;
	struct qemu_saving saving;
	enum vm_origin origin;
	int state_fd; /* the state to restore, until QEMU has loaded it; else -1 */
	enum machine_ram ram;
	bool card_due;	/* the card must be plugged when the restored machine runs */
	bool ram_apart; /* the state does not have the memory */
	bool begun;	/* the restored machine, whose state has the memory, was told to go on */
	bool paused;	/* a disk is full, or qemu_pause() was called */
	/* looking: QEMU was asked why the machine stands still. looked_at: the value of `resumes`
	 * at that question. */
	bool looking;
	unsigned looked_at, resumes;

	int serial_fd, console_fd; /* ttyS0 and hvc0, which share a log */
	struct loop_watch *serial_watch, *console_watch;
	bool hvc_spoke; /* the last output came from hvc0, so the next typed line goes to hvc0 */
	bool hvc_typed; /* the line that is being typed goes to hvc0 */
	bool in_line;	/* the line that is being typed has no end yet */
};
static_assert(offsetof(struct qemu, vm) == 0, "qemu_of() is a cast");

static inline struct qemu *qemu_of(struct vm *vm)
{
	return (struct qemu *)vm;
}

/* The ends of channels for QEMU and its companions, which this process has until it starts them. */
struct qemu_ends {
	struct vm_share_ends shares[MACHINE_EXTRAS_MAX];
	size_t share_count;
	int qmp, serial, console, vsock_qemu, vsock_vsockd;
	int net_qemu, net_gate; /* -1: the machine has no such network */
	int qemu_stderr;
};

/* start.c: starts the cell with QEMU in it. QEMU runs only after vm_release(). */
int qemu_start(struct qemu *qemu, const struct vm_boot *boot, const struct qemu_ends *ends,
	       struct error *err);
/* boot.c */
struct vm *qemu_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		     struct error *err);
void qemu_free(struct vm *vm); /* accepts NULL */

/* monitor.c: commands to QEMU's monitor, and its events. */
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
/* Loads the state of a restored machine, or lets a new machine begin. If the state does not have
 * the memory, first removes /proc from QEMU's cell. Called when QEMU has opened the file of its
 * memory. */
void qemu_begin_saved(struct qemu *qemu);
void qemu_plug_card(struct qemu *qemu); /* called when the restored VM runs and card_due is set */
/* facts.c */
int qemu_save_facts(const struct config *config, enum accelerator accelerator, json_t *facts,
		    struct error *err);

/* serial.c */
/* Makes the channels of the serial console and of hvc0. *serial and *console are QEMU's ends. */
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
