/* SPDX-License-Identifier: MIT */
/*
 * The system calls that the event loop may make, each with its reason. brk and anonymous mmap are
 * not allowed, since nothing is allocated after the start. No call is allowed that opens a file,
 * makes a process or sends a signal.
 *
 * A guest that has taken over both the live supervisor and vsockd can pass sockets between them. So
 * vsockd may make no datagram socket, since a datagram socket sends to any address without
 * connect(). And vsockd may not send with MSG_FASTOPEN, with which a TCP socket connects although
 * Landlock refuses connect().
 */
#include <fcntl.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "vsockd/isolate.h"

/* The bits of a socket's type without its flags (SOCK_TYPE_MASK in Linux's include/linux/net.h). */
#define SOCK_TYPE 0xf

static const struct isolate_syscall allowed[] = {
	{.number = SCMP_SYS(epoll_wait), .reason = "the loop waits"},
	{.number = SCMP_SYS(epoll_pwait), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(epoll_ctl), .reason = "streams and kicks are watched, and room"},
	{.number = SCMP_SYS(accept4), .reason = "host clients; the front-end"},
	{.number = SCMP_SYS(socket),
	 .reason = "the guest dials a listed port",
	 .only = {{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = AF_UNIX},
		  {.arg = 1,
		   .op = SCMP_CMP_MASKED_EQ,
		   .datum_a = SOCK_TYPE,
		   .datum_b = SOCK_STREAM}}},
	{.number = SCMP_SYS(connect), .reason = "the same"},
	{.number = SCMP_SYS(recvmsg), .reason = "bytes of the host; the front-end's messages"},
	{.number = SCMP_SYS(sendmsg),
	 .reason = "bytes of the guest; answers to the front-end",
	 .only = {{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = MSG_FASTOPEN}}},
	{.number = SCMP_SYS(shutdown), .reason = "one direction of a stream ends"},
	{.number = SCMP_SYS(write),
	 .reason = "eventfds: an interrupt, who is busy; a line on stderr"},
	{.number = SCMP_SYS(fcntl),
	 .reason = "an interrupt must not hold the loop",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETFL},
		  {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = O_NONBLOCK}}},
	{.number = SCMP_SYS(close), .reason = "streams end, the front-end replaces descriptors"},
	{.number = SCMP_SYS(mmap),
	 .reason = "guest memory, when the front-end shares another",
	 .only = {{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0},
		  {.arg = 3,
		   .op = SCMP_CMP_MASKED_EQ,
		   .datum_a = MAP_SHARED | MAP_ANONYMOUS,
		   .datum_b = MAP_SHARED}}},
	{.number = SCMP_SYS(munmap), .reason = "guest memory that is no longer shared"},
	{.number = SCMP_SYS(fstat), .reason = "the size of guest memory"},
	{.number = SCMP_SYS(newfstatat), .reason = "the same, as the C library asks for it"},
	{.number = SCMP_SYS(madvise),
	 .reason = "memory that is not needed now",
	 .only = {{.arg = 2, .op = SCMP_CMP_EQ, .datum_a = MADV_DONTNEED}}},
	{.number = SCMP_SYS(clock_gettime), .reason = "deadlines, where there is no vDSO"},
	{.number = SCMP_SYS(exit_group), .reason = "the end"},
};

int isolate_to_loop(struct error *err)
{
	return isolate_syscalls(allowed, ARRAY_SIZE(allowed), err);
}
