/* SPDX-License-Identifier: MIT */
/*
 * The parts that every VM has, whatever its VMM is: the VMM's process in its cell, its companions,
 * and the channels of the VMM, the companions and the guest. The struct of a backend begins with
 * this struct. The backend itself sends the commands to the VMM, and handles the answers and events
 * of the VMM.
 *
 * The processes are:
 *   supervisor ── bwrap (monitor) ── VMM (program, PID 1 of its pid namespace)
 *        └─────── microagent-vsockd, and further companions (companion.h)
 * Without namespaces the VMM is the supervisor's own child, and monitor and program are the same
 * process.
 *
 * If one of these processes ends, the others end too. When the VMM ends, the connections of its
 * companions close, and they end. When a companion ends, `companion_lost` tells the owner, which
 * kills the VM. `ended` is called when the program has ended and all children were reaped.
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

/* The guest's network card and the network behind it. */
struct vm_net {
	enum network_mode mode;
	char mac[MAC_TEXT]; /* "": the machine has no card */
	const char *detail; /* a text about the network, for a person; NULL: none */
	/* A SOCK_SEQPACKET socket, by which netgate gets the host's addresses and sends its lines;
	 * -1: none. */
	int netgate_fd;
	int routes_fd; /* becomes readable when the host's addresses have changed; -1: none */
	int table_fd;  /* the socket of host_routes_open(); -1: none */
	/* A socket of the cell's network namespace, if the tap is in it; -1: the tap is not in a
	 * cell. */
	int control_fd;
	struct loop_watch *netgate_watch, *routes_watch;
};

/* The properties in which the VMM programs differ. */
struct vmm_kind {
	const char *name;		 /* the VMM's name, for a person */
	program_finder *const *binaries; /* the finders of its executables; NULL ends the list */
	/* Reads the last bytes that the VMM has written. Called when the VMM has ended. */
	void (*drain)(struct vm *vm);
	/* Returns a text that explains `said`, the VMM's last line of stderr, to a person. If no
	 * better text is known, returns the line itself. */
	const char *(*meaning)(const char *said);
	/* Makes the VMM close the host's side of the network card, whatever the guest does. The
	 * function is NULL for a VMM with which the card is cut off in another way, by
	 * vm_sever(). */
	int (*unplug_net)(struct vm *vm, struct error *err);
	/* The VMM listens on its own sockets, whose names are in VM_RUN_DIR and the workspace. */
	bool binds_sockets;
};

#define VM_KEPT_MAX 4 /* sockets that a VMM keeps in quarantine */

struct vm {
	const struct vmm_kind *kind;
	struct loop *loop;
	struct vm_events events;
	struct log *log;

	struct cell cell;
	pid_t monitor_pid; /* kept for describe() */
	int exit_code; /* the exit code when the VMM has ended; 128+signal if a signal ended it */
	struct loop_watch *monitor_watch, *program_watch;
	struct companions companions;
	char *label; /* a copy of vm_boot.label; the next two descriptors are also from vm_boot */
	/* The broker uses these descriptors, and never a descriptor that the supervisor sends. */
	int workspace_fd, lease_fd;
	struct vm_net net;
	size_t links; /* the number of cards with a tap of the caller */
	/* Kernel and initrd, to which no process can write while they are held (file_hold()); -1:
	 * the VMM has read the file. */
	int read_fds[2];

	struct loop_watch *busy_watch;
	int busy_fd; /* vsockd's eventfd; -1: none */
	bool busy;   /* vsockd's last message: the host has a stream */

	bool unfiltered; /* the VMM may make all system calls (vmm_filter.h) */
	bool pluggable;	 /* the machine has a spare port */
	bool port;	 /* the guest's streams go over a virtio-serial port instead of vsock */
	bool monitor_gone, program_gone;
	bool spoke;	  /* vm_speaks() was called: the VMM was ready */
	bool killing;	  /* vm_kill() was called */
	bool severing;	  /* vm_sever() was called */
	bool cut;	  /* the companions were killed for a quarantine */
	bool quarantined; /* used only in the broker: the broker has found that the VM is cut off */
	bool proc_removed; /* used only in the broker: the broker has removed /proc from the cell */
	bool overdue;	   /* the VMM has said that it ends, but has not ended in time */
	bool end_told;	   /* vm_tell_end() was called, so `end` and `detail` are set */
	enum vm_end end;   /* the kind of end that the VMM has announced */
	char detail[256];
	struct stderr_log vmm_stderr;
	/* The timer of vm_grace(). When it ends, the remaining processes are killed. */
	struct loop_watch *grace_timer;

	unsigned long long kept[VM_KEPT_MAX]; /* the inodes of the sockets that the VMM keeps */
	size_t kept_count;
	/* The name of the other end of a connection that the VMM keeps. */
	struct sockaddr_un kept_peer;
	socklen_t kept_peer_len; /* 0: there is no such connection */
	struct loop_watch *sever_timer;
	uint64_t sever_deadline_ns;
	struct descendants severed; /* processes that the companions had started */
};

/* Zeroes *vm and fills it from `boot`. After a failure call vm_close(). */
int vm_open(struct vm *vm, const struct vmm_kind *kind, struct loop *loop,
	    const struct vm_boot *boot, const struct vm_events *events, struct error *err);
/* Kills and reaps all processes that are left, and frees everything except the struct itself. */
void vm_close(struct vm *vm);
/* Notes the VMM's end of a channel that the VMM keeps in quarantine. */
int vm_keep(struct vm *vm, int vmm_end, struct error *err);
/* Notes a connection that the VMM will accept and will keep in quarantine. `our_end` is this
 * process's end of the connection. The function gives this end a name, and must be called before
 * the end connects. */
int vm_keep_accepted(struct vm *vm, int our_end, struct error *err);
/* Lets the program in the cell run, when all companions run, and begins to watch for ends. */
int vm_release(struct vm *vm, struct error *err);

/* vm_vsockd.c */
enum vsockd_face { VSOCKD_VHOST, VSOCKD_PORT, VSOCKD_LINK };
/* The descriptors for vsockd. The caller closes them. */
struct vsockd_ends {
	enum vsockd_face face;
	int guest;   /* a socket that is connected to the VMM; VSOCKD_LINK: the guest's listener */
	int clients; /* the socket to which clients of the host connect */
};
/* Starts vsockd. With VSOCKD_LINK the guest can dial no port of the host. */
int vm_start_vsockd(struct vm *vm, const struct vm_boot *boot, const struct vsockd_ends *ends,
		    struct error *err);

/* The two sockets of one shared directory: virtiofsd's listening socket, and the VMM's connection
 * to it. */
struct vm_share_ends {
	int listen, vmm;
};

/* vm_share.c */
int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err);
/* Starts the virtiofsd of the share and returns it. Returns NULL with an error. */
struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err);
/* Starts a virtiofsd for a running guest, through the broker if there is one. `number` is the place
 * of the directory in the pass (store/share/pass.h). *vmm_end is the VMM's end of the
 * connection. */
struct companion *vm_start_plug(struct vm *vm, const struct vm_share *share, size_t number,
				int *vmm_end, struct error *err);
/* The broker's duty for vm_start_plug(); its data is the struct vm. */
extern const struct broker_duty vm_share_duty;
/* Starts a virtiofsd for each of the config's shares. ends[i] is for share i. */
int vm_start_shares(struct vm *vm, const struct vm_boot *boot, const struct vm_share_ends *ends,
		    struct error *err);

/* vm_net.c: vm_net_open() makes the two ends of the VMM's network, and vm_start_net() starts the
 * companions that have the other end. The caller closes both ends; -1: there is no such end. */
int vm_net_open(struct vm *vm, const struct vm_boot *boot, int *vmm_end, int *gate_end,
		struct error *err);
int vm_start_net(struct vm *vm, const struct vm_boot *boot, int gate_end, struct error *err);
/* Functions for a VMM that opens a tap by name in its cell's own network, in place of vm_net_open()
 * and vm_start_net(). vm_net_prepare() is called first of all. vm_start_net_in_cell() is called
 * after the start of the cell and before vm_release(). */
void vm_net_prepare(struct vm *vm, const struct vm_boot *boot);
int vm_start_net_in_cell(struct vm *vm, const struct vm_boot *boot, const char *tap,
			 struct error *err);
json_t *vm_net_describe(const struct vm *vm);
/* Does the work of `egress` of struct backend. */
int vm_net_egress(struct vm *vm, bool allow, const char *rule, struct error *err);
void vm_net_close(struct vm *vm);

/* vm_sever.c */
int vm_sever(struct vm *vm, struct error *err);
int vm_end_all(struct vm *vm, struct error *err);
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS]);
/* The broker's duty for vm_sever(); its data is the struct vm. */
extern const struct broker_duty vm_sever_duty;

/* Removes /proc from the VMM's cell. Called when the VMM has opened all files that it opens by
 * name. */
int vm_remove_proc(const struct vm *vm, struct error *err);
/* The broker's duty for vm_remove_proc(); its data is the struct vm. */
extern const struct broker_duty vm_proc_duty;

/* vm_end.c: processes and their ends. */
int vm_watch(struct vm *vm, struct error *err);
void vm_on_companion(void *data, struct companion *companion); /* data is the vm */
bool vm_is_alive(const struct vm *vm);			       /* whether the VMM is alive now */
/* Notes how the VMM says that it ends. Only the first call counts. */
void vm_tell_end(struct vm *vm, enum vm_end end, const char *detail);
/* Notes that the VMM is ready. From now on, if the host's memory runs out, the kernel kills the VMM
 * before this process. */
void vm_speaks(struct vm *vm);
/* Notes that the VMM has read kernel and initrd, so that others may write to these files again. */
void vm_has_read(struct vm *vm);
/* Gives the processes LIMIT_VMM_END_MS to end by themselves; then they are killed. */
void vm_grace(struct vm *vm);
void vm_kill(struct vm *vm); /* accepts NULL */
json_t *vm_describe(const struct vm *vm);

#endif
