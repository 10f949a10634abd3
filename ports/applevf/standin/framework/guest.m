/* SPDX-License-Identifier: MIT */
/*
 * Makes QEMU's command line. The machine is QEMU's q35 with the accelerator TCG. The devices are
 * virtio on PCI, as in Apple's machines. The kernel's command line begins with options that a
 * kernel needs under TCG, and the client's options follow (src/backend/qemu/machine_row.c has the
 * reasons). A macOS guest cannot run here, so the stand-in runs the Linux that the settings name.
 */
#import "guest.h"

#import "object.h"
#import "runner.h"
#import "settings.h"

#include "tap.h"

#include <fcntl.h>
#include <unistd.h>

#define TCG_WORDS @"tsc=reliable no_timer_check init_on_alloc=1"
#define VIRTIO @",disable-legacy=on"

/* Returns the value in the form for QEMU's command line, in which each comma of a value is written
 * twice. */
static NSString *escaped(NSString *value)
{
	return [value stringByReplacingOccurrencesOfString:@"," withString:@",,"];
}

/* Returns the path of the settings, which becomes the machine's name in QEMU's command line. By
 * this name a person can find the processes of a test. */
static NSString *label(void)
{
	const char *settings = getenv("MICROAGENT_STANDIN_VZ");

	return [NSString stringWithFormat:@"guest=%@",
					  escaped([NSString stringWithUTF8String:settings ? settings
											  : "vz"])];
}

static void add_board(StandinRunner *runner, VZVirtualMachineConfiguration *c)
{
	unsigned long long mebibytes = [c memorySize] >> 20;
	NSString *reset = settings_text(@"reset", @"restart");

	[runner word:settings_text(@"qemu", @"qemu-system-x86_64") value:@""];
	[runner word:@"-name" value:@"%@", label()];
	for (NSString *word in [@"-nodefaults -no-user-config -S" componentsSeparatedByString:@" "])
		[runner word:word value:@""];
	[runner word:@"-display" value:@"none"];
	[runner word:@"-machine" value:@"q35,memory-backend=ram"];
	[runner word:@"-accel" value:@"tcg,tb-size=64,thread=single"];
	[runner word:@"-cpu" value:@"max,-erms,-fsrm"];
	[runner word:@"-smp" value:@"%lu", (unsigned long)[c CPUCount]];
	[runner word:@"-m" value:@"%lluM", mebibytes];
	[runner word:@"-object"
		value:@"memory-backend-memfd,id=ram,size=%lluM,share=on", mebibytes];
	[runner word:@"-action"
		value:@"shutdown=poweroff,panic=none,reboot=%@",
		      [reset isEqualToString:@"stop"] ? @"shutdown" : @"reset"];
}

static void add_linux(StandinRunner *runner, NSString *kernel, NSString *initrd, NSString *words)
{
	if (!kernel)
		return;
	[runner word:@"-kernel" value:@"%@", kernel];
	if (initrd)
		[runner word:@"-initrd" value:@"%@", initrd];
	[runner word:@"-append" value:@"%@ %@", TCG_WORDS, words];
}

static void add_boot(StandinRunner *runner, VZBootLoader *loader)
{
	VZLinuxBootLoader *linux_loader = (id)loader;

	if ([loader isKindOfClass:[VZLinuxBootLoader class]])
		add_linux(runner, [[linux_loader kernelURL] path],
			  [[linux_loader initialRamdiskURL] path], [linux_loader commandLine]);
	else
		add_linux(runner, settings_in(@"macGuest", @"kernel"),
			  settings_in(@"macGuest", @"initrd"),
			  settings_in(@"macGuest", @"commandLine"));
}

static void add_screen(StandinRunner *runner, VZVirtioGraphicsScanoutConfiguration *scanout)
{
	if (scanout)
		[runner word:@"-device"
			value:@"virtio-gpu-pci,xres=%ld,yres=%ld", (long)[scanout widthInPixels],
			      (long)[scanout heightInPixels]];
	else
		[runner word:@"-device" value:@"virtio-gpu-pci"];
}

void guest_begin(StandinRunner *runner, VZVirtualMachineConfiguration *c)
{
	add_board(runner, c);
	add_boot(runner, [c bootLoader]);
	if ([[c entropyDevices] count]) {
		[runner word:@"-object" value:@"rng-builtin,id=entropy"];
		[runner word:@"-device" value:@"virtio-rng-pci,rng=entropy" VIRTIO];
	}
	if ([[c memoryBalloonDevices] count])
		[runner word:@"-device" value:@"virtio-balloon-pci,id=balloon" VIRTIO];
	for (VZGraphicsDeviceConfiguration *each in [c graphicsDevices])
		if ([each isKindOfClass:[VZVirtioGraphicsDeviceConfiguration class]])
			add_screen(runner, [[(id)each scanouts] firstObject]);
}

static void add_socket(StandinRunner *runner, NSString *name, int fd)
{
	[runner forQemu:[runner give:fd]];
	[runner word:@"-chardev" value:@"socket,id=%@,fd=%d", name, fd];
}

void guest_add_monitor(StandinRunner *runner, int fd)
{
	add_socket(runner, @"qmp", fd);
	[runner word:@"-mon" value:@"chardev=qmp,mode=control"];
}

void guest_add_console(StandinRunner *runner, int fd)
{
	add_socket(runner, @"console", fd);
	[runner word:@"-device" value:@"virtio-serial-pci,id=serial" VIRTIO];
	[runner word:@"-device" value:@"virtconsole,bus=serial.0,chardev=console"];
}

void guest_add_vsock(StandinRunner *runner, int fd)
{
	add_socket(runner, @"vsock", fd);
	[runner word:@"-device" value:@"vhost-user-vsock-pci,chardev=vsock" VIRTIO];
}

/* --- directories ----------------------------------------------------------------------------- */

#define SHARE_DEVICE @"vhost-user-fs-pci"

static NSString *port_name(NSUInteger number)
{
	return [NSString stringWithFormat:@"port%lu", (unsigned long)number];
}

void guest_add_port(StandinRunner *runner, NSUInteger number)
{
	unsigned long slot = (unsigned long)number + 1;

	[runner word:@"-device"
		value:@"pcie-root-port,id=%@,chassis=%lu,slot=%lu", port_name(number), slot, slot];
}

NSString *guest_chardev(NSString *name)
{
	return [name stringByAppendingString:@"-end"];
}

void guest_add_share(StandinRunner *runner, NSString *name, NSString *tag, int fd,
		     NSUInteger number)
{
	add_socket(runner, guest_chardev(name), fd);
	[runner word:@"-device"
		value:SHARE_DEVICE @",id=%@,chardev=%@,tag=%@,bus=%@", name, guest_chardev(name),
		      escaped(tag), port_name(number)];
}

NSDictionary *guest_socket_chardev(NSString *name)
{
	NSDictionary *end = @{@"type" : @"fd", @"data" : @{@"str" : name}};
	NSDictionary *data = @{@"addr" : end, @"server" : [NSNumber numberWithBool:NO]};

	return @{@"id" : guest_chardev(name), @"backend" : @{@"type" : @"socket", @"data" : data}};
}

NSDictionary *guest_share_device(NSString *name, NSString *tag, NSUInteger number)
{
	return @{
		@"driver" : SHARE_DEVICE,
		@"id" : name,
		@"chardev" : guest_chardev(name),
		@"tag" : tag,
		@"bus" : port_name(number)
	};
}

/* --- disks ----------------------------------------------------------------------------------- */

static BOOL add_disk(StandinRunner *runner, VZStorageDeviceConfiguration *disk, unsigned number)
{
	VZDiskImageStorageDeviceAttachment *image = (id)[disk attachment];
	BOOL is_device = [image isKindOfClass:[VZDiskBlockDeviceStorageDeviceAttachment class]];
	BOOL synced = (NSInteger)[image synchronizationMode] !=
		      (is_device ? (NSInteger)VZDiskSynchronizationModeNone
				 : (NSInteger)VZDiskImageSynchronizationModeNone);
	NSString *mode = [image isReadOnly] ? @"on" : @"off";
	/* Makes a new file descriptor for each run, so that QEMU of a later run does not share the
	 * file descriptor of an earlier run. */
	int fd = dup([[image valueOf:@"image"] fileDescriptor]);

	if (fd < 0)
		return NO;
	[runner forQemu:[runner give:fd]];
	[runner word:@"-add-fd" value:@"fd=%d,set=%u", fd, number + 1];
	[runner word:@"-blockdev"
		value:@"driver=%@,node-name=file%u,filename=/dev/fdset/"
		      @"%u,read-only=%@,locking=off,"
		      @"cache.no-flush=%@",
		      is_device ? @"host_device" : @"file", number, number + 1, mode,
		      synced ? @"off" : @"on"];
	[runner word:@"-blockdev"
		value:@"driver=raw,node-name=disk%u,file=file%u,read-only=%@", number, number,
		      mode];
	if ([disk isKindOfClass:[VZUSBMassStorageDeviceConfiguration class]])
		[runner word:@"-device" value:@"usb-storage,bus=usb.0,drive=disk%u", number];
	else if ([disk isKindOfClass:[VZNVMExpressControllerDeviceConfiguration class]])
		[runner word:@"-device" value:@"nvme,drive=disk%u,serial=nvme%u", number, number];
	else
		[runner word:@"-device"
			value:@"virtio-blk-pci,drive=disk%u,serial=%@" VIRTIO, number,
			      escaped([(VZVirtioBlockDeviceConfiguration *)
					      disk blockDeviceIdentifier])];
	return YES;
}

static BOOL has_usb(NSArray *disks)
{
	for (VZStorageDeviceConfiguration *each in disks)
		if ([each isKindOfClass:[VZUSBMassStorageDeviceConfiguration class]])
			return YES;
	return NO;
}

BOOL guest_add_disks(StandinRunner *runner, VZVirtualMachineConfiguration *c)
{
	NSArray *disks = [c storageDevices];

	if (has_usb(disks))
		[runner word:@"-device" value:@"qemu-xhci,id=usb"];
	for (unsigned i = 0; i < [disks count]; i++)
		if (!add_disk(runner, [disks objectAtIndex:i], i))
			return NO;
	return YES;
}

/* --- cards ----------------------------------------------------------------------------------- */

NSString *guest_card_name(NSUInteger number)
{
	return [NSString stringWithFormat:@"card%lu", (unsigned long)number];
}

/* Returns the bridge of this host that the settings name for the attachment's interface, or nil if
 * they name none. */
static NSString *bridge_of(VZNetworkDeviceAttachment *attachment)
{
	VZBridgedNetworkDeviceAttachment *bridged = (id)attachment;

	if (![attachment isKindOfClass:[VZBridgedNetworkDeviceAttachment class]])
		return nil;
	return [[bridged interface] valueOf:@"bridge"];
}

/* Returns the attachment if it sends frames through the client's socket. Returns nil if the
 * attachment is of another class. */
static VZFileHandleNetworkDeviceAttachment *frames_of(VZNetworkDeviceAttachment *attachment)
{
	if (![attachment isKindOfClass:[VZFileHandleNetworkDeviceAttachment class]])
		return nil;
	return (VZFileHandleNetworkDeviceAttachment *)attachment;
}

static BOOL add_card(StandinRunner *runner, VZNetworkDevice *device, NSUInteger number)
{
	NSString *name = guest_card_name(number), *bridge = bridge_of([device attachment]);
	VZFileHandleNetworkDeviceAttachment *frames = frames_of([device attachment]);
	NSString *mtu = @"";

	if (frames) {
		int fd = fcntl([[frames fileHandle] fileDescriptor], F_DUPFD_CLOEXEC, 3);

		if (fd < 0)
			return NO;
		[runner forQemu:[runner give:fd]];
		[runner word:@"-netdev"
			value:@"dgram,id=net%@,local.type=fd,local.str=%d", name, fd];
		mtu = [NSString
			stringWithFormat:@",host_mtu=%ld", (long)[frames maximumTransmissionUnit]];
	} else if (bridge) {
		int fd = tap_open([bridge UTF8String]);

		if (fd < 0)
			return NO;
		[runner forQemu:[runner give:fd]];
		[runner word:@"-netdev" value:@"tap,id=net%@,fd=%d", name, fd];
	} else {
		[runner word:@"-netdev" value:@"user,id=net%@", name];
	}
	[runner word:@"-device"
		value:@"virtio-net-pci,id=%@,netdev=net%@,mac=%@,romfile=%@" VIRTIO, name, name,
		      [[device valueOf:@"MACAddress"] string], mtu];
	return YES;
}

BOOL guest_add_network(StandinRunner *runner, NSArray *devices)
{
	for (NSUInteger i = 0; i < [devices count]; i++)
		if (!add_card(runner, [devices objectAtIndex:i], i))
			return NO;
	return YES;
}
