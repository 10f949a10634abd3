/* SPDX-License-Identifier: MIT */
/*
 * The keeper is the process of a machine, like com.apple.Virtualization.VirtualMachine on a Mac.
 * The keeper starts QEMU and QEMU's companions, and each of these gets SIGKILL when the keeper
 * exits (PR_SET_PDEATHSIG). The kernel sends this signal as soon as the thread that started the
 * process ends, even if the keeper still runs. So the keeper has only one thread. The keeper copies
 * the bytes of the serial port. The keeper ends all its processes when the client for which the
 * machine runs has exited or has closed the lifeline.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { SHARES_MAX = 16, QEMU_FDS_MAX = 128 };

struct serial_port {
	int qemu;    /* this process's socket to QEMU's serial port; -1: none */
	int in, out; /* the client's file descriptors; -1: none */
};

struct vsock_ends {
	int vhost; /* a socket to QEMU; -1: there is no vsock device */
	int listen;
	/* A memfd that is shared with the framework: an array of struct host_port, the ports of the
	 * host to which the guest may connect. The framework changes the entries while the machine
	 * runs. */
	int table;
};

struct share_ends {
	int control;
	int listen;
};

struct keeper {
	/* A socket that ends when the framework no longer needs the machine. Through this socket
	 * also come the file descriptors of further shares. */
	int lifeline;
	int holder; /* the pidfd of the process for which the machine runs */
	struct serial_port serial;
	struct vsock_ends vsock;
	struct share_ends shares[SHARES_MAX];
	int share_count;
	int qemu_fds[QEMU_FDS_MAX];
	int qemu_fd_count;
	char **qemu; /* the command line of QEMU */
	const char *virtiofsd;
};

/* Forks a child that is killed when this process exits. The child keeps only the file descriptors
 * in `fds`. Returns the same values as fork(). */
pid_t keeper_fork(const int *fds, int count);
/* Serves a share in this process. Never returns. */
void share_serve(const struct share_ends *ends, const char *virtiofsd) __attribute__((noreturn));

/* One direction of the serial port, with the bytes that were read but not written yet. */
struct pump {
	int from, to;
	char bytes[4096];
	size_t length;
	bool at_end; /* `from` has no more bytes to read */
};
/* Functions that return for which events poll(2) must wait on `from` and on `to`. 0: for none. */
short pump_wants_in(const struct pump *pump);
short pump_wants_out(const struct pump *pump);
void pump_in(struct pump *pump);
void pump_out(struct pump *pump);
