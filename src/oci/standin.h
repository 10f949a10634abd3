/* SPDX-License-Identifier: MIT */
/*
 * The processes of a container on the host.
 *
 * The stand-in is what an engine takes for the container's process, or for a command's in it. It
 * has the engine's stdin, stdout and stderr, or a terminal, is the client of one request to the
 * guest's agent, and ends with the guest's exit code. It is alone in a pid namespace, in the
 * network namespace of the config, and its root is the container's: who looks at it there (podman
 * top and cp, nsenter, CNI) sees what a container shows, and nothing of the host.
 *
 * The keeper has the machine: PID 1 of a pid namespace in which all processes of that are born, and
 * the stand-in's namespace too. It ends the machine when the stand-in ends, however that comes
 * about, and its own end is the end of all. A pod has the one of its first container.
 *
 *   create                        keeper                      stand-in
 *   standin_start()       ---->   waits              ---->    waits
 *   hooks, cgroups
 *   standin_go()          ---->   makes the machine
 *   standin_hear()        <----   it is ready
 *   standin_go()                           ---->              the container
 *   standin_hear()                         <----              created (a command: started), or why
 * not exits                         machine.sock                control.sock
 */
#ifndef OCI_STANDIN_H
#define OCI_STANDIN_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "oci/oci.h"

#define STANDIN_TITLE "microagent-oci: stand-in "
#define KEEPER_TITLE "microagent-oci: machine "

struct standin_spec {
	const char *title; /* the one or the other */
	const char *id;
	const json_t *ticket; /* standin_impl.h has the shape */
	const int *fds;	      /* three, its stdin, stdout and stderr */
	bool terminal;	      /* fds[0] is one, to be its own */
	int network;	      /* a network namespace to be in; -1: that of the caller */
	bool own_network;     /* a new one */
	int within;	      /* a keeper (pidfd), whose network it is in; -1: none */
};

struct standin {
	pid_t pid;
	int pidfd;
	int channel; /* to it */
};
#define STANDIN_NONE                       \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* A child of ours, which outlives us. It waits for standin_go(). */
int standin_start(const struct standin_spec *spec, struct standin *out, struct error *err);
/* with: whose end a keeper waits for (pidfd); -1. */
int standin_go(struct standin *standin, int with, struct error *err);
int standin_hear(struct standin *standin, struct error *err);
/* SIGKILL, and reaps it. Accepts STANDIN_NONE. */
void standin_end(struct standin *standin);
/* The same of a keeper whose stand-in has ended, after a time in which it ends by itself: it gives
 * the links back. */
void standin_release(struct standin *keeper);
void standin_close(struct standin *standin); /* it goes on */
/* Keeps the signals to this process for standin_await(): returns a signalfd. A command in the
 * foreground calls it before its program can run, since whoever has seen the program's first output
 * may send one. A stand-in and a hook are started without the mask. */
int standin_hold_signals(struct error *err);
/* Waits until the stand-in has ended, and returns its exit code, or 128 and the signal's number.
 * Hands on to it what comes by `signals`, which standin_hold_signals() has returned. */
int standin_await(const struct standin *standin, int signals, struct error *err);

/* What standin_start() has executed. */
int standin_main(void);
int keeper_main(void);

/* --- standin_control.c: control.sock --------------------------------------------------------- */

#define STANDIN_SOCKET "control.sock" /* START, KILL, SIGNAL */
#define KEEPER_SOCKET "machine.sock"  /* QUARANTINE, ASK */
enum standin_word {
	STANDIN_START = 's',
	STANDIN_KILL = 'k',
	STANDIN_QUARANTINE = 'q',
	STANDIN_ASK = '?',
	STANDIN_SIGNAL = 0x80 /* and a signal's number */
};
/* dir: of the record. START: returns when the program runs, or says why it does not. QUARANTINE:
 * when the machine is cut off, which is proven, or gone. ASK: whether it is so. Commands about the
 * machine are its keeper's, since what is recorded of it is in the numbers of that pid namespace.
 * ERR_TIMEOUT: who should answer stands still. */
int standin_ask(int dir, enum standin_word word, struct error *err);
/* Sends the container's first process a signal that a stand-in cannot hand on. */
int standin_ask_signal(int dir, int number, struct error *err);
/* Whether a stand-in that is sent the signal hands it on. It cannot catch STOP, and catches nothing
 * by which the kernel tells a process of its own faults, or of its terminal. */
bool standin_hands_on(int number);
/* The same from within that directory, for who may have no /proc, which standin_ask() goes by. */
int standin_ask_here(enum standin_word word, struct error *err);

#endif
