/* SPDX-License-Identifier: MIT */
/*
 * The reasons for the words of QEMU's command line.
 *
 * Memory. The guest's memory is a shared memfd, because vsockd maps the rings and buffers in it. A
 * machine that becomes a template has a memfd of this process, which QEMU opens by its name in
 * /proc. The sessions that are restored from the template use this memfd, which is then sealed.
 * Each session keeps its own copies of the pages that it writes to. A machine with this memfd must
 * have no balloon. Otherwise memory that one guest gives back would become a hole in the memory of
 * all these sessions.
 *
 * Firmware. A machine that can be saved has SeaBIOS. The firmware must tell QEMU the address at
 * which it has put the number of the generation. QEMU's table loader has the command WRITE_POINTER
 * for this (hw/acpi/bios-linker-loader.c). qboot hangs for ever at this command.
 *
 * Streams. The guest's streams go over a vhost-user device. A machine with such a device cannot be
 * saved. So a machine that can be saved has a virtio-serial port instead, which carries the same
 * packets.
 *
 * Disks. QEMU gets the disks by descriptor (-add-fd) and with explicit nodes, so QEMU opens no path
 * and probes no format. A full disk of the host stops the VM (werror=enospc), and the guest gets no
 * I/O errors. On both machine types, kernels name the disks in the order in which the command line
 * has their devices. The root disk is /dev/vda.
 *
 * Rates. All disks of a machine that are written to belong to one throttle group of QEMU. Each of
 * these disks has a node of this group as its topmost node. A request that must wait delays nothing
 * but itself.
 *
 * Generation. Each QEMU process has a different generation number. By this number the kernel of a
 * restored guest notices that it is one of several copies, and takes new random numbers at once
 * (ACPI, "VM Generation ID").
 *
 * Balloon. Memory that the guest frees goes back to the host without a request (free page
 * reporting), or because the host asks for memory. A guest that would otherwise have to kill a
 * process takes memory back from the balloon.
 *
 * Consoles. The kernel's console is the serial port, which works from the first instruction. A
 * guest that prefers the hypervisor's console has hvc0. The output of both consoles goes to the
 * same log. Input goes to the console that has written last.
 *
 * Sandbox. QEMU installs its own seccomp filter, which also forbids calls that QEMU needs only
 * while it starts. The filter of vmm_calls.h is in force from QEMU's first instruction. In a cell
 * the two filters are the last layer of protection. Without a cell they are the only layer.
 */
#include "backend/qemu/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/qemu/machine_row.h"
#include "base/buf.h"
#include "base/cleanup.h"

/* The words that every machine has, after argv[0] and the name. */
static const char *const common_words[] = {
	"-nodefaults",
	"-no-user-config",
	"-no-reboot",
	"-display",
	"none",
	"-sandbox",
	"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	NULL,
};

/* Returns a copy of `text` in which each comma is doubled. QEMU's option syntax requires this in a
 * value. The caller frees the copy. Returns NULL if there is no memory. */
static char *escape_commas(const char *text)
{
	char *out = malloc(2 * strlen(text) + 1), *p = out;

	if (!out)
		return NULL;
	for (; *text; text++) {
		if (*text == ',')
			*p++ = ',';
		*p++ = *text;
	}
	*p = '\0';
	return out;
}

static void add_identity(struct argv *argv, const struct machine *m)
{
	autofree char *label = escape_commas(m->label);

	argv_add(argv, m->binary);
	/* Without "guest=", a label that contains '=' would be read as a key and its value. */
	argv_add(argv, "-name");
	if (label)
		argv_addf(argv, "guest=%s", label);
	else
		argv->failed = true;
	argv_add_list(argv, common_words);
	for (size_t i = 0; i < ARRAY_SIZE(m->data) && m->data[i]; i++) {
		argv_add(argv, "-L");
		argv_add(argv, m->data[i]);
	}
}

static void add_machine(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	/* Without qboot QEMU chooses its default firmware. */
	bool qboot = m->qboot && row->qboot && !m->saved;

	argv_add(argv, "-machine");
	argv_addf(argv, "%s%s,memory-backend=ram", row->machine,
		  qboot || !row->other ? "" : row->other);
	argv_add(argv, "-accel");
	argv_add(argv, row->accel);
	argv_add(argv, "-cpu");
	argv_add(argv, m->cpu ? m->cpu : row->cpu);
	argv_add(argv, "-smp");
	argv_addf(argv, "%lld", (long long)m->config->cpus);
	argv_add(argv, "-m");
	argv_addf(argv, "%lldM", (long long)m->config->memory_mib);
	argv_add(argv, "-object");
	if (m->ram == RAM_OWN)
		argv_addf(argv, "memory-backend-memfd,id=ram,size=%lldM,share=on",
			  (long long)m->config->memory_mib);
	else
		argv_addf(argv,
			  "memory-backend-file,id=ram,size=%lldM,mem-path=/proc/self/fd/%d,"
			  "share=%s",
			  (long long)m->config->memory_mib, QEMU_FD_RAM,
			  m->ram == RAM_FILE ? "on" : "off");
	if (qboot) {
		argv_add(argv, "-bios");
		argv_add(argv, MACHINE_QBOOT);
	}
	if (row->extra)
		argv_add_list(argv, row->extra);
	if (m->saved) {
		argv_add(argv, "-device");
		argv_add(argv, "pcie-root-port,id=" MACHINE_CARD_PORT ",chassis=2,slot=2");
		argv_add(argv, "-device");
		argv_add(argv, "pcie-root-port,id=" MACHINE_DISK_PORT ",chassis=3,slot=3");
	}
}

static void add_channels(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	argv_add(argv, "-chardev");
	argv_addf(argv, "socket,id=qmp,fd=%d", QEMU_FD_QMP);
	argv_add(argv, "-mon");
	argv_add(argv, "chardev=qmp,mode=control");
	argv_add(argv, "-chardev");
	argv_addf(argv, "socket,id=serial,fd=%d", QEMU_FD_SERIAL);
	argv_add(argv, "-serial");
	argv_add(argv, "chardev:serial");
	argv_add(argv, "-chardev");
	argv_addf(argv, "socket,id=vsock,fd=%d", QEMU_FD_VSOCK);
	argv_add(argv, "-device");
	if (!m->port) {
		argv_addf(argv, "vhost-user-vsock-%s,id=vsock0,chardev=vsock", row->bus);
		return;
	}
	argv_addf(argv, "virtio-serial-%s,id=port0,max_ports=2", row->bus);
	argv_add(argv, "-device");
	argv_add(argv, "virtserialport,bus=port0.0,chardev=vsock,name=microagent");
}

static void add_device(struct argv *argv, const struct machine_row *row, const char *serial,
		       const char *place)
{
	argv_add(argv, "-device");
	argv_addf(argv,
		  "virtio-blk-%s,id=%s-dev,drive=%s,serial=%s,"
		  "werror=enospc,rerror=report%s",
		  row->bus, serial, serial, serial, place);
}

/* A file that QEMU gets by descriptor, and the disk that QEMU makes from the file. */
struct block_node {
	const char *name;
	int fd;
	bool read_only;
	bool slowed; /* the rates of the machine limit this disk */
	/* The name of the node below this node, if the file is a layer; NULL: the file is raw. */
	const char *below;
	uint64_t room; /* the most bytes that a layer may use of its file; 0: no limit */
};

static bool has_rates(const struct machine *m)
{
	return m->config->limits.disk_bytes || m->config->limits.disk_ops;
}

/* Adds the nodes of one disk. *set is the number of the next free fdset, and is increased. */
static void add_block_node(struct argv *argv, const struct block_node *node, size_t *set)
{
	const char *access = node->read_only ? ",read-only=on" : ",discard=unmap";
	const char *full = node->slowed ? "-full" : "";
	/* Other machines may have the same file, for example the base of their layers. If each QEMU
	 * heeded locks, a QEMU that was taken over could lock the file, and the starts and forks of
	 * the other machines would fail. So a QEMU that only reads a file sets no lock, and heeds
	 * no lock. microagent's own lock still keeps microagent from writing to the file
	 * meanwhile. */
	const char *locking = node->read_only ? ",locking=off" : "";

	argv_add(argv, "-add-fd");
	argv_addf(argv, "fd=%d,set=%zu,opaque=%s", node->fd, *set, node->name);
	argv_add(argv, "-blockdev");
	argv_addf(argv, "driver=file,node-name=%s-file,filename=/dev/fdset/%zu%s%s", node->name,
		  (*set)++, access, locking);
	/*
	 * This node limits how much of its file a layer may use. A write beyond the limit fails as
	 * on a full disk, and no part of the data is written. So QEMU itself pauses the VM
	 * (werror), and repeats the write when the VM goes on. room.c changes the limit.
	 */
	if (node->room) {
		argv_add(argv, "-blockdev");
		argv_addf(argv, "driver=raw,node-name=%s-room,file=%s-file,size=%llu,discard=unmap",
			  node->name, node->name, (unsigned long long)node->room);
	}
	argv_add(argv, "-blockdev");
	if (node->below)
		argv_addf(argv, "driver=qcow2,node-name=%s%s,file=%s-%s,backing=%s%s", node->name,
			  full, node->name, node->room ? "room" : "file", node->below, access);
	else
		argv_addf(argv, "driver=raw,node-name=%s%s,file=%s-file%s", node->name, full,
			  node->name, access);
	/* The topmost node has the disk's name. The device and QEMU's events use this name. */
	if (node->slowed) {
		argv_add(argv, "-blockdev");
		argv_addf(argv,
			  "driver=throttle,node-name=%s,file=%s-full,throttle-group=" MACHINE_RATES
			  ",discard=unmap",
			  node->name, node->name);
	}
}

/* Adds the nodes of the root disk, from the bottom to the top: the base of a layer, the root disk
 * itself, and the overlay that takes a reader's writes. Only the topmost node is opened for
 * writing. */
static void add_rootfs(struct argv *argv, const struct machine *m, const struct machine_row *row,
		       size_t *set)
{
	const struct block_node base = {.name = "base", .fd = QEMU_FD_BASE, .read_only = true};
	const struct block_node disk = {.name = m->overlay ? "below" : "rootfs",
					.fd = QEMU_FD_ROOTFS,
					.read_only = m->overlay,
					.slowed = has_rates(m) && !m->overlay,
					.below = m->layer ? base.name : NULL,
					.room = m->layer && !m->overlay ? m->layer_room : 0};
	const struct block_node overlay = {.name = "rootfs",
					   .fd = QEMU_FD_OVERLAY,
					   .slowed = has_rates(m),
					   .below = disk.name};

	if (m->layer)
		add_block_node(argv, &base, set);
	add_block_node(argv, &disk, set);
	if (m->overlay)
		add_block_node(argv, &overlay, set);
	add_device(argv, row, "rootfs", "");
}

static void add_disks(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	size_t set = 1;

	/* The limits are given in JSON, because QEMU's other syntax for them is not stable. */
	if (has_rates(m)) {
		argv_add(argv, "-object");
		argv_addf(argv,
			  "{\"qom-type\":\"throttle-group\",\"id\":\"" MACHINE_RATES
			  "\",\"limits\":{\"bps-total\":%lld,\"iops-total\":%lld}}",
			  (long long)m->config->limits.disk_bytes,
			  (long long)m->config->limits.disk_ops);
	}
	if (!m->ram_root)
		add_rootfs(argv, m, row, &set);
	for (size_t i = 0; i < m->disk_count; i++) {
		const struct block_node disk = {.name = m->disks[i].serial,
						.fd = m->disks[i].fd,
						.read_only = m->disks[i].read_only,
						.slowed = has_rates(m) && !m->disks[i].read_only};

		char place[64] = "";

		/* A machine that was saved with its disks has them where qemu_plug_disks() had put
		 * them. */
		if (m->saved)
			snprintf(place, sizeof(place),
				 ",bus=" MACHINE_DISK_PORT ",addr=0.%zu,multifunction=on", i);
		add_block_node(argv, &disk, &set);
		if (!m->disks_later)
			add_device(argv, row, disk.name, place);
	}
}

static void add_shares(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	for (size_t i = 0; i < m->share_count; i++) {
		autofree char *tag = escape_commas(m->shares[i].tag);

		if (!tag)
			argv->failed = true;
		argv_add(argv, "-chardev");
		argv_addf(argv, "socket,id=share%zu,fd=%d", i, m->shares[i].fd);
		argv_add(argv, "-device");
		argv_addf(argv,
			  "vhost-user-fs-%s,id=share%zu-dev,chardev=share%zu,queue-size=%d,tag=%s",
			  row->bus, i, i, SHARE_QUEUE, tag ? tag : "");
	}
}

/* Adds the card. romfile is empty. Otherwise QEMU would look for the firmware of a network boot for
 * a PCI card, which is not in the cell. */
static void add_card(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	if (m->card == CARD_NONE)
		return;
	argv_add(argv, "-netdev");
	if (m->card == CARD_STREAM)
		argv_addf(argv, "stream,id=" MACHINE_NETDEV ",server=off,addr.type=fd,addr.str=%d",
			  QEMU_FD_NET);
	else
		argv_addf(argv, "tap,id=" MACHINE_NETDEV ",fd=%d", QEMU_FD_NET);
	if (m->card_later)
		return;
	argv_add(argv, "-device");
	argv_addf(argv, "virtio-net-%s,id=card0,netdev=" MACHINE_NETDEV ",mac=%s%s%s", row->bus,
		  m->mac, strcmp(row->bus, "pci") == 0 ? ",romfile=" : "",
		  m->saved ? ",bus=" MACHINE_CARD_PORT : "");
}

static void add_links(struct argv *argv, const struct machine *m, const struct machine_row *row)
{
	for (size_t i = 0; i < m->link_count; i++) {
		argv_add(argv, "-netdev");
		argv_addf(argv, "tap,id=" MACHINE_LINK "%zu,fd=%d", i, m->links[i].fd);
		argv_add(argv, "-device");
		argv_addf(argv, "virtio-net-%s,id=link-card%zu,netdev=" MACHINE_LINK "%zu,mac=%s%s",
			  row->bus, i, i, m->links[i].mac,
			  strcmp(row->bus, "pci") == 0 ? ",romfile=" : "");
	}
}

static int add_kernel_words(struct argv *argv, const struct machine *m,
			    const struct machine_row *row, struct error *err)
{
	autobuf struct buf append = BUF_INIT(4096);

	for (const char *const *word = row->append; *word; word++)
		if (buf_printf(&append, err, "%s%s", append.len ? " " : "", *word) < 0)
			return -1;
	if (m->accelerator == ACCELERATOR_TCG && m->tsc_khz &&
	    buf_printf(&append, err, " tsc_early_khz=%u", m->tsc_khz) < 0)
		return -1;
	if (m->ram_root && buf_printf(&append, err, " microagent.root=ram") < 0)
		return -1;
	if (m->port && buf_printf(&append, err, " microagent.port") < 0)
		return -1;
	/* The kernel passes the words after "--" to init. */
	if (m->reader && buf_printf(&append, err, " -- reader") < 0)
		return -1;
	if (!m->reader && m->config->console_shell && buf_printf(&append, err, " -- console") < 0)
		return -1;
	argv_add(argv, "-kernel");
	argv_add(argv, m->kernel);
	argv_add(argv, "-initrd");
	argv_add(argv, m->initrd);
	argv_add(argv, "-append");
	argv_add(argv, buf_string(&append));
	return 0;
}

int command_line_build(const struct machine *m, struct argv *argv, struct error *err)
{
	const struct machine_row *row =
		machine_row_find(m->architecture, m->accelerator, m->purpose);

	if (!row)
		return error_set(
			err, ERR_UNSUPPORTED,
			"QEMU has no machine for this architecture with this accelerator: choose the accelerator tcg, or leave it out");
	add_identity(argv, m);
	add_machine(argv, m, row);
	add_channels(argv, m, row);
	add_disks(argv, m, row);
	add_shares(argv, m, row);
	add_links(argv, m, row);
	argv_add(argv, "-object");
	argv_add(argv, "rng-builtin,id=entropy");
	argv_add(argv, "-device");
	argv_addf(argv, "virtio-rng-%s,id=rng0,rng=entropy", row->bus);
	argv_add(argv, "-device");
	if (m->saved)
		argv_add(argv, "vmgenid,guid=auto");
	else
		argv_addf(argv,
			  "virtio-balloon-%s,id=balloon0,free-page-reporting=on,deflate-on-oom=on",
			  row->bus);
	argv_add(argv, "-chardev");
	argv_addf(argv, "socket,id=console,fd=%d", QEMU_FD_CONSOLE);
	argv_add(argv, "-device");
	argv_addf(argv, "virtio-serial-%s,id=console0,max_ports=1", row->bus);
	argv_add(argv, "-device");
	argv_add(argv, "virtconsole,bus=console0.0,chardev=console");
	add_card(argv, m, row);
	if (m->ram == RAM_FILE && !m->restored)
		argv_add(argv, "-S");
	if (m->restored) {
		argv_add(argv, "-incoming");
		argv_add(argv, "defer");
	} else if (add_kernel_words(argv, m, row, err) < 0) {
		return -1;
	}
	return argv_finish(argv, err) ? 0 : -1;
}
