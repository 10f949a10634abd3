/* SPDX-License-Identifier: MIT */
/*
 * A backend is one const struct of functions. Each supervisor program has one backend. A function
 * that is NULL means that the backend does not support the request for which the function would be
 * called. A backend knows how a VM is made, driven and ended. A backend knows nothing about states,
 * the workspace's files and the guest's protocols.
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

struct vm; /* a virtual machine; each backend defines the members for itself */

/* The name of the directory in the workspace in which a VMM makes its own sockets. The directory
 * exists only while the VMM runs. */
#define VM_RUN_DIR "vmm"

struct vm_events {
	/* Called when the serial console has sent bytes. */
	void (*serial)(void *data, const uint8_t *bytes, size_t len);
	/* Called when a write finds no room on the host for a disk. `serial` is "rootfs", or the
	 * serial of an entry of vm_boot.disks. The VM is paused, and goes on after resume(). */
	void (*disk_full)(void *data, const char *serial, const char *reason);
	/* Called once, from the loop, as the last event. At this point the VM and all its
	 * companions have ended and were reaped. This function may free the VM; no other function
	 * of this struct may do so. */
	void (*ended)(void *data, enum vm_end end, const char *detail);
	/* Called when a companion, such as vsockd, has ended although this process did not end it.
	 * `said` is the last line that the companion wrote to stderr, or "". `code` is the
	 * companion's exit code, which is EX_TEMPFAIL if the companion needs something that the
	 * host lacks. If `fatal` is true, this function must kill the VM. */
	void (*companion_lost)(void *data, const char *name, int code, const char *said,
			       bool fatal);
	/* Called when the guest has opened a connection, or has tried to open one. `line` describes
	 * the connection as the host saw it. The length of a line and the number of lines are
	 * bounded. */
	void (*connection)(void *data, const char *line);
	/* Called when it is certain that the guest's kernel runs, by a sign other than console
	 * output. With some VMMs this function is never called. */
	void (*kernel_began)(void *data);
	/* Called with `any` true when the host opens its first stream to the guest, and with `any`
	 * false when the host has closed its last one. If streams open and close quickly, some
	 * calls may be left out, but never the call for the last state. */
	void (*streams)(void *data, bool any);
	/* Called when sever() has done its work. `names` is an array of the names of the channels
	 * that were cut, and is valid during the call. If `why` is NULL, it is proven that the VM
	 * is cut off. Otherwise `why` is the reason why this is not proven, and the VM must not go
	 * on. */
	void (*severed)(void *data, const json_t *names, const struct error *why);
	/* Called in the broker process, when the broker has found that the VM is cut off. This
	 * function checks that the process does not itself hold a channel to the guest, which
	 * completes the proof. Returns 0 if there is no such channel, 1 if there is one (with the
	 * reason in `err`), or -1 with an error if the check has failed. */
	int (*cut_off)(void *data, struct error *err);
	/* Called when the VM can take bytes for its serial console again. */
	void (*console_room)(void *data);
	void *data;
};

/* The size of a buffer for a virtio serial: 20 bytes and a NUL. */
#define VM_SERIAL_SIZE 21

/* A raw disk in addition to the root disk. The guest finds the disk by its serial. The guest also
 * sees the disks as /dev/vdb and so on, in the order of the array. */
struct vm_disk {
	const char *serial; /* the serial, of letters, digits and '-' */
	/* The descriptor, opened with O_RDONLY if read_only is set, else with O_RDWR. */
	int fd;
	bool read_only;
};

/* What the root disk is used for. */
enum vm_use {
	VM_RUN, /* the machine boots from the root disk */
	/* The host reads the root disk: no program on it runs, and writes to it are thrown away. */
	VM_READ,
	VM_WRITE, /* the host puts files on the root disk: no program on it runs */
};

/* Where the state of a new machine comes from. */
enum vm_origin {
	VM_COLD,     /* the kernel is booted, and the machine cannot be saved */
	VM_TEMPLATE, /* the kernel is booted, and the machine can be saved; its memory is ram_fd */
	/* The state is loaded from state_fd. The state was saved from a VM_TEMPLATE or VM_RESTORED
	 * machine with the same config, disk and VMM. */
	VM_RESTORED,
};

/* The files of a macOS guest other than its disk. */
struct vm_macos {
	/* Descriptors that are opened read-only. The caller has checked the hashes of the files. */
	int hardware_model_fd, machine_identifier_fd;
	int auxiliary_fd; /* the auxiliary storage, opened for reading and writing */
};

/* A network card of the guest. The caller has made the tap on the host's side of the card. */
struct vm_link {
	const char *mac;
	int tap_fd;
};
#define VM_LINKS_MAX 8

/* Everything that a boot needs. The caller opens all files, so the backend gets descriptors and no
 * names. The caller keeps the descriptors and closes them. */
struct vm_boot {
	const struct config *config;
	const char *label;	      /* "<stateDir>/<runtimeID>", a text that ps shows */
	enum accelerator accelerator; /* the accelerator that was chosen, never AUTO */
	/* The descriptors of kernel and initrd, whose contents the caller has hashed; -1 for a
	 * macOS guest. */
	int kernel_fd, initrd_fd;
	const struct vm_macos *macos; /* the files of a macOS guest; NULL: the guest is a Linux */
	enum vm_use use;
	enum vm_origin origin;
	/* The guest's memory, a memfd. If it is -1, the VMM makes the memory itself, and the saved
	 * state of a restored machine contains the memory. If the memfd is sealed, other machines
	 * of the same template share it, and no machine can write to it. A machine with sealed
	 * memory gets no share. */
	int ram_fd;
	bool ram_sealed;
	int state_fd; /* the saved state of a restored machine; -1 for any other machine */
	/* The MAC address of the card in the saved state of a restored machine. "" means the
	 * address that follows from the label. NULL means that the state has no card. */
	const char *card_saved;
	/* The root disk, opened for reading and writing, or read-only for VM_READ; -1: the root
	 * file system is in initrd_fd. */
	int rootfs_fd;
	/* The raw disk below rootfs_fd, read-only, if rootfs_fd is a layer; -1: rootfs_fd is
	 * raw. */
	int base_fd;
	/* The most bytes that the layer (rootfs_fd) may use of its file; 0: no limit. A write
	 * beyond this limit finds no room, and disk_full() is called. The file must be at least as
	 * long as this limit. The file may have a hole at its end. */
	uint64_t layer_room;
	const struct vm_disk *disks;
	size_t disk_count;
	/* The saved state of a restored machine has these disks. If it is false, the disks are
	 * plugged in when the machine runs. */
	bool disks_saved;
	/* The directories for config->shares, in the order of config->shares. */
	const int *share_fds;
	int workspace_fd; /* a descriptor of the directory of the workspace */
	/* A descriptor of the lease, which every process of the machine inherits. */
	int lease_fd;
	/* The argument for cell_number(). 0: the ids of cells are made from the pid of this
	 * process, which no other process of the host has. */
	pid_t cell_number;
	/* The listening socket vsock.sock; -1 if the backend has binds_vsock. */
	int vsock_listen_fd;
	/* The only ports P of the host that the guest may dial. For each of them the host has a
	 * socket vsock.sock_<P>. */
	const uint32_t *host_ports;
	size_t host_port_count;
	uint32_t boot_port; /* the port of the host that the guest dials once, when it has booted */
	struct log *log;    /* the log supervisor.log */
	/* Further network cards, whose taps the caller has made. If there are any, the config's
	 * network must be "isolated", which gives the guest no other card. */
	const struct vm_link *links;
	size_t link_count;
};

/* A directory that a guest gets as a share. */
struct vm_share {
	const char *tag; /* the name by which the guest mounts the directory */
	/* The terms of the share. Used only at the boot. For a running guest the terms come from
	 * the pass, a file that the command which asks for the share writes
	 * (store/share/pass.h). */
	struct share_terms terms;
	/* The directory, for a share of the boot. The directory may have been opened with O_PATH.
	 * For a running guest the pass names the directory, and this member is not used. */
	int dir_fd;
	bool read_only;
	/* The directory has root file systems and volumes of containers. Every user and group id in
	 * it is the same as on the host. A program in it may be set-user-ID. The guest also sees
	 * what is mounted below the directory later. */
	bool containers;
	/* The next three members have the same meaning as in struct vm_boot. */
	const char *label;
	int workspace_fd, lease_fd;
};

/* Called when the share is attached. If `why` is NULL, the guest can mount the share. Otherwise
 * `why` is the reason why the guest cannot mount the share. */
typedef void vm_share_fn(void *data, const struct error *why);

/* Called when a save has ended. `stopped_ns` is the monotonic time at which the machine was
 * stopped, in ns. If `why` is NULL, the machine was saved. Otherwise `why` is the reason why the
 * machine was not saved. */
typedef void vm_saved_fn(void *data, uint64_t stopped_ns, const struct error *why);

#define VM_BROKER_FDS 4

struct backend_host {
	const char *architecture;
	/* For each architecture, true if its machines can run on this host. */
	bool runs[ARCHITECTURE_COUNT];
	/* For each architecture whose machines cannot run, the reason. */
	char not_run[ARCHITECTURE_COUNT][256];
	/* The path and the version of the VMM; NULL: the VMM is not installed. */
	char *binary_path, *binary_version;
	enum accelerator accelerator; /* the accelerator that `auto` chooses */
	char accelerator_reason[256];
	/* The best confinement that this host has: "cell" or "seccomp". A machine gets "seccomp"
	 * only if its config asks for "seccomp". A backend for a system other than Linux sets
	 * "platform". */
	const char *confinement;
	char confinement_reason[256];
	bool kvm_available; /* KVM works with the default kernel in the cache */
	/* The kernels with which KVM works: "all", "pvm" or "none". NULL: the backend has no
	 * KVM. */
	const char *kvm_kernels;
	/* The platform can run machines; for backends that do not use KVM. */
	bool virtualization_supported;
	bool vsock_available;
	bool nat_available, bridged_available;
	/* The reasons why nat and bridged networks are not available. "" means that the network is
	 * available. If nat is available, nat_reason may name a feature of nat that this host
	 * lacks. */
	char nat_reason[256], bridged_reason[256];
	/* The row of docs/tested.md for this host, for example "Debian 12". NULL: the table has no
	 * row for this host. */
	const char *tested_on;
	/* A sentence that names a property of this host with which machines were never tested.
	 * NULL: there is no such property. */
	const char *untested;
};

/* Called when balloon() has ended. If `why` is NULL, `actual_mib` is the size of the guest's memory
 * in MiB at this moment. `actual_mib` is VM_BALLOON_UNTOLD if the VMM does not say whether the
 * guest has reached the wanted size. If `why` is set, `why` is the reason why the size could not be
 * changed. */
#define VM_BALLOON_UNTOLD (-1)
typedef void vm_balloon_fn(void *data, int64_t actual_mib, const struct error *why);

/* Called when a request has ended. If `why` is NULL, the request has succeeded. Otherwise `why` is
 * the reason why it has failed. */
typedef void vm_done_fn(void *data, const struct error *why);

/* A job that makes the files of a macOS guest. */
struct macos_install {
	const char *restore_image; /* the path of the restore image, an IPSW file */
	/* The path of the directory in which the files of contract/macos.h are made. */
	const char *directory;
	uint64_t disk_bytes;
	/* The memory in MiB and the number of CPUs; 0: as much as the restore image asks for. */
	int64_t memory_mib, cpus;
};

/* Facts about a restore image, which the image itself contains. */
struct macos_image {
	char version[32], build[32];
	/* The least memory in MiB, and the least number of CPUs, that a guest needs. */
	int64_t memory_mib, cpus;
};

/* Called while a macOS guest is made. In the first call, before anything is made, `image` is set.
 * In later calls `image` is NULL. `percent` is how much of the installation is done. */
typedef void macos_told_fn(void *data, const struct macos_image *image, int percent);

/* Functions that only a backend with macOS guests has. These functions have no deadline. */
struct backend_macos {
	/* Makes the files of a macOS guest. Fails with ERR_INVALID if the restore image is damaged.
	 * Fails with ERR_UNSUPPORTED if this host cannot run a guest that is made from the restore
	 * image. After a failure the caller removes the files that were made. */
	int (*install)(const struct macos_install *job, macos_told_fn *told, void *data,
		       struct error *err);
	/* Makes a new machine identifier, as a file in the directory `directory`. */
	int (*identify)(const char *directory, struct error *err);
	/* Writes to `url` the address of the newest restore image that this host can run. The
	 * address comes from Apple's catalog. Fails with ERR_UNAVAILABLE if the catalog cannot be
	 * read. */
	int (*latest)(char url[MACOS_URL_SIZE], struct error *err);
};

struct backend {
	/* The backend's name, as in the field identity.backend; for example "qemu". */
	const char *name;
	/* The VMM cannot read a bzImage, and needs the kernel that was unpacked from it. */
	bool takes_no_bzimage;
	bool binds_vsock; /* the VMM makes vsock.sock by itself, some time after boot() */
	/* The VM is part of the process that boots it, and ends with that process. The VM can reach
	 * everything that the process has. There is no guard, no broker and no cell. */
	bool in_process;
	/* On a nat network the guest must ask for its address by DHCP, and only the guest knows the
	 * address. */
	bool nat_by_dhcp;
	/* A disk for which the host has no room pauses the machine, and disk_full() is called. If
	 * false, the guest gets an I/O error. */
	bool pauses_on_full_disk;
	/* The machines of this backend start with a firmware, which takes some time and prints
	 * nothing. */
	bool has_firmware;
	/* The VMM does not report whether a guest has switched itself off or was reset. So the
	 * guest itself tells the host before it switches itself off. */
	bool powers_off_by_reset;
	/* For each architecture, true if its machines have no power button. */
	bool lacks_power_button[ARCHITECTURE_COUNT];
	/* The things that the backend refuses if a config asks for them. A row whose `field` is
	 * NULL ends the array. Everything that has no row is supported, and --print-capabilities
	 * prints it. */
	const struct backend_refusal *refusals;
	int (*host)(struct backend_host *out, struct error *err);
	void (*host_free)(struct backend_host *host);
	/* Checks that this host can fulfil everything that the config asks for, and that one
	 * machine has room for all its disks, shares and ports. An error names the field of the
	 * config. The function changes nothing on the host. */
	int (*check)(const struct config *config, struct error *err);
	/* Returns an array of the paths of the programs that the backend runs on this host. Returns
	 * NULL if there is no memory. */
	json_t *(*programs)(void);
	/* Finds the accelerator for the config and its architecture. Fails with ERR_UNAVAILABLE if
	 * the config asks for KVM and KVM does not work. The message says why. */
	int (*accelerator)(const struct config *config, enum accelerator *out, char reason[256],
			   struct error *err);
	/* Puts agent.sock into the workspace. Called when the guest has reported that its agent
	 * serves the link, a connection that carries all streams to the agent
	 * (firecracker/sockets.c). The function is NULL if the backend has no link. */
	int (*linked)(struct vm *vm, struct error *err);
	/* Starts the VMM and its companions. Returns when these processes run. Events are called
	 * only later, from the loop. */
	struct vm *(*boot)(struct loop *loop, const struct vm_boot *boot,
			   const struct vm_events *events, struct error *err);
	/* Returns the facts for runtime.json as a new reference: {pid, startTime,
	 * companions:[{name,pid}], ...}. */
	json_t *(*describe)(const struct vm *vm);
	/* Presses the power button of the machine. Fails if the guest will not notice the power
	 * button. */
	int (*power_button)(struct vm *vm, struct error *err);
	/* Kills the VM at once. The event `ended` is called later, from the loop. Accepts NULL. May
	 * be called again for the same VM. */
	void (*kill)(struct vm *vm);
	/* Lets the VM go on after disk_full() or pause(). */
	int (*resume)(struct vm *vm, struct error *err);
	/* Pauses the VM between two instructions of the guest. Writes that the guest has begun
	 * before the pause may still be under way. `fn` is called once, from the loop, unless the
	 * VM is freed before. If `fn` gets ERR_TIMEOUT, the VM may still be paused later. */
	int (*pause)(struct vm *vm, vm_done_fn *fn, void *data, struct error *err);
	/* Raises the limit layer_room to `bytes`, at most to the length that the layer's file had
	 * at the boot. `fn` is called once, from the loop, unless the VM is freed before. */
	int (*layer_room)(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data,
			  struct error *err);
	/* Gives bytes to the serial console. Returns how many bytes the VM has taken. If the VM has
	 * not taken all bytes, console_room() is called later. */
	size_t (*console)(struct vm *vm, const uint8_t *bytes, size_t len);
	/* Asks the guest to use only `mib` MiB of its memory, and gives it LIMIT_BALLOON_MS to
	 * release the rest. After that `fn` is called once, from the loop, unless the VM ends
	 * before. Fails with ERR_INVALID if the guest was booted with less than `mib`. Fails with
	 * ERR_CONFLICT if an earlier balloon() has not ended yet. */
	int (*balloon)(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data,
		       struct error *err);
	/* Gives a running guest up to PLUGS_MAX directories: all of them, or none. The pass has the
	 * same directories in the same order (store/share/pass.h). `shares` is used only during the
	 * call. `fn` is called once, from the loop, unless the VM is freed before. ERR_CONFLICT:
	 * the guest was booted without config.hotplug, or has got directories already.
	 * ERR_UNSUPPORTED: the backend cannot give `count` directories. ERR_UNAVAILABLE: the host
	 * lacks something that shares need, which the message names. */
	int (*share_attach)(struct vm *vm, const struct vm_share *shares, size_t count,
			    vm_share_fn *fn, void *data, struct error *err);
	/* Takes the directories back from a guest that has not mounted all of them. `fn` is called
	 * once, from the loop, unless the VM is freed before. If the guest does not release the
	 * devices within LIMIT_SHARE_MS, the guest keeps the devices, but no process serves them
	 * any more. `fn` then gets an error that says this. */
	int (*share_detach)(struct vm *vm, vm_share_fn *fn, void *data, struct error *err);
	/* Changes the egress of a running machine whose config has network.egress. If `allow` is
	 * true, adds the rule `rule`, else removes it. A rule is a name or a prefix of addresses.
	 * When a rule is removed, the connections that it has allowed end. The function is NULL if
	 * the backend filters no network. */
	int (*egress)(struct vm *vm, bool allow, const char *rule, struct error *err);
	/* Saves a machine that is not VM_COLD. Writes the state of its devices to `state_fd`, and
	 * also its memory unless the memory is in ram_fd. The machine runs during the save, and is
	 * stopped at its end. Then `fn` is called once, from the loop, unless the VM is freed
	 * before. The state belongs to the memory and the disks as they are when `fn` is called.
	 * resume() lets the machine go on, even if the save has failed. */
	int (*save)(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err);
	/* Adds to `facts` the properties of the host on which a saved machine depends. The files
	 * from which the machine was booted are not among these properties. If one of the facts has
	 * another value later, the machine is not restored. "vmm" is the path of a program, whose
	 * digest is compared. "tscKhz" is measured, so two values count as equal if they are close.
	 * The function is NULL if no machine of the backend can be saved. */
	int (*save_facts)(const struct config *config, enum accelerator accelerator, json_t *facts,
			  struct error *err);
	/* Begins a quarantine. Ends every companion through which the guest reaches the host or the
	 * host reaches the guest. Then looks for channels that the VMM still holds. The VM goes on.
	 * The event `severed` is called from the loop within LIMIT_SEVER_MS, unless the VM ends
	 * before. */
	int (*sever)(struct vm *vm, struct error *err);
	/* Returns the user id under which the processes of a VM run that this process has booted. 0
	 * means the user id of this process. */
	uid_t (*user)(void);
	/* Duties of a broker, which is forked after the boot. A duty does the part of a function of
	 * this struct that needs rights which the live supervisor has given up. The data of each
	 * duty is the broker's copy of the struct vm. share_duty is for share_attach(), sever_duty
	 * is for sever(), socket_duty is for the VMM's own sockets, and proc_duty is for a machine
	 * that is saved or restored.
	 *
	 * broker_fds() writes the descriptors of the VM that the duties need to `fds`, the VMM's
	 * pidfd first. broker_fds() returns the number of these descriptors. */
	const struct broker_duty *share_duty, *sever_duty, *socket_duty, *proc_duty;
	size_t (*broker_fds)(const struct vm *vm, int fds[VM_BROKER_FDS]);
	/* Kills the processes of the machine that are still alive, and waits for them, at most
	 * LIMIT_KILL_MS. Called in the broker before the workspace is removed. Fails with
	 * ERR_CONFLICT if the machine was quarantined, since it must be kept. Fails with
	 * ERR_TIMEOUT if a process has not ended in time. */
	int (*end_all)(struct vm *vm, struct error *err);
	/* The functions for macOS guests; NULL: the backend has only Linux guests. */
	const struct backend_macos *macos;
	/* Kills and reaps the processes of the VM that still exist, and frees the VM. Accepts
	 * NULL. */
	void (*free)(struct vm *vm);
};

extern const struct backend backend_qemu, backend_firecracker, backend_applevf;

/* Returns true if a machine of this architecture has a power button. lacks_power_button names the
 * architectures that lack it. */
static inline bool backend_has_power_button(const struct backend *backend,
					    enum architecture machine)
{
	return backend->power_button &&
	       (machine >= ARCHITECTURE_COUNT || !backend->lacks_power_button[machine]);
}

#endif
