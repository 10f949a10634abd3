/* SPDX-License-Identifier: MIT */
/* The error of a function. A struct error belongs to the caller. The struct contains no pointers.
 * So nothing has to be freed, and an error can be reported even when no memory is left. */
#ifndef MICROAGENT_ERROR_H
#define MICROAGENT_ERROR_H

/* Codes of errors. The names are stable: JSON has them as `errorCode`. */
enum error_code {
	ERR_NONE = 0,
	ERR_INVALID,	 /* the request or an argument is wrong; repeating it is useless */
	ERR_NOT_FOUND,	 /* the named thing does not exist */
	ERR_CONFLICT,	 /* the request is not allowed in the state that its object has now, or does
			  * not agree with the record */
	ERR_UNSUPPORTED, /* this backend or host can never do what the caller asks for */
	ERR_UNAVAILABLE, /* the request cannot be carried out now; retrying may help (a supervisor
			  * exits with 75) */
	ERR_TIMEOUT,	 /* a deadline has passed; retrying may help (a supervisor exits with 75) */
	ERR_DENIED,	 /* this user does not have the necessary rights */
	ERR_IO,		 /* a system call failed, or the other program on a connection failed */
	ERR_INTERNAL,	 /* a bug in this library */
	ERROR_CODE_COUNT
};

/* Reasons. An error has a reason if the user or the calling program can correct the fault. The
 * reason says exactly what went wrong. From the reason a front end finds the next step, which it
 * adds to the message. The names ("no-workspace") are stable: JSON has them as `errorReason`. New
 * reasons are added before ERROR_REASON_COUNT. */
enum error_reason {
	REASON_NONE = 0,
	/* About a workspace. The subject is the name of the workspace, unless a comment says
	 * otherwise. */
	REASON_NO_WORKSPACE,
	REASON_WORKSPACE_EXISTS,
	REASON_WORKSPACE_ALIVE, /* the workspace is running, and must be stopped first */
	REASON_WORKSPACE_DOWN,	/* the workspace is not running, and must be started first */
	REASON_WORKSPACE_ENDED, /* the files of the workspace say that it runs, but its machine
				 * is gone */
	REASON_WORKSPACE_LOST,	/* the machine of the workspace ended during a command or another
				 * request */
	REASON_WORKSPACE_QUARANTINED,
	REASON_WORKSPACE_DAMAGED,
	REASON_NOT_AS_PREPARED,	  /* a file that the machine boots differs from the record of
				   * prepare */
	REASON_GUEST_OLD,	  /* the guest's agent is of a version that cannot do the
				   * requested work */
	REASON_NO_SUCH_OUTPUT,	  /* the workspace declares no output of that name */
	REASON_ROOT_IN_MEMORY,	  /* the root of the guest is in memory, so no disk can be read */
	REASON_ROOT_READ_ONLY,	  /* this user may not write to the image; subject: the path of the
				   * image */
	REASON_ROOT_MISSING,	  /* the disk of the workspace is missing; subject: its path, or
				   * the name of the workspace */
	REASON_DISK_TAKEN,	  /* a running workspace uses the disk; subject: the path of the
				   * disk */
	REASON_STATE_DIR_REFUSED, /* the state directory cannot be used; subject: its path */
	/* About a session. The subject is the name of the session, unless a comment says
	 * otherwise. */
	REASON_NO_SESSION,
	REASON_SESSION_DOWN,
	REASON_SESSION_LOST,
	REASON_SESSION_QUARANTINED,
	REASON_SESSION_ENDING, /* the destruction of the session has begun */
	REASON_SESSION_UNFINISHED,
	REASON_SESSION_OVER, /* the lifetime of the session is over */
	REASON_SESSION_AT_QUOTA,
	REASON_SESSION_WITHOUT_SHARE, /* the session does not run, so no directory can be given
				       * to it */
	REASON_SESSION_WITHOUT_PORT,  /* the session was made without a spare port for a
				       * directory */
	REASON_SESSION_COLD, /* the session's machine was booted, and not restored; subject: the
			      * base of the session */
	REASON_NO_SNAPSHOT,  /* the session has no snapshot of that name */
	REASON_NO_AUDIT_LOG,
	/* About a base or its pool. The subject is the name of the base, unless a comment says
	 * otherwise. */
	REASON_NO_BASE,
	REASON_BASE_DAMAGED,
	REASON_BASE_VERSIONLESS, /* the name of the base must have a version */
	REASON_BASE_OF_SESSION,	 /* a session was made from the base; subject: the session */
	REASON_BASE_OF_POOL,	 /* the base has a pool */
	REASON_NO_TEMPLATE,	 /* the base was not warmed */
	REASON_NO_POOL,
	REASON_POOL_DAMAGED,
	REASON_POOL_VERSIONLESS,
	REASON_POOL_OF_NONE, /* the caller asked for a pool of less than one session */
	REASON_POOL_GIVEN_UP,
	REASON_POOL_UNATTENDED, /* no process fills the pool */
	/* About kernels and images; the subject is a name in the cache or a path, "" for the
	 * default kernel. */
	REASON_NO_KERNEL,
	REASON_NOT_A_KERNEL,
	REASON_KERNEL_PACKED,  /* the VMM needs an unpacked kernel, and there is no unpacked kernel
			        * beside the packed kernel */
	REASON_KERNEL_MISSING, /* the kernel with which a workspace was prepared does not exist */
	REASON_NO_INITRD,
	REASON_INITRD_MISSING, /* the initrd with which a workspace was prepared does not exist */
	REASON_INITRD_OLD,     /* the agent in the initrd cannot do the requested work */
	REASON_INITRD_OTHER,   /* the agent in the initrd is of another build than this library */
	REASON_NO_IMAGE,
	REASON_NOT_AN_IMAGE,
	REASON_IMAGE_TOO_SMALL, /* the imported files do not fit into the image */
	/* About the host. */
	REASON_NO_KVM,
	REASON_SHARE_OF_KEYS,	   /* the directory has keys in it; subject: its path */
	REASON_NO_CELL,		   /* the host does not let the VMM run in a cell */
	REASON_OTHER_ARCHITECTURE, /* a kernel or an image is for another architecture than the
				    * machine; subject: the architecture of the kernel or image */
	REASON_NO_PACKAGE,	   /* apt does not know the package; subject: the package */
	/* About a workspace or session that is starting or stopping just now. The subject is its
	 * name. */
	REASON_WORKSPACE_BUSY,
	REASON_SESSION_BUSY,
	REASON_IMAGE_GONE, /* the cache has a record of the image, but not its file */
	/* The cache's record of an image or kernel cannot be read; subject: the name of the image
	 * or kernel. */
	REASON_IMAGE_DAMAGED,
	REASON_KERNEL_DAMAGED,
	REASON_INITRD_DAMAGED,	  /* a part of the initrd is missing; subject: its path */
	REASON_SESSION_RESTORED,  /* the session shares its memory with other sessions of its
				   * template */
	REASON_GUEST_USER_DENIED, /* the user in the guest lacks the rights for the operation */
	REASON_RECORD_CHANGED,	  /* a record of the workspace was changed, but not by a command;
				   * subject: the path of the file with the digests of the
				   * records */
	REASON_NO_PVM_KERNEL,	  /* the cache has no kernel that the paravirtual KVM of this host
				   * can run */
	REASON_SESSION_SHARES,	  /* the session has a directory of the host, and cannot be saved */
	REASON_SNAPSHOT_EXISTS,	  /* the session already has a snapshot of that name; subject: the
				   * name of the session, a space, and the name of the snapshot */
	REASON_PORT_PUBLISHED,	  /* the workspace publishes the port already; subject: the name of
				   * the workspace, a space, and the port */
	REASON_PORT_NOT_PUBLISHED, /* the workspace, which is the subject, does not publish the
				    * port */
	REASON_GUEST_SILENT,	   /* the guest was not reached in time; subject: the workspace */
	REASON_TOO_MANY_FILES,	   /* this process has as many files open as its limit allows */
	REASON_CHANGES_NOT_LISTED, /* the changes of the workspace, which is the subject, were not
				    * fetched yet */
	ERROR_REASON_COUNT
};

/* The error itself. `msg` has room for two paths of 300 characters and some words; a longer text is
 * cut at its end. */
struct error {
	enum error_code code;
	int errnum;	/* the errno if a system call failed; else 0 */
	char msg[1024]; /* a sentence for people that describes the fault */
	enum error_reason reason;
	char subject[256]; /* the name or path that `reason` is about; "" if there is no subject, or
			    * if it is longer than this array */
};

#endif
