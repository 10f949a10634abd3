/* SPDX-License-Identifier: MIT */
/* What went wrong. The object is the caller's: nothing to free, and it works when memory is gone.
 */
#ifndef MICROAGENT_ERROR_H
#define MICROAGENT_ERROR_H

/* Stable: the names reach JSON as `errorCode`. */
enum error_code {
	ERR_NONE = 0,
	ERR_INVALID,	 /* the request or an argument is wrong; repeating it is useless */
	ERR_NOT_FOUND,	 /* the named thing does not exist */
	ERR_CONFLICT,	 /* not allowed in the present state, or differs from what is recorded */
	ERR_UNSUPPORTED, /* this backend or host cannot do it at all */
	ERR_UNAVAILABLE, /* cannot be done now; retrying may help (supervisor exit 75) */
	ERR_TIMEOUT,	 /* a deadline passed; retrying may help (supervisor exit 75) */
	ERR_DENIED,	 /* rights are missing */
	ERR_IO,		 /* the system or a peer failed */
	ERR_INTERNAL,	 /* a bug of ours */
	ERROR_CODE_COUNT
};

/* What exactly it is, where somebody can do something about it: a front end adds the next step that
 * it has for it. Stable: the names ("no-workspace") reach JSON as `errorReason`, new ones are added
 * in front of ERROR_REASON_COUNT. */
enum error_reason {
	REASON_NONE = 0,
	/* A workspace, which is the subject. */
	REASON_NO_WORKSPACE,
	REASON_WORKSPACE_EXISTS,
	REASON_WORKSPACE_ALIVE, /* it must be stopped for that */
	REASON_WORKSPACE_DOWN,	/* it must run for that */
	REASON_WORKSPACE_ENDED, /* it runs by its files, and its machine is gone */
	REASON_WORKSPACE_LOST,	/* its machine went while it was talked to */
	REASON_WORKSPACE_QUARANTINED,
	REASON_WORKSPACE_DAMAGED,
	REASON_NOT_AS_PREPARED,	  /* what it boots is not what prepare recorded */
	REASON_GUEST_OLD,	  /* the guest's agent, as it was prepared, cannot do that */
	REASON_NO_SUCH_OUTPUT,	  /* it declares no such artifact */
	REASON_ROOT_IN_MEMORY,	  /* there is no disk to read from */
	REASON_ROOT_READ_ONLY,	  /* subject: the path of the image */
	REASON_ROOT_MISSING,	  /* the image that it was made of; subject: its path */
	REASON_DISK_TAKEN,	  /* by a workspace that runs; subject: its path */
	REASON_STATE_DIR_REFUSED, /* subject: its path */
	/* A session, which is the subject. */
	REASON_NO_SESSION,
	REASON_SESSION_DOWN,
	REASON_SESSION_LOST,
	REASON_SESSION_QUARANTINED,
	REASON_SESSION_ENDING, /* its destruction has begun */
	REASON_SESSION_UNFINISHED,
	REASON_SESSION_OVER, /* the end that it was given has come */
	REASON_SESSION_AT_QUOTA,
	REASON_SESSION_WITHOUT_SHARE, /* it does not run, and gets no directory */
	REASON_SESSION_WITHOUT_PORT,  /* it was made without one for a directory */
	REASON_SESSION_COLD, /* its machine was booted, and not restored; subject: its base */
	REASON_NO_SNAPSHOT,  /* subject: the session */
	REASON_NO_AUDIT_LOG,
	/* A base, or a pool of it, which is the subject. */
	REASON_NO_BASE,
	REASON_BASE_DAMAGED,
	REASON_BASE_VERSIONLESS, /* one of its versions must be named */
	REASON_BASE_OF_SESSION,	 /* subject: the session */
	REASON_BASE_OF_POOL,
	REASON_NO_TEMPLATE, /* of a base that was not warmed */
	REASON_NO_POOL,
	REASON_POOL_DAMAGED,
	REASON_POOL_VERSIONLESS,
	REASON_POOL_OF_NONE, /* of no session, which is no pool */
	REASON_POOL_GIVEN_UP,
	REASON_POOL_UNATTENDED, /* nobody fills it */
	/* Kernels and images; the subject is a name in the cache or a path, "" for the default one.
	 */
	REASON_NO_KERNEL,
	REASON_NOT_A_KERNEL,
	REASON_KERNEL_PACKED,  /* and has no unpacked one beside it, which the VMM takes alone */
	REASON_KERNEL_MISSING, /* the one that a workspace was prepared with */
	REASON_NO_INITRD,
	REASON_INITRD_MISSING, /* the one that a workspace was prepared with */
	REASON_INITRD_OLD,     /* its agent does not do what is asked of it */
	REASON_INITRD_OTHER,   /* its agent is not of this build */
	REASON_NO_IMAGE,
	REASON_NOT_AN_IMAGE,
	REASON_IMAGE_TOO_SMALL, /* what is imported does not fit into it */
	/* The host. */
	REASON_NO_KVM,
	REASON_SHARE_OF_KEYS, /* it has keys in it; subject: its path */
	REASON_NO_CELL,
	REASON_OTHER_ARCHITECTURE, /* than the machine's; subject: what it is for */
	REASON_NO_PACKAGE, /* what its archives of packages were to have; subject: the package */
	/* A workspace, and a session, that is starting or stopping just now; the subject. */
	REASON_WORKSPACE_BUSY,
	REASON_SESSION_BUSY,
	REASON_IMAGE_GONE, /* the cache has a record of it, and not its file */
	/* The cache's record of it cannot be read; subject: its name. */
	REASON_IMAGE_DAMAGED,
	REASON_KERNEL_DAMAGED,
	REASON_INITRD_DAMAGED,	  /* a part of it is missing; subject: its path */
	REASON_SESSION_RESTORED,  /* it shares its memory with others of its template */
	REASON_GUEST_USER_DENIED, /* the guest's user may not do that in the guest */
	REASON_RECORD_CHANGED,	  /* not by a command; subject: the path of its digests */
	REASON_NO_PVM_KERNEL,	  /* the cache has none that this host's paravirtual KVM runs */
	REASON_SESSION_SHARES,	  /* it has a directory of the host, and cannot be saved */
	REASON_SNAPSHOT_EXISTS,	  /* subject: the session, a space, and the snapshot */
	REASON_PORT_PUBLISHED, /* by the same workspace; subject: its name, a space, and the port */
	REASON_PORT_NOT_PUBLISHED, /* by a workspace, which is the subject */
	REASON_GUEST_SILENT,	   /* it was not reached in time; subject: the workspace */
	REASON_TOO_MANY_FILES,	   /* this process has as many open as its limit allows */
	ERROR_REASON_COUNT
};

/* msg holds a 300-character path twice and some words; longer text is cut at the end. */
struct error {
	enum error_code code;
	int errnum;	/* errno where one was involved, else 0 */
	char msg[1024]; /* a sentence for people: what is the matter */
	enum error_reason reason;
	char subject[256]; /* the name or path that reason is about; "" also where it is longer */
};

#endif
