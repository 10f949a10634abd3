/* SPDX-License-Identifier: MIT */
/*
 * The processes of a container on the host.
 *
 * The stand-in is the process that an engine takes for the container's process, or for the process
 * of a command in it. It has the engine's stdin, stdout and stderr, or a terminal. It is the client
 * of one request to the guest's agent, and ends with the guest's exit code. It is alone in a pid
 * namespace, it is in the network namespace of the config, and its root is the container's. So a
 * program that looks at the stand-in (podman top and cp, nsenter, CNI) sees what a container shows,
 * and nothing of the host.
 *
 * The keeper has the machine. It is PID 1 of a pid namespace, in which all processes of the machine
 * are started, and in which the stand-in's namespace is too. It ends the machine when the stand-in
 * ends, in whatever way, and when the keeper ends, everything ends. The containers of a pod share
 * the keeper of the first one.
 *
 *   create                        keeper                      stand-in
 *   standin_start()       ---->   waits              ---->    waits
 *   hooks, cgroups
 *   standin_go()          ---->   makes the machine
 *   standin_hear()        <----   it is ready
 *   standin_go()                           ---->              the container
 *   standin_hear()                         <----              created (a command: started)
 *                                                             or why not
 *   sockets:                      machine.sock                control.sock
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
	const char *title; /* STANDIN_TITLE or KEEPER_TITLE */
	const char *id;
	const json_t *ticket; /* standin_impl.h describes it */
	const int *fds;	      /* three: the process's stdin, stdout and stderr */
	bool terminal;	      /* fds[0] is a terminal, which becomes the process's own */
	int network;	      /* the network namespace to join; -1: the caller's */
	bool own_network;     /* join a new network namespace */
	int within;	      /* pidfd of a keeper whose network to join; -1: none */
};

struct standin {
	pid_t pid;
	int pidfd;
	int channel; /* to the process */
};
#define STANDIN_NONE                       \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* Starts a child of this process, which outlives this process. The child waits for standin_go(). */
int standin_start(const struct standin_spec *spec, struct standin *out, struct error *err);
/* Lets the process go on. with is the pidfd of the process for whose end a keeper waits; -1:
 * none. */
int standin_go(struct standin *standin, int with, struct error *err);
int standin_hear(struct standin *standin, struct error *err);
/* Kills the process with SIGKILL and reaps it. Accepts STANDIN_NONE. */
void standin_end(struct standin *standin);
/* Ends a keeper whose stand-in has ended. First gives the keeper time to end by itself, because it
 * then gives the links back. */
void standin_release(struct standin *keeper);
void standin_close(struct standin *standin); /* the process goes on */
/* Blocks the signals to this process, for standin_await(). Returns a signalfd. A command in the
 * foreground calls it before its program can run, since a program that has seen the first output
 * may send a signal. A stand-in and a hook are started without this mask. */
int standin_hold_signals(struct error *err);
/* Waits until the stand-in has ended. Returns its exit code, or 128 plus the signal's number.
 * Passes to the stand-in the signals that arrive at `signals`, which standin_hold_signals()
 * returned. */
int standin_await(const struct standin *standin, int signals, struct error *err);

/* The programs that standin_start() executes. */
int standin_main(void);
int keeper_main(void);

/* --- standin_control.c: control.sock --------------------------------------------------------- */

#define STANDIN_SOCKET "control.sock" /* for START, KILL, SIGNAL */
#define KEEPER_SOCKET "machine.sock"  /* for QUARANTINE, ASK */
enum standin_word {
	STANDIN_START = 's',
	STANDIN_KILL = 'k',
	STANDIN_QUARANTINE = 'q',
	STANDIN_ASK = '?',
	STANDIN_SIGNAL = 0x80 /* plus a signal's number */
};
/* Sends a word to a stand-in or a keeper; dir is the directory of the record. START returns when
 * the program runs, or fails with the reason. QUARANTINE returns when the machine is cut off, which
 * is proven, or is gone. ASK says whether the machine is cut off. Words about the machine go to its
 * keeper, since the machine's records have the numbers of the keeper's pid namespace. Fails with
 * ERR_TIMEOUT if the process that should answer does not run on. */
int standin_ask(int dir, enum standin_word word, struct error *err);
/* Sends the container's first process a signal that a stand-in cannot hand on. */
int standin_ask_signal(int dir, int number, struct error *err);
/* Returns true if a stand-in hands the signal on. A stand-in cannot catch STOP. It does not catch
 * signals by which the kernel tells a process of its own faults or of its terminal. */
bool standin_hands_on(int number);
/* Sends a word from within the record's directory, for a process that may have no /proc, which
 * standin_ask() uses. */
int standin_ask_here(enum standin_word word, struct error *err);

#endif
