/* SPDX-License-Identifier: MIT */
/*
 * A backend is one const struct of functions. The executable that links it chooses it once. A
 * function that is absent (NULL) means that the backend does not support it. A backend knows how a
 * VM is made, driven and ended. It knows nothing of states, of the workspace's files, or of the
 * guest's protocols.
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

struct vm; /* each backend has its own */

/* The directory of a workspace in which a VMM that binds sockets itself binds them. It exists only
 * while the VMM runs. */
#define VM_RUN_DIR "vmm"

struct vm_events {
	/* The serial console has sent these bytes. */
	void (*serial)(void *data, const uint8_t *bytes, size_t len);
	/* A disk ("rootfs" or one of vm_boot's) has no room. The VM is paused and goes on after
	 * vm_resume. */
	void (*disk_full)(void *data, const char *serial, const char *reason);
	/* The VM and all its companions have ended and been reaped. This is called once, as the
	 * last event, from the loop. The owner may free the VM in this callback, and in no other
	 * one. */
	void (*ended)(void *data, enum vm_end end, const char *detail);
	/* A companion (vsockd...) died by itself. said: its last line of stderr, or "". code:
	 * EX_TEMPFAIL if the companion lacks something on the host. fatal: the owner is expected to
	 * kill the VM. */
	void (*companion_lost)(void *data, const char *name, int code, const char *said,
			       bool fatal);
	/* The guest has opened a connection, or tried to. line is what the host saw. Lines are
	 * bounded in length and in number. */
	void (*connection)(void *data, const char *line);
	/* There is a sign, other than a byte of its console, that the guest's kernel runs. This may
	 * never be called. */
	void (*kernel_began)(void *data);
	/* any says whether the host has streams to the guest now. Of several changes only the last
	 * one is sure to be told. */
	void (*streams)(void *data, bool any);
	/* What sever() began has ended. names: the array of what was severed, borrowed. why: NULL,
	 * or the reason why the cut is not proven; then the VM must not go on. */
	void (*severed)(void *data, const json_t *names, const struct error *why);
	/* Called in the broker when the broker has found the VM cut off. The owner then looks at
	 * what the owner itself holds, and proves to others that the VM is cut off. Returns, like
	 * vm_held(), 0 if nothing is left; 1 if something is left, and err says what; -1 if it
	 * cannot be known. */
	int (*cut_off)(void *data, struct error *err);
	/* The VM can take bytes for its serial console again. */
	void (*console_room)(void *data);
	void *data;
};

/* Room for a virtio serial: 20 bytes and a NUL. */
#define VM_SERIAL_SIZE 21

/* A raw disk beside the root disk, given by descriptor. The guest finds the disk by its serial. The
 * guest also sees the disks as /dev/vdb and so on, in the order of the array. */
struct vm_disk {
	const char *serial; /* letters, digits, '-' */
	int fd;		    /* opened with O_RDONLY if read_only, else with O_RDWR */
	bool read_only;
};

/* What the root disk is used for. */
enum vm_use {
	VM_RUN,	  /* the machine boots from it */
	VM_READ,  /* it is only read: no program on it runs, and what is written is thrown away */
	VM_WRITE, /* files are put on it: no program on it runs */
};

/* Where the machine's state comes from. */
enum vm_origin {
	VM_COLD,     /* the kernel is booted */
	VM_TEMPLATE, /* the kernel is booted on a machine that can be saved; its memory is ram_fd */
	VM_RESTORED, /* the state is read from state_fd, which was saved from a VM_TEMPLATE machine
		      * with the same config, disk and VMM */
};

/* What a macOS guest has beside its disk. */
struct vm_macos {
	int hardware_model_fd, machine_identifier_fd; /* read-only; hashed */
	int auxiliary_fd;			      /* read-write */
};

/* A network card whose other side is a tap of the caller. */
struct vm_link {
	const char *mac;
	int tap_fd;
};
#define VM_LINKS_MAX 8

/* Everything that a boot needs. The caller opens the files, and the backend gets descriptors and no
 * names. The caller keeps the descriptors and closes them. */
struct vm_boot {
	const struct config *config;
	const char *label;	      /* "<stateDir>/<runtimeID>", which ps shows */
	enum accelerator accelerator; /* resolved, never AUTO */
	int kernel_fd, initrd_fd;     /* the same descriptors that were hashed; -1 with macos */
	const struct vm_macos *macos; /* NULL: the guest is a Linux */
	enum vm_use use;
	enum vm_origin origin;
	/* The guest's memory, a memfd. -1: the VMM has memory of its own, and the memory of a
	 * restored machine is in the state. If the memfd is sealed, sibling machines share it and
	 * no machine writes to it. A machine with sealed memory gets no share. */
	int ram_fd;
	bool ram_sealed;
	int state_fd; /* the state of a restored machine; else -1 */
	/* The address of the card in the state of a restored machine. "": the address that follows
	 * from the label. NULL: the state has no card. */
	const char *card_saved;
	int rootfs_fd; /* read-write; VM_READ: read-only; -1: the root file system is in
			* initrd_fd */
	int base_fd;   /* the raw disk below the layer rootfs_fd, read-only; -1: rootfs_fd is raw */
	/* How many bytes of its file a layer may use. 0: no bound. A write beyond this bound finds
	 * no room, and disk_full follows. The file must be at least as long as this bound; it may
	 * have a hole at its end. */
	uint64_t layer_room;
	const struct vm_disk *disks;
	size_t disk_count;
	const int *share_fds;	    /* the directories of config->shares, in the same order */
	int workspace_fd;	    /* directory of the workspace */
	int lease_fd;		    /* every process of the workspace inherits it */
	pid_t cell_number;	    /* used if our pid may also be another machine's; 0: none */
	int vsock_listen_fd;	    /* vsock.sock, bound and listening; -1 with binds_vsock */
	const uint32_t *host_ports; /* ports P with a vsock.sock_<P>; the guest may dial only
				     * these */
	size_t host_port_count;
	uint32_t boot_port; /* the host port that a guest dials once, when it has booted */
	struct log *log;    /* supervisor.log */
	/* Cards of the caller. Then the config's network is isolated, so the config has no card. */
	const struct vm_link *links;
	size_t link_count;
};

/* A directory that a guest gets as a share. */
struct vm_share {
	const char *tag;	  /* the name by which the guest mounts it */
	struct share_terms terms; /* for a boot; for a running guest the pass has them */
	/* For a boot: the directory, which may be opened with O_PATH. For a running guest the
	 * command's pass says which directory it is (store/share/pass.h). */
	int dir_fd;
	bool read_only;
	/* The directory holds root file systems and volumes of containers. Every id in it is the
	 * same as on the host. A program in it may be set-user-ID. The guest sees what is mounted
	 * below the directory later. */
	bool containers;
	/* These have the same meaning as in struct vm_boot. */
	const char *label;
	int workspace_fd, lease_fd;
};

/* Called when the guest can mount the share (why is NULL), or with the reason why it cannot. */
typedef void vm_share_fn(void *data, const struct error *why);

/* Called when the machine is saved. stopped_ns: since when the machine has stood still (monotonic).
 * why: the reason why the machine could not be saved, or NULL. */
typedef void vm_saved_fn(void *data, uint64_t stopped_ns, const struct error *why);

#define VM_BROKER_FDS 4

struct backend_host {
	const char *architecture;
	bool runs[ARCHITECTURE_COUNT];	       /* whether machines of this architecture can run */
	char not_run[ARCHITECTURE_COUNT][256]; /* why they cannot */
	char *binary_path, *binary_version;    /* NULL when missing */
	enum accelerator accelerator;	       /* what auto resolves to */
	char accelerator_reason[256];
	const char *confinement; /* the best that this host has: "cell", or "seccomp", which a
				  * config has to ask for; backends of other systems say
				  * "platform" */
	char confinement_reason[256];
	bool kvm_available;	       /* KVM is usable with the default kernel of the cache */
	const char *kvm_kernels;       /* kernels that KVM is usable with: "all", "pvm", "none";
					* NULL: no KVM */
	bool virtualization_supported; /* by the platform, if it does not use KVM */
	bool vsock_available;
	bool nat_available, bridged_available;
	/* Why the network is not available. nat_reason also says what nat lacks if it is available.
	 * "" if there is nothing to say. */
	char nat_reason[256], bridged_reason[256];
	/* The row of docs/tested.md for this host: "Debian 12"; NULL: there is none. */
	const char *tested_on;
	/* A sentence that says what was never tested; NULL: hosts like this one were tested. */
	const char *untested;
};

/* Called with the present size of the guest in MiB, or with the reason why the size could not be
 * changed. The size is VM_BALLOON_UNTOLD if the guest was told its new size and the VMM does not
 * say what the guest did. */
#define VM_BALLOON_UNTOLD (-1)
typedef void vm_balloon_fn(void *data, int64_t actual_mib, const struct error *why);

/* Called when the request is done (why is NULL), or with the reason why it is not. */
typedef void vm_done_fn(void *data, const struct error *why);

/* How to make the files of a macOS guest. */
struct macos_install {
	const char *restore_image; /* path of an IPSW */
	const char *directory;	   /* where the files of contract/macos.h are made */
	uint64_t disk_bytes;
	int64_t memory_mib, cpus; /* 0: as much as the image asks for */
};

/* What the restore image says about itself. */
struct macos_image {
	char version[32], build[32];
	int64_t memory_mib, cpus; /* the minimum for a guest */
};

/* Called while a macOS guest is made. image: given in the first call, before anything is made; NULL
 * in later calls. percent: how much of the installation is done. */
typedef void macos_told_fn(void *data, const struct macos_image *image, int percent);

/* Functions that only the VMM of a macOS guest has. They have no deadline. */
struct backend_macos {
	/* Makes the files of a macOS guest. ERR_INVALID: the image is damaged. ERR_UNSUPPORTED:
	 * this host cannot run a guest made from the image. If it fails, the caller removes the
	 * files that were made. */
	int (*install)(const struct macos_install *job, macos_told_fn *told, void *data,
		       struct error *err);
	/* Makes a new machine identifier as a file in the directory. */
	int (*identify)(const char *directory, struct error *err);
	/* Writes to url the address of the newest restore image that this host can run, from
	 * Apple's catalog. ERR_UNAVAILABLE: the catalog cannot be read. */
	int (*latest)(char url[MACOS_URL_SIZE], struct error *err);
};

struct backend {
	const char *name;      /* identity.backend: "qemu" */
	bool takes_no_bzimage; /* it gets the kernel unpacked from a bzImage */
	bool binds_vsock;      /* the VMM itself makes vsock.sock, some time after boot() */
	/* The VM is part of the process that boots it. It ends with that process, and nothing that
	 * the process has can be kept from it. There is no guard, no broker and no cell. */
	bool in_process;
	/* In mode nat the guest must ask for its address by DHCP. Only the guest learns the
	 * address. */
	bool nat_by_dhcp;
	/* A disk without room pauses the machine (disk_full). Otherwise the guest gets an I/O
	 * error. */
	bool pauses_on_full_disk;
	/* Its machines begin in a firmware, which takes some time and shows nothing. */
	bool has_firmware;
	/* The VMM cannot tell a guest that switches itself off from one that was reset. The guest
	 * itself tells which of the two it is. */
	bool powers_off_by_reset;
	/* Architectures whose machines have no power button. */
	bool lacks_power_button[ARCHITECTURE_COUNT];
	/* What the backend refuses. The last row has no field. Everything without a row is
	 * supported, and --print-capabilities prints it. */
	const struct backend_refusal *refusals;
	int (*host)(struct backend_host *out, struct error *err);
	void (*host_free)(struct backend_host *host);
	/* Refuses a config that asks for something that this host cannot give, or for more than a
	 * machine has room for. The error names the field. Changes nothing. */
	int (*check)(const struct config *config, struct error *err);
	/* Returns an array of the paths of the programs that the backend runs on this host; NULL if
	 * there is no memory. */
	json_t *(*programs)(void);
	/* Finds the accelerator for the config and its architecture. ERR_UNAVAILABLE, with the
	 * reason: the config asks for KVM and KVM is not usable. */
	int (*accelerator)(const struct config *config, enum accelerator *out, char reason[256],
			   struct error *err);
	/* Called when the guest has said that its agent serves the link. From then on agent.sock is
	 * in the workspace. NULL: the backend has no link. */
	int (*linked)(struct vm *vm, struct error *err);
	/* Starts the VMM and its companions. Returns when they run, before the guest does anything
	 * visible. Everything later is told by events, from the loop. */
	struct vm *(*boot)(struct loop *loop, const struct vm_boot *boot,
			   const struct vm_events *events, struct error *err);
	/* Returns the facts for runtime.json as a new reference: {pid, startTime,
	 * companions:[{name,pid}], ...}. */
	json_t *(*describe)(const struct vm *vm);
	/* Presses the power button of the machine. An error means that the guest will not
	 * notice. */
	int (*power_button)(struct vm *vm, struct error *err);
	/* Kills the VM at once. `ended` follows on the loop. Accepts NULL. May be called again. */
	void (*kill)(struct vm *vm);
	int (*resume)(struct vm *vm, struct error *err); /* after disk_full or pause */
	/* Pauses the VM between two instructions of the guest. What the guest has written before is
	 * on its way. fn is called once, from the loop; it is never called if vm is freed before.
	 * After ERR_TIMEOUT the VM may still be paused later. */
	int (*pause)(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
	/* Raises layer_room, at most to the length that the file had at the boot. fn is called
	 * once, from the loop; it is never called if vm is freed before. */
	int (*layer_room)(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data,
			  struct error *err);
	/* Gives bytes to the serial console. Returns how many the VM took. If that is less than
	 * len, `console_room` follows. */
	size_t (*console)(struct vm *vm, const uint8_t *bytes, size_t len);
	/* Makes the guest as large as mib, as far as the guest can give up memory within
	 * LIMIT_BALLOON_MS. Then fn is called once, from the loop; it is never called if the VM
	 * ends before. ERR_INVALID: mib is more than the guest was booted with. ERR_CONFLICT:
	 * another call is under way. */
	int (*balloon)(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data,
		       struct error *err);
	/* Gives a running guest up to PLUGS_MAX directories, all or none. The guest must have been
	 * booted with config.hotplug, and must not have got directories by this function already.
	 * The pass has the directories in the same order. What shares points to is borrowed for the
	 * call. fn is called once, from the loop; it is never called if vm is freed before.
	 * ERR_CONFLICT; ERR_UNSUPPORTED for more than the backend gives; ERR_UNAVAILABLE if
	 * something is missing on the host. */
	int (*share_attach)(struct vm *vm, const struct vm_share *shares, size_t count,
			    vm_share_fn *fn, void *data, struct error *err);
	/* Takes the directories back from a guest that has not mounted all of them. fn is called
	 * once, from the loop; it is never called if vm is freed before. If the guest does not let
	 * go of the directories within LIMIT_SHARE_MS, it keeps devices that no process serves, and
	 * why says so. */
	int (*share_detach)(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
	/* Adds (allow) or removes a rule of a running machine with config.network.egress. The rule
	 * may also be a prefix. Connections that a removed rule had allowed end. NULL: the backend
	 * filters no network. */
	int (*egress)(struct vm *vm, bool allow, const char *rule, struct error *err);
	/* Saves a machine that is not VM_COLD. Writes the state of its devices to state_fd, and
	 * also its memory unless the machine has a ram_fd of its own. The machine runs meanwhile,
	 * and stands still at the end. fn is called once, from the loop; it is never called if vm
	 * is freed before. What memory and disks hold at that moment belongs to the state. resume()
	 * lets the machine go on, also after a failure. */
	int (*save)(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
	/* Adds to facts what a saved machine depends on, beside the files that it was booted from.
	 * The machine is not restored if one of these facts differs. "vmm" is the path of a
	 * program; the digest of the program is compared. "tscKhz" is measured, so it is never
	 * exactly the same twice. NULL: no machine can be saved. */
	int (*save_facts)(const struct config *config, enum accelerator accelerator, json_t *facts,
			  struct error *err);
	/* Begins a quarantine: ends every companion by which the guest reaches the host or is
	 * reached, and looks at what the VMM still holds. The VM goes on. `severed` follows on the
	 * loop within LIMIT_SEVER_MS, unless the VM ends before. */
	int (*sever)(struct vm *vm, struct error *err);
	/* Returns the user id of the processes of a VM that this process has booted; 0: our own
	 * user id. */
	uid_t (*user)(void);
	/* Duties of a broker that is forked after the boot. They do the parts of the functions
	 * above that need rights which a process that reads a guest's bytes has given up. The data
	 * of each is the broker's copy of the vm. share: for share_attach. sever: for sever.
	 * socket: for the VMM's own sockets. proc: for a machine that is saved or restored.
	 * broker_fds() writes the descriptors of vm that the duties need, the VMM's pidfd first,
	 * and returns how many there are. */
	const struct broker_duty *share_duty, *sever_duty, *socket_duty, *proc_duty;
	size_t (*broker_fds)(const struct vm *vm, int fds[VM_BROKER_FDS]);
	/* Called in the broker before the workspace is removed. Kills what is still alive of the
	 * machine, and waits at most LIMIT_KILL_MS. ERR_CONFLICT: the machine was quarantined, and
	 * is kept. ERR_TIMEOUT: something has not ended in time. */
	int (*end_all)(struct vm *vm, struct error *err);
	const struct backend_macos *macos; /* NULL: only Linux guests */
	void (*free)(struct vm *vm);	   /* kills and reaps what is left; accepts NULL */
};

extern const struct backend backend_qemu, backend_firecracker, backend_applevf;

/* Returns whether a machine of this architecture has a power button. An architecture that is not in
 * the table is not known to lack one. */
static inline bool backend_has_power_button(const struct backend *backend,
					    enum architecture machine)
{
	return backend->power_button &&
	       (machine >= ARCHITECTURE_COUNT || !backend->lacks_power_button[machine]);
}

#endif
