/* SPDX-License-Identifier: MIT */
/*
 * The live supervisor: the process that owns the one VM of a running workspace. start and run start
 * it. It has one loop and one thread. While it lives, only it records events, and all that it knows
 * is in the workspace's files. It ends, and the lease with it, when the VM and every companion have
 * ended. If it dies, they die.
 *
 *   live.c         from the ticket to the loop, and out of it
 *   live_record.c  events, runtime.json, reports, and what a full disk holds back
 *   live_guest.c   the control stream: ready, result, time
 *   live_vm.c      the VM: serial console, its companions, its end
 *   live_pause.c   a VM that stands still: a full disk, a quota that is reached
 *   live_ask.c     what others ask of it: requests, lifelines, signals, the boot deadline
 *   live_share.c   a shared directory for a guest that runs
 *   live_network.c changes of the network while the machine runs
 *   live_quota.c   how much a session's disk may grow
 *   live_term.c    when a session ends
 *   live_balloon.c     how much memory the guest may have
 *   live_quarantine.c  every channel is cut, and the VM goes on
 *   live_audit.c, live_observe.c   the audit log of a session, and its events
 *   live_cgroup.c  the cgroup of the workspace
 *   live_end.c     how the machine is ended, and what the end meant
 *   linux/live_guard.c    the parent process, which ends everything that is left
 *   linux/live_broker.c   the broker, and its duties
 *   linux/live_confine.c  how the live supervisor gives up its rights
 *   darwin/live_rights.c  the parts of these that macOS does not have
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

/* The state of the shares that a running guest gets. given is NULL before any is asked for. why is
 * set while they are taken back. */
struct live_share {
	bool pluggable, from_start; /* by the config */
	json_t *given;		    /* [{tag, path, mountpoint, mode}] */
	struct control_client *client;
	struct loop_watch *timer;
	struct error why;
};

/* How much a session's disk may grow. All numbers are bytes of the host's disk that belong only to
 * the session. */
struct live_quota {
	uint64_t bytes;	 /* 0: there is no quota */
	uint64_t copied; /* not counted, since it came from the base */
	uint64_t disk;	 /* size of the disk, as the guest sees it */
	uint64_t length; /* length of a layer's file; 0: it is no layer */
	uint64_t room;	 /* what the backend lets, or may let, the layer use of it */
	uint64_t at;	 /* its size at the last PAUSE_IN_DOUBT; 0: there was none */
	uint64_t wanted; /* new quota that client waits for */
	struct control_client *client;
	struct loop_watch *timer;
	struct quota_count count; /* a count under way, of a disk that is no layer */
	uint64_t grown;		  /* by the last count */
	bool answering;		  /* the client is told grown, and nothing else */
};

/* The reasons why the VM stands still (live_pause.c). */
enum pause {
	PAUSE_NONE,	/* it does not */
	PAUSE_FOR_ROOM, /* the host's disk is full */
	PAUSE_IN_DOUBT, /* the host's disk was full, or the quota is reached */
	PAUSE_AT_QUOTA
};
struct live_pause {
	enum pause why;
	uint64_t from_ns; /* since when, by clock_boot_ns() */
	bool asked;	  /* the VMM was asked for a pause and has not answered yet */
};

/* A change of the machine's network that is under way. of is NULL if there is none. */
struct live_change {
	const struct network_change *of;
	struct control_client *client; /* waits for it */
	json_t *document;	       /* workspace.json with the change */
	json_t *before, *after;	       /* config.network */
	struct loop_watch *timer;
};

/* When a session ends, and what uses the session now. */
struct live_term {
	struct term term;
	bool streams;	       /* the host has streams to the guest */
	uint64_t commands;     /* how many run, by the guest's word */
	uint64_t idle_from_ns; /* monotonic */
	bool over;	       /* the session is over, and is destroyed at the end */
	bool held;	       /* a client has a connection of control.sock as lifeline */
	struct loop_watch *timer;
};

/* How far two clocks of the host are ahead of clock_mono_ns(). */
struct live_clocks {
	int64_t real_ns, asleep_ns; /* clock_real_ns(), clock_boot_ns() */
};

/* The guest's clock, and the changes of time that the guest does not notice by itself. */
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
	char *title;	   /* where the command line is in memory; title_room: its length */
	size_t title_room;
	struct loop *loop;
	struct vm *vm;
	struct control_stream *control;
	struct control_sock *requests;
	struct serial_log serial;
	struct last_words words;
	struct cgroup cgroup;
	int proof_fd; /* in the broker: from cut_proof_open() */
	pid_t guard;  /* our parent, while it lives */
	struct proc broker;
	struct console *console;
	struct channels *channels;
	struct readiness *readiness;
	struct live_audit *audit;     /* NULL: it is no session */
	struct live_observe *observe; /* the same */
	json_t *runtime;	      /* runtime.json as last written */

	struct outcome outcome;
	enum state state; /* last one recorded, or that waits for room on the disk */
	json_t *last_event;
	json_t *asked_by; /* requestID and role of the present request's caller; NULL: start's */
	json_t *result;	  /* until it is in result.json */
	json_t *pending;  /* events that the disk had no room for, oldest first */
	json_t *severed;  /* names of the channels that a quarantine has cut; NULL before one */
	struct control_client *quarantine_client; /* waits for the end of a quarantine */
	struct control_client *balloon_client;	  /* waits for the answer to a balloon request */
	struct control_client *save_client;	  /* waits for the machine to be saved */
	bool saving, forking;			  /* a save or a fork is under way; saving stays set
						   * after a save */
	struct live_share share;
	struct live_change change;
	struct live_quota quota;
	struct live_pause pause;
	struct live_term term;
	int64_t memory_mib; /* memory that the VM was booted with */
	bool ram_root;	    /* LIVE_ROOTFS is an initramfs */
	struct first_start first_start;
	bool settling;	   /* the guest tells the rest, and is killed then */
	bool over;	   /* the end was recorded and reported */
	bool at_rest;	   /* the guest has ended in order, and its disk stays */
	char boot_id[37];  /* given to a restored guest; "": it has its own */
	bool guest_ending; /* the guest said that it ends the machine in order */
	struct live_time time;

	bool awaits_kernel; /* as far as is known, the machine is in its firmware */
	struct loop_watch *boot_timer, *end_timer, *disk_timer, *lost_timer, *workload_timer;
	struct loop_watch *save_timer; /* waits for the guest's word */
	struct loop_watch *siblings;   /* waits for processes that ask for the template's memory */
	struct loop_watch *directory_timer;
	struct loop_watch *lifelines[2];
};

/* The exit code by which a live supervisor tells its guard that the guest has ended in order and
 * that its root file system stays. */
#define LIVE_EXIT_AT_REST 16
/* Runs the live supervisor to its end. label: <stateDir>/<runtimeID>. argv0 is where the command
 * line is in memory; the command line then shows the label. Returns the exit code: 0, 1, or
 * LIVE_EXIT_AT_REST. */
int live_main(const struct backend *backend, char *argv0, const char *label);

/* Stops giving the memory that the machine was restored with to further machines. Does nothing if
 * it was not begun. */
void live_siblings_end(struct live *live);

/* Sets what ps shows of this process. */
void live_set_title(const struct live *live, const char *role);

/* linux/live_guard.c: forks, and returns only in the child, which is the live supervisor. The
 * parent is the guard and never returns. */
int live_guard_begin(struct live *live, struct error *err);

/* live_record.c */
void live_record(struct live *live, enum state state, const char *detail);
/* Records something that a person should know and that does not change the state. While the VM is
 * paused, this is only a line of the log: the last event says that the VM is paused, and why. */
void live_remark(struct live *live, const char *text);
/* Events that are recorded from now on belong to this request of control.sock, if the request names
 * its caller. */
void live_asked_by(struct live *live, const json_t *request);
/* Ends live_asked_by(): what the machine does from now on, it does by itself. */
void live_asked_by_nobody(struct live *live);
/* Tries again to write the events that the disk had no room for. Returns true if none waits any
 * more. */
bool live_record_pending(struct live *live);
/* Reserves room on the disk for the last records. The end of the machine frees it together with the
 * sockets. */
void live_reserve(struct live *live);
/* Frees half of the reserved room, for records that are written while the disk is full and the VM
 * is paused. */
void live_reserve_some_back(struct live *live);
/* Write runtime.json from what is known. A mark is a monotonic time under timings. */
void live_mark(struct live *live, const char *name);
void live_runtime_write(struct live *live);
int live_runtime_begin(struct live *live, struct error *err);
/* Takes over the VM's own facts, and adds start times to processes that have only a pid. */
void live_runtime_describe(struct live *live);
void live_keep_result(struct live *live, json_t *result);

/* live_guest.c */
int live_control_begin(struct live *live, int listen_fd, const struct config *config,
		       struct error *err);

/* live_time.c */
int live_time_begin(struct live *live, struct error *err);
void live_time_end(struct live *live);
/* Lets the VM go on. The VM has stood still since from_ns of clock_boot_ns(). Tells the guest the
 * time, since the guest's clock has stood still too. */
int live_time_resume(struct live *live, uint64_t from_ns, struct error *err);
/* Lets a saved VM go on, and tells the guest the time. The VM has stood still since stopped_ns of
 * clock_mono_ns(); 0: it does not stand still. */
int live_resume_saved(struct live *live, uint64_t stopped_ns, struct error *err);

/* live_vm.c */
int live_console_begin(struct live *live, const struct config *config, struct error *err);
extern const struct vm_events live_vm_events; /* the user of the struct sets data */

/* live_pause.c */
/* Handles the VM's event disk_full: a write to the disk with this serial found no room, and the VM
 * stands still. */
void live_disk_full(void *data, const char *serial, const char *reason);
/* Pauses the VM. Its disk is no layer and has reached its quota. */
void live_pause_for_quota(struct live *live);
/* Lets a VM that stands still at its quota go on. */
void live_quota_raised(struct live *live);

/* live_ask.c */
int live_ask_begin(struct live *live, struct error *err);
/* Notes a sign of the guest's kernel, of any kind. Only the first sign counts. Under KVM the boot
 * deadline is counted from then on. */
void live_kernel_began(struct live *live, const char *sign);
control_sock_fn live_request;

/* live_balloon.c: {"command":"balloon","memoryMiB":N} */
int live_balloon(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);

/* live_save.c: live_save() does {"command":"save"}, for a machine that was started for it; the
 * machine stands still from then on. live_fork() does {"command":"fork"}, for a machine that was
 * restored; that machine goes on. */
int live_save(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
int live_fork(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
/* Writes a line of the audit log on what was made from the saved machine. */
int live_note(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
void live_quiesced(struct live *live, const char *why); /* the guest has answered */
/* Tells the client that waits for a save that it fails. how: what happened to the machine. */
void live_save_cut(struct live *live, const char *how);

/* live_quota.c */
/* Reads the quota of session.json, before the boot. Does nothing if the workspace is no session. */
int live_quota_begin(struct live *live, struct error *err);
/* Returns whether this disk can be without room while the host has some. */
bool live_quota_bounds(const struct live *live, const char *serial);
/* Returns whether the disk has grown to its quota. */
bool live_quota_is_met(struct live *live);
/* Called when the disk has no room although the host has some and the quota is not reached. Returns
 * true if this happened before, and the disk has not grown since. */
bool live_quota_is_met_again(struct live *live);
/* Returns how many bytes of the host's disk belong only to the session; 0 if that is unknown. */
uint64_t live_quota_grown(const struct live *live);
/* The quota as a text: in MiB if that is exact, otherwise in bytes. */
struct quota_text {
	char text[32];
};
struct quota_text live_quota_text(const struct live *live);
/* Called when the VM has ended. */
void live_quota_end(struct live *live);
/* {"command":"disk-quota","bytes":N} */
int live_quota(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);

/* live_term.c */
/* Called before the boot. ERR_CONFLICT: the session is over. */
int live_term_begin(struct live *live, struct error *err);
/* Begins and records the session's lifetime, if it has one that has not begun. */
int live_term_begin_lifetime(struct live *live, struct error *err);
void live_term_ready(struct live *live);
void live_term_streams(struct live *live, bool any);
void live_term_command(struct live *live, bool began);
/* Looks whether the session is over. Called when the wall clock was set. */
void live_term_look(struct live *live);
/* {"command":"session-term","lifetimeSeconds"?:N,"idleSeconds"?:N}: gives an end to a member of a
 * pool when it is claimed. Until then the member has none. */
int live_term_set(struct live *live, const json_t *request, struct control_client *client,
		  struct error *err);

/* {"command":"session-hold"}: makes the connection a lifeline of the session for the client. The
 * session is destroyed when the connection ends. If a byte came before, the session goes on without
 * it. */
int live_term_hold(struct live *live, const json_t *request, struct control_client *client,
		   struct error *err);
/* Called when a lifeline of the session has ended. Destroys the session, also if it is not ready
 * yet. */
void live_term_orphan(struct live *live);

/* live_share.c: {"command":"share-attach","shares":[{...}]} */
int live_share(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);
/* The guest has mounted the shares; or said is the reason why it has not. */
void live_share_mounted(struct live *live, const char *said);

/* Tells the client that waits for a directory that it fails. how: what happened to the machine
 * ("was quarantined"). */
void live_share_cut(struct live *live, const char *how);

/* live_network.c: {"command":"network","change":"allow"|"deny","rule":TEXT}, or "publish"
 * (with a listener) and "unpublish" with "forward":{...} */
int live_network(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);
/* The guest listens for a published port; or said is the reason why it does not. */
void live_published(struct live *live, const char *said);
/* Tells the client that waits for a change of the network that it fails. how: as for
 * live_share_cut(). */
void live_network_cut(struct live *live, const char *how);

/* live_quarantine.c */
/* Begins a quarantine. The client gets its answer when the quarantine is proven and recorded, or
 * has failed. */
int live_quarantine(struct live *live, const json_t *request, struct control_client *client,
		    struct error *err);
void live_severed(void *data, const json_t *names, const struct error *why); /* the VM's event */
/* Finishes a quarantine that is under way when the VM has ended. */
void live_quarantine_over(struct live *live);

/* live_cgroup.c: makes the cgroup. Everything of the workspace is in it, this process until the
 * end. */
int live_cgroup_begin(struct live *live, const struct config *config, struct error *err);
/* Kills what is left in the cgroup, and removes it. If that fails, a line in the log says so, and
 * the next command does it. */
void live_cgroup_end(struct live *live);

/* live_end.c */
/* Asks the guest to end or ends the machine by force, by the intent that stands then. cause: for
 * INTENT_FAILED, else NULL. */
void live_end(struct live *live, enum intent intent, const struct error *cause);
/* End the machine by a failure. The last lines of the serial log are added to the text. */
void live_fail(struct live *live, enum error_code code, const char *text);
void live_fail_for(struct live *live, enum error_code code, enum error_reason reason,
		   const char *text);
/* Kills a paused guest, in the cases in which another guest would be asked to switch itself off. */
void live_cannot_power_off(struct live *live);
/* Called when the guest has told everything, and can be killed. */
void live_settled(struct live *live);
/* Called when the workload's result has come. */
void live_done(struct live *live);

/* linux/live_broker.c: forks the broker. This is the last step before the first byte of the guest
 * is read. */
int live_broker_begin(struct live *live, struct error *err);
/* linux/live_quarantine_proof.c. live_cut_note_sockets() is called before the broker is forked,
 * when the sockets of the workspace are bound. It puts a descriptor for each of them into keep, and
 * returns how many there are: the broker keeps these, and the caller closes its own copies. The
 * other two run in the broker: live_cut_begin() before anything else, and live_cut_off() as cut_off
 * of vm_events. */
#define LIVE_CUT_SOCKETS 4
size_t live_cut_note_sockets(const struct live *live, int keep[LIVE_CUT_SOCKETS]);
void live_cut_begin(void);
int live_cut_off(void *data, struct error *err);
/* linux/live_confine.c: gives up the rights that the broker keeps. */
int live_confine(struct live *live, struct error *err);

/* live_end.c */
#define LIVE_STUCK "processes of the VM did not end after a kill"
extern const struct broker_duty live_remove_duty; /* its data is the live */
/* Records how the machine ended, tells the waiting command, removes what must not stay, and stops
 * the loop. A second call does nothing. */
void live_over(struct live *live, enum vm_end end, const char *detail);

#endif
