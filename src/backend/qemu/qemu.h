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

/* A request to change the size of the guest's memory, and the function that is called when the
 * request has ended. If there is no request, all members except actual_mib are 0. */
struct qemu_balloon {
	int64_t wanted_mib, actual_mib;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* What QEMU has for a shared directory, after each step. SLOT_SERVER: QEMU has nothing, and the
 * virtiofsd runs. SLOT_DESCRIPTOR: QEMU has a named descriptor of the connection to the virtiofsd.
 * SLOT_CHARDEV: QEMU also has a character device for this connection. SLOT_DEVICE: QEMU also has a
 * device, which the guest may see. */
enum slot_has { SLOT_SERVER, SLOT_DESCRIPTOR, SLOT_CHARDEV, SLOT_DEVICE };

/* One shared directory of a running guest. Each directory has a slot, which is one PCI function of
 * the spare port. */
struct qemu_slot {
	/* The virtiofsd of the directory; NULL: this process has ended the virtiofsd. */
	struct companion *server;
	/* QEMU's end of the connection to the virtiofsd; -1: QEMU has it already. */
	int qemu_fd;
	char tag[64];
	enum slot_has has;
	bool leaving; /* the guest was asked to release its device */
};

/* The shared directories that were given to the running guest. All members are 0 if there are
 * none. */
struct qemu_plug {
	struct qemu_slot slots[PLUGS_MAX];
	/* count: the number of slots; at: the index of the slot that is being attached. The slots
	 * are attached from the last to the first. */
	size_t count, at;
	bool leaving;
	struct error why; /* the reason why the directories could not be given */
	vm_share_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* The function that is called when the layer has its new limit, or when the VM is paused. All
 * members are 0 if no call is due. */
struct qemu_waiter {
	vm_done_fn *fn;
	void *data;
};

/* The function that is called when the machine is saved; NULL: no save is under way. stopped_ns is
 * the monotonic time, in ns, at which QEMU last reported that the machine has stopped. */
struct qemu_saving {
	vm_saved_fn *fn;
	void *data;
	uint64_t stopped_ns;
	struct loop_watch *timer;
};

struct qemu {
	struct vm vm; /* must be the first member, so that qemu_of() can cast a struct vm */
	struct qmp *qmp;
	enum architecture architecture;
	bool emulated;	    /* the machine is emulated by TCG */
	int64_t memory_mib; /* the memory with which the machine was booted, in MiB */
	struct qemu_balloon balloon;
	struct qemu_plug plug;
	struct qemu_waiter room, pausing;
	struct qemu_saving saving;
	enum vm_origin origin;
	int state_fd; /* the saved state, until QEMU has loaded it; -1: there is none */
	enum machine_ram ram;
	bool card_due; /* the card must be plugged in as soon as the restored machine runs */
	/* The serials of the disks that must be plugged in as soon as the restored machine runs. */
	char disks_due[PLUGS_MAX][VM_SERIAL_SIZE];
	size_t disks_due_count;
	bool ram_apart; /* the saved state does not contain the memory */
	/* A restored machine whose saved state contains the memory was told to go on. */
	bool begun;
	bool paused; /* a disk is full, or qemu_pause() was called */
	/* looking: QEMU was asked why the machine stands still, and has not answered yet.
	 * looked_at: the value of `resumes` when QEMU was asked. */
	bool looking;
	unsigned looked_at, resumes;

	/* The channels of ttyS0 and hvc0, whose output goes to one log. */
	int serial_fd, console_fd;
	struct loop_watch *serial_watch, *console_watch;
	bool hvc_spoke; /* the last output came from hvc0, so the next typed line goes to hvc0 */
	bool hvc_typed; /* the line that is being typed goes to hvc0 */
	bool in_line;	/* the line that is being typed is not complete yet */
};
static_assert(offsetof(struct qemu, vm) == 0, "qemu_of() is a cast");

static inline struct qemu *qemu_of(struct vm *vm)
{
	return (struct qemu *)vm;
}

/* The ends of channels that QEMU and its companions will get. This process holds them until it
 * starts these processes. */
struct qemu_ends {
	struct vm_share_ends shares[MACHINE_EXTRAS_MAX];
	size_t share_count;
	int qmp, serial, console, vsock_qemu, vsock_vsockd;
	/* The ends of the channel for the network card; -1: the machine has no such channel. */
	int net_qemu, net_gate;
	int qemu_stderr;
};

/* Function of start.c. Starts the cell with QEMU in it. QEMU runs only after vm_release(). */
int qemu_start(struct qemu *qemu, const struct vm_boot *boot, const struct qemu_ends *ends,
	       struct error *err);
/* Functions of boot.c: */
struct vm *qemu_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		     struct error *err);
void qemu_free(struct vm *vm); /* accepts NULL */

/* Functions of monitor.c, which send commands to QEMU's monitor and handle its events: */
extern const struct qmp_events qemu_monitor_events; /* `data` must be the struct qemu */
int qemu_power_button(struct vm *vm, struct error *err);
int qemu_resume(struct vm *vm, struct error *err);
int qemu_unplug_net(struct vm *vm, struct error *err);

/* Functions of room.c: */
int qemu_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
int qemu_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err);

/* Functions of save_restore.c: */
int qemu_save(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
void qemu_on_migration(struct qemu *qemu, const json_t *body);
/* Loads the saved state of a restored machine, or lets a new machine begin. If the state does not
 * contain the memory, first removes /proc from QEMU's cell. Called when QEMU has opened the file
 * with the machine's memory. */
void qemu_begin_saved(struct qemu *qemu);
/* A qmp_reply_fn for a command without which the machine cannot run. If QEMU has refused the
 * command, ends the machine. Otherwise the machine would stand still for ever although it is
 * recorded as running. If a state cannot be loaded, QEMU itself ends. */
void qemu_end_if_refused(void *data, const json_t *result, const struct error *why);
void qemu_plug_card(struct qemu *qemu); /* called when the restored VM runs and card_due is set */
/* Plugs in the disks of disks_due. Called when the restored VM runs. */
void qemu_plug_disks(struct qemu *qemu);
/* Function of facts.c: */
int qemu_save_facts(const struct config *config, enum accelerator accelerator, json_t *facts,
		    struct error *err);

/* Functions of serial.c: */
/* Makes the channels of the serial console and of hvc0. *serial and *console are QEMU's ends. */
int qemu_open_serial(struct qemu *qemu, int *serial, int *console, struct error *err);
void qemu_serial_drain(struct qemu *qemu);
size_t qemu_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* Functions of balloon.c: */
int qemu_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);
void qemu_on_balloon_change(struct qemu *qemu, const json_t *body);

/* Functions of plug.c: */
int qemu_share_attach(struct vm *vm, const struct vm_share *shares, size_t count, vm_share_fn *fn,
		      void *data, struct error *err);
int qemu_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
void qemu_on_device_deleted(struct qemu *qemu, const json_t *body);
void qemu_plug_close(struct qemu *qemu);

#endif
