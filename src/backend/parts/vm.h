/* SPDX-License-Identifier: MIT */
/*
 * What every VM is made of, whatever its VMM: the VMM's process in its cell, the companions beside
 * it, and what they and the guest reach. A backend begins its own struct with this one, fills in
 * what its VMM is told, and hears of what the VMM says.
 *
 * Its processes:   supervisor ── bwrap (monitor) ── VMM (program, PID 1 of its pid namespace)
 *                       └─────── microagent-vsockd, and further companions (companion.h)
 * Without namespaces the VMM is the supervisor's own child, and monitor and program are one.
 *
 * Whatever ends first takes the rest with it: the VMM's end closes the connections of its
 * companions; the end of a companion is told to the owner, who kills. `ended` is told when the
 * program has ended and all children have been reaped.
 */
#ifndef BACKEND_PARTS_VM_H
#define BACKEND_PARTS_VM_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "backend/backend.h"
#include "backend/parts/cell.h"
#include "backend/parts/companion.h"
#include "backend/parts/descendants.h"
#include "backend/parts/programs.h"
#include "backend/parts/stderr_log.h"
#include "base/mac.h"

#define VSOCKD_NAME "microagent-vsockd"
#define VIRTIOFSD_NAME "virtiofsd"
#define NETGATE_NAME "microagent-netgate"
#define PASST_NAME "passt"

/* The guest's network card and what is behind it. */
struct vm_net {
	enum network_mode mode;
	char mac[MAC_TEXT]; /* "" when isolated */
	const char *detail; /* what a person should know, or NULL */
	int netgate_fd;	    /* SOCK_SEQPACKET: addresses there, lines back; -1 */
	int routes_fd;	    /* readable when the host's addresses have changed; -1 */
	int table_fd;	    /* by which they are asked for; -1 */
	int control_fd;	    /* a socket of the cell's network, where a tap is in that; -1 */
	struct loop_watch *netgate_watch, *routes_watch;
};

/* Of one VMM program. */
struct vmm_kind {
	const char *name;		 /* to a person */
	program_finder *const *binaries; /* its executables; NULL at the end */
	/* Takes in what the VMM said last; it has ended. */
	void (*drain)(struct vm *vm);
	/* Its last line of stderr, in other words where those say more to a person. */
	const char *(*meaning)(const char *said);
	/* Makes it let go of the host's side of the network card, whatever the guest does; NULL: it
	 * needs no telling. */
	int (*unplug_net)(struct vm *vm, struct error *err);
	/* It listens on sockets of its own, whose names are in VM_RUN_DIR and the workspace. */
	bool binds_sockets;
};

#define VM_KEPT_MAX 4 /* sockets that a VMM keeps in quarantine */

struct vm {
	const struct vmm_kind *kind;
	struct loop *loop;
	struct vm_events events;
	struct log *log;

	struct cell cell;
	pid_t monitor_pid; /* as it was, for describe() */
	int exit_code;	   /* once gone; 128+signal */
	struct loop_watch *monitor_watch, *program_watch;
	struct companions companions;
	char *label;		    /* vm_boot's, and two of its descriptors: */
	int workspace_fd, lease_fd; /* the broker takes them from here alone */
	struct vm_net net;
	size_t links;	 /* cards with a tap of the caller's */
	int read_fds[2]; /* kernel and initrd, which nobody writes to (file_hold()); -1: read */

	struct loop_watch *busy_watch;
	int busy_fd; /* vsockd's eventfd; -1 */
	bool busy;   /* as it has told */

	bool unfiltered; /* no system call is refused to the VMM (vmm_filter.h) */
	bool pluggable;	 /* it has a spare port */
	bool port;	 /* the guest's streams go over a virtio-serial port */
	bool monitor_gone, program_gone;
	bool spoke;	   /* the VMM has been ready */
	bool killing;	   /* vm_kill() was called */
	bool severing;	   /* vm_sever() was called */
	bool cut;	   /* what is killed for a quarantine was killed */
	bool quarantined;  /* in the broker: nothing was left when it was asked */
	bool proc_removed; /* in the broker: it has been asked to take /proc from the cell */
	bool overdue;	   /* said how it ends long ago, and has not */
	bool end_told;	   /* the VMM said how it ends: */
	enum vm_end end;   /* ... this way */
	char detail[256];
	struct stderr_log vmm_stderr;
	/* Ends what should be ending by itself and is not. */
	struct loop_watch *grace_timer;

	unsigned long long kept[VM_KEPT_MAX]; /* inodes */
	size_t kept_count;
	struct sockaddr_un kept_peer; /* whose connection it keeps */
	socklen_t kept_peer_len;      /* 0: nobody's */
	struct loop_watch *sever_timer;
	uint64_t sever_deadline_ns;
	struct descendants severed; /* what the companions had started */
};

/* Zeroes *vm and takes what boot has of it. After a failure: vm_close(). */
int vm_open(struct vm *vm, const struct vmm_kind *kind, struct loop *loop,
	    const struct vm_boot *boot, const struct vm_events *events, struct error *err);
/* Kills and reaps what is left, and gives all of it back but the struct itself. */
void vm_close(struct vm *vm);
/* The VMM's end of a channel that it keeps in quarantine. */
int vm_keep(struct vm *vm, int vmm_end, struct error *err);
/* The same of a connection that the VMM is to accept: by a name that our end gets here, before it
 * connects. */
int vm_keep_accepted(struct vm *vm, int our_end, struct error *err);
/* Lets the cell go, once all companions run, and begins to hear of the ends. */
int vm_release(struct vm *vm, struct error *err);

/* vm_vsockd.c */
enum vsockd_face { VSOCKD_VHOST, VSOCKD_PORT, VSOCKD_LINK };
/* The descriptors stay the caller's. */
struct vsockd_ends {
	enum vsockd_face face;
	int guest;   /* connected to the VMM; of a link: where the guest will connect */
	int clients; /* where the host's clients connect */
};
/* Of a link the guest dials no port of the host. */
int vm_start_vsockd(struct vm *vm, const struct vm_boot *boot, const struct vsockd_ends *ends,
		    struct error *err);

/* Of one shared directory: virtiofsd's listening socket, and the VMM's connection to it. */
struct vm_share_ends {
	int listen, vmm;
};

/* vm_share.c */
int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err);
/* Its virtiofsd, started; NULL. */
struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err);
/* The same for a running guest, by the broker where there is one, of the directory that has this
 * number in the pass. The end is the VMM's. */
struct companion *vm_start_plug(struct vm *vm, const struct vm_share *share, size_t number,
				int *vmm_end, struct error *err);
extern const struct broker_duty vm_share_duty; /* its data: the vm */
/* ends: one for each of the config's shares */
int vm_start_shares(struct vm *vm, const struct vm_boot *boot, const struct vm_share_ends *ends,
		    struct error *err);

/* vm_net.c: makes the VMM's end of the network, then starts what is behind it; both ends are the
 * caller's, -1 where there is none. */
int vm_net_open(struct vm *vm, const struct vm_boot *boot, int *vmm_end, int *gate_end,
		struct error *err);
int vm_start_net(struct vm *vm, const struct vm_boot *boot, int gate_end, struct error *err);
/* For a VMM that opens a tap of that name in its cell's own network: in place of both, between
 * starting the cell and vm_release(). vm_net_prepare() comes before all. */
void vm_net_prepare(struct vm *vm, const struct vm_boot *boot);
int vm_start_net_in_cell(struct vm *vm, const struct vm_boot *boot, const char *tap,
			 struct error *err);
json_t *vm_net_describe(const struct vm *vm);
/* struct backend's `egress`. */
int vm_net_egress(struct vm *vm, bool allow, const char *rule, struct error *err);
void vm_net_close(struct vm *vm);

/* vm_sever.c */
int vm_sever(struct vm *vm, struct error *err);
int vm_end_all(struct vm *vm, struct error *err);
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS]);
extern const struct broker_duty vm_sever_duty; /* its data: the vm */

/* Takes /proc from the VMM's cell, where it has opened what it needed a name for. */
int vm_remove_proc(const struct vm *vm, struct error *err);
extern const struct broker_duty vm_proc_duty; /* its data: the vm */

/* vm_end.c: processes and their ends. */
int vm_watch(struct vm *vm, struct error *err);
void vm_on_companion(void *data, struct companion *companion); /* data is the vm */
bool vm_is_alive(const struct vm *vm);			       /* the VMM, as of now */
/* The VMM said how it ends; the first word counts. */
void vm_tell_end(struct vm *vm, enum vm_end end, const char *detail);
/* The VMM is ready. When the host's memory runs out it goes before us from now on. */
void vm_speaks(struct vm *vm);
/* The VMM has read kernel and initrd: they may be written to again. */
void vm_has_read(struct vm *vm);
/* What should end by itself gets LIMIT_VMM_END_MS for it. */
void vm_grace(struct vm *vm);
void vm_kill(struct vm *vm); /* accepts NULL */
json_t *vm_describe(const struct vm *vm);

#endif
