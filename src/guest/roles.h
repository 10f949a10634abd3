/* SPDX-License-Identifier: MIT */
/*
 * One file is the whole of our software in the guest. What a process of it is, its argv[0] says;
 * the kernel starts the first as "/init". Each returns the exit code of its process, if it returns.
 */
#ifndef GUEST_ROLES_H
#define GUEST_ROLES_H

#define ROLE_INIT "/init" /* the initramfs: finds the root, becomes PID 1 of it */
/* What the kernel's command line may have for us (behind "--"), one of them: the root disk is
 * mounted to be read from outside, and nothing of it runs; a shell is kept on the console. */
#define READER_WORD "reader"
#define CONSOLE_WORD "console"
#define READER_ROOT "/disk"
/* In the environment of a reader's agent: users are the disk's. */
#define READER_ENVIRONMENT "MICROAGENT_READER"
#define ROLE_AGENT "microagent-agent"	  /* the child of PID 1 that speaks to the host */
#define ROLE_COPYOUT "microagent-copyout" /* argv[1]: a file to be written to stdout */
#define ROLE_WRITE "microagent-write" /* argv[1]: a file to be made of stdin; argv[2]: its size */
#define ROLE_LIST "microagent-list"   /* argv[1]: a directory; argv[2]: most entries */
#define ROLE_STAT "microagent-stat"   /* argv[1]: a file */
#define ROLE_SHELL "microagent-shell" /* becomes the shell of a terminal */
#define ROLE_PUBLISH "microagent-publish" /* argv[1..]: TCP ports that the host may connect to */

/* Commands of these names are this program. */
#define ROLE_FILES "microagent-files"
#define ROLE_CONTAINER "microagent-container"

/* Descriptors that PID 1 gives the agent. */
enum agent_fd {
	AGENT_FD_LISTEN = 3, /* vsock port 2222, or the virtio-serial port in its place */
	AGENT_FD_INIT,	     /* to PID 1: single bytes, below */
	AGENT_FD_PROGRAM,    /* this program, whatever the root file system holds */
	AGENT_FD_LINK,	     /* the link to the host; closed where there is none */
	AGENT_FD_COUNT
};

/* What the two say to each other, a byte each. */
#define INIT_POWER_OFF 'o' /* the agent asks for the end of the machine */
#define INIT_STOPPING 's'  /* PID 1 has sent SIGTERM to all: finish and exit */

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
