/* SPDX-License-Identifier: MIT */
/*
 * The roles of the program. All of microagent's software in the guest is one executable file. The
 * argv[0] of a process says which role the process has. The kernel starts the first process as
 * "/init". Each function below runs one role. If the function returns, its result is the exit code
 * of the process.
 */
#ifndef GUEST_ROLES_H
#define GUEST_ROLES_H

/* The first process of the initramfs, which finds the root file system and becomes PID 1 in it. */
#define ROLE_INIT "/init"
/* Arguments that the kernel's command line gives to this program, after "--". The kernel's command
 * line has at most one of these words. READER_WORD: the root disk is mounted so that the host can
 * read files of the disk, and no program of the disk runs. CONSOLE_WORD: a shell runs on the
 * console. */
#define READER_WORD "reader"
#define CONSOLE_WORD "console"
#define READER_ROOT "/disk"
/* An environment variable of the agent of a machine that was started with READER_WORD. The variable
 * tells the agent to look users up on the mounted disk. */
#define READER_ENVIRONMENT "MICROAGENT_READER"
#define ROLE_AGENT "microagent-agent"	  /* the child of PID 1 that communicates with the host */
#define ROLE_COPYOUT "microagent-copyout" /* argv[1] is the file that is written to stdout */
/* argv[1] is the file that the role creates from its stdin, argv[2] the file's size in bytes. */
#define ROLE_WRITE "microagent-write"
/* argv[1] is the directory that the role lists, argv[2] the largest number of entries that it
 * lists. */
#define ROLE_LIST "microagent-list"
#define ROLE_STAT "microagent-stat"   /* argv[1] is the file that the role describes */
#define ROLE_SHELL "microagent-shell" /* executes a shell on a terminal */
/* The words from argv[1] on are the TCP ports that the host may connect to. */
#define ROLE_PUBLISH "microagent-publish"

/* Names of commands that a request can give. A command with such a name runs this program. */
#define ROLE_FILES "microagent-files"
#define ROLE_CONTAINER "microagent-container"

/* The file descriptors that PID 1 gives to the agent. */
enum agent_fd {
	AGENT_FD_LISTEN = 3, /* listens on vsock port 2222, or is the virtio-serial port */
	AGENT_FD_INIT,	     /* a socket to PID 1, for the bytes INIT_POWER_OFF and INIT_STOPPING */
	AGENT_FD_PROGRAM,    /* this program's file, which the root file system may not have */
	AGENT_FD_LINK,	     /* the link to the host; closed if there is no link */
	AGENT_FD_COUNT
};

/* The bytes that the agent and PID 1 send to each other. */
#define INIT_POWER_OFF 'o' /* the agent asks PID 1 to end the machine */
#define INIT_STOPPING 's'  /* PID 1 has sent SIGTERM to all processes: the agent must exit soon */

int role_init(int argc, char **argv);
int role_agent(int argc, char **argv);
int role_copyout(int argc, char **argv);
int role_write(int argc, char **argv);
int role_list(int argc, char **argv);
int role_stat(int argc, char **argv);
int role_shell(int argc, char **argv);
int role_files(int argc, char **argv);
int role_container(int argc, char **argv);
int role_publish(int argc, char **argv);

#endif
