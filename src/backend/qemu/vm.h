/* SPDX-License-Identifier: MIT */
/*
 * One VM: QEMU in its cell, the companions beside it, and the channels to them.
 *
 * Its processes:   supervisor ── bwrap (monitor) ── QEMU (program, PID 1 of its pid namespace)
 *                       └─────── microagent-vsockd, and further companions (companion.h)
 * Without namespaces QEMU is the supervisor's own child, and monitor and program are one.
 *
 * Whatever ends first takes the rest with it: QEMU's end closes the connections of its companions;
 * the end of a companion is told to the owner, who kills. `ended` is told when the program has
 * ended and all children have been reaped.
 */
#ifndef BACKEND_QEMU_VM_H
#define BACKEND_QEMU_VM_H

#include <stdbool.h>

#include "backend/backend.h"
#include "backend/qemu/cell.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/companion.h"
#include "backend/qemu/descendants.h"
#include "backend/qemu/qmp.h"
#include "backend/qemu/stderr_log.h"

#define VSOCKD_NAME "microagent-vsockd"
#define VIRTIOFSD_NAME "virtiofsd"
#define NETGATE_NAME "microagent-netgate"
#define PASST_NAME "passt"
#define VM_MAC_SIZE 18

/* The guest's network card and what is behind it. */
struct vm_net {
	enum network_mode mode;
	char mac[VM_MAC_SIZE]; /* "" when isolated */
	const char *detail;    /* what a person should know, or NULL */
	int netgate_fd;	       /* SOCK_SEQPACKET: addresses there, lines back; -1 */
	int routes_fd;	       /* readable when the host's addresses have changed; -1 */
	int table_fd;	       /* by which they are asked for; -1 */
	struct loop_watch *netgate_watch, *routes_watch;
};

/* Zeroed: nobody is waiting. */
struct vm_balloon {
	int64_t wanted_mib, actual_mib;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* A shared directory that was given to the running guest. Zeroed: none. */
struct vm_plug {
	struct companion *server; /* NULL: none */
	int qemu_fd;		  /* QEMU's connection to it, until it is QEMU's own */
	char tag[64];
	bool attached, leaving;
	struct error why; /* that it comes to nothing */
	vm_share_fn *fn;
	void *data;
	struct loop_watch *timer;
};

/* Whoever waits for a new bound of the layer, or for the pause. Zeroed: nobody. */
struct vm_room {
	vm_done_fn *fn;
	void *data;
};

struct vm {
	struct loop *loop;
	struct vm_events events;
	struct log *log;

	struct cell cell;
	pid_t monitor_pid; /* as it was, for describe() */
	struct loop_watch *monitor_watch, *program_watch;
	bool monitor_gone, program_gone;
	int exit_code; /* once gone; 128+signal */
	struct companions companions;
	char *label;		    /* vm_boot's, and two of its descriptors: */
	int workspace_fd, lease_fd; /* the broker takes them from here alone */
	int64_t memory_mib;	    /* that it was booted with */
	bool unfiltered;	    /* no system call is refused to QEMU (vmm_filter.h) */
	bool pluggable;		    /* it has a spare port */
	struct vm_balloon balloon;
	struct vm_plug plug;
	struct vm_room room, pausing;
	struct vm_net net;

	struct qmp *qmp;
	int busy_fd; /* vsockd's eventfd; -1 */
	struct loop_watch *busy_watch;
	bool busy;		   /* as it has told */
	int serial_fd, console_fd; /* ttyS0 and hvc0, which share a log */
	struct loop_watch *serial_watch, *console_watch;
	bool hvc_spoke; /* last of the two: what is typed goes there */
	bool hvc_typed; /* where the line went that is being typed */
	bool in_line;	/* its end is not typed yet */
	struct stderr_log qemu_stderr;

	bool monitored;	 /* QMP has been ready */
	bool killing;	 /* vm_kill() was called */
	bool severing;	 /* vm_sever() was called */
	bool paused;	 /* a disk is full, or vm_pause() was called */
	bool overdue;	 /* said how it ends long ago, and has not */
	bool end_told;	 /* QMP said how it ends: */
	enum vm_end end; /* ... this way */
	char detail[256];
	bool looking; /* QEMU was asked why it stands still, after looked_at resumes of ours */
	unsigned looked_at, resumes;
	/* Ends what should be ending by itself and is not. */
	struct loop_watch *grace_timer;

	/* QEMU's ends of these, which are the sockets that it keeps in quarantine. */
	unsigned long long qmp_inode, serial_inode, console_inode;
	struct loop_watch *sever_timer;
	uint64_t sever_deadline_ns;
	struct descendants severed; /* what the companions had started */
};

/* Of one shared directory: virtiofsd's listening socket, and QEMU's connection to it. */
struct vm_share_ends {
	int listen, qemu;
};

/* The ends of the channels that are QEMU's and its companions', until these are started. */
struct vm_ends {
	struct vm_share_ends shares[MACHINE_EXTRAS_MAX];
	size_t share_count;
	int qmp, serial, console, vhost_qemu, vhost_vsockd;
	int net_qemu, net_gate; /* -1: no such network */
	int qemu_stderr;
};

/* vm_qemu.c: starts the cell with QEMU in it, which cell_release() then lets go. */
int vm_start_qemu(struct vm *vm, const struct vm_boot *boot, const struct vm_ends *ends,
		  struct error *err);
/* vm_vsockd.c */
int vm_start_vsockd(struct vm *vm, const struct vm_boot *boot, const struct vm_ends *ends,
		    struct error *err);
/* vm_share.c */
int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err);
/* Its virtiofsd, started; NULL. */
struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err);
/* The same for a running guest, by the broker where there is one. The end is QEMU's. */
struct companion *vm_start_plug(struct vm *vm, const struct vm_share *share, int *qemu_end,
				struct error *err);
extern const struct broker_duty vm_share_duty; /* its data: the vm */
int vm_start_shares(struct vm *vm, const struct vm_boot *boot, struct vm_ends *ends,
		    struct error *err);
/* vm_net.c: makes QEMU's end of the network, then starts what is behind it. */
int vm_net_open(struct vm *vm, const struct vm_boot *boot, struct vm_ends *ends, struct error *err);
int vm_start_net(struct vm *vm, const struct vm_boot *boot, const struct vm_ends *ends,
		 struct error *err);
json_t *vm_net_describe(const struct vm *vm);
void vm_net_close(struct vm *vm);
/* vm_boot.c */
struct vm *vm_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		   struct error *err);
void vm_free(struct vm *vm); /* accepts NULL */

/* vm_monitor.c: what QEMU tells by its monitor, and is told. */
extern const struct qmp_events vm_monitor_events; /* data is to be the vm */
int vm_power_button(struct vm *vm, struct error *err);
int vm_resume(struct vm *vm, struct error *err);

/* vm_room.c */
int vm_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
int vm_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data, struct error *err);

/* vm_serial.c */
/* theirs: QEMU's ends */
int vm_open_serial(struct vm *vm, int *serial, int *console, struct error *err);
void vm_serial_drain(struct vm *vm);
size_t vm_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* vm_sever.c */
int vm_sever(struct vm *vm, struct error *err);
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS]);
extern const struct broker_duty vm_sever_duty; /* its data: the vm */
/* How many sockets the process holds beside the monitor's and the serial console's; -1 when its
 * descriptors cannot be listed. */
int vm_foreign_sockets(const struct vm *vm, pid_t pid, struct error *err);

/* vm_balloon.c */
int vm_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);
void vm_on_balloon_change(struct vm *vm, const json_t *body);

/* vm_plug.c */
int vm_share_attach(struct vm *vm, const struct vm_share *share, vm_share_fn *fn, void *data,
		    struct error *err);
int vm_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
void vm_on_device_deleted(struct vm *vm, const json_t *body);
void vm_plug_close(struct vm *vm);

/* vm_end.c: processes and their ends. */
int vm_watch(struct vm *vm, struct error *err);
void vm_on_companion(void *data, struct companion *companion); /* data is the vm */
bool vm_is_alive(const struct vm *vm);			       /* QEMU, as of now */
/* What should end by itself gets LIMIT_VMM_END_MS for it. */
void vm_grace(struct vm *vm);
void vm_kill(struct vm *vm);
json_t *vm_describe(const struct vm *vm);

#endif
