/* SPDX-License-Identifier: MIT */
#include "oci/net/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- the program ----------------------------------------------------------------------------- */

/*
 * The BPF program gets a struct bpf_sk_lookup. The addresses in it are in network byte order. The
 * members for the other address family are 0. Each instruction below is written with its index in
 * the program, since jumps need the indexes.
 */

/* FOUND and PASS are the indexes of instructions to which jumps lead. MAP is the index of an
 * instruction that is completed when the program is loaded. */
enum { FOUND = 15, MAP = 18, PASS = 29, PROGRAM_LENGTH = 31 };
enum { RESULT, FIRST, SECOND, THIRD, ASK = BPF_REG_6, SOCKET, STACK = BPF_REG_10 };
#define KEY_AT (-4) /* the address of the key, relative to the end of the stack */

#define SET(place, to, from) \
	[place] = {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)}
#define SET_NUMBER(place, to, number) \
	[place] = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (number)}
#define ADD_NUMBER(place, to, number) \
	[place] = {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (number)}
#define LOAD(place, to, field)                        \
	[place] = {.code = BPF_LDX | BPF_MEM | BPF_W, \
		   .dst_reg = (to),                   \
		   .src_reg = ASK,                    \
		   .off = offsetof(struct bpf_sk_lookup, field)}
#define TO_HOST_ORDER(place, reg) \
	[place] = {.code = BPF_ALU | BPF_END | BPF_TO_BE, .dst_reg = (reg), .imm = 32}
#define STORE_NUMBER(place, at, number) \
	[place] = {.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = STACK, .off = (at), .imm = (number)}
#define JUMP_IF(place, reg, test, number, to)        \
	[place] = {.code = BPF_JMP | (test) | BPF_K, \
		   .dst_reg = (reg),                 \
		   .off = (to) - (place)-1,          \
		   .imm = (number)}
#define CALL(place, function) [place] = {.code = BPF_JMP | BPF_CALL, .imm = (function)}

static const struct bpf_insn steps[PROGRAM_LENGTH] = {
	/* A connection that is not TCP is left to the kernel. */
	SET(0, ASK, FIRST),
	LOAD(1, SECOND, protocol),
	JUMP_IF(2, SECOND, BPF_JNE, IPPROTO_TCP, PASS),
	/* A connection to 127.0.0.1 goes to the listener. */
	LOAD(3, SECOND, local_ip4),
	TO_HOST_ORDER(4, SECOND),
	JUMP_IF(5, SECOND, BPF_JEQ, INADDR_LOOPBACK, FOUND),
	/* A connection to ::1 goes to the listener. Every other TCP connection is left to the
	 * kernel. */
	LOAD(6, SECOND, local_ip6[0]),
	JUMP_IF(7, SECOND, BPF_JNE, 0, PASS),
	LOAD(8, SECOND, local_ip6[1]),
	JUMP_IF(9, SECOND, BPF_JNE, 0, PASS),
	LOAD(10, SECOND, local_ip6[2]),
	JUMP_IF(11, SECOND, BPF_JNE, 0, PASS),
	LOAD(12, SECOND, local_ip6[3]),
	TO_HOST_ORDER(13, SECOND),
	JUMP_IF(14, SECOND, BPF_JNE, 1, PASS),
	/* Finds the map's first socket. If that socket is closed, the connection is left to the
	 * kernel. */
	STORE_NUMBER(FOUND, KEY_AT, 0),
	SET(16, SECOND, STACK),
	ADD_NUMBER(17, SECOND, KEY_AT),
	[MAP] = {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = FIRST, .src_reg = BPF_PSEUDO_MAP_FD},
	[MAP + 1] = {.code = 0}, /* the upper half of the 64-bit number */
	CALL(20, BPF_FUNC_map_lookup_elem),
	JUMP_IF(21, RESULT, BPF_JEQ, 0, PASS),
	/* Gives the connection to the socket, unless another program has already chosen a socket
	 * for it. */
	SET(22, SOCKET, RESULT),
	SET(23, FIRST, ASK),
	SET(24, SECOND, SOCKET),
	SET_NUMBER(25, THIRD, 0),
	CALL(26, BPF_FUNC_sk_assign),
	SET(27, FIRST, SOCKET),
	CALL(28, BPF_FUNC_sk_release),
	SET_NUMBER(PASS, RESULT, SK_PASS),
	[PASS + 1] = {.code = BPF_JMP | BPF_EXIT},
};

/* --- loading and attaching the program ------------------------------------------------------- */

/* Clears all bytes of `attr`, since the kernel checks all of them. `= {0}` would clear only one
 * member of the union. */
static void clear_attr(union bpf_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static uint64_t address_of(const void *bytes)
{
	return (uint64_t)(uintptr_t)bytes;
}

/* Opens a listener. With AF_INET6 it accepts connections of both families. It is bound to the
 * device lo, but to no address: only a socket without an address can get connections of both
 * families. SO_REUSEADDR is set, so that connections that outlive the listener do not block their
 * ports. */
static int listen_on_lo(sa_family_t family)
{
	struct sockaddr_storage any = {.ss_family = family};
	socklen_t len =
		family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	autoclose int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, off = 0;

	if (fd < 0)
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo")) < 0 ||
	    bind(fd, (struct sockaddr *)&any, len) < 0 || listen(fd, SOMAXCONN) < 0)
		return -1;
	return steal_fd(&fd);
}

/* Attaches the BPF program to the network namespace, with the listener in the program's map.
 * Returns the descriptor of the attachment (a BPF link); -1 with errno, and then *step names the
 * failed step. The BPF link keeps the program alive, and the program keeps the map alive. */
static int link_listener(int listener, const char **step)
{
	struct bpf_insn program[PROGRAM_LENGTH];
	const uint32_t key = 0;
	const uint64_t value = (uint64_t)listener;
	union bpf_attr attr;

	*step = "cannot make a map of sockets";
	clear_attr(&attr);
	attr.map_type = BPF_MAP_TYPE_SOCKMAP;
	attr.key_size = sizeof(key);
	attr.value_size = sizeof(value);
	attr.max_entries = 1;
	autoclose int map = bpf(BPF_MAP_CREATE, &attr);
	if (map < 0)
		return -1;
	/* Puts the listener into the map. The listener stays in the map until all of its
	 * descriptors are closed. */
	clear_attr(&attr);
	attr.map_fd = (uint32_t)map;
	attr.key = address_of(&key);
	attr.value = address_of(&value);
	if (bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0)
		return -1;

	*step = "cannot load the program that looks up sockets";
	memcpy(program, steps, sizeof(program));
	program[MAP].imm = map;
	clear_attr(&attr);
	attr.prog_type = BPF_PROG_TYPE_SK_LOOKUP;
	attr.expected_attach_type = BPF_SK_LOOKUP;
	attr.insns = address_of(program);
	attr.insn_cnt = PROGRAM_LENGTH;
	attr.license = address_of("MIT");
	autoclose int loaded = bpf(BPF_PROG_LOAD, &attr);
	if (loaded < 0)
		return -1;

	*step = "cannot attach that program to the network namespace";
	autoclose int netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (netns < 0)
		return -1;
	clear_attr(&attr);
	attr.link_create.prog_fd = (uint32_t)loaded;
	attr.link_create.target_fd = (uint32_t)netns;
	attr.link_create.attach_type = BPF_SK_LOOKUP;
	return bpf(BPF_LINK_CREATE, &attr);
}

int netns_loopback_open(struct netns_loopback *out, struct error *err)
{
	autoclose int dual = listen_on_lo(AF_INET6);
	autoclose int listener = dual < 0 ? listen_on_lo(AF_INET) : steal_fd(&dual);
	const char *step = NULL;
	int link;

	if (listener < 0)
		return error_errno(err, errno, "cannot listen on lo");
	link = link_listener(listener, &step);
	if (link < 0)
		return error_errno(err, errno, "bpf: %s", step);
	*out = (struct netns_loopback){.listener = steal_fd(&listener), .link = link};
	return 0;
}
