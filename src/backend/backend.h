/* SPDX-License-Identifier: MIT */
/*
 * A backend: one const struct of functions, chosen once by the executable that links it. An absent
 * function means unsupported. Backends know how a VM is made, driven and ended; they know nothing
 * of states, files of the workspace, or the guest's protocols.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/refusal.h"
#include "backend/vm_end.h"
#include "base/broker.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "contract/fields.h"
#include "contract/macos.h"
#include "contract/request.h"

struct vm; /* the backend's own */

/* Of the workspace: where a VMM that binds sockets itself does so; there only while it runs. */
#define VM_RUN_DIR "vmm"

struct vm_events {
	/* Bytes of the serial console. */
	void (*serial)(void *data, const uint8_t *bytes, size_t len);
	/* A disk ("rootfs" or one of vm_boot's) has no room: the VM is paused and goes on after
	 * vm_resume. */
	void (*disk_full)(void *data, const char *serial, const char *reason);
	/* The VM and every companion of it have ended and been reaped. Called once, last, from the
	 * loop; the owner may free the VM in it, and in no other of these callbacks. */
	void (*ended)(void *data, enum vm_end end, const char *detail);
	/* A companion (vsockd...) died by itself; said: its last line of stderr, or ""; code:
	 * EX_TEMPFAIL if it lacks something of the host. fatal: the owner is expected to kill the
	 * VM. */
	void (*companion_lost)(void *data, const char *name, int code, const char *said,
			       bool fatal);
	/* The guest has opened a connection, or tried to: one line as the host saw it, bounded in
	 * length and number. */
	void (*connection)(void *data, const char *line);
	/* The guest's kernel was seen to run, by another sign than a byte of its console; maybe
	 * never. */
	void (*kernel_began)(void *data);
	/* The host has begun a stream to the guest, or has none any more. Of what came and went in
	 * between the last is told. */
	void (*streams)(void *data, bool any);
	/* What sever() began has come to its end. names: array of what was severed, borrowed; why:
	 * NULL, or why it is not proven, and then the VM must not go on. */
	void (*severed)(void *data, const json_t *names, const struct error *why);
	/* In the broker, when it has found the VM cut off: the owner looks at what it holds itself,
	 * and proves it to others. As vm_held(): 0, or 1 (not yet, and err says why), or -1. */
	int (*cut_off)(void *data, struct error *err);
	/* The VM takes bytes for its serial console again. */
	void (*console_room)(void *data);
	void *data;
};

/* virtio's: 20 bytes, and a NUL. */
#define VM_SERIAL_SIZE 21

/* A disk beside the root: raw, by descriptor. The guest finds it by its serial, and as /dev/vdb and
 * so on in the order of the array. */
struct vm_disk {
	const char *serial; /* letters, digits, '-' */
	int fd;		    /* opened for reading only if read_only */
	bool read_only;
};

/* What is to become of the root disk. */
enum vm_use {
	VM_RUN,	  /* it is booted */
	VM_READ,  /* looked at from outside: nothing of it runs, and what is written is thrown away
		   */
	VM_WRITE, /* files are put on it from outside: nothing of it runs */
};

/* Where the machine's state comes from. */
enum vm_origin {
	VM_COLD,     /* its kernel is booted */
	VM_TEMPLATE, /* the same, on a machine that can be saved, in ram_fd */
	VM_RESTORED, /* state_fd was saved of such a machine, with the same config, disk and VMM */
};

/* What a macOS guest has beside its disk. */
struct vm_macos {
	int hardware_model_fd, machine_identifier_fd; /* read-only; hashed */
	int auxiliary_fd;			      /* read-write */
};

/* A card whose other side is a tap that the caller has. */
struct vm_link {
	const char *mac;
	int tap_fd;
};
#define VM_LINKS_MAX 8

/* Everything a boot needs, opened by the caller: the backend is handed descriptors, not names.
 * The descriptors stay the caller's. */
struct vm_boot {
	const struct config *config;
	const char *label;	      /* "<stateDir>/<runtimeID>", to be seen in ps */
	enum accelerator accelerator; /* resolved, never AUTO */
	int kernel_fd, initrd_fd;     /* the very descriptors that were hashed; -1 with macos */
	const struct vm_macos *macos; /* NULL: the guest is a Linux */
	enum vm_use use;
	enum vm_origin origin;
	/* The guest's memory, a memfd; -1: the VMM's own, and of a restored machine it is in the
	 * state. Sealed it is its siblings' too, and nobody writes to it; such a machine gets no
	 * share. */
	int ram_fd;
	bool ram_sealed;
	int state_fd; /* of a restored machine; else -1 */
	/* Of a restored machine with a card in the state: its address, "" for the label's; or NULL.
	 */
	const char *card_saved;
	int rootfs_fd; /* read-write; VM_READ: read-only; -1: the root is what initrd_fd holds */
	int base_fd; /* read-only: the raw disk of which rootfs_fd is a layer; -1: rootfs_fd is raw
		      */
	/* How many bytes of its file a layer may use: what it would write beyond them finds no
	 * room, and disk_full follows. The file is to be as long, at least (a hole will do). 0: no
	 * bound. */
	uint64_t layer_room;
	const struct vm_disk *disks;
	size_t disk_count;
	const int *share_fds;	    /* the directories of config->shares, in its order */
	int workspace_fd;	    /* directory of the workspace */
	int lease_fd;		    /* to be inherited by every process of the workspace */
	pid_t cell_number;	    /* where our pid may be another machine's too; 0: none */
	int vsock_listen_fd;	    /* bound and listening vsock.sock; -1: binds_vsock */
	const uint32_t *host_ports; /* vsock.sock_<P> that exist; guest may dial these alone */
	size_t host_port_count;
	uint32_t boot_port; /* of them, the one that a guest dials once when it has booted */
	struct log *log;    /* supervisor.log */
	/* Instead of a card of the config's, which is isolated. */
	const struct vm_link *links;
	size_t link_count;
};

/* A directory for a guest. */
struct vm_share {
	const char *tag;	  /* by which the guest mounts it */
	struct share_terms terms; /* at the boot; for a running guest the pass says it */
	/* At the boot, O_PATH will do; for a running guest the command's pass says which one it is
	 * (store/share/pass.h). */
	int dir_fd;
	bool read_only;
	/* The root file systems and volumes of containers: every id is what it is on the host, a
	 * program may be set-user-ID, and what is mounted below the directory later is seen. */
	bool containers;
	/* As of vm_boot. */
	const char *label;
	int workspace_fd, lease_fd;
};

/* The guest can mount it now; or why it cannot. */
typedef void vm_share_fn(void *data, const struct error *why);

/* It is saved, and has stood still since then (monotonic); or why it is not. */
typedef void vm_saved_fn(void *data, uint64_t stopped_ns, const struct error *why);

#define VM_BROKER_FDS 4

struct backend_host {
	const char *architecture;
	bool runs[ARCHITECTURE_COUNT];	       /* whether machines of it can be had */
	char not_run[ARCHITECTURE_COUNT][256]; /* why not */
	char *binary_path, *binary_version;    /* NULL when missing */
	enum accelerator accelerator;	       /* what auto resolves to */
	char accelerator_reason[256];
	const char *confinement; /* the best to be had: "cell"; "seccomp", which a config has to
				  * ask for; other systems' backends say "platform" */
	char confinement_reason[256];
	bool kvm_available;	       /* KVM is usable with the default kernel of the cache */
	const char *kvm_kernels;       /* with which kernels: "all", "pvm", "none"; NULL: no KVM */
	bool virtualization_supported; /* by the platform, where that is not KVM's business */
	bool vsock_available;
	bool nat_available, bridged_available;
	/* Why not; of nat also what it lacks where it is to be had. "" when there is nothing to
	 * say. */
	char nat_reason[256], bridged_reason[256];
	/* The row of docs/tested.md that is this host's: "Debian 12"; NULL: none is. */
	const char *tested_on;
	/* What nobody has run this on yet, as a sentence; NULL: it was tested on hosts like this.
	 */
	const char *untested;
};

/* How large the guest is now, in MiB, or VM_BALLOON_UNTOLD where it was told how large it is to be
 * and the VMM does not say what came of it; or why that could not be done. */
#define VM_BALLOON_UNTOLD (-1)
typedef void vm_balloon_fn(void *data, int64_t actual_mib, const struct error *why);

/* It is done; or why it is not. */
typedef void vm_done_fn(void *data, const struct error *why);

/* A macOS guest in the making. */
struct macos_install {
	const char *restore_image; /* path of an IPSW */
	const char *directory;	   /* gets the files of contract/macos.h */
	uint64_t disk_bytes;
	int64_t memory_mib, cpus; /* 0: as much as the image asks for */
};

/* What the restore image says of itself. */
struct macos_image {
	char version[32], build[32];
	int64_t memory_mib, cpus; /* the least that its guests need */
};

/* image: once, before anything is made; NULL from then on. percent: of the installation. */
typedef void macos_told_fn(void *data, const struct macos_image *image, int percent);

/* What only the VMM of a macOS guest can tell or make. Each takes as long as it takes. */
struct backend_macos {
	/* ERR_INVALID: the image is damaged; ERR_UNSUPPORTED: no guest of this host can be made of
	 * it. What it has made until a failure is the caller's to remove. */
	int (*install)(const struct macos_install *job, macos_told_fn *told, void *data,
		       struct error *err);
	/* A new machine identifier, as a file of that directory. */
	int (*identify)(const char *directory, struct error *err);
	/* The address of the newest restore image that this host can run, which Apple's catalog
	 * tells. ERR_UNAVAILABLE: the catalog cannot be had. */
	int (*latest)(char url[MACOS_URL_SIZE], struct error *err);
};

struct backend {
	const char *name;      /* identity.backend: "qemu" */
	bool takes_no_bzimage; /* of kernels: it is given what is packed in them */
	bool binds_vsock;      /* the VMM makes vsock.sock by itself, some time after boot() */
	/* The VM is of the very process that boots it: nothing can be kept from it that this
	 * process has, and it ends with it. Without a guard, a broker and a cell. */
	bool in_process;
	/* In mode nat the guest has to ask for its address too, which nobody else is told. */
	bool nat_by_dhcp;
	/* A disk without room pauses the machine (disk_full); else the guest gets an I/O error. */
	bool pauses_on_full_disk;
	/* Its machines begin in a firmware, which takes a time of its own and shows nothing. */
	bool has_firmware;
	/* A guest that switches itself off looks like one that was reset: the guest's own word
	 * tells which. */
	bool powers_off_by_reset;
	/* Whose machines power_button has nothing for. */
	bool lacks_power_button[ARCHITECTURE_COUNT];
	/* The last has no field. What none of them asks for is honoured, and is printed by
	 * --print-capabilities. */
	const struct backend_refusal *refusals;
	int (*host)(struct backend_host *out, struct error *err);
	void (*host_free)(struct backend_host *host);
	/* Refuses what this host cannot give, and what is more than a machine has room for, naming
	 * the field. Touches nothing. */
	int (*check)(const struct config *config, struct error *err);
	/* The paths of the programs that it runs on this host, as an array; NULL without memory. */
	json_t *(*programs)(void);
	/* What the config's accelerator comes to, for a machine of its architecture; KVM asked for
	 * and not usable is ERR_UNAVAILABLE with the reason. */
	int (*accelerator)(const struct config *config, enum accelerator *out, char reason[256],
			   struct error *err);
	/* The guest has said that its agent serves the link: from now on agent.sock is in the
	 * workspace. NULL: there is no link. */
	int (*linked)(struct vm *vm, struct error *err);
	/* Starts the VMM and companions; returns when they run, before the guest does anything
	 * visible. What happens later comes by events, on the loop. */
	struct vm *(*boot)(struct loop *loop, const struct vm_boot *boot,
			   const struct vm_events *events, struct error *err);
	/* Facts for runtime.json, new reference: {pid, startTime, companions:[{name,pid}], ...}. */
	json_t *(*describe)(const struct vm *vm);
	/* An error: the guest will not hear of it. */
	int (*power_button)(struct vm *vm, struct error *err);
	/* At once; `ended` follows on the loop. Accepts NULL; may be repeated. */
	void (*kill)(struct vm *vm);
	int (*resume)(struct vm *vm, struct error *err); /* after disk_full or pause */
	/* Between two instructions of the guest; what it has written before is on its way. fn is
	 * called once, from the loop, or never if vm is freed before. After ERR_TIMEOUT it may be
	 * paused yet. */
	int (*pause)(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
	/* Moves layer_room, up and no further than the file reached at the boot; fn is called once,
	 * from the loop, or never if vm is freed before. */
	int (*layer_room)(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data,
			  struct error *err);
	/* Bytes for the serial console: how many it takes now. When that is less than all of them,
	 * `console_room` follows. */
	size_t (*console)(struct vm *vm, const uint8_t *bytes, size_t len);
	/* Makes the guest as large as mib, as far as it can give memory up within LIMIT_BALLOON_MS,
	 * and calls fn once, from the loop; never if the VM ends before. ERR_INVALID for more than
	 * it was booted with, ERR_CONFLICT while another is under way. */
	int (*balloon)(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data,
		       struct error *err);
	/* Gives a running guest up to PLUGS_MAX directories, all or none, if it was booted with
	 * config.hotplug and has none by this already. The pass has them in this order. What shares
	 * point to is borrowed for the call. fn is called once, from the loop, or never if vm is
	 * freed before. ERR_CONFLICT; ERR_UNSUPPORTED for more than the backend gives;
	 * ERR_UNAVAILABLE where something is missing on the host. */
	int (*share_attach)(struct vm *vm, const struct vm_share *shares, size_t count,
			    vm_share_fn *fn, void *data, struct error *err);
	/* Takes them from a guest that has not mounted all of them; fn as before. A guest that does
	 * not let go of them within LIMIT_SHARE_MS keeps devices that nobody serves, and why says
	 * so. */
	int (*share_detach)(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
	/* Of a machine with config.network.egress that runs: a rule of its, or a prefix, is one
	 * more or no more from now on; what it opened ends with it. NULL: no network is filtered.
	 */
	int (*egress)(struct vm *vm, bool allow, const char *rule, struct error *err);
	/* Of what is no VM_COLD: writes the state of its devices to the file, and unless it has a
	 * ram_fd that is its own its memory too. It runs meanwhile, and stands still in the end;
	 * fn is called once, from the loop, or never if vm is freed before. What memory and disks
	 * hold then belongs to the state. resume() lets it go on, after a failure too. */
	int (*save)(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
	/* What a saved machine depends on beside the files it was booted from, as members of facts:
	 * where one of them differs it is not restored. "vmm" is the path of a program, of which
	 * the digest counts; "tscKhz" is measured, and never twice the same. NULL: no machine can
	 * be saved. */
	int (*save_facts)(const struct config *config, enum accelerator accelerator, json_t *facts,
			  struct error *err);
	/* Quarantine: ends every companion by which the guest reaches the host or is reached, and
	 * looks at what the VMM still holds; the VM goes on. `severed` follows on the loop, within
	 * LIMIT_SEVER_MS, unless the VM ends before. */
	int (*sever)(struct vm *vm, struct error *err);
	/* The user as whom the processes of a VM run that this process has booted, 0: as we do. */
	uid_t (*user)(void);
	/* Of the functions above, what takes rights that a process which reads a guest's bytes has
	 * given up: duties of a broker forked after the boot, whose data is its copy of the vm.
	 * share: of share_attach; sever: of sever; socket: of the VMM's own sockets; proc: of
	 * a machine that is saved or restored. And the
	 * descriptors of vm that they need, the VMM's pidfd first; returns how many. */
	const struct broker_duty *share_duty, *sever_duty, *socket_duty, *proc_duty;
	size_t (*broker_fds)(const struct vm *vm, int fds[VM_BROKER_FDS]);
	/* In the broker, before the workspace is removed: kills what lives of the machine yet, and
	 * waits for LIMIT_KILL_MS at most. ERR_CONFLICT for a machine that was quarantined, which is
	 * kept; ERR_TIMEOUT. */
	int (*end_all)(struct vm *vm, struct error *err);
	const struct backend_macos *macos; /* NULL: its guests are Linux alone */
	void (*free)(struct vm *vm);	   /* kills and reaps what is left; accepts NULL */
};

extern const struct backend backend_qemu, backend_firecracker, backend_applevf;

/* Of a machine of that architecture; a third one lacks nothing that is known. */
static inline bool backend_has_power_button(const struct backend *backend,
					    enum architecture machine)
{
	return backend->power_button &&
	       (machine >= ARCHITECTURE_COUNT || !backend->lacks_power_button[machine]);
}

#endif
