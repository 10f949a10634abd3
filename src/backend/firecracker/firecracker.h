/* SPDX-License-Identifier: MIT */
/* One VM of Firecracker's: what is said over its API, and its serial console. */
#ifndef BACKEND_FIRECRACKER_FIRECRACKER_H
#define BACKEND_FIRECRACKER_FIRECRACKER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "backend/firecracker/api.h"
#include "backend/firecracker/requests.h"
#include "backend/parts/vm.h"
#include "base/buf.h"

/* Whoever waits for a pause. Zeroed: nobody. */
struct fc_waiting {
	vm_done_fn *fn;
	void *data;
};

/* Zeroed: nobody is waiting. */
struct fc_balloon {
	int64_t wanted_mib, actual_mib;
	uint64_t deadline_ns;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

#define FC_METRICS_FILE "metrics.json" /* of the workspace */
struct fc_metrics {
	int fd; /* a FIFO, which Firecracker opens by name; -1 */
	int workspace_fd;
	struct log *log;
	struct loop *loop;
	struct loop_watch *watch;
	struct loop_watch *timer; /* until the next may be kept */
	struct buf line;
	bool cut;	   /* it was too long */
	struct buf newest; /* whole, and not kept yet */
};

struct firecracker {
	struct vm vm; /* first: a struct vm of this backend is the beginning of one of these */
	struct api *api;
	json_t *requests; /* to be made before it runs */
	size_t next;	  /* of them */
	bool started;	  /* the last was answered: what comes on stdout is the guest's */
	int64_t memory_mib;
	enum architecture architecture;
	struct loop_watch *connect_timer;
	uint64_t connect_deadline_ns;
	struct loop_watch *close_timer; /* its API is closed, and it goes on */
	struct error closed_why;
	struct fc_waiting pausing;
	struct fc_balloon balloon;
	struct stderr_log own_log; /* lines of its logger */
	struct stderr_log early;   /* what it says on stdout before the guest does */
	int log_fd;		   /* a FIFO, which it opens by name */
	struct fc_metrics metrics;

	bool connected; /* in the broker: its one connection to the API has been given */

	int stdin_fd, stdout_fd; /* the serial console */
	struct loop_watch *stdin_watch, *stdout_watch;
};
static_assert(offsetof(struct firecracker, vm) == 0, "fc_of() is a cast");

static inline struct firecracker *fc_of(struct vm *vm)
{
	return (struct firecracker *)vm;
}

/* The ends that are Firecracker's, until it is started. */
struct fc_ends {
	int in, out, err; /* its stdin, stdout and stderr */
};

/* boot.c */
struct vm *fc_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		   struct error *err);
void fc_free(struct vm *vm); /* accepts NULL */

/* start.c: starts the cell with Firecracker in it, which vm_release() then lets go. */
int fc_start(struct firecracker *fc, const struct vm_boot *boot, const struct fc_ends *ends,
	     struct error *err);

/* sockets.c: VM_RUN_DIR, which its cell sees as FC_RUN, and what has a name there. */
int fc_run_open(struct firecracker *fc, const struct vm_boot *boot, struct error *err);
/* A connection to its API; ERR_NOT_FOUND: not yet. By the broker where there is one. */
int fc_run_connect(struct firecracker *fc, struct error *err);
/* The guest's vsock, which it has bound by now, becomes <workspace>/vsock.sock. */
int fc_run_place_vsock(const struct firecracker *fc, struct error *err);
/* Starts vsockd behind the link, with a socket for clients that has no name yet. Before the broker. */
int fc_run_start_link(struct firecracker *fc, const struct vm_boot *boot, struct error *err);
/* The guest's agent serves the link: that socket becomes <workspace>/agent.sock. */
int fc_linked(struct vm *vm, struct error *err);
extern const struct broker_duty fc_socket_duty; /* its data: the vm */

/* talk.c: what it is told by its API, and when. */
int fc_talk_begin(struct firecracker *fc, struct error *err);
void fc_fail(struct firecracker *fc, const struct error *why); /* ends it */
int fc_power_button(struct vm *vm, struct error *err);
int fc_resume(struct vm *vm, struct error *err);
int fc_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);

/* balloon.c */
int fc_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);

/* serial.c */
int fc_serial_open(struct firecracker *fc, struct fc_ends *ends, struct error *err);
void fc_serial_drain(struct firecracker *fc);
size_t fc_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* metrics.c */
int fc_metrics_open(struct firecracker *fc, struct error *err);
void fc_metrics_drain(struct fc_metrics *metrics);
void fc_metrics_close(struct fc_metrics *metrics);

#endif
