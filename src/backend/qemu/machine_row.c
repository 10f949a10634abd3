/* SPDX-License-Identifier: MIT */
/*
 * The reasons for the words in the rows.
 *
 * Machine. A machine of the type microvm always has acpi=on. With ACPI a stock kernel finds the
 * virtio-mmio devices by itself, and there are 24 slots for these devices instead of 8. With
 * hardware-reduced ACPI the guest does not trust the PIT. So under TCG the guest cannot calibrate
 * its time-stamp counter, and hangs unless it is told the counter's frequency by tsc_early_khz.
 * Under KVM the guest gets the frequency from kvm-clock. virtio-mmio must be modern, since
 * vhost-user devices do not work with the legacy form.
 *
 * A machine of arm64 is of the type virt, without firmware. A device tree describes the machine,
 * whose devices are on PCI for every purpose. virtio-mmio is not faster on this machine, and with
 * virtio-mmio the guest would find the disks in the reverse order.
 *
 * Firmware. qboot only starts the kernel. SeaBIOS is QEMU's default for q35, and first looks for
 * disks and runs option ROMs. The command line names qboot for microvm too, because the file
 * bios-microvm.bin is qboot in one release of a distribution and SeaBIOS in the next. qboot gives
 * no addresses to PCI devices and no bus numbers to ports. The kernel assigns these addresses and
 * numbers.
 *
 * SeaBIOS leaves the PIC and the PIT switched on, but the ACPI of a microvm guest names no PIC.
 * When such a guest first allows interrupts, it takes the pending interrupt for a division by zero.
 * So a microvm with SeaBIOS has no PIC.
 *
 * Translation cache of TCG. After a boot, 22 MiB of the cache are used. A cache of 64 MiB makes the
 * guest no slower. The default size is 1 GiB.
 *
 * Thread of TCG. One thread runs all CPUs. With a thread for each CPU, a guest's kernel that
 * patches its own code (static keys) panics or hangs. The reason is that QEMU first drops the
 * translation of the code that will be written to, and then writes. Between these two steps another
 * thread may translate the old code. This translation has a breakpoint (INT3) that the kernel had
 * put into the code only for a moment, and is never dropped. The fault was seen with QEMU 7.2 and
 * 10.0, and with every kernel that has jump labels. docs/benchmarks-history.md has the figures, and
 * says what a single thread costs.
 */
#include "backend/qemu/machine_row.h"

#include <assert.h>
#include <stddef.h>

static const char *const microvm_words[] = {"-global", "virtio-mmio.force-legacy=false", NULL};
static const char spare_device[] = "pcie-root-port,id=" MACHINE_SPARE ",chassis=1,slot=1";
static const char *const spare_port[] = {"-device", spare_device, NULL};

/* The device for the power button of a machine without firmware. Such a machine has no ACPI, so its
 * kernel knows the power button only as a key of a keyboard. */
#define POWER_KEY "-device", "virtio-keyboard-pci,id=keys"
static const char *const virt_words[] = {POWER_KEY, NULL};
static const char *const virt_spare_port[] = {POWER_KEY, "-device", spare_device, NULL};

/* Words of the kernel's command line. quiet: the console shows only errors and panics, since every
 * byte of output costs an exit of the VM. reboot=t: the kernel does not use a keyboard controller
 * to reboot. */
#define APPEND_ALWAYS "console=ttyS0", "quiet", "panic=-1", "reboot=t"
#define APPEND_VIRT "console=ttyAMA0", "quiet", "panic=-1"

/* Words for the kernel under TCG. tsc=reliable: the time-stamp counter is the host's own, and needs
 * no watchdog. no_timer_check: there is no interrupt routing, so the kernel's timer check would
 * fail.
 *
 * init_on_alloc=1: TCG does not notice when virtiofsd writes into the guest's memory. If a page
 * held code before, TCG goes on to use the translation of that old code. With QEMU 10, programs in
 * a shared directory crashed every second time because of this. A page that the guest's own CPU has
 * cleared has no translation. */
#define APPEND_CLEARED "init_on_alloc=1"
#define APPEND_TCG "tsc=reliable", "no_timer_check", APPEND_CLEARED

#define ACCEL_TCG "tcg,tb-size=64,thread=single"

/* The processor under TCG, without "fast rep movsb". With this feature the kernel would copy and
 * clear memory by instructions that TCG emulates one byte at a time. Without this feature the
 * output of a command is 4 times as fast, and its input twice as fast. */
#define CPU_TCG "max,-erms,-fsrm"
/* The processor of arm64 under TCG: a server's processor without the features that are slow to
 * emulate. "max" would sign pointers by QARMA, with which a boot takes four times as long. */
#define CPU_TCG_ARM64 "neoverse-n1"
static const char *const append_kvm[] = {APPEND_ALWAYS, NULL};
static const char *const append_tcg[] = {APPEND_ALWAYS, APPEND_TCG, NULL};
static const char *const append_virt_kvm[] = {APPEND_VIRT, NULL};
static const char *const append_virt_tcg[] = {APPEND_VIRT, APPEND_CLEARED, NULL};

static const struct machine_row machine_table[ARCHITECTURE_COUNT][2][PURPOSE_COUNT] = {
	[ARCHITECTURE_AMD64] =
		{
			[ACCELERATOR_KVM - 1] =
				{
					[PURPOSE_PLAIN] =
						{
							.machine = "microvm,acpi=on,pit=off,pic="
								   "off,rtc=on",
							.accel = "kvm",
							.cpu = CPU_KVM_AMD64,
							.bus = "device",
							.qboot = true,
							.extra = microvm_words,
							.append = append_kvm,
						},
					[PURPOSE_PLUGGABLE] =
						{
							.machine = "q35",
							.accel = "kvm",
							.cpu = CPU_KVM_AMD64,
							.bus = "pci",
							.qboot = true,
							.extra = spare_port,
							.append = append_kvm,
						},
				},
			[ACCELERATOR_TCG - 1] =
				{
					[PURPOSE_PLAIN] =
						{
							.machine = "microvm,acpi=on,pit=on,pic=on,"
								   "rtc=on",
							.accel = ACCEL_TCG,
							.cpu = CPU_TCG,
							.bus = "device",
							.qboot = true,
							.other = ",pic=off",
							.extra = microvm_words,
							.append = append_tcg,
						},
					[PURPOSE_PLUGGABLE] =
						{
							.machine = "q35",
							.accel = ACCEL_TCG,
							.cpu = CPU_TCG,
							.bus = "pci",
							.qboot = true,
							.extra = spare_port,
							.append = append_tcg,
						},
				},
		},
	[ARCHITECTURE_ARM64] =
		{
			[ACCELERATOR_KVM - 1] =
				{
					[PURPOSE_PLAIN] =
						{
							.machine = "virt,gic-version=host",
							.accel = "kvm",
							.cpu = "host",
							.bus = "pci",
							.extra = virt_words,
							.append = append_virt_kvm,
						},
					[PURPOSE_PLUGGABLE] =
						{
							.machine = "virt,gic-version=host",
							.accel = "kvm",
							.cpu = "host",
							.bus = "pci",
							.extra = virt_spare_port,
							.append = append_virt_kvm,
						},
				},
			[ACCELERATOR_TCG - 1] =
				{
					[PURPOSE_PLAIN] =
						{
							.machine = "virt,gic-version=3",
							.accel = ACCEL_TCG,
							.cpu = CPU_TCG_ARM64,
							.bus = "pci",
							.extra = virt_words,
							.append = append_virt_tcg,
						},
					[PURPOSE_PLUGGABLE] =
						{
							.machine = "virt,gic-version=3",
							.accel = ACCEL_TCG,
							.cpu = CPU_TCG_ARM64,
							.bus = "pci",
							.extra = virt_spare_port,
							.append = append_virt_tcg,
						},
				},
		},
};
static_assert(ACCELERATOR_KVM == 1 && ACCELERATOR_TCG == 2, "the table leaves auto out");

const struct machine_row *machine_row_find(enum architecture architecture,
					   enum accelerator accelerator, enum purpose purpose)
{
	if (architecture >= ARCHITECTURE_COUNT || purpose >= PURPOSE_COUNT ||
	    (accelerator != ACCELERATOR_KVM && accelerator != ACCELERATOR_TCG))
		return NULL;
	const struct machine_row *row = &machine_table[architecture][accelerator - 1][purpose];
	return row->machine ? row : NULL;
}
