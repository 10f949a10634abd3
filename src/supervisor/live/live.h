/* SPDX-License-Identifier: MIT */
/*
 * The live supervisor: the process that keeps the one machine of a running workspace. The commands
 * start and run start this process. The live supervisor has one loop and one thread. While it
 * lives, no other process records events. All records of the live supervisor are files of the
 * workspace. When the VMM and every companion have exited, the live supervisor closes the lease and
 * exits. If the live supervisor is killed, its guard ends the VMM and the companions.
 *
 *   live.c         the steps from the ticket to the loop, and from the loop to the end
 *   live_record.c  events, runtime.json, reports, and records that wait for room on the disk
 *   live_guest.c   the control stream: ready, result, time
 *   live_vm.c      events of the VM: its serial console, its companions, its end
 *   live_pause.c   a VM that is paused, since the disk is full or its quota is reached
 *   live_ask.c     requests, lifelines and signals, and the boot deadline
 *   live_share.c   a shared directory for a guest that runs
 *   live_network.c changes of the network while the machine runs
 *   live_quota.c   how much a session's disk may grow
 *   live_term.c    when a session ends
 *   live_balloon.c     how much memory the guest may have
 *   live_quarantine.c  the quarantine: every channel is cut, and the VM goes on
 *   live_audit.c, live_observe.c   the audit log of a session, and its events
 *   live_cgroup.c  the cgroup of the workspace
 *   live_end.c     how the machine is ended, and which state is recorded then
 *   linux/live_guard.c    the guard, which ends all processes that remain
 *   linux/live_broker.c   the broker, and its duties
 *   linux/live_confine.c  how the live supervisor gives up its rights
 *   darwin/live_rights.c  takes the place of the three files of linux/ on macOS
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

/* The shares that a running guest gets. `given` is NULL until a client asks for shares. `why` has
 * the error while the shares are removed again after a failure. */
struct live_share {
	/* pluggable: the config allows shares to be added while the guest runs. from_start: the
	 * config itself has shares. */
	bool pluggable, from_start;
	json_t *given; /* the shares, as [{tag, path, mountpoint, mode}] */
	struct control_client *client;
	struct loop_watch *timer;
	struct error why;
};

/* The limit on the growth of a session's disk. All numbers are bytes. */
struct live_quota {
	uint64_t bytes;	 /* the quota: by how much the disk may grow; 0: there is no quota */
	uint64_t copied; /* the bytes that were copied from the base; they do not count as growth */
	uint64_t disk;	 /* the size of the disk, as the guest sees it */
	uint64_t length; /* the length of the layer's file; 0: the disk is not a layer */
	/* The length of the layer's file, in bytes, up to which the backend lets the guest write.
	 * After a timeout it is not certain that the backend has raised its limit to this
	 * length. */
	uint64_t room;
	uint64_t at;	 /* the growth of the layer at the last PAUSE_IN_DOUBT, in bytes; 0: there
			  * was no such pause */
	uint64_t wanted; /* the new quota, in bytes, for which the client waits */
	struct control_client *client;
	struct loop_watch *timer;
	struct quota_count count; /* the count that is in progress; only for a disk that is not a
				   * layer */
	uint64_t grown;		  /* the result of the last complete count */
	bool answering;		  /* the client waits only for the result of a count */
};

/* The reasons why the VM is paused (live_pause.c). */
enum pause {
	PAUSE_NONE,	/* the VM is not paused */
	PAUSE_FOR_ROOM, /* the VM is paused because the host's disk is full */
	/* The VM is paused because a write found no room. It is not known if the host's disk is
	 * full or the quota is reached. */
	PAUSE_IN_DOUBT,
	PAUSE_AT_QUOTA
};

struct live_pause {
	enum pause why;
	uint64_t from_ns; /* the time at which the pause began, by clock_boot_ns() */
	bool asked;	  /* the VMM was asked to pause the VM, and has not answered yet */
};

/* A change of the machine's network that is under way. If `of` is NULL, no change is under way. */
struct live_change {
	const struct network_change *of;
	struct control_client *client; /* the client that waits for the change */
	json_t *document;	       /* the contents of workspace.json with the change */
	json_t *before, *after;	       /* config.network before and after the change */
	struct loop_watch *timer;
};

/* The times at which a session ends, and the present uses of this session. */
struct live_term {
	struct term term;
	bool streams;	       /* the host has streams to the guest, so the session is in use */
	uint64_t commands;     /* the number of commands that run in the guest, as the guest says */
	uint64_t idle_from_ns; /* the monotonic time, in ns, at which the session was last in use */
	bool over;	       /* the session has ended, and is destroyed when its machine has
			        * ended */
	bool held;	       /* a client's connection to control.sock is a lifeline of the
			        * session */
	struct loop_watch *timer;
};

/* Two differences in ns: real_ns is clock_real_ns() minus clock_mono_ns(), asleep_ns is
 * clock_boot_ns() minus clock_mono_ns(). */
struct live_clocks {
	int64_t real_ns, asleep_ns;
};
/* The guest's clock, and the changes of time that the guest does not notice by itself. */
struct live_time {
	int fd; /* a descriptor that becomes readable when the wall clock was set or the host has
		 * slept */
	struct loop_watch *watch, *timer;
	struct live_clocks clocks;
};

struct live {
	const struct backend *backend;
	struct ticket ticket;
	struct state_dir dir;
	struct workspace ws;
	struct log log;
	const char *label; /* the text <stateDir>/<runtimeID> */
	/* The memory of this process's command line, where the title is written. The memory has
	 * title_room bytes. */
	char *title;
	size_t title_room;
	struct loop *loop;
	struct vm *vm;
	struct control_stream *control;
	struct control_sock *requests;
	struct serial_log serial;
	struct last_words words;
	struct cgroup cgroup;
	int proof_fd; /* the descriptor of quarantine_proof_open(); once there is a broker, only the
		       * broker has it */
	pid_t guard;  /* the pid of the guard, which is the parent of this process while it lives */
	struct proc broker;
	struct console *console;
	struct channels *channels;
	struct readiness *readiness;
	struct live_audit *audit; /* the audit log; NULL: the workspace has no audit log */
	/* The watches that report to the audit log; NULL: the workspace has no audit log. */
	struct live_observe *observe;
	json_t *runtime; /* runtime.json as it was last written */

	struct outcome outcome;
	/* The last state that was recorded, or that waits to be recorded until the host's disk has
	 * room. */
	enum state state;
	json_t *last_event;
	/* The requestID and role of the caller whose request is being carried out; NULL: those of
	 * the command start. */
	json_t *asked_by;
	json_t *result;	 /* the workload's result, until it is in result.json */
	json_t *pending; /* the events for which the host's disk had no room, the oldest first */
	json_t *severed; /* the channels that a quarantine has cut; NULL: there is no quarantine */
	struct control_client *quarantine_client; /* the client that waits for a quarantine */
	struct control_client *balloon_client;	  /* the client that waits for a balloon request */
	struct control_client *save_client;	  /* the client that waits for a save */
	/* saving: a save or a fork is in progress; after a save it stays true. forking: a fork is
	 * in progress. */
	bool saving, forking;
	/* The monotonic time, in ns, at which the guest stopped its commands for a save. */
	uint64_t rested_ns;
	/* The copy of the disk that a fork makes while the machine is stopped. */
	struct {
		int fd;			  /* the descriptor of the copy; -1: no copy is being
					   * made */
		int64_t at;		  /* the offset in the disk, in bytes, up to which it is
					   * copied */
		uint64_t stopped_ns;	  /* the time by clock_mono_ns() at which the machine was
					   * stopped */
		struct loop_watch *timer; /* the timer that copies the next part */
	} copy;
	struct live_share share;
	struct live_change change;
	struct live_quota quota;
	struct live_pause pause;
	struct live_term term;
	int64_t memory_mib; /* the memory with which the VM was booted, in MiB */
	bool ram_root;	    /* LIVE_ROOTFS is an initramfs */
	struct first_start first_start;
	bool settling; /* the guest sends its last reports, and will then be killed */
	bool over;     /* the end was recorded and reported */
	bool at_rest;  /* the guest has ended in order, and its disk is kept */
	/* The boot id that a restored guest got from the host; "": the guest has the boot id of its
	 * own kernel. */
	char boot_id[37];
	bool guest_ending; /* the guest has reported that it ends the machine in order */
	struct live_time time;

	/* The machine has firmware, and no sign of the guest's kernel was seen yet. */
	bool awaits_kernel;
	struct loop_watch *boot_timer, *end_timer, *disk_timer, *lost_timer, *workload_timer;
	struct loop_watch *save_timer; /* the timer of a guest that prepares for a save */
	/* The watch of the socket through which commands get the template's memory. */
	struct loop_watch *siblings;
	struct loop_watch *directory_timer;
	struct loop_watch *lifelines[2];
};

/* The exit code of a live supervisor whose guest has ended in order and whose root file system is
 * kept. The guard then hashes the root file system. */
#define LIVE_EXIT_AT_REST 16
/* Runs the live supervisor until its end. `label` is <stateDir>/<runtimeID>. `argv0` is the start
 * of the command line in memory, which is overwritten to show the label. Returns the exit code: 0,
 * 1, or LIVE_EXIT_AT_REST. */
int live_main(const struct backend *backend, char *argv0, const char *label);

/* Stops passing the memory from which the machine was restored to commands that restore other
 * machines. Does nothing if this process does not pass it. */
void live_siblings_end(struct live *live);

/* Sets the command line that ps shows for this process. */
void live_set_title(const struct live *live, const char *role);

/* In linux/live_guard.c: forks, and returns only in the child, which is the live supervisor. The
 * parent becomes the guard, and never returns. */
int live_guard_begin(struct live *live, struct error *err);

/* live_record.c */
void live_record(struct live *live, enum state state, const char *detail);
/* Records an event with the present state and with `text`, for a person to read. While the VM is
 * paused or ends, only writes a line to the log, since the last event must still give the reason of
 * the pause or the end. */
void live_remark(struct live *live, const char *text);
/* Makes the events that are recorded from now on contain the requestID and role of this request of
 * control.sock, if the request has them. */
void live_asked_by(struct live *live, const json_t *request);
/* Ends the effect of live_asked_by(), because the events that are recorded from now on are not
 * caused by a request. */
void live_asked_by_nobody(struct live *live);
/* Tries again to write the events for which the host's disk had no room. Returns true if all of
 * them are written. */
bool live_record_pending(struct live *live);
/* Reserves space on the host's disk for the last records. The space is freed when the sockets are
 * removed, at the end of the machine. */
void live_reserve(struct live *live);
/* Frees half of the reserved space, for records that are written while the host's disk is full and
 * the VM is paused. */
void live_reserve_some_back(struct live *live);
/* live_runtime_write() writes runtime.json. live_mark() first adds the present monotonic time to
 * `timings`, under the name `name`. */
void live_mark(struct live *live, const char *name);
void live_runtime_write(struct live *live);
int live_runtime_begin(struct live *live, struct error *err);
/* Adds the backend's facts about the VM to runtime.json. Adds the start time of each process of
 * which only the pid is known. */
void live_runtime_describe(struct live *live);
void live_keep_result(struct live *live, json_t *result);

/* live_guest.c */
int live_control_begin(struct live *live, int listen_fd, const struct config *config,
		       struct error *err);

/* live_time.c */
int live_time_begin(struct live *live, struct error *err);
void live_time_end(struct live *live);
/* Lets a paused VM go on, and tells the guest the time, since the guest's clock did not run during
 * the pause. `from_ns` is the time by clock_boot_ns() at which the pause began. */
int live_time_resume(struct live *live, uint64_t from_ns, struct error *err);
/* Lets a saved VM go on, and tells the guest the time. `stopped_ns` is the time by clock_mono_ns()
 * at which the VM was stopped; 0: the VM was not stopped. */
int live_resume_saved(struct live *live, uint64_t stopped_ns, struct error *err);

/* live_vm.c */
int live_console_begin(struct live *live, const struct config *config, struct error *err);
/* The functions for events of the VM. In a copy of the struct the member `data` must be set. */
extern const struct vm_events live_vm_events;

/* live_pause.c */
/* Handles the VM's event disk_full: a write to the disk with the serial number `serial` found no
 * room, and the VMM has paused the VM. */
void live_disk_full(void *data, const char *serial, const char *reason);
/* Pauses the VM because its disk, which is not a layer, has reached its quota. */
void live_pause_for_quota(struct live *live);
/* Lets the VM go on if it is paused because its disk has reached its quota. */
void live_quota_raised(struct live *live);

/* live_ask.c */
int live_ask_begin(struct live *live, struct error *err);
/* Notes a sign that the guest's kernel runs. Later signs are ignored. Under KVM the boot deadline
 * is measured from this sign. */
void live_kernel_began(struct live *live, const char *sign);
control_sock_fn live_request;

/* In live_balloon.c: handles {"command":"balloon","memoryMiB":N}. */
int live_balloon(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);

/* In live_save.c: live_save() handles {"command":"save"}, for a machine that was started with the
 * option `save`. The machine does not run any more after the save. live_fork() handles
 * {"command":"fork"}, for a machine that was restored. The machine goes on after the fork. */
int live_save(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
int live_fork(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
/* Handles {"command":"note","what","name","more"?}: writes a line about a step that a command has
 * done to the audit log (audit_told_line()). */
int live_note(struct live *live, const json_t *request, struct control_client *client,
	      struct error *err);
/* Handles the guest's answer to control_stream_quiesce(). If `why` is NULL, the machine may be
 * saved. */
void live_quiesced(struct live *live, const char *why);
/* Answers the client that waits for a save that the save has failed. `how` says what happened to
 * the machine, for example "was quarantined". */
void live_save_cut(struct live *live, const char *how);

/* live_quota.c */
/* Reads the quota of session.json. Called before the boot. Does nothing if the workspace is not a
 * session. */
int live_quota_begin(struct live *live, struct error *err);
/* Returns true if writes to the disk with this serial number are limited by the quota in addition
 * to the size of the host's disk. */
bool live_quota_bounds(const struct live *live, const char *serial);
/* Returns true if the layer has grown to its quota, or almost to it. */
bool live_quota_is_met(struct live *live);
/* Called when a write to the layer found no room, although the host's disk has room and the quota
 * is not reached. Returns true if a write failed in this way before, and the layer has not grown
 * since that write. */
bool live_quota_is_met_again(struct live *live);
/* Returns the growth of the session's disk, in bytes; 0 if the growth is not known. */
uint64_t live_quota_grown(const struct live *live);
/* A quota as a text, in MiB if it is a whole number of MiB, otherwise in bytes. */
struct quota_text {
	char text[32];
};
struct quota_text live_quota_text(const struct live *live);
/* Ends the work on the quota, and truncates the layer's file to its used length. Called when the VM
 * has ended. */
void live_quota_end(struct live *live);
/* Handles {"command":"disk-quota","bytes":N}, which sets a new quota. */
int live_quota(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);

/* live_term.c */
/* Reads the times at which the session ends. Called before the boot. ERR_CONFLICT: the session is
 * over. */
int live_term_begin(struct live *live, struct error *err);
/* If the session has a lifetime that has not begun, lets it begin now and records this. */
int live_term_begin_lifetime(struct live *live, struct error *err);
void live_term_ready(struct live *live);
void live_term_streams(struct live *live, bool any);
void live_term_command(struct live *live, bool began);
/* Checks if the session's time is over, and ends the session then. Called when the wall clock was
 * set. */
void live_term_look(struct live *live);
/* Handles {"command":"session-term","lifetimeSeconds"?:N,"idleSeconds"?:N}, which gives a member of
 * a pool its lifetime and idle time when the member is claimed. Until then the member has no such
 * times. */
int live_term_set(struct live *live, const json_t *request, struct control_client *client,
		  struct error *err);

/* Handles {"command":"session-hold"}: makes the connection a lifeline. The session is destroyed
 * when the connection ends. If the client has sent a byte before, the session goes on without this
 * lifeline. */
int live_term_hold(struct live *live, const json_t *request, struct control_client *client,
		   struct error *err);
/* Called when a lifeline of the session has ended. Destroys the session, even if it is not ready
 * yet. */
void live_term_orphan(struct live *live);

/* In live_share.c: handles {"command":"share-attach","shares":[{...}]}, the request to share
 * directories with the running guest. */
int live_share(struct live *live, const json_t *request, struct control_client *client,
	       struct error *err);
/* Handles the guest's answer to the request to mount shares. If `said` is NULL, the guest has
 * mounted the shares. Otherwise `said` is the guest's reason for its failure. */
void live_share_mounted(struct live *live, const char *said);

/* If a client waits for a share, tells the client that its request has failed. `how` says what
 * happened to the machine, for example "was quarantined". */
void live_share_cut(struct live *live, const char *how);

/* In live_network.c: handles {"command":"network","change":CHANGE,...}. CHANGE is "allow" or "deny"
 * with "rule":TEXT, or "publish" or "unpublish" with "forward":{...}. With the request "publish"
 * the client passes the descriptor of the port's socket. */
int live_network(struct live *live, const json_t *request, struct control_client *client,
		 struct error *err);
/* Handles the guest's answer to the request to publish a port. If `said` is NULL, the guest listens
 * for the published port. Otherwise `said` is the guest's reason for its failure. */
void live_published(struct live *live, const char *said);
/* If a client waits for a change of the network, tells the client that its request has failed. `how`
 * says what happened to the machine, for example "was quarantined". */
void live_network_cut(struct live *live, const char *how);

/* live_quarantine.c */
/* Begins a quarantine. The client gets its answer when the quarantine is proven and recorded, or
 * when it has failed. */
int live_quarantine(struct live *live, const json_t *request, struct control_client *client,
		    struct error *err);
/* Handles the VM's event `severed`. */
void live_severed(void *data, const json_t *names, const struct error *why);
/* Called when the VM has ended. Finishes a quarantine that is in progress. */
void live_quarantine_over(struct live *live);

/* In live_cgroup.c: makes the workspace's cgroup and moves this process into it. All processes of
 * the workspace start in this cgroup, and this process leaves it only at the end. */
int live_cgroup_begin(struct live *live, const struct config *config, struct error *err);
/* Kills the processes that remain in the cgroup, and removes the cgroup. If the cgroup cannot be
 * removed, writes a line to the log, and the next command removes it. */
void live_cgroup_end(struct live *live);

/* live_end.c */
/* Begins the end of the machine for the reason `intent`. If an end is already in progress,
 * intent_after() chooses between the two reasons. The chosen reason decides whether the guest is
 * asked to switch itself off, or is killed. `cause` is the failure for INTENT_FAILED, otherwise
 * NULL. */
void live_end(struct live *live, enum intent intent, const struct error *cause);
/* Functions that end the machine because of a failure, which `text` describes. These functions
 * append the last lines of the serial log to the text. */
void live_fail(struct live *live, enum error_code code, const char *text);
void live_fail_for(struct live *live, enum error_code code, enum error_reason reason,
		   const char *text);
/* Kills a paused machine that must end. A running guest would be asked to switch itself off, but a
 * paused guest cannot react. */
void live_cannot_power_off(struct live *live);
/* Called when the guest has sent its last reports, and may be killed. */
void live_settled(struct live *live);
/* Called when the workload's result has come. */
void live_done(struct live *live);

/* In linux/live_broker.c: forks the broker. The fork is the last step before this process reads the
 * first byte of the guest. */
int live_broker_begin(struct live *live, struct error *err);
/* In linux/live_quarantine_proof.c. live_quarantine_note_sockets() is called when the sockets of
 * the workspace are bound, before the broker is forked. This function stores a descriptor of each
 * of these sockets in `keep`, and returns their number. The broker keeps these descriptors, and the
 * caller closes its own copies after the fork. The next two functions run in the broker:
 * live_quarantine_prepare() first, and live_prove_quarantine() as `cut_off` of vm_events. */
#define LIVE_QUARANTINE_SOCKETS 4
size_t live_quarantine_note_sockets(const struct live *live, int keep[LIVE_QUARANTINE_SOCKETS]);
void live_quarantine_prepare(void);
int live_prove_quarantine(void *data, struct error *err);
/* In linux/live_confine.c: gives up those rights of this process that only the broker needs. */
int live_confine(struct live *live, struct error *err);

/* live_end.c */
#define LIVE_STUCK "processes of the VM did not end after a kill"
/* The broker's duty that removes the workspace. The duty's data is the struct live. */
extern const struct broker_duty live_remove_duty;
/* Records how the machine ended, reports this to the waiting command, removes the files that must
 * not remain, and stops the loop. A second call does nothing. */
void live_over(struct live *live, enum vm_end end, const char *detail);

#endif
