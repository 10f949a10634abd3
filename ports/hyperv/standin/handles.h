/* SPDX-License-Identifier: MIT */
/*
 * The objects to which the handles HCS_OPERATION and HCS_SYSTEM refer. One lock protects all of
 * these objects. A handle is valid if its object is in a list. Any other handle is refused, for
 * example one that was closed. If a handle is closed while a callback runs or an answer is awaited,
 * its object is freed only after that.
 */
#ifndef HYPERV_HANDLES_H
#define HYPERV_HANDLES_H

#include <stdbool.h>

#include <winsock2.h>

#include <windows.h>

#include <computecore.h>

#define HCS_E_TEXT(n) ((HRESULT)(0x80370000u | (n)))
#define HCS_E_SERVICE_NOT_AVAILABLE HCS_E_TEXT(0x114)
#define HCS_E_OPERATION_NOT_STARTED HCS_E_TEXT(0x115)
#define HCS_E_OPERATION_ALREADY_STARTED HCS_E_TEXT(0x116)
#define HCS_E_OPERATION_PENDING HCS_E_TEXT(0x117)
#define HCS_E_OPERATION_TIMEOUT HCS_E_TEXT(0x118)
#define HCS_E_OPERATION_SYSTEM_CALLBACK_ALREADY_SET HCS_E_TEXT(0x119)
#define HCS_E_OPERATION_RESULT_ALLOCATION_FAILED HCS_E_TEXT(0x11A)
#define HCS_E_SERVICE_DISCONNECT HCS_E_TEXT(0x11E)

enum progress { PROGRESS_UNUSED, PROGRESS_PENDING, PROGRESS_OVER };

struct system {
	struct system *next;
	unsigned number; /* the compute system's number between this process and the service */
	bool closed, lost;
	HCS_EVENT_OPTIONS options;
	HCS_EVENT_CALLBACK callback;
	void *context;
	HANDLE exited; /* an event object that is set when the system has exited */
	WCHAR *exit_status;
	int users; /* how many callbacks are queued or run, and how many calls wait */
};

struct operation {
	struct operation *next;
	UINT64 number;
	bool closed;
	enum progress progress;
	HCS_OPERATION_TYPE type;
	HRESULT result;
	WCHAR *document;
	HANDLE over; /* an event object that is set when the operation has ended */
	HCS_OPERATION_COMPLETION callback;
	void *context;
	struct system *system;
	int users;
};

/* The lock of all objects, and the condition that is signalled when a callback has returned. */
extern SRWLOCK handles_lock;
extern CONDITION_VARIABLE handles_quiet;

/* Functions that must be called while the lock is held, and that return NULL if there is no such
 * object. */
struct operation *operation_new(void *context, HCS_OPERATION_COMPLETION callback);
struct operation *operation_find(HCS_OPERATION handle);
struct operation *operation_by_number(UINT64 number);
/* Returns any operation that has not ended. */
struct operation *operation_pending(void);
void operation_release(struct operation *operation);
struct system *system_new(void);
struct system *system_find(HCS_SYSTEM handle);
struct system *system_by_number(unsigned number);
struct system *system_first(void);
void system_release(struct system *system);

#endif
