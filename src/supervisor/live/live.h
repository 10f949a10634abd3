/* SPDX-License-Identifier: MIT */
/*
 * The live supervisor: one process per running workspace, started by start and run, owner of one
 * VM. One loop, one thread. It alone records events while it lives; what it knows is in the
 * workspace's files. It ends when the VM and every companion have ended, and the lease with it; if
 * it dies, they die.
 *
 *   live.c         from the ticket to the loop, and out of it
 *   live_record.c  events, runtime.json, reports, and what a full disk holds back
 *   live_guest.c   the control stream: ready, result, time
 *   live_vm.c      the VM: serial console, its companions, its end
 *   live_pause.c   a VM that stands still: a full disk, a quota that is reached
 *   live_ask.c     what is wanted of it: requests, lifelines, signals, the boot deadline
 *   live_share.c   a shared directory for a guest that runs
 *   live_network.c its network, changed while it runs
 *   live_quota.c   how much a session's disk may grow
 *   live_term.c    the end that a session was given
 *   live_balloon.c     how much memory the guest may have
 *   live_quarantine.c  every channel cut, and the VM goes on
 *   live_audit.c, live_observe.c   the audit log of a session, and what goes into it
 *   live_cgroup.c  the cgroup of its own
 *   live_end.c     how it is ended, and what the end meant
 *   linux/live_guard.c    its parent, which ends what it leaves behind
 *   linux/live_broker.c   who keeps its rights, and for what
 *   linux/live_confine.c  how it gives them up
 *   darwin/live_rights.c  what of these there is not
 */
#ifndef SUPERVISOR_LIVE_H
#define SUPERVISOR_LIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/broker.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "contract/state.h"
#include "store/quota.h"
#include "store/store.h"
#include "store/term.h"
#include "supervisor/handover/cgroup.h"
#include "supervisor/handover/ticket.h"
#include "supervisor/inputs/rootfs_digest.h"
#include "supervisor/live/console.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/control_stream.h"
#include "supervisor/live/last_words.h"
#include "supervisor/live/outcome.h"
#include "supervisor/live/serial_log.h"

struct channels;
struct live_audit;
struct live_observe;
struct network_change;
struct readiness;

/* Shared directories. given: NULL before any is asked for; why, while they are taken back. */
struct live_share {
	bool pluggable, from_start; /* what the config says */
	json_t *given;		    /* [{tag, path, mountpoint, mode}] */
	struct control_client *client;
	struct loop_watch *timer;
	struct error why;
};

/* How much the disk may grow: in bytes of the host's disk that are its own, all. */
struct live_quota {
	uint64_t bytes;	 /* 0: there is no quota */
	uint64_t copied; /* not its own, since it came from the base */
	uint64_t disk;	 /* of the disk, as the guest sees it */
	uint64_t length; /* of a layer's file; 0: it is no layer */
	uint64_t room;	 /* of that, what the backend lets the layer use, or may let it yet */
	uint64_t at;	 /* what it had grown to at the last PAUSE_IN_DOUBT; 0: never */
	uint64_t wanted; /* by client, which waits for it */
	struct control_client *client;
	struct loop_watch *timer;
	struct quota_count count; /* no layer's, on its way */
	uint64_t grown;		  /* as it was counted last */
	bool answering;		  /* the client is to know that, and nothing else */
};

/* Why the VM stands still (live_pause.c). */
enum pause {
	PAUSE_NONE,	/* it does not */
	PAUSE_FOR_ROOM, /* the host's disk is full */
	PAUSE_IN_DOUBT, /* the host's disk was full, or the quota is reached */
	PAUSE_AT_QUOTA
};
struct live_pause {
	enum pause why;
	uint64_t from_ns; /* since when, of clock_boot_ns() */
	bool asked;	  /* the VMM was asked for a pause and has not answered yet */
};

/* A change of its network that is under way. of: NULL: none is. */
struct live_change {
	const struct network_change *of;
	struct control_client *client; /* waits for it */
	json_t *document;	       /* workspace.json, with it */
	json_t *before, *after;	       /* config.network */
	struct loop_watch *timer;
};

/* The end that a session was given, and who uses it. */
struct live_term {
	struct term term;
	bool streams;	       /* the host has some to the guest */
	uint64_t commands;     /* that run, by the guest's word */
	uint64_t idle_from_ns; /* monotonic */
	bool over;	       /* the session is destroyed at the end */
	bool held;	       /* a connection of control.sock is somebody's lifeline of it */
	struct loop_watch *timer;
};

/* How far two clocks of the host are ahead of clock_mono_ns(). */
struct live_clocks {
	int64_t real_ns, asleep_ns; /* clock_real_ns(), clock_boot_ns() */
};

/* The guest's clock, and what it does not notice by itself. */
struct live_time {
	int fd; /* says that the wall clock was set or the host slept */
	struct loop_watch *watch, *timer;
	struct live_clocks clocks;
};

struct live {
	const struct backend *backend;
	struct ticket ticket;
	struct state_dir dir;
	struct workspace ws;
	struct log log;
	const char *label; /* <stateDir>/<runtimeID> */
	char *title;	   /* where the command line lies, and how long it may be */
	size_t title_room;
	struct loop *loop;
	struct vm *vm;
	struct control_stream *control;
	struct control_sock *requests;
	struct serial_log serial;
	struct last_words words;
	struct cgroup cgroup;
	int proof_fd; /* in the broker: cut_proof_open() */
	pid_t guard;  /* our parent, while it lives */
	struct proc broker;
	struct console *console;
	struct channels *channels;
	struct readiness *readiness;
	struct live_audit *audit;     /* NULL: it is no session */
	struct live_observe *observe; /* the same */
	json_t *runtime;	      /* runtime.json as last written */

	struct outcome outcome;
	enum state state; /* last recorded, or to be recorded when there is room */
	json_t *last_event;
	json_t *asked_by; /* requestID and role of the caller of what happens now; NULL: the start's */
	json_t *result;	 /* until it is in result.json */
	json_t *pending; /* events that the disk had no room for, oldest first */
	json_t *severed; /* names of the channels that a quarantine has cut; NULL before one */
	struct control_client *quarantine_client; /* waits for the end of it */
	struct control_client *balloon_client;	  /* waits for the guest's answer to it */
	struct control_client *save_client;	  /* waits for the machine to be saved */
	bool saving, forking;			  /* it is being saved; or was, for good */
	struct live_share share;
	struct live_change change;
	struct live_quota quota;
	struct live_pause pause;
	struct live_term term;
	int64_t memory_mib; /* that the VM was booted with */
	bool ram_root;	    /* LIVE_ROOTFS is an initramfs */
	struct first_start first_start;
	bool settling;	   /* the guest tells the rest, and is killed when it has */
	bool over;	   /* the end was recorded and reported */
	bool at_rest;	   /* the guest has ended in order, and its disk stays */
	char boot_id[37];  /* that a restored guest was given; "": it has its own */
	bool guest_ending; /* the guest has said that it ends the machine in order */
	struct live_time time;

	bool awaits_kernel; /* the machine is in its firmware, as far as it is known */
	struct loop_watch *boot_timer, *end_timer, *disk_timer, *lost_timer, *workload_timer;
	struct loop_watch *save_timer; /* the guest's word is waited for */
	struct loop_watch *siblings;   /* who asks for the template's memory */
	struct loop_watch *directory_timer;
	struct loop_watch *lifelines[2];
};

/* An exit code of a live supervisor, by which its guard knows that the guest has ended in order and
 * that its root file system stays. */
#define LIVE_EXIT_AT_REST 16
/* The whole life of the process. label: <stateDir>/<runtimeID>; argv0 is where the command line
 * lies, which then shows it. Returns the exit code: 0, 1, or LIVE_EXIT_AT_REST. */
int live_main(const struct backend *backend, char *argv0, const char *label);

/* Gives no more siblings the memory that the machine was restored with. Accepts what was not begun. */
void live_siblings_end(struct live *live);

/* What ps shows of this process. */
void live_set_title(const struct live *live, const char *role);

/* linux/live_guard.c: goes on in a child, which is the live supervisor; its parent never returns.
 */
int live_guard_begin(struct live *live, struct error *err);

/* live_record.c */
void live_record(struct live *live, enum state state, const char *detail);
/* What a person should know of a machine and its state does not change with. While the VM is paused
 * it is a line of the log alone: its last event says that it is, and why. */
void live_remark(struct live *live, const char *text);
/* What is recorded from now on was asked for by this request of control.sock, if it says whose it
 * is. */
void live_asked_by(struct live *live, const json_t *request);
/* The events of that request are over: what the machine does from now on, it does by itself. */
void live_asked_by_nobody(struct live *live);
/* Once more what could not be written for want of room. True when nothing waits any more. */
bool live_record_pending(struct live *live);
/* Takes room on the disk for the last records; the end gives it back with the sockets. */
void live_reserve(struct live *live);
/* Half of it again, for what is to be recorded while the disk is full and the VM is paused. */
void live_reserve_some_back(struct live *live);
/* Writes runtime.json from what is known; a mark is a monotonic time under timings. */
void live_mark(struct live *live, const char *name);
void live_runtime_write(struct live *live);
int live_runtime_begin(struct live *live, struct error *err);
/* Takes the VM's own facts over; start times are added to what has only a pid. */
void live_runtime_describe(struct live *live);
void live_keep_result(struct live *live, json_t *result);

/* live_guest.c */
int live_control_begin(struct live *live, int listen_fd, const struct config *config,
		       struct error *err);

/* live_time.c */
int live_time_begin(struct live *live, struct error *err);
void live_time_end(struct live *live);
/* Has the VM go on, which stands still since from_ns of clock_boot_ns(), and tells the guest the time,
 * since its clock has stood still too. */
int live_time_resume(struct live *live, uint64_t from_ns, struct error *err);
/* Does the same for a VM that was saved, and stands still since stopped_ns of clock_mono_ns(); 0: it
 * does not. */
int live_resume_saved(struct live *live, uint64_t stopped_ns, struct error *err);

/* live_vm.c */
int live_console_begin(struct live *live, const struct config *config, struct error *err);
extern const struct vm_events live_vm_events; /* data is set by the user of it */

/* live_pause.c */
/* A VM's event: a write to the disk of that serial found no room, and the VM stands still. */
void live_disk_full(void *data, const char *serial, const char *reason);
/* Has the VM paused, whose disk is no layer and has reached its quota. */
void live_pause_for_quota(struct live *live);
/* Has a VM that stands at its quota go on. */
void live_quota_raised(struct live *live);

/* live_ask.c */
int live_ask_begin(struct live *live, struct error *err);
/* There is a sign of the guest's kernel, of whatever kind; what counts is the first one. Under KVM
 * the boot deadline is counted from then on. */
void live_kernel_began(struct live *live, const char *sign);
control_sock_fn live_request;

/* live_balloon.c: {"command":"balloon","memoryMiB":N} */
int live_balloon(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);

/* live_save.c: {"command":"save"}, of a machine that was started for it, which stands still from
 * then on; {"command":"fork"}, of one that was restored, which goes on. */
int live_save(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
int live_fork(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
/* A line of the audit log on what was made of that. */
int live_note(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
void live_quiesced(struct live *live, const char *why); /* the guest's word */
/* Whoever waits for it waits in vain. how: what became of the machine. */
void live_save_cut(struct live *live, const char *how);

/* live_quota.c */
/* The quota of session.json, before the boot. Nothing for a workspace that is no session. */
int live_quota_begin(struct live *live, struct error *err);
/* Whether this disk is one that can be without room while the host has some. */
bool live_quota_bounds(const struct live *live, const char *serial);
/* Whether it has grown as far as it may. */
bool live_quota_is_met(struct live *live);
/* It has no room, the host has, and the quota is not met: true when it was so before, and the disk
 * has not grown since. */
bool live_quota_is_met_again(struct live *live);
/* How many bytes of the host's disk are the session's own; 0 where that is unknown. */
uint64_t live_quota_grown(const struct live *live);
/* The quota in the unit that it was given in, if that says it exactly. */
struct quota_text {
	char text[32];
};
struct quota_text live_quota_text(const struct live *live);
/* Once the VM has ended. */
void live_quota_end(struct live *live);
/* {"command":"disk-quota","bytes":N} */
int live_quota(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);

/* live_term.c */
/* Before the boot. ERR_CONFLICT for a session that is over. */
int live_term_begin(struct live *live, struct error *err);
/* Begins and records the session's lifetime, if it has one that has not begun. */
int live_term_begin_lifetime(struct live *live, struct error *err);
void live_term_ready(struct live *live);
void live_term_streams(struct live *live, bool any);
void live_term_command(struct live *live, bool began);
/* Whether it is over; to be asked when the wall clock was set. */
void live_term_look(struct live *live);
/* {"command":"session-term","lifetimeSeconds"?:N,"idleSeconds"?:N}: of a member of a pool, which
 * has none, when it is claimed. */
int live_term_set(struct live *live, const json_t *request, struct control_client *client,
		  struct error *err);

/* {"command":"session-hold"}: the connection is the lifeline of whoever asks: the session is
 * destroyed when it ends, and goes on without it after a byte. */
int live_term_hold(struct live *live, const json_t *request, struct control_client *client,
		   struct error *err);
/* A lifeline of the session has ended: it is destroyed, also if it is not ready yet. */
void live_term_orphan(struct live *live);

/* live_share.c: {"command":"share-attach","shares":[{...}]} */
int live_share(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);
/* The guest has mounted it; said: or why it has not. */
void live_share_mounted(struct live *live, const char *said);

/* Whoever waits for a directory waits in vain. how: what became of the machine ("was quarantined").
 */
void live_share_cut(struct live *live, const char *how);

/* live_network.c: {"command":"network","change":"allow"|"deny","rule":TEXT}, or "publish"
 * (with a listener) and "unpublish" with "forward":{...} */
int live_network(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);
/* The guest listens for a port that is published; said: or why it does not. */
void live_published(struct live *live, const char *said);
/* Whoever waits for a change waits in vain; how as of live_share_cut(). */
void live_network_cut(struct live *live, const char *how);

/* live_quarantine.c */
/* Begins it. The client has its answer when it is proven and recorded, or has failed. */
int live_quarantine(struct live *live, const json_t *request, struct control_client *client,
		    struct error *err);
void live_severed(void *data, const json_t *names, const struct error *why); /* a VM's event */
/* What the end of the VM means for a quarantine that is under way. */
void live_quarantine_over(struct live *live);

/* live_cgroup.c: everything of the workspace is in it, this process until the end. */
int live_cgroup_begin(struct live *live, const struct config *config, struct error *err);
/* Kills what is left in it, and removes it; what cannot be is a line of the log, and done by the
 * next command. */
void live_cgroup_end(struct live *live);

/* live_end.c */
/* Asks for the end or forces it, by what stands then. cause: for INTENT_FAILED, else NULL. */
void live_end(struct live *live, enum intent intent, const struct error *cause);
/* The end by a failure, the serial log's last lines behind the text. */
void live_fail(struct live *live, enum error_code code, const char *text);
void live_fail_for(struct live *live, enum error_code code, enum error_reason reason,
		   const char *text);
/* A paused guest is killed where another one would be asked to switch itself off. */
void live_cannot_power_off(struct live *live);
/* The guest has told all that it had to tell before it is killed. */
void live_settled(struct live *live);
/* The workload's result is there. */
void live_done(struct live *live);

/* linux/live_broker.c: forks it. The last thing before the first byte of the guest is read. */
int live_broker_begin(struct live *live, struct error *err);
/* linux/live_quarantine_proof.c. live_cut_note_sockets() is called before the broker is forked, when the
 * sockets of the workspace are bound. The others are the broker's: live_cut_begin() first of all, and
 * live_cut_off() as vm_events' cut_off. */
void live_cut_note_sockets(const struct live *live);
void live_cut_begin(void);
int live_cut_off(void *data, struct error *err);
/* linux/live_confine.c: gives up what the broker keeps. */
int live_confine(struct live *live, struct error *err);

/* live_end.c */
#define LIVE_STUCK "processes of the VM did not end after a kill"
extern const struct broker_duty live_remove_duty; /* its data: the live */
/* Records how it ended, tells the waiting command, removes what must go, stops the loop.
 * Nothing the second time. */
void live_over(struct live *live, enum vm_end end, const char *detail);

#endif
