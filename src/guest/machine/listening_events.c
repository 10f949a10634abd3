/* SPDX-License-Identifier: MIT */
/*
 * This file has a BPF program. The kernel calls the program at its tracepoint for state changes of
 * a TCP socket (inet_sock_set_state(), include/trace/events/sock.h). If the socket listened before
 * or listens after the change, the program puts a record into a ring buffer. The contents of the
 * record do not matter and are never read.
 *
 * The ring buffer (BPF_MAP_TYPE_RINGBUF, kernel/bpf/ringbuf.c) is mapped into this process. The
 * first page of the ring buffer has the reader's position, which this process writes. The second
 * page has the writer's position. While the two positions differ, poll() reports that the ring
 * buffer's file descriptor is readable.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/machine/listening.h"

#define STATE_LISTEN 10 /* the value of TCP_LISTEN in include/net/tcp_states.h */

struct listening_events {
	int ring, program, link;
	size_t page;
	uint64_t *read; /* pointer to the reader's position; `written`: to the writer's position */
	const uint64_t *written;
};

/* --- the program ----------------------------------------------------------------------------- */

/* The program's argument (register 1) points to words of 8 bytes: the socket, the old state, the
 * new state. Each instruction below has its index in the program as the first argument, because the
 * jumps need the indexes. */
enum { TELL = 4, END = 12, PROGRAM_LENGTH = 14 };
enum { RESULT, FIRST, SECOND, THIRD, FOURTH, STACK = BPF_REG_10 };
#define OLD_STATE 8
#define NEW_STATE 16
#define RECORD_AT (-8) /* the offset of the record on the stack, in bytes */
#define RECORD_BYTES 8

#define LOAD_WORD(place, to, from, at)                 \
	[place] = {.code = BPF_LDX | BPF_MEM | BPF_DW, \
		   .dst_reg = (to),                    \
		   .src_reg = (from),                  \
		   .off = (at)}
#define STORE_ZERO(place, at) \
	[place] = {.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = STACK, .off = (at), .imm = 0}
#define SET(place, to, from) \
	[place] = {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)}
#define SET_NUMBER(place, to, number) \
	[place] = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (number)}
#define ADD_NUMBER(place, to, number) \
	[place] = {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (number)}
#define JUMP_IF(place, reg, test, number, to)          \
	[place] = {.code = BPF_JMP32 | (test) | BPF_K, \
		   .dst_reg = (reg),                   \
		   .off = (to) - (place)-1,            \
		   .imm = (number)}

static const struct bpf_insn steps[PROGRAM_LENGTH] = {
	LOAD_WORD(0, SECOND, FIRST, OLD_STATE),
	LOAD_WORD(1, THIRD, FIRST, NEW_STATE),
	JUMP_IF(2, SECOND, BPF_JEQ, STATE_LISTEN, TELL),
	JUMP_IF(3, THIRD, BPF_JNE, STATE_LISTEN, END),
	STORE_ZERO(TELL, RECORD_AT),
	[5] = {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = FIRST, .src_reg = BPF_PSEUDO_MAP_FD},
	/* The second half of instruction 5. A 64-bit number takes the room of two instructions. */
	[6] = {.code = 0},
	SET(7, SECOND, STACK),
	ADD_NUMBER(8, SECOND, RECORD_AT),
	SET_NUMBER(9, THIRD, RECORD_BYTES),
	SET_NUMBER(10, FOURTH, 0),
	[11] = {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ringbuf_output},
	SET_NUMBER(END, RESULT, 0),
	[END + 1] = {.code = BPF_JMP | BPF_EXIT},
};
#define MAP_STEP 5

/* --- making it ------------------------------------------------------------------------------- */

static uint64_t address_of(const void *bytes)
{
	return (uint64_t)(uintptr_t)bytes;
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* Loads the program and attaches it to the tracepoint. On failure returns -1 with errno set, and
 * sets *step to the name of the step that failed. The kernel checks all bytes of a union bpf_attr,
 * so memset() clears it before each step. An initializer {0} might clear only one member of the
 * union. */
static int open_events(struct listening_events *e, const char **step)
{
	struct bpf_insn program[PROGRAM_LENGTH];
	union bpf_attr attr;
	void *map;

	*step = "cannot make a ring buffer";
	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_RINGBUF;
	attr.max_entries = (uint32_t)e->page;
	e->ring = bpf(BPF_MAP_CREATE, &attr);
	if (e->ring < 0)
		return -1;
	map = mmap(NULL, e->page, PROT_READ | PROT_WRITE, MAP_SHARED, e->ring, 0);
	if (map == MAP_FAILED)
		return -1;
	e->read = map;
	map = mmap(NULL, e->page, PROT_READ, MAP_SHARED, e->ring, (off_t)e->page);
	if (map == MAP_FAILED)
		return -1;
	e->written = map;

	*step = "cannot load a program for a tracepoint";
	memcpy(program, steps, sizeof(program));
	program[MAP_STEP].imm = e->ring;
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = address_of(program);
	attr.insn_cnt = PROGRAM_LENGTH;
	attr.license = address_of("MIT");
	e->program = bpf(BPF_PROG_LOAD, &attr);
	if (e->program < 0)
		return -1;

	*step = "the tracepoint inet_sock_set_state";
	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = address_of("inet_sock_set_state");
	attr.raw_tracepoint.prog_fd = (uint32_t)e->program;
	e->link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	return e->link;
}

struct listening_events *listening_events_open(struct error *err)
{
	struct listening_events *events = calloc(1, sizeof(*events));
	const char *step = NULL;

	if (!events) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*events = (struct listening_events){
		.ring = -1, .program = -1, .link = -1, .page = (size_t)sysconf(_SC_PAGESIZE)};
	if (open_events(events, &step) >= 0)
		return events;
	error_errno(err, errno, "bpf: %s", step);
	listening_events_close(events);
	return NULL;
}

int listening_events_fd(const struct listening_events *events)
{
	return events->ring;
}

void listening_events_take(struct listening_events *events)
{
	__atomic_store_n(events->read, __atomic_load_n(events->written, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

void listening_events_close(struct listening_events *events)
{
	if (!events)
		return;
	cleanup_close(&events->link);
	cleanup_close(&events->program);
	if (events->read)
		munmap(events->read, events->page);
	if (events->written)
		munmap((void *)(uintptr_t)events->written, events->page);
	cleanup_close(&events->ring);
	free(events);
}
