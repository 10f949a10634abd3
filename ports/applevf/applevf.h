/* SPDX-License-Identifier: MIT */
/*
 * A machine of Virtualization.framework, with what the event loop uses of it: the console, the
 * connections, and the callers that wait for an answer. The framework runs the machine in this
 * process, on a separate queue (vz.h). So this backend starts, confines and kills no process. macOS
 * emulates the guest's devices in services of macOS, which exit when this process exits.
 */
#ifndef BACKEND_APPLEVF_APPLEVF_H
#define BACKEND_APPLEVF_APPLEVF_H

#include <stdbool.h>
#include <stdint.h>

#include "applevf/plan.h"
#include "applevf/post.h"
#include "applevf/vz.h"
#include "backend/backend.h"
#include "base/list.h"
#include "base/log.h"

/* Connections between the guest and the sockets of the workspace. */
struct streams {
	int listen_fd; /* the listening socket vsock.sock; -1: closed */
	struct loop_watch *watch;
	/* the timer after which vsock.sock is watched again; NULL: it does not run */
	struct loop_watch *again;
	struct list list;
	unsigned count;	   /* the number of streams in the list */
	unsigned to_guest; /* the number of joined streams that clients of the host have opened */
	uint64_t last_id;
	uint32_t boot_port;
	uint64_t boot_id; /* the id of the last connection to boot_port; 0: there was none yet */
};

/* The serial console: this process's ends of two pipes. */
struct serial {
	int in, out; /* the input pipe and the output pipe of the guest; -1: closed */
	/* The watches of `in` and `out` in the event loop. If a watch is NULL, its pipe is not
	 * written or read any more. */
	struct loop_watch *in_watch, *out_watch;
};

struct vm {
	struct loop *loop;
	struct vm_events events;
	struct log *log;
	char *label; /* the machine's "<stateDir>/<runtimeID>", for messages */
	int workspace_fd;
	int64_t memory_mib;
	enum network_mode network;
	/* pluggable: the running machine can get a shared directory. plugged: the machine has got
	 * one. */
	bool pluggable, plugged;

	struct post *post;
	struct vz *vz;
	struct streams streams;
	struct serial serial;

	bool killing;
	/* true: the machine was stopped because of a fault; `end` and `detail` say which */
	bool broken;
	bool closing; /* true: this struct is being freed */
	bool severing;
	unsigned severed_streams; /* how many streams were open when the quarantine began */
	bool ending;		  /* the machine has ended; `end` and `detail` say how */
	enum vm_end end;
	char detail[1024];
	/* A timer after which the end of the machine is reported by events.ended(). */
	struct loop_watch *end_timer;
	struct loop_watch *sever_timer;

	/* The callers that wait for an answer. `fn` is NULL if no caller waits. */
	struct {
		vm_done_fn *fn;
		void *data;
	} pausing;
	struct {
		vm_balloon_fn *fn;
		void *data;
	} balloon;
	struct {
		vm_share_fn *fn;
		void *data;
	} sharing;
};

/* boot.c */
struct vm *applevf_boot(struct loop *loop, const struct vm_boot *boot,
			const struct vm_events *events, struct error *err);
void applevf_free(struct vm *vm); /* accepts NULL */
json_t *applevf_describe(const struct vm *vm);

/* machine.c: calls to the machine, and its answers */
letter_fn applevf_on_letter; /* handles the messages of the queue; its data is the struct vm */
int applevf_power_button(struct vm *vm, struct error *err);
void applevf_kill(struct vm *vm); /* accepts NULL */
int applevf_resume(struct vm *vm, struct error *err);
int applevf_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
int applevf_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err);
/* Called when the last connection between guest and host has ended. */
void applevf_quiet(struct vm *vm);
/* Called when the guest was reset and has booted again. */
void applevf_was_reset(struct vm *vm);

/* share.c */
#define APPLEVF_NO_CACHING                                                                       \
	"Virtualization.framework serves shared directories itself, and has no option for what " \
	"the guest may cache of them"
#define APPLEVF_NO_LOCKS                                                                        \
	"Virtualization.framework serves shared directories itself, and keeps no locks of the " \
	"guest's"
int applevf_share_attach(struct vm *vm, const struct vm_share *shares, size_t count,
			 vm_share_fn *fn, void *data, struct error *err);
int applevf_share_detach(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
void applevf_shared(struct vm *vm, const struct letter *letter);

/* sever.c */
int applevf_sever(struct vm *vm, struct error *err);
void applevf_severed(struct vm *vm, const struct letter *letter);

/* serial.c */
int serial_open(struct vm *vm, struct plan *plan, struct error *err);
void serial_drain(struct vm *vm);
/* Closes the pipe for the console's input, so that the guest gets no more bytes. */
void serial_close_input(struct vm *vm);
void serial_close(struct vm *vm);
size_t applevf_console(struct vm *vm, const uint8_t *bytes, size_t len);

/* streams.c */
int streams_open(struct vm *vm, int listen_fd, struct error *err);
void streams_connected(struct vm *vm, const struct letter *letter);
void streams_accepted(struct vm *vm, const struct letter *letter);
/* Closes vsock.sock, so that no client of the host can open another connection. */
void streams_stop(struct vm *vm);
void streams_close(struct vm *vm);

/* check.c */
int applevf_check(const struct config *config, struct error *err);
/* Checks that this host has everything that every machine needs. Returns 0, or -1 with err set. */
int applevf_check_host(const struct vz_host *host, struct error *err);
/* Checks that this host has everything that a bridged network needs. Returns 0, or -1 with err
 * set. */
int applevf_check_bridge(const struct vz_host *host, struct error *err);
extern const struct backend_refusal applevf_refusals[];
extern const struct backend_macos applevf_macos;

/* host.c */
int applevf_host(struct backend_host *out, struct error *err);
void applevf_host_free(struct backend_host *host);
int applevf_accelerator(const struct config *config, enum accelerator *out, char reason[256],
			struct error *err);

#endif
