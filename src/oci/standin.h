/* SPDX-License-Identifier: MIT */
/*
 * The processes of a container on the host.
 *
 * The stand-in is the process that an engine takes for the container's process, or for the process
 * of a command in the container. It has the engine's stdin, stdout and stderr, or a terminal. It
 * makes one request to the guest's agent, and ends with the exit code of the guest's process. It is
 * alone in a pid namespace, it is in the network namespace of the config, and its root is the
 * container's root. So a program that looks at the stand-in (podman top and cp, nsenter, CNI) sees
 * a container and nothing of the host.
 *
 * The keeper has the machine. It is PID 1 of a pid namespace in which all processes of the machine
 * are started; the stand-in's pid namespace is a child of this pid namespace. The keeper ends the
 * machine when the stand-in ends, in whatever way. When the keeper ends, all these processes end.
 * The containers of a pod share the keeper of the pod's first container.
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
	const int *fds;	      /* three descriptors: the process's stdin, stdout and stderr */
	bool terminal;	      /* fds[0] is a terminal, which the process gets as its own */
	int network;	      /* the network namespace to join; -1: the caller's */
	bool own_network;     /* the process gets a new network namespace */
	int within; /* the pidfd of a keeper, whose network and pids are joined; -1: none */
};

struct standin {
	pid_t pid;
	int pidfd;
	int channel; /* a socket to the process */
};
#define STANDIN_NONE                       \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* Starts a child of this process, which may outlive this process. The child waits for
 * standin_go(). */
int standin_start(const struct standin_spec *spec, struct standin *out, struct error *err);
/* Lets the process go on. `with` is for a keeper: the pidfd of the process with whose end the
 * keeper ends; -1: none. */
int standin_go(struct standin *standin, int with, struct error *err);
/* Waits for the process's report. Returns 0 if the process has done its work, or -1 with the error
 * that it reports. */
int standin_hear(struct standin *standin, struct error *err);
/* Kills the process with SIGKILL and reaps it. Accepts STANDIN_NONE. */
void standin_end(struct standin *standin);
/* Ends a keeper whose stand-in has ended. First waits for a while until the keeper ends by itself,
 * since it removes the taps from the links only then. */
void standin_release(struct standin *keeper);
void standin_close(struct standin *standin); /* closes the descriptors; the process goes on */
/* Blocks the signals to this process, and returns a signalfd for standin_await(). A command in the
 * foreground calls this before the container's program can run, since whoever sees the first output
 * may send a signal at once. A stand-in and a hook are started without this mask. */
int standin_hold_signals(struct error *err);
/* Waits until the stand-in has ended. Returns its exit code, or 128 plus the number of the signal
 * that has ended it. Passes the signals that come to `signals`, the result of
 * standin_hold_signals(), to the stand-in. */
int standin_await(const struct standin *standin, int signals, struct error *err);

/* The main functions of a stand-in and of a keeper, which standin_start() executes. */
int standin_main(void);
int keeper_main(void);

/* --- standin_control.c: control.sock --------------------------------------------------------- */

#define STANDIN_SOCKET "control.sock" /* the stand-in's socket, for START, KILL and SIGNAL */
#define KEEPER_SOCKET "machine.sock"  /* the keeper's socket, for QUARANTINE and ASK */
enum standin_word {
	STANDIN_START = 's',
	STANDIN_KILL = 'k',
	STANDIN_QUARANTINE = 'q',
	STANDIN_ASK = '?',
	STANDIN_SIGNAL = 0x80 /* the word is this value plus the number of the signal */
};
/* Sends a word to a stand-in or a keeper, and waits for its answer. `dir` is the directory of the
 * record. START returns when the program runs, or fails with the reason why it does not. QUARANTINE
 * returns when it is proven that the machine is cut off, or when the machine is gone. ASK fails
 * unless the machine is cut off. A word about the machine goes to the keeper, since the machine's
 * records have pids of the keeper's pid namespace. ERR_TIMEOUT: the process does not answer in
 * time, for example because a signal has stopped it. */
int standin_ask(int dir, enum standin_word word, struct error *err);
/* Asks the stand-in to send a signal to the container's first process. This is for signals that the
 * stand-in cannot catch and hand on. */
int standin_ask_signal(int dir, int number, struct error *err);
/* Returns true if a stand-in hands the signal on to the guest. A stand-in cannot catch STOP and
 * KILL. It does not catch the signals by which the kernel tells a process about its own faults or
 * about its terminal. */
bool standin_hands_on(int number);
/* Sends a word like standin_ask(), from a process whose working directory is the record's. Unlike
 * standin_ask(), this function needs no /proc. */
int standin_ask_here(enum standin_word word, struct error *err);

#endif
