/* SPDX-License-Identifier: MIT */
/* Tests every row of the machine table, word by word, so that a change of QEMU's command line is
 * made twice. */
#include "test_base.h"

#include "backend/qemu/command_line.h"

static const struct config two_processors = {.memory_mib = 512, .cpus = 2};

static const struct machine plain = {
	.config = &two_processors,
	.architecture = ARCHITECTURE_AMD64,
	.accelerator = ACCELERATOR_TCG,
	.purpose = PURPOSE_PLAIN,
	.binary = "/usr/bin/qemu-system-x86_64",
	.qboot = true,
	.label = "/state/vm",
	.kernel = "/kernel",
	.initrd = "/initrd",
	.tsc_khz = 2445428,
};

/* Returns the words joined by newlines; malloc'd. */
static char *built(const struct machine *m)
{
	autoargv struct argv argv = ARGV_INIT;
	struct error err = {0};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_ok(command_line_build(m, &argv, &err));
	for (size_t i = 0; i < argv.count; i++)
		fprintf(f, "%s\n", argv.words[i]);
	assert_null(argv.words[argv.count]);
	fclose(f);
	return text;
}

#define START_OF(program)                                                              \
	"/usr/bin/" program "\n-name\nguest=/state/vm\n-nodefaults\n-no-user-config\n" \
	"-no-reboot\n-display\nnone\n-sandbox\n"                                       \
	"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny\n"
#define START START_OF("qemu-system-x86_64")
#define START_ARM64 START_OF("qemu-system-aarch64")
#define KEYS "-device\nvirtio-keyboard-pci,id=keys\n"
#define SPARE "-device\npcie-root-port,id=spare,chassis=1,slot=1\n"
#define MEMORY                         \
	"-smp\n2\n-m\n512M\n-object\n" \
	"memory-backend-memfd,id=ram,size=512M,share=on\n"
#define DEVICES(bus)                                                                             \
	"-chardev\nsocket,id=qmp,fd=3\n-mon\nchardev=qmp,mode=control\n"                         \
	"-chardev\nsocket,id=serial,fd=4\n-serial\nchardev:serial\n"                             \
	"-chardev\nsocket,id=vsock,fd=6\n"                                                       \
	"-device\nvhost-user-vsock-" bus ",id=vsock0,chardev=vsock\n"                            \
	"-add-fd\nfd=7,set=1,opaque=rootfs\n"                                                    \
	"-blockdev\ndriver=file,node-name=rootfs-file,filename=/dev/fdset/1,discard=unmap\n"     \
	"-blockdev\ndriver=raw,node-name=rootfs,file=rootfs-file,discard=unmap\n"                \
	"-device\nvirtio-blk-" bus ",id=rootfs-dev,drive=rootfs,serial=rootfs,werror=enospc,"    \
	"rerror=report\n"                                                                        \
	"-object\nrng-builtin,id=entropy\n-device\nvirtio-rng-" bus ",id=rng0,rng=entropy\n"     \
	"-device\nvirtio-balloon-" bus ",id=balloon0,free-page-reporting=on,deflate-on-oom=on\n" \
	"-chardev\nsocket,id=console,fd=5\n-device\nvirtio-serial-" bus                          \
	",id=console0,max_ports=1\n"                                                             \
	"-device\nvirtconsole,bus=console0.0,chardev=console\n"                                  \
	"-kernel\n/kernel\n-initrd\n/initrd\n-append\n"

/* Never a thread for each CPU: command_line.c says why. */
#define TCG "tcg,tb-size=64,thread=single"

static const struct {
	enum accelerator accelerator;
	enum purpose purpose;
	const char *words;
	enum architecture architecture;
} rows[] = {
	{ACCELERATOR_TCG, PURPOSE_PLAIN,
	 START "-machine\nmicrovm,acpi=on,pit=on,pic=on,rtc=on,memory-backend=ram\n"
	       "-accel\n" TCG "\n-cpu\nmax,-erms,-fsrm\n" MEMORY
	       "-bios\nqboot.rom\n-global\nvirtio-mmio.force-legacy=false\n" DEVICES(
		       "device") "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable "
				 "no_timer_check init_on_alloc=1 "
				 "tsc_early_khz=2445428\n",
	 ARCHITECTURE_AMD64},
	{ACCELERATOR_TCG, PURPOSE_PLUGGABLE,
	 START "-machine\nq35,memory-backend=ram\n-accel\n" TCG "\n-cpu\nmax,-erms,-fsrm\n" MEMORY
	       "-bios\nqboot.rom\n" SPARE DEVICES(
		       "pci") "console=ttyS0 quiet panic=-1 reboot=t tsc=reliable no_timer_check "
			      "init_on_alloc=1 "
			      "tsc_early_khz=2445428\n",
	 ARCHITECTURE_AMD64},
	{ACCELERATOR_KVM, PURPOSE_PLAIN,
	 START "-machine\nmicrovm,acpi=on,pit=off,pic=off,rtc=on,memory-backend=ram\n"
	       "-accel\nkvm\n-cpu\nhost,-vmx,-svm\n" MEMORY
	       "-bios\nqboot.rom\n-global\nvirtio-mmio.force-legacy=false\n" DEVICES(
		       "device") "console=ttyS0 quiet panic=-1 reboot=t\n",
	 ARCHITECTURE_AMD64},
	{ACCELERATOR_KVM, PURPOSE_PLUGGABLE,
	 START "-machine\nq35,memory-backend=ram\n-accel\nkvm\n-cpu\nhost,-vmx,-svm\n" MEMORY
	       "-bios\nqboot.rom\n" SPARE DEVICES("pci") "console=ttyS0 quiet panic=-1 reboot=t\n",
	 ARCHITECTURE_AMD64},
	{ACCELERATOR_TCG, PURPOSE_PLAIN,
	 START_ARM64 "-machine\nvirt,gic-version=3,memory-backend=ram\n-accel\n" TCG
		     "\n-cpu\nneoverse-n1\n" MEMORY KEYS DEVICES(
			     "pci") "console=ttyAMA0 quiet panic=-1 init_on_alloc=1\n",
	 ARCHITECTURE_ARM64},
	{ACCELERATOR_TCG, PURPOSE_PLUGGABLE,
	 START_ARM64 "-machine\nvirt,gic-version=3,memory-backend=ram\n-accel\n" TCG
		     "\n-cpu\nneoverse-n1\n" MEMORY KEYS SPARE DEVICES(
			     "pci") "console=ttyAMA0 quiet panic=-1 init_on_alloc=1\n",
	 ARCHITECTURE_ARM64},
	{ACCELERATOR_KVM, PURPOSE_PLAIN,
	 START_ARM64
	 "-machine\nvirt,gic-version=host,memory-backend=ram\n"
	 "-accel\nkvm\n-cpu\nhost\n" MEMORY KEYS DEVICES("pci") "console=ttyAMA0 quiet panic=-1\n",
	 ARCHITECTURE_ARM64},
	{ACCELERATOR_KVM, PURPOSE_PLUGGABLE,
	 START_ARM64 "-machine\nvirt,gic-version=host,memory-backend=ram\n"
		     "-accel\nkvm\n-cpu\nhost\n" MEMORY KEYS SPARE DEVICES(
			     "pci") "console=ttyAMA0 quiet panic=-1\n",
	 ARCHITECTURE_ARM64},
};

static void every_row_is_pinned(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_SIZE(rows), ARCHITECTURE_COUNT * 2 * PURPOSE_COUNT);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct machine m = plain;

		m.accelerator = rows[i].accelerator;
		m.purpose = rows[i].purpose;
		m.architecture = rows[i].architecture;
		if (m.architecture == ARCHITECTURE_ARM64) {
			m.binary = "/usr/bin/qemu-system-aarch64";
			m.tsc_khz = 0;
		}
		autofree char *words = built(&m);
		assert_string_equal(words, rows[i].words);
	}
}

static void a_machine_without_a_row_is_refused(void **state)
{
	struct machine m = plain;
	autoargv struct argv argv = ARGV_INIT;
	struct error err = {0};

	(void)state;
	m.architecture = ARCHITECTURE_COUNT;
	assert_int_equal(command_line_build(&m, &argv, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
}

/* Firmware of another QEMU is not used. */
static void own_firmware(void **state)
{
	struct machine m = plain;

	(void)state;
	m.data[0] = "/opt/q/share/qemu";
	autofree char *words = built(&m);
	assert_non_null(strstr(words, "-L\n/opt/q/share/qemu\n-machine\n"));
}

static void test_without_qboot(void **state)
{
	struct machine m = plain;

	(void)state;
	m.qboot = false;
	for (int purpose = 0; purpose < PURPOSE_COUNT; purpose++) {
		m.purpose = (enum purpose)purpose;
		autofree char *words = built(&m);
		assert_null(strstr(words, "-bios"));
	}
}

/* After the root, in the given order. A read-only disk is read-only at every place. */
static void further_disks_are_pinned(void **state)
{
	static const struct machine_disk disks[] = {{.serial = "disk-0", .fd = 20},
						    {"disk-1", 21, true}};
	struct machine m = plain;

	(void)state;
	m.disks = disks;
	m.disk_count = ARRAY_SIZE(disks);
	autofree char *words = built(&m);
	assert_non_null(strstr(
		words,
		",drive=rootfs,serial=rootfs,werror=enospc,rerror=report\n"
		"-add-fd\nfd=20,set=2,opaque=disk-0\n"
		"-blockdev\ndriver=file,node-name=disk-0-file,filename=/dev/fdset/2,discard=unmap\n"
		"-blockdev\ndriver=raw,node-name=disk-0,file=disk-0-file,discard=unmap\n"
		"-device\nvirtio-blk-device,id=disk-0-dev,drive=disk-0,serial=disk-0,"
		"werror=enospc,rerror=report\n"
		"-add-fd\nfd=21,set=3,opaque=disk-1\n"
		"-blockdev\ndriver=file,node-name=disk-1-file,filename=/dev/fdset/3,read-only=on,locking=off\n"
		"-blockdev\ndriver=raw,node-name=disk-1,file=disk-1-file,read-only=on\n"
		"-device\nvirtio-blk-device,id=disk-1-dev,drive=disk-1,serial=disk-1,"
		"werror=enospc,rerror=report\n"));
}

static void a_root_in_memory_is_no_disk(void **state)
{
	static const struct machine_disk disk = {.serial = "disk-0", .fd = 20};
	struct machine m = plain;

	(void)state;
	m.ram_root = true;
	m.disks = &disk;
	m.disk_count = 1;
	autofree char *words = built(&m);
	assert_null(strstr(words, "rootfs"));
	assert_non_null(strstr(words, "-add-fd\nfd=20,set=1,opaque=disk-0\n"));
	assert_non_null(strstr(words, " tsc_early_khz=2445428 microagent.root=ram\n"));
}

static void a_shell_is_for_init(void **state)
{
	struct config config = two_processors;
	struct machine m = plain;

	(void)state;
	m.config = &config;
	config.console_shell = true;
	autofree char *words = built(&m);
	assert_non_null(strstr(words, " tsc_early_khz=2445428 -- console\n"));
	m.reader = true;
	autofree char *reading = built(&m);
	assert_non_null(strstr(reading, " tsc_early_khz=2445428 -- reader\n"));
}

/* A root disk that is only looked at is never opened for writing. */
static void a_reader_is_pinned(void **state)
{
	struct machine m = plain;

	(void)state;
	m.reader = true;
	m.overlay = true;
	autofree char *words = built(&m);
	assert_non_null(strstr(words, ",set=1,opaque=below\n"
				      "-blockdev\ndriver=file,node-name=below-file,"
				      "filename=/dev/fdset/1,read-only=on,locking=off\n"
				      "-blockdev\ndriver=raw,node-name=below,file=below-file,"
				      "read-only=on\n"));
	assert_non_null(strstr(words, ",set=2,opaque=rootfs\n"
				      "-blockdev\ndriver=file,node-name=rootfs-file,"
				      "filename=/dev/fdset/2,discard=unmap\n"
				      "-blockdev\ndriver=qcow2,node-name=rootfs,file=rootfs-file,"
				      "backing=below,discard=unmap\n"));
	assert_non_null(strstr(words, " -- reader"));
	m.overlay = false; /* a writer */
	autofree char *writer = built(&m);
	assert_null(strstr(writer, "qcow2"));
	assert_non_null(strstr(writer, " -- reader"));
}

/* Only the layer is opened for writing, and not its base. With a reader neither is. */
static void a_layer_is_pinned(void **state)
{
	struct machine m = plain;

	(void)state;
	m.layer = true;
	autofree char *words = built(&m);
	assert_non_null(strstr(words, ",set=1,opaque=base\n"
				      "-blockdev\ndriver=file,node-name=base-file,"
				      "filename=/dev/fdset/1,read-only=on,locking=off\n"
				      "-blockdev\ndriver=raw,node-name=base,file=base-file,"
				      "read-only=on\n"));
	assert_non_null(strstr(words, ",set=2,opaque=rootfs\n"
				      "-blockdev\ndriver=file,node-name=rootfs-file,"
				      "filename=/dev/fdset/2,discard=unmap\n"
				      "-blockdev\ndriver=qcow2,node-name=rootfs,file=rootfs-file,"
				      "backing=base,discard=unmap\n"));
	/* A node between the two bounds what it may use of its file. A reader has no such node. */
	m.layer_room = 1 << 20;
	autofree char *bounded = built(&m);
	assert_non_null(strstr(bounded,
			       "-blockdev\ndriver=raw,node-name=" MACHINE_LAYER_ROOM
			       ",file=" MACHINE_LAYER_FILE ",size=1048576,discard=unmap\n"
			       "-blockdev\ndriver=qcow2,node-name=rootfs,"
			       "file=" MACHINE_LAYER_ROOM ",backing=base,discard=unmap\n"));
	m.overlay = true;
	autofree char *reader = built(&m);
	assert_null(strstr(reader, MACHINE_LAYER_ROOM));
	assert_non_null(strstr(reader, "-blockdev\ndriver=qcow2,node-name=below,file=below-file,"
				       "backing=base,read-only=on\n"));
	assert_non_null(strstr(reader, ",set=3,opaque=rootfs\n"));
	assert_non_null(strstr(reader, "backing=below,discard=unmap\n"));
}

/* One group for the machine, and a node of it over each disk that is written to. */
static void rates_are_pinned(void **state)
{
	static const struct machine_disk disks[] = {{.serial = "disk-0", .fd = 20},
						    {"disk-1", 21, true}};
	struct config config = two_processors;
	struct machine m = plain;

	(void)state;
	m.config = &config;
	m.disks = disks;
	m.disk_count = ARRAY_SIZE(disks);
	config.limits.disk_bytes = 1 << 20;
	autofree char *words = built(&m);
	assert_non_null(strstr(words, "-object\n{\"qom-type\":\"throttle-group\",\"id\":\"rates\","
				      "\"limits\":{\"bps-total\":1048576,\"iops-total\":0}}\n"));
	assert_non_null(strstr(words,
			       "-blockdev\ndriver=raw,node-name=rootfs-full,"
			       "file=rootfs-file,discard=unmap\n"
			       "-blockdev\ndriver=throttle,node-name=rootfs,file=rootfs-full,"
			       "throttle-group=rates,discard=unmap\n"
			       "-device\nvirtio-blk-device,id=rootfs-dev,drive=rootfs,"));
	assert_non_null(strstr(words, "node-name=disk-0,file=disk-0-full,throttle-group=rates,"));
	assert_non_null(strstr(words, "driver=raw,node-name=disk-1,file=disk-1-file,read-only=on"));
	config.limits.disk_bytes = 0;
	config.limits.disk_ops = 100;
	m.layer = true;
	m.layer_room = 1 << 20;
	autofree char *layer = built(&m);
	assert_non_null(strstr(layer, "{\"bps-total\":0,\"iops-total\":100}"));
	assert_non_null(strstr(layer, "-blockdev\ndriver=qcow2,node-name=rootfs-full,"
				      "file=" MACHINE_LAYER_ROOM ",backing=base,discard=unmap\n"
				      "-blockdev\ndriver=throttle,node-name=rootfs,"));
	m.overlay = true;
	autofree char *reader = built(&m);
	assert_non_null(
		strstr(reader, "node-name=below,file=below-file,backing=base,read-only=on"));
	assert_non_null(strstr(reader, "driver=qcow2,node-name=rootfs-full,file=rootfs-file,"
				       "backing=below,discard=unmap\n"));
}

static void shares_are_pinned(void **state)
{
	static const struct machine_share shares[] = {{"work", 30}, {"a,b", 31}};
	struct machine m = plain;

	(void)state;
	m.shares = shares;
	m.share_count = ARRAY_SIZE(shares);
	autofree char *words = built(&m);
	assert_non_null(strstr(words, "-chardev\nsocket,id=share0,fd=30\n"
				      "-device\nvhost-user-fs-device,id=share0-dev,chardev=share0,"
				      "queue-size=1024,tag=work\n"
				      "-chardev\nsocket,id=share1,fd=31\n"
				      "-device\nvhost-user-fs-device,id=share1-dev,chardev=share1,"
				      "queue-size=1024,tag=a,,b\n"));
}

static void cards_are_pinned(void **state)
{
	struct machine m = plain;

	(void)state;
	m.mac = "02:00:00:00:00:01";
	m.card = CARD_STREAM;
	autofree char *stream = built(&m);
	assert_non_null(strstr(
		stream, "-netdev\nstream,id=net0,server=off,addr.type=fd,addr.str=9\n"
			"-device\nvirtio-net-device,id=card0,netdev=net0,mac=02:00:00:00:00:01\n"));
	m.card = CARD_TAP;
	m.purpose = PURPOSE_PLUGGABLE;
	autofree char *tap = built(&m);
	assert_non_null(strstr(
		tap,
		"-netdev\ntap,id=net0,fd=9\n"
		"-device\nvirtio-net-pci,id=card0,netdev=net0,mac=02:00:00:00:00:01,romfile=\n"));
}

static void an_unknown_counter_is_not_named(void **state)
{
	struct machine m = plain;

	(void)state;
	m.tsc_khz = 0;
	autofree char *words = built(&m);
	assert_null(strstr(words, "tsc_early_khz"));
}

/* A comma would begin another option of -name, a '=' another key. */
static void a_label_cannot_become_options(void **state)
{
	struct machine m = plain;

	(void)state;
	m.label = "/a,process=x,/b=c/";
	autofree char *words = built(&m);
	assert_non_null(strstr(words, "\nguest=/a,,process=x,,/b=c/\n"));
}

static void a_large_guest_keeps_its_numbers(void **state)
{
	struct config config = two_processors;
	struct machine m = plain;

	(void)state;
	m.config = &config;
	config.memory_mib = INT64_C(4194304);
	config.cpus = 288;
	autofree char *words = built(&m);
	assert_non_null(strstr(words, "\n-smp\n288\n-m\n4194304M\n"));
	assert_non_null(strstr(words, ",size=4194304M,share=on\n"));
}

static void auto_is_no_machine(void **state)
{
	struct machine m = plain;
	autoargv struct argv argv = ARGV_INIT;
	struct error err = {0};

	(void)state;
	m.accelerator = ACCELERATOR_AUTO;
	assert_int_equal(command_line_build(&m, &argv, &err), -1);
	assert_code(err, ERR_UNSUPPORTED);
	assert_int_equal(argv.count, 0);
}

/* A machine that can be saved: its memory is a file by name, and it has no vhost-user device. */
static void test_saved_machine(void **state)
{
	struct machine m = plain;

	(void)state;
	m.purpose = PURPOSE_PLUGGABLE;
	m.ram = RAM_FILE;
	m.port = true;
	m.saved = true;
	autofree char *saved = built(&m);
	assert_non_null(strstr(saved, "memory-backend-file,id=ram,size=512M,"
				      "mem-path=/proc/self/fd/12,share=on\n"));
	assert_non_null(strstr(saved,
			       "-chardev\nsocket,id=vsock,fd=6\n"
			       "-device\nvirtio-serial-pci,id=port0,max_ports=2\n-device\n"
			       "virtserialport,bus=port0.0,chardev=vsock,name=microagent\n"));
	assert_non_null(strstr(saved, " microagent.port\n"));
	assert_non_null(strstr(saved, "-S\n"));
	assert_null(strstr(saved, "vhost-user"));
	/* qboot stops if the generation device makes a request to the firmware. */
	assert_non_null(strstr(saved, "-device\nvmgenid,guid=auto\n"));
	assert_null(strstr(saved, "-bios"));
	assert_null(strstr(saved, "balloon"));
	assert_non_null(strstr(saved, "-device\npcie-root-port,id=disk-port,chassis=3,slot=3\n"));
	m.ram = RAM_PRIVATE;
	m.restored = true;
	autofree char *restored = built(&m);
	assert_non_null(strstr(restored, "mem-path=/proc/self/fd/12,share=off\n"));
	assert_non_null(strstr(restored, "-incoming\ndefer\n"));
	assert_null(strstr(restored, "-kernel"));
	assert_null(strstr(restored, "-append"));
	assert_null(strstr(restored, "-bios"));
	assert_null(strstr(restored, "balloon"));
	/* Disks that the saved state lacks are plugged in later, at the places at which a machine has
	 * them that was saved with them. */
	const struct machine_disk disks[] = {{"bundle-0", 20, true}, {"bundle-1", 21, true}};
	m.disks = disks;
	m.disk_count = 2;
	m.disks_later = true;
	autofree char *later = built(&m);
	assert_non_null(strstr(later, "driver=raw,node-name=bundle-1,file=bundle-1-file,"));
	assert_null(strstr(later, "bundle-0-dev"));
	m.disks_later = false;
	autofree char *with = built(&m);
	assert_non_null(strstr(with,
			       "virtio-blk-pci,id=bundle-0-dev,drive=bundle-0,serial=bundle-0,"
			       "werror=enospc,rerror=report,bus=disk-port,addr=0.0,"
			       "multifunction=on\n"));
	assert_non_null(strstr(with, ",bus=disk-port,addr=0.1,multifunction=on\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_pinned),
		cmocka_unit_test(a_machine_without_a_row_is_refused),
		cmocka_unit_test(own_firmware),
		cmocka_unit_test(test_without_qboot),
		cmocka_unit_test(further_disks_are_pinned),
		cmocka_unit_test(a_root_in_memory_is_no_disk),
		cmocka_unit_test(a_shell_is_for_init),
		cmocka_unit_test(a_reader_is_pinned),
		cmocka_unit_test(a_layer_is_pinned),
		cmocka_unit_test(rates_are_pinned),
		cmocka_unit_test(shares_are_pinned),
		cmocka_unit_test(cards_are_pinned),
		cmocka_unit_test(an_unknown_counter_is_not_named),
		cmocka_unit_test(a_label_cannot_become_options),
		cmocka_unit_test(a_large_guest_keeps_its_numbers),
		cmocka_unit_test(auto_is_no_machine),
		cmocka_unit_test(test_saved_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
