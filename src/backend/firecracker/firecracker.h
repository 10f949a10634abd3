/* SPDX-License-Identifier: MIT */
/* One VM of Firecracker: the calls to its API, and its serial console. */
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

/* The function that is called when the VM is paused. All members are 0 if no pause was asked
 * for. */
struct fc_waiting {
	vm_done_fn *fn;
	void *data;
};

/* A request to change the size of the guest's memory, and the function that is called when the
 * request has ended. All members are 0 if there is no request. */
struct fc_balloon {
	int64_t wanted_mib, actual_mib;
	uint64_t deadline_ns;
	vm_balloon_fn *fn;
	void *data;
	struct loop_watch *timer;
};

#define FC_METRICS_FILE "metrics.json" /* the name of the metrics file in the workspace */
struct fc_metrics {
	/* The FIFO of the metrics, which Firecracker opens by its name; -1: there is none. */
	int fd;
	int workspace_fd;
	struct log *log;
	struct loop *loop;
	struct loop_watch *watch;
	/* The timer that runs until the next metrics may be written to the file. */
	struct loop_watch *timer;
	struct buf line;
	/* The line that is being read is too long, so the remaining bytes of the line are
	 * dropped. */
	bool cut;
	struct buf newest; /* the newest complete line, which was not written to the file yet */
};

struct firecracker {
	struct vm vm; /* must be the first member, so that fc_of() can cast a struct vm */
	struct api *api;
	json_t *requests; /* an array of the calls that describe the machine and start it */
	size_t next;	  /* the index in `requests` of the next request to send */
	bool started;	  /* all requests were answered, and stdout has the guest's output */
	int64_t memory_mib;
	enum architecture architecture;
	struct loop_watch *connect_timer;
	uint64_t connect_deadline_ns;
	/* A timer that runs while the API is closed and Firecracker has not ended yet. */
	struct loop_watch *close_timer;
	struct error closed_why;
	struct fc_waiting pausing;
	struct fc_balloon balloon;
	struct stderr_log own_log; /* the log for the lines of Firecracker's logger */
	/* The log for Firecracker's lines on stdout, before `started` is true. */
	struct stderr_log early;
	/* The FIFO of Firecracker's logger, which Firecracker opens by name. */
	int log_fd;
	struct fc_metrics metrics;

	/* The supervisor has got its one connection to the API. Used only in the broker. */
	bool connected;

	int stdin_fd, stdout_fd; /* this process's descriptors of the pipes of the serial console */
	struct loop_watch *stdin_watch, *stdout_watch;
};
static_assert(offsetof(struct firecracker, vm) == 0, "fc_of() is a cast");

static inline struct firecracker *fc_of(struct vm *vm)
{
	return (struct firecracker *)vm;
}

/* Firecracker's ends of its channels. This process holds them until Firecracker is started. */
struct fc_ends {
	int in, out, err; /* the ends for Firecracker's stdin, stdout and stderr */
};

/* Functions of boot.c: */
struct vm *fc_boot(struct loop *loop, const struct vm_boot *boot, const struct vm_events *events,
		   struct error *err);
void fc_free(struct vm *vm); /* accepts NULL */

/* Function of start.c. Starts the cell with Firecracker in it. Firecracker runs only after
 * vm_release(). */
int fc_start(struct firecracker *fc, const struct vm_boot *boot, const struct fc_ends *ends,
	     struct error *err);

/* Functions of sockets.c. fc_run_open() makes VM_RUN_DIR, which the cell sees as FC_RUN, with the
 * links and FIFOs in this directory. fc_run_open() returns the descriptor of the directory, which
 * the caller closes. */
int fc_run_open(struct firecracker *fc, const struct vm_boot *boot, struct error *err);
/* Connects to the API, through the broker if there is one. Returns a descriptor. Fails with
 * ERR_NOT_FOUND if Firecracker has not made the socket yet. */
int fc_run_connect(struct firecracker *fc, struct error *err);
/* Moves the socket of the guest's vsock, which Firecracker has made, to <workspace>/vsock.sock. */
int fc_run_place_vsock(const struct firecracker *fc, struct error *err);
/* Starts vsockd for the link, with a socket for clients that has no name yet. Called before the
 * broker is forked. */
int fc_run_start_link(struct firecracker *fc, const struct vm_boot *boot, struct error *err);
/* Gives the link's socket for clients the name <workspace>/agent.sock. Called when the guest's
 * agent serves the link. */
int fc_linked(struct vm *vm, struct error *err);
/* The broker's duty for the sockets of Firecracker. Its data is the struct vm. */
extern const struct broker_duty fc_socket_duty;

/* Functions of talk.c, which makes the calls to the API: */
int fc_talk_begin(struct firecracker *fc, struct error *err);
void fc_fail(struct firecracker *fc, const struct error *why); /* ends the VM */
int fc_power_button(struct vm *vm, struct error *err);
int fc_resume(struct vm *vm, struct error *err);
int fc_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);

/* Functions of balloon.c: */
int fc_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);

/* Functions of serial.c: */
int fc_serial_open(struct firecracker *fc, struct fc_ends *ends, struct error *err);
void fc_serial_drain(struct firecracker *fc);
size_t fc_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* Functions of metrics.c: */
int fc_metrics_open(struct firecracker *fc, struct error *err);
void fc_metrics_drain(struct fc_metrics *metrics);
void fc_metrics_close(struct fc_metrics *metrics);

#endif
