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
 * Without a cell the VMM is a child of the supervisor, and is the monitor and the program at once.
 *
 * If one of these processes ends, the others end too. When the VMM ends, the connections of its
 * companions close, and the companions end. When a companion ends, the event `companion_lost` is
 * called, and the supervisor kills the VM. The event `ended` is called when the program has ended
 * and all children were reaped.
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

/* The guest's network card, and the network to which it belongs. */
struct vm_net {
	enum network_mode mode;
	char mac[MAC_TEXT]; /* the MAC address of the card; "": the machine has no card */
	const char *detail; /* a text about the network for a person; NULL: there is no text */
	/* A SOCK_SEQPACKET socket to netgate, which gets the host's addresses and sends lines about
	 * connections. -1: there is no netgate. */
	int netgate_fd;
	/* A socket that becomes readable when the host's addresses have changed; -1: there is
	 * none. */
	int routes_fd;
	int table_fd; /* the socket of host_routes_open(); -1: there is none */
	/* A socket in the cell's network namespace, if the tap is in that namespace. -1: the tap is
	 * not in a cell. */
	int control_fd;
	struct loop_watch *netgate_watch, *routes_watch;
};

/* The properties in which VMMs differ from each other. */
struct vmm_kind {
	const char *name; /* the VMM's name, as messages have it */
	/* The functions that find the VMM's executables; NULL ends the array. */
	program_finder *const *binaries;
	/* Reads the last bytes that the VMM has written. Called when the VMM has ended. */
	void (*drain)(struct vm *vm);
	/* Returns a text for a person that explains `said`, which is the last line that the VMM
	 * wrote to stderr. If there is no better text, returns `said`. */
	const char *(*meaning)(const char *said);
	/* Makes the VMM close the host's side of the network card, whatever the guest does. NULL:
	 * vm_sever() cuts off the card of this VMM by other means. */
	int (*unplug_net)(struct vm *vm, struct error *err);
	/* The VMM makes the sockets on which it listens, with names in VM_RUN_DIR and the
	 * workspace. */
	bool binds_sockets;
};

#define VM_KEPT_MAX 4 /* the most sockets that a VMM keeps in quarantine */

struct vm {
	const struct vmm_kind *kind;
	struct loop *loop;
	struct vm_events events;
	struct log *log;

	struct cell cell;
	pid_t monitor_pid; /* the pid of the monitor, which is kept for describe() */
	/* The exit code of the VMM after its end; 128+n: signal n has ended the VMM. */
	int exit_code;
	struct loop_watch *monitor_watch, *program_watch;
	struct companions companions;
	/* A copy of vm_boot.label; the two descriptors after it are also from vm_boot. */
	char *label;
	/* The workspace and the lease. The broker uses these descriptors, and never a descriptor
	 * that the supervisor sends. */
	int workspace_fd, lease_fd;
	struct vm_net net;
	size_t links; /* the number of cards whose taps the caller has made */
	/* The descriptors of kernel and initrd. While they are held, no process can write to the
	 * files (file_hold()). -1: the VMM has read the file. */
	int read_fds[2];

	struct loop_watch *busy_watch;
	/* An eventfd of vsockd, which tells whether the host has a stream; -1: there is none. */
	int busy_fd;
	bool busy; /* according to the last message of vsockd, the host has a stream */

	bool unfiltered; /* the VMM's filter allows all system calls (vmm_filter.h) */
	/* The machine has a spare port, on which devices can be plugged in later. */
	bool pluggable;
	bool port; /* the guest's streams go over a virtio-serial port instead of vsock */
	bool monitor_gone, program_gone;
	bool spoke;	  /* vm_speaks() was called, after the VMM had become ready */
	bool killing;	  /* vm_kill() was called */
	bool severing;	  /* vm_sever() was called */
	bool cut;	  /* the companions were killed for a quarantine */
	bool quarantined; /* used only in the broker: the broker has found that the VM is cut off */
	bool proc_removed; /* used only in the broker: the broker has removed /proc from the cell */
	bool overdue;	   /* the VMM has announced its end, but did not end in time */
	bool end_told;	   /* vm_tell_end() was called, so `end` and `detail` are set */
	enum vm_end end;   /* the kind of end that the VMM has announced */
	char detail[256];
	struct stderr_log vmm_stderr;
	/* The timer of vm_grace(). When the timer fires, the processes that still run are
	 * killed. */
	struct loop_watch *grace_timer;

	/* The inode numbers of the sockets that the VMM keeps in quarantine. */
	unsigned long long kept[VM_KEPT_MAX];
	size_t kept_count;
	/* The socket name that this process's end has, on a connection that the VMM has accepted
	 * and keeps in quarantine. */
	struct sockaddr_un kept_peer;
	/* The length of kept_peer in bytes; 0: there is no such connection. */
	socklen_t kept_peer_len;
	struct loop_watch *sever_timer;
	uint64_t sever_deadline_ns;
	/* The processes that the companions had started, which were killed for a quarantine. */
	struct descendants severed;
};

/* Sets all members of *vm, from `boot`. If the function fails, the caller must call vm_close(). */
int vm_open(struct vm *vm, const struct vmm_kind *kind, struct loop *loop,
	    const struct vm_boot *boot, const struct vm_events *events, struct error *err);
/* Kills and reaps all processes that still exist, and frees everything except the struct itself. */
void vm_close(struct vm *vm);
/* Notes the VMM's end of a channel that the VMM keeps in quarantine. */
int vm_keep(struct vm *vm, int vmm_end, struct error *err);
/* Notes a connection that the VMM will accept and keep in quarantine. `our_end` is this process's
 * end of the connection, which gets a name. So the function must be called before this end
 * connects. */
int vm_keep_accepted(struct vm *vm, int our_end, struct error *err);
/* Lets the program in the cell run, and begins to watch for the ends of all processes. Called when
 * all companions run. */
int vm_release(struct vm *vm, struct error *err);

/* Functions of vm_vsockd.c: */
enum vsockd_face { VSOCKD_VHOST, VSOCKD_PORT, VSOCKD_LINK };
/* The descriptors that vsockd gets. The caller closes them. */
struct vsockd_ends {
	enum vsockd_face face;
	/* A socket that is connected to the VMM; for VSOCKD_LINK the socket on which the guest's
	 * connection arrives. */
	int guest;
	int clients; /* the listening socket for clients of the host */
};
/* Starts vsockd. If the face is VSOCKD_LINK, the guest can dial no port of the host. */
int vm_start_vsockd(struct vm *vm, const struct vm_boot *boot, const struct vsockd_ends *ends,
		    struct error *err);

/* The two sockets of one shared directory: the listening socket of virtiofsd, and the VMM's
 * connection to it. */
struct vm_share_ends {
	int listen, vmm;
};

/* Functions of vm_share.c: */
int vm_open_share(int workspace_fd, struct vm_share_ends *ends, struct error *err);
/* Starts the virtiofsd of the share and returns it. Returns NULL with an error. */
struct companion *vm_start_share(struct vm *vm, const struct vm_share *share,
				 const struct vm_share_ends *ends, struct error *err);
/* Starts a virtiofsd for a running guest, through the broker if there is one. `number` is the index
 * of the directory in the pass (store/share/pass.h). *vmm_end becomes the VMM's end of the
 * connection. */
struct companion *vm_start_plug(struct vm *vm, const struct vm_share *share, size_t number,
				int *vmm_end, struct error *err);
/* The broker's duty for vm_start_plug(). Its data is the struct vm. */
extern const struct broker_duty vm_share_duty;
/* Starts a virtiofsd for each of the config's shares. ends[i] has the sockets of share number i. */
int vm_start_shares(struct vm *vm, const struct vm_boot *boot, const struct vm_share_ends *ends,
		    struct error *err);

/* Functions of vm_net.c. vm_net_open() makes the two ends of the VMM's network. vm_start_net()
 * starts the companions that get the other end. The caller closes both ends. An end that does not
 * exist is -1. */
int vm_net_open(struct vm *vm, const struct vm_boot *boot, int *vmm_end, int *gate_end,
		struct error *err);
int vm_start_net(struct vm *vm, const struct vm_boot *boot, int gate_end, struct error *err);
/* Functions for a VMM that opens a tap by name in its cell's own network. These functions are used
 * instead of vm_net_open() and vm_start_net(). vm_net_prepare() is called before anything is
 * started. vm_start_net_in_cell() is called after the start of the cell and before vm_release(). */
void vm_net_prepare(struct vm *vm, const struct vm_boot *boot);
int vm_start_net_in_cell(struct vm *vm, const struct vm_boot *boot, const char *tap,
			 struct error *err);
json_t *vm_net_describe(const struct vm *vm);
/* Does the work of the function egress() of struct backend. */
int vm_net_egress(struct vm *vm, bool allow, const char *rule, struct error *err);
void vm_net_close(struct vm *vm);

/* Functions of vm_sever.c: */
int vm_sever(struct vm *vm, struct error *err);
int vm_end_all(struct vm *vm, struct error *err);
size_t vm_broker_fds(const struct vm *vm, int fds[VM_BROKER_FDS]);
/* The broker's duty for vm_sever(). Its data is the struct vm. */
extern const struct broker_duty vm_sever_duty;

/* Removes /proc from the VMM's cell. Called when the VMM has opened all files that it opens by
 * name. */
int vm_remove_proc(const struct vm *vm, struct error *err);
/* The broker's duty for vm_remove_proc(). Its data is the struct vm. */
extern const struct broker_duty vm_proc_duty;

/* Functions of vm_end.c, which handles the ends of processes: */
int vm_watch(struct vm *vm, struct error *err);
void vm_on_companion(void *data, struct companion *companion); /* `data` is the struct vm */
/* Returns true if the VMM is alive at this moment. */
bool vm_is_alive(const struct vm *vm);
/* Notes the kind of end that the VMM has announced. Only the first call has an effect. */
void vm_tell_end(struct vm *vm, enum vm_end end, const char *detail);
/* Notes that the VMM is ready. If the host's memory runs out after that, the kernel kills the VMM
 * before this process. */
void vm_speaks(struct vm *vm);
/* Notes that the VMM has read kernel and initrd. After that, other processes may write to these
 * files again. */
void vm_has_read(struct vm *vm);
/* Gives the processes LIMIT_VMM_END_MS to end by themselves. After that they are killed. */
void vm_grace(struct vm *vm);
void vm_kill(struct vm *vm); /* accepts NULL */
json_t *vm_describe(const struct vm *vm);

#endif
