/* SPDX-License-Identifier: MIT */
#include "guest.h"

/* The addresses that QEMU uses: microvm's generic event device, and ICH9's power management. */
#define GED_EVENTS 0xfea00000u
#define GED_SLEEP (GED_EVENTS + 0x200)
#define IOAPIC1 0xfec00000u
#define IOAPIC2 0xfec10000u
enum { POWER_PIN = 9, ICH9 = 31 << 3, PM_BASE = 0x600, PM1_EN = 2, PM1_CNT = 4, PM_BUTTON = 0x100 };
enum { LEVEL = 1 << 15 };

static bool q35;
static unsigned vsock_pin;
static volatile bool interrupted;
static struct {
	uint16_t offset_low, selector, type, offset_high;
} __attribute__((packed)) gates[256];

void interrupt_entry(void);
void on_interrupt(void);

void say(const char *text)
{
	for (; *text; text++)
		out8(0x3f8, (uint8_t)*text);
}

void say_number(const char *text, uint32_t number)
{
	char digits[9];

	for (int i = 7; i >= 0; i--, number >>= 4)
		digits[i] = "0123456789abcdef"[number & 15];
	digits[8] = '\0';
	say(text);
	say(digits);
	say("\n");
}

bool machine_is_q35(void)
{
	return q35;
}

/* --- PCI ------------------------------------------------------------------------------------- */

uint32_t pci_read(unsigned device, unsigned offset)
{
	out32(0xcf8, 0x80000000u | device << 8 | (offset & ~3u));
	return in32(0xcfc);
}

void pci_write(unsigned device, unsigned offset, uint32_t value)
{
	out32(0xcf8, 0x80000000u | device << 8 | (offset & ~3u));
	out32(0xcfc, value);
}

/* --- interrupts ------------------------------------------------------------------------------ */

static void ioapic_write(uintptr_t ioapic, unsigned pin, uint32_t low)
{
	mmio_write(ioapic, 0x10 + 2 * pin + 1);
	mmio_write(ioapic + 0x10, 0);
	mmio_write(ioapic, 0x10 + 2 * pin);
	mmio_write(ioapic + 0x10, low);
}

void route_vsock(unsigned slot)
{
	vsock_pin = slot;
	ioapic_write(IOAPIC2, slot, VECTOR_VSOCK | LEVEL);
}

/* Not every KVM tells the second IO-APIC about the end of an interrupt. Making the line
 * edge-triggered for a moment has the same effect. */
void vsock_interrupt_done(void)
{
	if (q35)
		return;
	ioapic_write(IOAPIC2, vsock_pin, VECTOR_VSOCK);
	ioapic_write(IOAPIC2, vsock_pin, VECTOR_VSOCK | LEVEL);
}

static bool button_was_pressed(void)
{
	uint16_t status;

	if (!q35)
		return mmio_read(GED_EVENTS) & 2;
	status = in16(PM_BASE);
	out16(PM_BASE, status);
	return status & PM_BUTTON;
}

/* One handler serves every vector. It looks at the devices to find the source. */
void on_interrupt(void)
{
	interrupted = true;
	if (button_was_pressed())
		power_off();
	virtio_acknowledge();
	vsock_interrupt_done();
	mmio_write(APIC + 0xb0, 0);
}

void wait_for_interrupt(void)
{
	__asm__ volatile("cli");
	if (!interrupted)
		__asm__ volatile("sti; hlt");
	__asm__ volatile("sti" : : : "memory");
	interrupted = false;
}

static void begin_interrupts(void)
{
	const uint32_t entry = (uintptr_t)interrupt_entry;
	const struct {
		uint16_t limit;
		uint32_t base;
	} __attribute__((packed)) idt = {sizeof(gates) - 1, (uintptr_t)gates};

	for (unsigned i = VECTOR_POWER; i <= VECTOR_VSOCK; i++) {
		gates[i].offset_low = (uint16_t)entry;
		gates[i].selector = 8;
		gates[i].type = 0x8e00;
		gates[i].offset_high = (uint16_t)(entry >> 16);
	}
	__asm__ volatile("lidt %0" : : "m"(idt));
	out8(0x21, 0xff); /* the old controllers, if they are there */
	out8(0xa1, 0xff);
	mmio_write(APIC + 0xf0, 0x1ff);
}

/* --- power ----------------------------------------------------------------------------------- */

void power_off(void)
{
	say("kvm-guest: off\n");
	if (q35)
		out16(PM_BASE + PM1_CNT, 0x2000);
	else
		*(volatile uint8_t *)GED_SLEEP = 0x34;
	for (;;)
		__asm__ volatile("hlt");
}

void suspend(void)
{
	out16(PM_BASE + PM1_CNT, 0x2400);
}

void machine_begin(void)
{
	q35 = pci_read(0, 0) != 0xffffffffu;
	begin_interrupts();
	if (q35) {
		pci_write(ICH9, 0x40, PM_BASE | 1);
		pci_write(ICH9, 0x44, 0x80);
		out16(PM_BASE + PM1_EN, PM_BUTTON);
	}
	ioapic_write(IOAPIC1, POWER_PIN, VECTOR_POWER | (q35 ? LEVEL : 0));
	__asm__ volatile("sti");
}
