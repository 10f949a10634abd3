/* SPDX-License-Identifier: MIT */
/*
 * The keeper: the process that has the machine, as com.apple.Virtualization.VirtualMachine has it
 * on a Mac. The keeper starts QEMU and its companions, and each of them gets SIGKILL when the
 * keeper ends (PR_SET_PDEATHSIG). The kernel sends this signal as soon as the thread that started
 * the process ends, even if the keeper goes on. So the keeper has only one thread. The keeper moves
 * the bytes of the serial port. The keeper ends all its processes when the process that asked for
 * the machine has ended or has closed the lifeline.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { SHARES_MAX = 16, QEMU_FDS_MAX = 128 };

struct serial_port {
	int qemu;    /* the keeper's end of QEMU's port; -1: there is no port */
	int in, out; /* the descriptors of the client; -1: none */
};

struct vsock_ends {
	int vhost; /* a socket that is connected to QEMU; -1: there is no device */
	int listen;
	int table; /* a memfd with an array of struct host_port; the framework changes the numbers
		    */
};

struct share_ends {
	int control;
	int listen;
};

struct keeper {
	/* A socket that ends when the framework gives the machine up. It also brings the
	 * descriptors of further shares. */
	int lifeline;
	int holder; /* the pidfd of the process that asked for the machine */
	struct serial_port serial;
	struct vsock_ends vsock;
	struct share_ends shares[SHARES_MAX];
	int share_count;
	int qemu_fds[QEMU_FDS_MAX];
	int qemu_fd_count;
	char **qemu; /* the command line of QEMU */
	const char *virtiofsd;
};

/* Forks a child that dies with this process, and that keeps only the descriptors in `fds`. Returns
 * as fork() does. */
pid_t keeper_fork(const int *fds, int count);
/* Serves a share in this process. Does not return. */
void share_serve(const struct share_ends *ends, const char *virtiofsd) __attribute__((noreturn));

/* One direction of the serial port, with the bytes that were read and are not written yet. */
struct pump {
	int from, to;
	char bytes[4096];
	size_t length;
	bool at_end; /* the end of `from` was reached */
};
/* Functions that return the events of poll(2) to wait for on `from`, and on `to`; 0: none. */
short pump_wants_in(const struct pump *pump);
short pump_wants_out(const struct pump *pump);
void pump_in(struct pump *pump);
void pump_out(struct pump *pump);
