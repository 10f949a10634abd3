/* SPDX-License-Identifier: MIT */
/*
 * A backend is one const struct of functions. Each supervisor program has one backend. A function
 * may be NULL: the backend then does not support the request that the function is for. A backend
 * knows how a VM is made, driven and ended. It knows nothing about states, the workspace's files
 * and the guest's protocols.
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

struct vm; /* each backend defines its own struct vm */

/* The name of a directory in the workspace, for the sockets that a VMM itself binds. The directory
 * exists only while the VMM runs. */
#define VM_RUN_DIR "vmm"

struct vm_events {
	/* Called when the serial console has sent bytes. */
	void (*serial)(void *data, const uint8_t *bytes, size_t len);
	/* Called when a disk has no room left. `serial` is "rootfs", or the serial of one of
	 * vm_boot.disks. The VM is paused, and goes on after resume(). */
	void (*disk_full)(void *data, const char *serial, const char *reason);
	/* Called once, as the last event, from the loop: the VM and all its companions have ended
	 * and were reaped. Only in this callback the owner may free the VM. */
	void (*ended)(void *data, enum vm_end end, const char *detail);
	/* Called when a companion (vsockd...) died by itself. `said` is its last line of stderr, or
	 * "". `code` is its exit code, which is EX_TEMPFAIL if the companion needs something that
	 * the host lacks. If `fatal` is true, the owner must kill the VM. */
	void (*companion_lost)(void *data, const char *name, int code, const char *said,
			       bool fatal);
	/* Called when the guest has opened a connection, or tried to. `line` describes the
	 * connection as the host saw it. The length and the number of lines are bounded. */
	void (*connection)(void *data, const char *line);
	/* Called when something other than output on the console shows that the guest's kernel
	 * runs. Some VMMs never cause this call. */
	void (*kernel_began)(void *data);
	/* Called when the host opens its first stream to the guest (`any` is true), or when it has
	 * closed the last one (`any` is false). After fast changes only the call for the last state
	 * is certain. */
	void (*streams)(void *data, bool any);
	/* Called when sever() has done its work. `names` is the array of the names of the cut
	 * channels, and is valid during the call. If `why` is NULL, it is proven that the VM is cut
	 * off. Otherwise `why` is the reason why not, and the VM must not go on. */
	void (*severed)(void *data, const json_t *names, const struct error *why);
	/* Called in the broker when the broker has found that the VM is cut off. The owner checks
	 * that the owner itself holds no channel to the guest, which completes the proof. Returns 0
	 * if no channel is left, 1 if a channel is left (`err` names it), or -1 with an error if
	 * the check failed. */
	int (*cut_off)(void *data, struct error *err);
	/* Called when the VM can take bytes for its serial console again. */
	void (*console_room)(void *data);
	void *data;
};

/* Room for a virtio serial: 20 bytes and a NUL. */
#define VM_SERIAL_SIZE 21

/* A raw disk in addition to the root disk, given by its descriptor. The guest finds the disk by its
 * serial. The guest also sees the disks as /dev/vdb and so on, in the order of the array. */
struct vm_disk {
	const char *serial; /* letters, digits, '-' */
	int fd;		    /* opened with O_RDONLY if read_only, else with O_RDWR */
	bool read_only;
};

/* The uses of the root disk. */
enum vm_use {
	VM_RUN,	  /* the machine boots from the disk */
	VM_READ,  /* the disk is read: no program on it runs, and writes to it are thrown away */
	VM_WRITE, /* files are put on the disk: no program on it runs */
};

/* Where the machine's state comes from. */
enum vm_origin {
	VM_COLD,     /* the kernel is booted */
	VM_TEMPLATE, /* the kernel is booted on a machine that can be saved; its memory is ram_fd */
	VM_RESTORED, /* the state is read from state_fd, which was saved from a VM_TEMPLATE machine
		      * with the same config, disk and VMM */
};

/* The files of a macOS guest other than its disk. */
struct vm_macos {
	int hardware_model_fd, machine_identifier_fd; /* read-only, and hashed by the caller */
	int auxiliary_fd;			      /* read-write */
};

/* A network card of the guest. The caller has made the tap on the host's side of the card. */
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
	enum accelerator accelerator; /* the chosen accelerator, never AUTO */
	int kernel_fd, initrd_fd;     /* the same descriptors that were hashed; -1 with macos */
	const struct vm_macos *macos; /* NULL: the guest is a Linux */
	enum vm_use use;
	enum vm_origin origin;
	/* The guest's memory, a memfd. If it is -1, the VMM makes the memory itself, and the state
	 * of a restored machine has the contents of the memory. If the memfd is sealed, other
	 * machines of the same template share it, and no machine can write to it. A machine with
	 * sealed memory gets no share. */
	int ram_fd;
	bool ram_sealed;
	int state_fd; /* the state of a restored machine; else -1 */
	/* The address of the card in the state of a restored machine. "" means the address that
	 * follows from the label. NULL means that the state has no card. */
	const char *card_saved;
	/* The root disk: read-write, or read-only with VM_READ. It is -1 if the root file system is
	 * in initrd_fd. */
	int rootfs_fd;
	int base_fd; /* the raw disk below the layer rootfs_fd, read-only; -1: rootfs_fd is raw */
	/* The most bytes that the layer (rootfs_fd) may use of its file; 0: no bound. A write
	 * beyond this bound finds no room, and disk_full() is called. The file must be at least as
	 * long as this bound; it may have a hole at its end. */
	uint64_t layer_room;
	const struct vm_disk *disks;
	size_t disk_count;
	const int *share_fds; /* the directories of config->shares, in the same order */
	int workspace_fd;     /* the directory of the workspace */
	int lease_fd;	      /* the lease, which every process of the machine inherits */
	/* The argument for cell_number(); 0: not needed, since the pid of this process is
	 * unique. */
	pid_t cell_number;
	int vsock_listen_fd; /* the listening vsock.sock; -1 with binds_vsock */
	/* The only ports P of the host that the guest may dial, each by the socket
	 * vsock.sock_<P>. */
	const uint32_t *host_ports;
	size_t host_port_count;
	uint32_t boot_port; /* the host's port that a guest dials once, when it has booted */
	struct log *log;    /* supervisor.log */
	/* Further network cards, whose taps the caller has made. If there are any, the config's
	 * network must be "isolated", and has no card of its own. */
	const struct vm_link *links;
	size_t link_count;
};

/* A directory that a guest gets as a share. */
struct vm_share {
	const char *tag; /* the name by which the guest mounts the directory */
	/* Used only for a boot; for a running guest the pass has the terms. */
	struct share_terms terms;
	/* For a boot: the directory, which may be opened with O_PATH. For a running guest the
	 * command's pass says which directory it is (store/share/pass.h). */
	int dir_fd;
	bool read_only;
	/* The directory has root file systems and volumes of containers. Every id in it is the same
	 * as on the host. A program in it may be set-user-ID. The guest also sees later mounts
	 * below the directory. */
	bool containers;
	/* The next three members are the same as in struct vm_boot. */
	const char *label;
	int workspace_fd, lease_fd;
};

/* Called when the guest can mount the share (`why` is NULL), or with the reason why it cannot. */
typedef void vm_share_fn(void *data, const struct error *why);

/* Called when the machine is saved. `stopped_ns` is the monotonic time at which the machine was
 * stopped. If `why` is NULL, the machine is saved. Otherwise `why` is the reason why not. */
typedef void vm_saved_fn(void *data, uint64_t stopped_ns, const struct error *why);

#define VM_BROKER_FDS 4

struct backend_host {
	const char *architecture;
	bool runs[ARCHITECTURE_COUNT];	       /* whether machines of this architecture can run */
	char not_run[ARCHITECTURE_COUNT][256]; /* why they cannot */
	char *binary_path, *binary_version;    /* NULL: the VMM is not installed */
	enum accelerator accelerator;	       /* the accelerator that `auto` chooses */
	char accelerator_reason[256];
	/* The best confinement that this host has: "cell", or "seccomp", which a machine gets only
	 * if its config asks for it. A backend of a system other than Linux sets "platform". */
	const char *confinement;
	char confinement_reason[256];
	bool kvm_available; /* KVM is usable with the default kernel of the cache */
	/* The kernels with which KVM is usable: "all", "pvm", "none"; NULL: the backend has no
	 * KVM. */
	const char *kvm_kernels;
	bool virtualization_supported; /* the platform, if it does not use KVM, can run machines */
	bool vsock_available;
	bool nat_available, bridged_available;
	/* The reasons why these networks are not available; "": the network is available. If nat is
	 * available, nat_reason may name a feature that nat lacks on this host. */
	char nat_reason[256], bridged_reason[256];
	/* The row of docs/tested.md for this host, for example "Debian 12"; NULL: the table has no
	 * row for this host. */
	const char *tested_on;
	/* A sentence that names the property of this host with which machines were never tested;
	 * NULL: hosts like this one were tested. */
	const char *untested;
};

/* Called with the present size of the guest's memory in MiB (`why` is NULL), or with the reason why
 * the size could not be changed (`why`). `actual_mib` is VM_BALLOON_UNTOLD if the guest was told
 * its new size, but the VMM does not say whether the guest has reached it. */
#define VM_BALLOON_UNTOLD (-1)
typedef void vm_balloon_fn(void *data, int64_t actual_mib, const struct error *why);

/* Called when the request is done (`why` is NULL), or with the reason why it is not. */
typedef void vm_done_fn(void *data, const struct error *why);

/* The task of making the files of a macOS guest. */
struct macos_install {
	const char *restore_image; /* the path of an IPSW */
	const char *directory;	   /* the directory for the files of contract/macos.h */
	uint64_t disk_bytes;
	int64_t memory_mib, cpus; /* 0: as much as the image asks for */
};

/* The facts that the restore image contains about itself. */
struct macos_image {
	char version[32], build[32];
	int64_t memory_mib, cpus; /* the minimum for a guest */
};

/* Called while a macOS guest is made. `image` is given in the first call, before anything is made,
 * and NULL in later calls. `percent` is the finished part of the installation. */
typedef void macos_told_fn(void *data, const struct macos_image *image, int percent);

/* Functions that only the VMM of a macOS guest has. They have no deadline. */
struct backend_macos {
	/* Makes the files of a macOS guest. ERR_INVALID: the restore image is damaged.
	 * ERR_UNSUPPORTED: this host cannot run a guest made from the restore image. After a
	 * failure the caller removes the files that were made. */
	int (*install)(const struct macos_install *job, macos_told_fn *told, void *data,
		       struct error *err);
	/* Makes a new machine identifier as a file in the directory. */
	int (*identify)(const char *directory, struct error *err);
	/* Writes to `url` the address of the newest restore image that this host can run, from
	 * Apple's catalog. ERR_UNAVAILABLE: the catalog cannot be read. */
	int (*latest)(char url[MACOS_URL_SIZE], struct error *err);
};

struct backend {
	const char *name;      /* the name in identity.backend: "qemu" */
	bool takes_no_bzimage; /* the VMM must get the kernel that was unpacked from a bzImage */
	bool binds_vsock;      /* the VMM itself makes vsock.sock, some time after boot() */
	/* The VM is part of the process that boots it, and ends with that process. The VM can reach
	 * everything that the process has. There is no guard, no broker and no cell. */
	bool in_process;
	/* In mode nat the guest must ask for its address by DHCP, and only the guest knows it. */
	bool nat_by_dhcp;
	/* A disk without room pauses the machine (disk_full). If false, the guest gets an I/O
	 * error. */
	bool pauses_on_full_disk;
	/* The machines begin with a firmware, which takes some time and prints nothing. */
	bool has_firmware;
	/* The VMM does not know whether a guest has switched itself off or was reset. The guest
	 * itself tells the host before it switches itself off. */
	bool powers_off_by_reset;
	/* The architectures whose machines have no power button. */
	bool lacks_power_button[ARCHITECTURE_COUNT];
	/* The requests of a config that the backend refuses. A row whose `field` is NULL ends the
	 * array. Everything without a row is supported, and --print-capabilities prints it. */
	const struct backend_refusal *refusals;
	int (*host)(struct backend_host *out, struct error *err);
	void (*host_free)(struct backend_host *host);
	/* Checks that this host can fulfil all requests of the config, and that a machine has room
	 * for them. The error names the field of the config. Changes nothing on the host. */
	int (*check)(const struct config *config, struct error *err);
	/* Returns an array of the paths of the programs that the backend runs on this host; NULL if
	 * there is no memory. */
	json_t *(*programs)(void);
	/* Finds the accelerator for the config and its architecture. ERR_UNAVAILABLE: the config
	 * asks for KVM and KVM is not usable; the message says why. */
	int (*accelerator)(const struct config *config, enum accelerator *out, char reason[256],
			   struct error *err);
	/* Puts agent.sock into the workspace. Called when the guest has said that its agent serves
	 * the link. The function is NULL if the backend has no link. */
	int (*linked)(struct vm *vm, struct error *err);
	/* Starts the VMM and its companions. Returns when they run; no event is called before. All
	 * events are called from the loop. */
	struct vm *(*boot)(struct loop *loop, const struct vm_boot *boot,
			   const struct vm_events *events, struct error *err);
	/* Returns the facts for runtime.json as a new reference: {pid, startTime,
	 * companions:[{name,pid}], ...}. */
	json_t *(*describe)(const struct vm *vm);
	/* Presses the power button of the machine. An error means that the guest will not notice
	 * the power button. */
	int (*power_button)(struct vm *vm, struct error *err);
	/* Kills the VM at once. The event `ended` is sent later, from the loop. Accepts NULL. May
	 * be called again for the same VM. */
	void (*kill)(struct vm *vm);
	int (*resume)(struct vm *vm, struct error *err); /* after disk_full or pause */
	/* Pauses the VM between two instructions of the guest. Writes that the guest has begun
	 * before may still be under way. `fn` is called once, from the loop; it is never called if
	 * vm is freed before. After ERR_TIMEOUT the VM may still be paused later. */
	int (*pause)(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
	/* Raises layer_room, at most to the length that the file had at the boot. `fn` is called
	 * once, from the loop; it is never called if vm is freed before. */
	int (*layer_room)(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data,
			  struct error *err);
	/* Gives bytes to the serial console. Returns how many bytes the VM took. If it did not take
	 * all, `console_room` is called later. */
	size_t (*console)(struct vm *vm, const uint8_t *bytes, size_t len);
	/* Asks the guest to use only `mib` MiB of its memory, and gives it LIMIT_BALLOON_MS to
	 * release the rest. Then `fn` is called once, from the loop; it is never called if the VM
	 * ends before. ERR_INVALID: the guest was booted with less than `mib`. ERR_CONFLICT: an
	 * earlier call of balloon() is still under way. */
	int (*balloon)(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data,
		       struct error *err);
	/* Gives a running guest up to PLUGS_MAX directories, all or none. The pass has the same
	 * directories in the same order (store/share/pass.h). `shares` is used only during the
	 * call. `fn` is called once, from the loop; it is never called if vm is freed before.
	 * ERR_CONFLICT: the guest was booted without config.hotplug, or has got directories
	 * already. ERR_UNSUPPORTED: the backend cannot give so many directories. ERR_UNAVAILABLE:
	 * the host lacks something that shares need, which the message names. */
	int (*share_attach)(struct vm *vm, const struct vm_share *shares, size_t count,
			    vm_share_fn *fn, void *data, struct error *err);
	/* Takes the directories back from a guest that has not mounted all of them. `fn` is called
	 * once, from the loop; it is never called if vm is freed before. If the guest does not
	 * release the devices within LIMIT_SHARE_MS, it keeps them, but no process serves them, and
	 * `fn` gets an error that says so. */
	int (*share_detach)(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
	/* Adds a rule to the egress of a running machine with config.network.egress if `allow` is
	 * true, else removes the rule. The rule is a name or a prefix of addresses. When a rule is
	 * removed, the connections that it had allowed end. The function is NULL if the backend
	 * filters no network. */
	int (*egress)(struct vm *vm, bool allow, const char *rule, struct error *err);
	/* Saves a machine that is not VM_COLD. Writes the state of its devices to `state_fd`, and
	 * also its memory unless the machine has its own ram_fd. The machine runs meanwhile, and is
	 * stopped at the end. Then `fn` is called once, from the loop; it is never called if vm is
	 * freed before. The state belongs to the memory and the disks as they are at this moment.
	 * resume() lets the machine go on, also after a failure. */
	int (*save)(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
	/* Adds to `facts` the properties of the host on which a saved machine depends, in addition
	 * to the files from which it was booted. If one of these facts is different later, the
	 * machine is not restored. "vmm" is the path of a program, whose digest is compared.
	 * "tscKhz" is measured, so two values count as equal if they are close. The function is
	 * NULL if no machine can be saved. */
	int (*save_facts)(const struct config *config, enum accelerator accelerator, json_t *facts,
			  struct error *err);
	/* Begins a quarantine: ends every companion by which the guest reaches the host or is
	 * reached, and looks for channels that the VMM still holds. The VM goes on. `severed` is
	 * called from the loop within LIMIT_SEVER_MS, unless the VM ends before. */
	int (*sever)(struct vm *vm, struct error *err);
	/* Returns the user id of the processes of a VM that this process has booted; 0: the user id
	 * of this process. */
	uid_t (*user)(void);
	/* Duties of a broker that is forked after the boot. A duty does the part of a function of
	 * this struct that needs rights which the live supervisor has given up. The data of each
	 * duty is the broker's copy of the struct vm. share_duty is for share_attach(), sever_duty
	 * is for sever(), socket_duty is for the VMM's own sockets, and proc_duty is for a machine
	 * that is saved or restored. broker_fds() writes the descriptors of the VM that the duties
	 * need, the VMM's pidfd first, and returns their number. */
	const struct broker_duty *share_duty, *sever_duty, *socket_duty, *proc_duty;
	size_t (*broker_fds)(const struct vm *vm, int fds[VM_BROKER_FDS]);
	/* Kills the processes of the machine that are still alive, and waits at most LIMIT_KILL_MS.
	 * Called in the broker before the workspace is removed. ERR_CONFLICT: the machine was
	 * quarantined, and is kept. ERR_TIMEOUT: a process has not ended in time. */
	int (*end_all)(struct vm *vm, struct error *err);
	const struct backend_macos *macos; /* NULL: only Linux guests */
	/* Kills and reaps the remaining processes of the VM; accepts NULL. */
	void (*free)(struct vm *vm);
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
