/* SPDX-License-Identifier: MIT */
/*
 * Makes the guest's network.
 *
 *   nat       VMM ── stream socket ── microagent-netgate ── stream socket ── passt ── the host
 *             The VMM and netgate are in empty network namespaces. Only passt can reach anything.
 *             passt runs as a user without rights, in its own sandbox. At the start and at each
 *             change, this process sends netgate the host's addresses and the prefixes of its
 *             links. netgate sends this process a line about each connection. A VMM that accepts no
 *             socket has a tap in its own network namespace. netgate has a packet socket at the
 *             host's side of the tap (cell_tap.h).
 *   bridged   The VMM gets a tap as a descriptor, and the tap is on the bridge. A VMM that accepts
 *             no descriptor has a tap in its own network namespace, as for nat. netgate then only
 *             moves frames between this tap and a tap on the bridge.
 *   isolated  The machine has no network.
 *
 * A host without a default route has no uplink for passt. In that case the guest gets a card, but
 * netgate does not connect it to anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend/parts/cell_tap.h"
#include "backend/parts/host_routes.h"
#include "backend/parts/passt_filter.h"
#include "backend/parts/programs.h"
#include "backend/parts/tap.h"
#include "backend/parts/vm.h"
#include "base/argv.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/nat.h"

enum {
	NETGATE_FD_VM = 3,
	NETGATE_FD_PASST,
	NETGATE_FD_SUPERVISOR,
	NETGATE_FD_LEASE,
	NETGATE_FD_BRIDGE
};
enum { PASST_FD_NETGATE = 3, PASST_FD_LEASE };

#define NETGATE_LINE 512 /* the size of the buffer for a line of netgate; each line is shorter */

#define NO_ROUTE \
	"nat: this host has no default route: the machine reaches nothing until the next start"
#define NO_RESOLVER "nat: this host has no IPv4 resolver: there is no DNS until the next start"

static const char *const plain_environment[] = {"PATH=/usr/bin:/bin", "HOME=/", NULL};

/* --- messages to and from netgate ------------------------------------------------------------- */

/* Sends a message to netgate. `kind` is the first byte of the message, which is the type of the
 * message (netgate's gate.h). */
static int tell_netgate(const struct vm *vm, char kind, const void *what, size_t len)
{
	struct iovec parts[] = {{&kind, sizeof(kind)}, {(void *)(uintptr_t)what, len}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};

	return sendmsg(vm->net.netgate_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

static int tell_addresses(const struct vm *vm, const struct host_routes *routes)
{
	size_t len = routes->count * sizeof(*routes->prefixes);

	return len ? tell_netgate(vm, 'h', routes->prefixes, len) : -1;
}

int vm_net_egress(struct vm *vm, bool allow, const char *rule, struct error *err)
{
	if (!vm->net.netgate_watch)
		return error_set(
			err, ERR_CONFLICT,
			"the machine's egress list cannot be changed, because the process that filters its network has ended: stop the machine and start it again");
	if (tell_netgate(vm, allow ? 'a' : 'd', rule, strlen(rule)) < 0)
		return error_errno(err, errno, "the network filter cannot be changed");
	return 0;
}

static void on_routes(struct loop *loop, int fd, uint32_t events, void *data)
{
	static const struct host_prefix all;
	struct vm *vm = data;
	autofree struct host_routes *routes = malloc(sizeof(*routes));
	struct error why;

	(void)loop, (void)events;
	host_routes_drain(fd);
	if (!vm->net.netgate_watch) /* netgate has ended */
		return;
	if (!routes || host_routes_read(vm->net.table_fd, routes, &why) < 0 ||
	    tell_addresses(vm, routes) < 0) {
		/* Blocks all traffic. Otherwise the guest might reach an address of the host that
		 * is not known. */
		(void)tell_netgate(vm, 'h', &all, sizeof(all));
		log_limited(vm->log,
			    "nat: the host's addresses are not known: all traffic is blocked");
	}
}

static void on_netgate_line(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct vm *vm = data;
	char line[NETGATE_LINE];
	ssize_t n = recv(fd, line, sizeof(line) - 1, MSG_DONTWAIT);

	(void)loop, (void)events;
	if (n > 0) {
		line[n] = '\0';
		vm->events.connection(vm->events.data, line);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		loop_remove(steal_ptr(&vm->net.netgate_watch));
	}
}

/* --- netgate ---------------------------------------------------------------------------------- */

static void add_pair(struct argv *argv, const char *option, const char *value)
{
	argv_add(argv, option);
	argv_add(argv, value);
}

static void add_number(struct argv *argv, const char *option, unsigned value)
{
	argv_add(argv, option);
	argv_addf(argv, "%u", value);
}

static void netgate_words(const struct vm_boot *boot, const char *program, struct argv *argv)
{
	uid_t id = cell_id();

	argv_add(argv, program);
	add_pair(argv, "--caller", MICROAGENT_VERSION);
	add_pair(argv, "--label", boot->label);
	add_number(argv, "--vm-fd", NETGATE_FD_VM);
	add_number(argv, "--lease-fd", NETGATE_FD_LEASE);
	if (boot->config->confinement == CONFINEMENT_SECCOMP)
		argv_add(argv, "--unconfined");
	if (id) {
		add_number(argv, "--uid", id);
		add_number(argv, "--gid", id);
	}
}

static void add_pairs(struct argv *argv, const char *option, const json_t *words)
{
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
	{
		add_pair(argv, option, json_string_value(word));
	}
}

/* Finds the resolver that passt will use. Returns false if there is none. */
static bool find_resolver(char address[16])
{
	autobuf struct buf text = BUF_INIT(65536);
	struct error ignored;

	return path_read_file("/etc/resolv.conf", &text, &ignored) == 0 && buf_string(&text) &&
	       host_resolver(buf_string(&text), address);
}

static void filter_words(const struct vm *vm, const struct vm_boot *boot, bool uplink,
			 struct argv *argv)
{
	const json_t *egress = boot->config->network_egress;
	char resolver[16];

	if (uplink)
		add_number(argv, "--passt-fd", NETGATE_FD_PASST);
	add_number(argv, "--supervisor-fd", NETGATE_FD_SUPERVISOR);
	add_pair(argv, "--guest-address", NAT_GUEST);
	add_pair(argv, "--guest-mac", vm->net.mac);
	add_pair(argv, "--dns-address", NAT_DNS);
	/* Netgate gets the resolver, unless it is on the host's loopback. Only passt can reach such
	 * a resolver, and only by UDP. */
	if (uplink && find_resolver(resolver) && strncmp(resolver, "127.", 4) != 0)
		add_pair(argv, "--dns-resolver", resolver);
	add_pairs(argv, "--allow", boot->config->network_allow);
	if (egress) {
		argv_add(argv, "--egress");
		add_pairs(argv, "--egress-name", json_object_get(egress, "names"));
		add_pairs(argv, "--egress-prefix", json_object_get(egress, "prefixes"));
		if (strcmp(json_text(egress, "sni", "required"), "off") == 0)
			argv_add(argv, "--egress-no-sni");
		if (json_is_true(json_object_get(egress, "dryRun")))
			argv_add(argv, "--egress-dry-run");
	}
	if (boot->config->limits.net_bytes) {
		argv_add(argv, "--bytes-per-second");
		argv_addf(argv, "%lld", (long long)boot->config->limits.net_bytes);
	}
}

static int spawn_netgate(struct vm *vm, struct argv *words, const struct proc_fd *fds, size_t nfds,
			 struct error *err)
{
	const struct proc_spec spec = {
		.argv = argv_finish(words, err),
		.fds = fds,
		.nfds = nfds,
		.die_with_parent = true,
		.new_session = true,
		.cwd = "/",
	};
	struct companion *netgate =
		spec.argv ? companion_add(&vm->companions, NETGATE_NAME, true, err) : NULL;

	return netgate ? companion_start(netgate, &spec, err) : -1;
}

static int start_netgate(struct vm *vm, const struct vm_boot *boot, int vm_end, int passt_end,
			 int supervisor_end, struct error *err)
{
	autofree char *program = program_netgate(err);
	autoargv struct argv words = ARGV_INIT;
	const struct proc_fd fds[] = {
		{vm_end, NETGATE_FD_VM},
		{supervisor_end, NETGATE_FD_SUPERVISOR},
		{boot->lease_fd, NETGATE_FD_LEASE},
		{passt_end, NETGATE_FD_PASST},
	};

	if (!program)
		return -1;
	netgate_words(boot, program, &words);
	filter_words(vm, boot, passt_end >= 0, &words);
	return spawn_netgate(vm, &words, fds, ARRAY_SIZE(fds) - (passt_end < 0), err);
}

/* Starts netgate as a relay between the card and a tap on the bridge. The tap exists while netgate
 * has it open. */
static int start_relay(struct vm *vm, const struct vm_boot *boot, int packets, struct error *err)
{
	autofree char *program = program_netgate(err);
	autoclose int bridge = program ? tap_open(boot->config->network_interface, err) : -1;
	autoargv struct argv words = ARGV_INIT;
	const struct proc_fd fds[] = {{packets, NETGATE_FD_VM},
				      {bridge, NETGATE_FD_BRIDGE},
				      {boot->lease_fd, NETGATE_FD_LEASE}};

	if (bridge < 0)
		return -1;
	netgate_words(boot, program, &words);
	add_number(&words, "--bridge-fd", NETGATE_FD_BRIDGE);
	return spawn_netgate(vm, &words, fds, ARRAY_SIZE(fds), err);
}

/* --- passt ------------------------------------------------------------------------------------ */

/*
 * Adds passt's options. passt answers for every address of the subnet, so --gateway does not set
 * the guest's gateway. --gateway sets the address that passt names as the sender of answers from
 * the host's loopback. On many hosts the resolver is on the loopback, so this address must be the
 * one to which the guest sends its DNS questions. --dns is not used, since passt forwards only to
 * resolvers that it has read from /etc/resolv.conf itself.
 */
static void passt_words(const char *program, struct argv *argv)
{
	static const char *const fixed[] = {
		"--quiet",     "--foreground",	"--ipv4-only", "--no-map-gw", "--no-dhcp",
		"--address",   NAT_GUEST,	"--netmask",   "24",	      "--gateway",
		NAT_DNS,       "--dns-forward", NAT_DNS,       "--tcp-ports", "none",
		"--udp-ports", "none",		NULL,
	};

	argv_add(argv, program);
	argv_add_list(argv, fixed);
	add_number(argv, "--fd", PASST_FD_NETGATE);
}

/* Starts passt as the cell's user. If root started passt, passt would change to the user "nobody".
 * Then the passt processes of all guests would have the same user. Also, passt would not end with
 * this process, since the change of user clears the parent-death signal. */
static int start_passt(struct vm *vm, const struct vm_boot *boot, int end, struct error *err)
{
	autofree char *program = program_passt(err);
	autoargv struct argv words = ARGV_INIT;
	autoclose int filter = -1;
	const struct proc_fd fds[] = {{end, PASST_FD_NETGATE}, {boot->lease_fd, PASST_FD_LEASE}};
	char resolver[16];
	struct proc_spec spec = {
		.envp = plain_environment,
		.fds = fds,
		.nfds = ARRAY_SIZE(fds),
		.die_with_parent = true,
		.new_session = true,
		.uid = cell_id(),
		.gid = (gid_t)cell_id(),
		.cwd = "/",
	};

	if (!program || passt_filter_open(&filter, err) < 0)
		return -1;
	spec.filter = filter;
	if (!find_resolver(resolver))
		vm->net.detail = NO_RESOLVER;
	passt_words(program, &words);
	spec.argv = argv_finish(&words, err);
	struct companion *passt =
		spec.argv ? companion_add(&vm->companions, PASST_NAME, true, err) : NULL;
	return passt ? companion_start(passt, &spec, err) : -1;
}

/* --- the whole network ------------------------------------------------------------------------ */

/* Makes the MAC address of the card from the label of the workspace, since no two addresses on a
 * bridge may be equal. In mode nat each guest is alone on its link, and a fork keeps the address of
 * the session from which it goes on. The address is locally administered and unicast. */
static void make_mac(const char *label, char out[MAC_TEXT])
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *label; label++)
		h = (h ^ (unsigned char)*label) * UINT64_C(0x100000001b3);
	snprintf(out, MAC_TEXT, "02:%02x:%02x:%02x:%02x:%02x", (unsigned)(h >> 32 & 255),
		 (unsigned)(h >> 24 & 255), (unsigned)(h >> 16 & 255), (unsigned)(h >> 8 & 255),
		 (unsigned)(h & 255));
}

void vm_net_prepare(struct vm *vm, const struct vm_boot *boot)
{
	vm->net.mode = boot->config->network_mode;
	if (vm->net.mode == NETWORK_ISOLATED)
		return;
	if (boot->card_saved && *boot->card_saved)
		snprintf(vm->net.mac, sizeof(vm->net.mac), "%s", boot->card_saved);
	else
		make_mac(boot->label, vm->net.mac);
}

int vm_net_open(struct vm *vm, const struct vm_boot *boot, int *vmm_end, int *gate_end,
		struct error *err)
{
	int pair[2];

	vm_net_prepare(vm, boot);
	if (vm->net.mode == NETWORK_ISOLATED)
		return 0;
	if (vm->net.mode == NETWORK_BRIDGED) {
		*vmm_end = tap_open(boot->config->network_interface, err);
		return *vmm_end < 0 ? -1 : 0;
	}
	if (fd_socketpair(pair, err) < 0)
		return -1;
	*vmm_end = pair[0];
	*gate_end = pair[1];
	return 0;
}

static int start_nat(struct vm *vm, const struct vm_boot *boot, int card_end,
		     const struct host_routes *routes, struct error *err)
{
	autoclose int theirs = -1;
	autoclose int gate_end = -1;
	autoclose int passt_end = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, errno, "socket pair");
	vm->net.netgate_fd = pair[0];
	theirs = pair[1];
	if (routes->has_default && fd_socketpair(pair, err) < 0)
		return -1;
	if (routes->has_default) {
		gate_end = pair[0];
		passt_end = pair[1];
		if (start_passt(vm, boot, passt_end, err) < 0)
			return -1;
	} else {
		vm->net.detail = NO_ROUTE;
	}
	if (start_netgate(vm, boot, card_end, gate_end, theirs, err) < 0)
		return -1;
	if (tell_addresses(vm, routes) < 0)
		return error_set(
			err, ERR_IO,
			"the machine's network was not made, because the process that filters it does not take the host's addresses: supervisor.log in the workspace has the messages of that process");
	vm->net.netgate_watch =
		loop_add_fd(vm->loop, vm->net.netgate_fd, LOOP_IN, on_netgate_line, vm, err);
	if (!vm->net.netgate_watch)
		return -1;
	vm->net.routes_watch =
		loop_add_fd(vm->loop, vm->net.routes_fd, LOOP_IN, on_routes, vm, err);
	return vm->net.routes_watch ? 0 : -1;
}

int vm_start_net(struct vm *vm, const struct vm_boot *boot, int gate_end, struct error *err)
{
	autofree struct host_routes *routes = NULL;

	if (vm->net.mode != NETWORK_NAT)
		return 0;
	routes = malloc(sizeof(*routes));
	if (!routes)
		return error_errno(err, ENOMEM, "routes");
	/* The watch begins before the routes are read. So a change between the two is not
	 * missed. */
	vm->net.routes_fd = host_routes_watch(err);
	vm->net.table_fd = host_routes_open(err);
	if (vm->net.routes_fd < 0 || vm->net.table_fd < 0 ||
	    host_routes_read(vm->net.table_fd, routes, err) < 0)
		return -1;
	return start_nat(vm, boot, gate_end, routes, err);
}

int vm_start_net_in_cell(struct vm *vm, const struct vm_boot *boot, const char *tap,
			 struct error *err)
{
	struct cell_tap made = {-1, -1};

	if (vm->net.mode == NETWORK_ISOLATED)
		return 0;
	if (cell_await(&vm->cell, err) < 0 ||
	    cell_tap_make(&(struct proc){vm->cell.pid, vm->cell.pidfd}, tap, &made, err) < 0)
		return -1;
	autoclose int packets = made.packet_fd;
	vm->net.control_fd = made.control_fd;
	return vm->net.mode == NETWORK_NAT ? vm_start_net(vm, boot, packets, err)
					   : start_relay(vm, boot, packets, err);
}

json_t *vm_net_describe(const struct vm *vm)
{
	const char *mode = network_mode_names[vm->net.mode];
	json_t *facts = json_pack("{s:s}", "mode", mode);

	if (vm->net.mode == NETWORK_NAT) {
		json_object_set_new(facts, "ip", json_string(NAT_GUEST));
		json_object_set_new(facts, "subnet", json_string(NAT_SUBNET));
		json_object_set_new(facts, "gateway", json_string(NAT_GATEWAY));
		json_object_set_new(facts, "dns", json_pack("[s]", NAT_DNS));
	}
	if (*vm->net.mac)
		json_object_set_new(facts, "mac", json_string(vm->net.mac));
	if (vm->net.detail)
		json_object_set_new(facts, "detail", json_string(vm->net.detail));
	return facts;
}

void vm_net_close(struct vm *vm)
{
	loop_remove(steal_ptr(&vm->net.netgate_watch));
	loop_remove(steal_ptr(&vm->net.routes_watch));
	cleanup_close(&vm->net.netgate_fd);
	cleanup_close(&vm->net.routes_fd);
	cleanup_close(&vm->net.table_fd);
	cleanup_close(&vm->net.control_fd);
	vm->net.netgate_fd = vm->net.routes_fd = vm->net.table_fd = vm->net.control_fd = -1;
}
