/* SPDX-License-Identifier: MIT */
/*
 * A guest without an operating system, for tests alone: it drives virtio-vsock, speaks the control
 * stream, answers one form of exec on port 2222, echoes on port 7, and switches itself off when
 * asked or when the power button is pressed. It stands in for Linux where a KVM can run no more
 * than ring 0, and counts instructions there, at some microseconds each: bytes are never touched
 * one by one.
 *
 *   start.S    entry and interrupts
 *   machine.c  interrupt controllers, PCI, power, the serial line
 *   virtio.c   the vsock device, by virtio-mmio (microvm) or PCI with MSI-X (q35)
 *   vsock.c    streams
 *   main.c     what is said on them
 */
#ifndef KVM_GUEST_H
#define KVM_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t mmio_read(uintptr_t at)
{
	return *(volatile uint32_t *)at;
}
static inline void mmio_write(uintptr_t at, uint32_t value)
{
	*(volatile uint32_t *)at = value;
}
static inline void out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "d"(port));
}
static inline void out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "d"(port));
}
static inline void out16(uint16_t port, uint16_t value)
{
	__asm__ volatile("outw %0, %1" : : "a"(value), "d"(port));
}
static inline uint32_t in32(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "d"(port));
	return value;
}
static inline uint16_t in16(uint16_t port)
{
	uint16_t value;

	__asm__ volatile("inw %1, %0" : "=a"(value) : "d"(port));
	return value;
}

/* machine.c */
enum { VECTOR_POWER = 0x40, VECTOR_VSOCK = 0x41 };
#define APIC 0xfee00000u
void say(const char *text); /* on the serial line */
void say_number(const char *text, uint32_t number);
void machine_begin(void); /* interrupts may come afterwards */
bool machine_is_q35(void);
void route_vsock(unsigned slot); /* of microvm's virtio-mmio */
void vsock_interrupt_done(void);
uint32_t pci_read(unsigned device, unsigned offset);
void pci_write(unsigned device, unsigned offset, uint32_t value);
void power_off(void) __attribute__((noreturn));
void suspend(void);
/* Waits for an interrupt, unless there was one since the last wait. */
void wait_for_interrupt(void);

/* virtio.c: the device's queues. A buffer's number is that of its descriptor. */
enum { QUEUE_RX, QUEUE_TX, QUEUE_EVENT, QUEUES, QUEUE_SIZE = 64 };
bool virtio_begin(uint64_t *cid);
void virtio_acknowledge(void);
void virtio_put(unsigned queue, unsigned number, const void *bytes, uint32_t len, bool writable);
void virtio_kick(unsigned queue);
/* The next used descriptor, or -1. */
int virtio_take(unsigned queue, uint32_t *len);

/* vsock.c */
enum { PORT_CONTROL = 1024, PORT_AGENT = 2222, PORT_ECHO = 7 };
struct stream;
bool vsock_begin(void);
void vsock_run(void); /* everything that has come since */
struct stream *vsock_connect(uint32_t host_port);
void stream_send(struct stream *stream, const void *bytes, uint32_t len);
void stream_close(struct stream *stream);
/* main.c: what came on a stream of ours that is no echo. */
void on_connected(struct stream *stream);
void on_bytes(struct stream *stream, uint32_t port, const char *bytes, uint32_t len);

#endif
