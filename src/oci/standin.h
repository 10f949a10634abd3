/* SPDX-License-Identifier: MIT */
/*
 * The processes of a container on the host.
 *
 * An engine treats the stand-in as the container's process, or as the process of a command in the
 * container. The stand-in has the engine's stdin, stdout and stderr, or a terminal. It sends one
 * request to the guest's agent. When the guest's process ends, the stand-in ends with the same exit
 * code. The stand-in is alone in its pid namespace, it is in the network namespace of the config,
 * and its root is the container's root. So a program that looks at the stand-in (podman top and cp,
 * nsenter, CNI) sees a container, and nothing of the host.
 *
 * The keeper makes the machine and ends it. It is PID 1 of a pid namespace in which all processes
 * of the machine are started. The stand-in's pid namespace is a child of the keeper's pid
 * namespace. When the stand-in ends, for whatever reason, the keeper ends the machine. When the
 * keeper ends, the kernel ends all processes in these two namespaces. The containers of a pod share
 * the keeper of the pod's first container.
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
	const json_t *ticket; /* the ticket, in the form of standin_impl.h */
	/* three descriptors, which become the process's stdin, stdout and stderr */
	const int *fds;
	/* true: fds[0] is a terminal, which becomes the process's controlling terminal */
	bool terminal;
	/* a descriptor of the network namespace to join; -1: the caller's namespace */
	int network;
	bool own_network; /* true: the process gets a new network namespace */
	/* the pidfd of a keeper whose network and pid namespaces are joined; -1: none */
	int within;
};

struct standin {
	pid_t pid;
	int pidfd;
	int channel; /* a socket on which the process gets messages and reports */
};
#define STANDIN_NONE                       \
	{                                  \
		.pidfd = -1, .channel = -1 \
	}

/* Starts a child, which may outlive this process. The child waits for standin_go(). */
int standin_start(const struct standin_spec *spec, struct standin *out, struct error *err);
/* Lets the process go on. For a keeper, `with` is the pidfd of the stand-in: when the stand-in
 * ends, the keeper ends too. Otherwise `with` is -1. */
int standin_go(struct standin *standin, int with, struct error *err);
/* Waits for the process's report. Returns 0 if the process has reported success; otherwise -1 with
 * the error of the report. */
int standin_hear(struct standin *standin, struct error *err);
/* Kills the process with SIGKILL and reaps it. Accepts STANDIN_NONE. */
void standin_end(struct standin *standin);
/* Ends a keeper whose stand-in has ended. First gives the keeper LIMIT_KILL_MS to end by itself,
 * since a keeper that is killed leaves its taps on the links. */
void standin_release(struct standin *keeper);
/* Closes the descriptors. The process itself goes on. */
void standin_close(struct standin *standin);
/* Blocks signals of this process, and returns a signalfd for standin_await(). A command in the
 * foreground calls this function before the container's program can run: a user who sees the
 * program's first output may send a signal at once. Stand-ins and hooks are started without this
 * mask. */
int standin_hold_signals(struct error *err);
/* Waits until the stand-in has ended. Until then, passes each signal from `signals` to the
 * stand-in; `signals` is the result of standin_hold_signals(). Returns the stand-in's exit code, or
 * 128 plus the number of the signal that has ended it. */
int standin_await(const struct standin *standin, int signals, struct error *err);

/* The main functions of a stand-in and of a keeper. standin_start() executes this program again,
 * and its main() calls one of them. */
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
	STANDIN_SIGNAL = 0x80 /* added to the number of the signal that is asked for */
};
/* Sends a request of one byte, `word`, to a stand-in, or (QUARANTINE and ASK) to a keeper, and
 * waits for the answer. `dir` is a descriptor of the record's directory. START returns 0 when the
 * program runs; the error is the reason why it does not run. QUARANTINE returns 0 when it is proven
 * that the machine is cut off, or when the machine no longer exists. ASK returns 0 only if the
 * machine is cut off. Requests about the machine go to the keeper, since the machine's records have
 * pids of the keeper's pid namespace. ERR_TIMEOUT: the process does not answer in time, for example
 * because a signal has stopped it. */
int standin_ask(int dir, enum standin_word word, struct error *err);
/* Asks the stand-in to send a signal to the container's first process. This is for signals that the
 * stand-in cannot catch, and so cannot pass on. */
int standin_ask_signal(int dir, int number, struct error *err);
/* Returns true if a stand-in passes the signal on to the guest. A stand-in cannot catch STOP and
 * KILL. It does not pass on the signals by which the kernel tells a process about its own faults or
 * about its terminal. */
bool standin_hands_on(int number);
/* Sends a request like standin_ask(), but for the record in the working directory of this process.
 * This works without /proc. */
int standin_ask_here(enum standin_word word, struct error *err);

#endif
