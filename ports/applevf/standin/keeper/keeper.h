/* SPDX-License-Identifier: MIT */
/*
 * The process that has the machine, as com.apple.Virtualization.VirtualMachine is on a Mac. It
 * starts QEMU and its companions, so that they die with it (the parent of PR_SET_PDEATHSIG is a
 * thread, and this process has one). It moves the bytes of the serial port. It ends all of them
 * when the process that asked for the machine has ended or let go of it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { SHARES_MAX = 16, QEMU_FDS_MAX = 128 };

struct serial_port {
	int qemu;    /* our end of QEMU's; -1: there is no port */
	int in, out; /* the client's; -1: none */
};

struct vsock_ends {
	int vhost; /* connected to QEMU; -1: there is no device */
	int listen;
	int table; /* a memfd of struct host_port, of which the framework changes the numbers */
};

struct share_ends {
	int control;
	int listen;
};

struct keeper {
	int lifeline; /* ends when the machine is let go */
	int holder;   /* pidfd of the process that asked for it */
	struct serial_port serial;
	struct vsock_ends vsock;
	struct share_ends shares[SHARES_MAX];
	int share_count;
	int qemu_fds[QEMU_FDS_MAX];
	int qemu_fd_count;
	char **qemu; /* arguments of QEMU */
	const char *virtiofsd;
};

/* Starts a child that dies with this process and has only those of its descriptors that are
 * named. */
pid_t keeper_fork(const int *fds, int count);
/* Does not return. */
void share_serve(const struct share_ends *ends, const char *virtiofsd) __attribute__((noreturn));

/* One direction of the serial port: the bytes that were read and are not yet written. */
struct pump {
	int from, to;
	char bytes[4096];
	size_t length;
	bool at_end; /* the end that is read from */
};
/* Returns the events to wait for on both ends; 0: none. */
short pump_wants_in(const struct pump *pump);
short pump_wants_out(const struct pump *pump);
void pump_in(struct pump *pump);
void pump_out(struct pump *pump);
