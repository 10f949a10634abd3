/* SPDX-License-Identifier: MIT */
/*
 * Tests the table of QEMU's system calls: its rows, the results of the compiled filter for each of
 * them (a few lines run it as the kernel does), and processes under the filter.
 */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/parts/vmm_calls.h"
#include "backend/parts/vmm_filter.h"

#define UNKNOWN 9999
#define X32 0x40000000
#define FCHMODAT2 452 /* Linux 6.6 */

static struct sock_fprog read_filter(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	struct sock_fprog program = {.filter = malloc((size_t)size)};

	assert_int_equal(size % (off_t)sizeof(*program.filter), 0);
	assert_int_equal(pread(fd, program.filter, (size_t)size, 0), size);
	program.len = (unsigned short)((size_t)size / sizeof(*program.filter));
	close(fd);
	return program;
}

static struct sock_fprog compile(enum vmm_program vmm, bool only_logs)
{
	struct error err;
	int fd = -1;

	assert_ok(vmm_filter_open(vmm, only_logs, &fd, &err));
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	return read_filter(fd);
}

/* Returns what the kernel would do. */
static uint32_t verdict(const struct sock_fprog *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t at = 0; at < program->len; at++) {
		const struct sock_filter *op = &program->filter[at];
		bool yes = false;

		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + op->k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			continue;
		case BPF_JMP | BPF_JA:
			at += op->k;
			continue;
		case BPF_RET | BPF_K:
			return op->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == op->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= op->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			yes = a > op->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = a & op->k;
			break;
		default:
			fail_msg("an instruction that is not known: %x", op->code);
		}
		at += yes ? op->jt : op->jf;
	}
	fail_msg("no verdict");
	return 0;
}

static uint32_t verdict_of(const struct sock_fprog *program, int number, uint64_t first)
{
	struct seccomp_data data = {.nr = number, .arch = seccomp_arch_native(), .args = {first}};

	return verdict(program, &data);
}

/* Returns the verdicts for the calls that the row means. */
static uint32_t verdict_of_row(const struct sock_fprog *program, const struct vmm_call *call)
{
	struct seccomp_data data = {.nr = call->number, .arch = seccomp_arch_native()};

	for (size_t i = 0; i < ARRAY_SIZE(call->only) && call->only[i].op; i++)
		data.args[call->only[i].arg] = call->only[i].op == SCMP_CMP_EQ
						       ? call->only[i].datum_a
						       : call->only[i].datum_b;
	return verdict(program, &data);
}

static void rows_are_in_order_and_have_reasons(void **state)
{
	(void)state;
	for (size_t i = 0; i < vmm_call_count; i++) {
		const struct vmm_call *call = &vmm_calls[i], *before = call - 1;

		assert_true(strlen(call->reason) > 2);
		if (i > 0 && call->fate == before->fate)
			assert_true(strcmp(before->name, call->name) < 0);
		else if (i > 0)
			assert_true(before->fate < call->fate);
		/* A call has one verdict, unless its arguments differ: clone() and fcntl(). */
		for (size_t j = 0; j < i; j++)
			if (vmm_calls[j].number == call->number && call->number >= 0)
				assert_true(call->only[0].op && vmm_calls[j].only[0].op);
	}
}

static void each_call_has_its_fate(void **state)
{
	static const uint32_t fates[] = {
		[CALL_KILLED] = SECCOMP_RET_KILL_PROCESS,
		[CALL_REFUSED] = SECCOMP_RET_ERRNO | ENOSYS,
		[CALL_ALLOWED] = SECCOMP_RET_ALLOW,
		[CALL_ALLOWED_TO_FIRECRACKER] = SECCOMP_RET_ERRNO | ENOSYS,
	};
	struct sock_fprog program = compile(VMM_QEMU, false), logs = compile(VMM_QEMU, true);

	(void)state;
	for (size_t i = 0; i < vmm_call_count; i++) {
		const struct vmm_call *call = &vmm_calls[i];
		uint32_t is;

		if (call->number < 0)
			continue;
		is = verdict_of_row(&program, call);
		if (is != fates[call->fate])
			fail_msg("%s: %x", call->name, is);
		assert_int_equal(verdict_of_row(&logs, call),
				 call->fate == CALL_ALLOWED ? SECCOMP_RET_ALLOW : SECCOMP_RET_LOG);
	}
	for (int number = UNKNOWN - 100; number <= UNKNOWN; number++) {
		assert_int_equal(verdict_of(&program, number, 0), SECCOMP_RET_ERRNO | ENOSYS);
		assert_int_equal(verdict_of(&logs, number, 0), SECCOMP_RET_LOG);
	}
	/* A thread as the C library makes it, with and without one namespace. */
	unsigned thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
	assert_int_equal(verdict_of(&program, SYS_clone, thread), SECCOMP_RET_ALLOW);
	assert_int_equal(verdict_of(&program, SYS_clone, thread | CLONE_NEWUSER),
			 SECCOMP_RET_KILL_PROCESS);
	free(program.filter);
	free(logs.filter);
}

static uint32_t verdict_of_socket(const struct sock_fprog *program, int number, int family,
				  int type)
{
	const struct seccomp_data data = {.nr = number,
					  .arch = seccomp_arch_native(),
					  .args = {(uint64_t)family, (uint64_t)type}};

	return verdict(program, &data);
}

/* No socket can be made that sends to an address of the VMM's choice. */
static void sockets_are_few(void **state)
{
	static const int families[] = {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK};
	static const int types[] = {SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
	static const int stream = SOCK_STREAM | SOCK_CLOEXEC;
	struct sock_fprog programs[] = {compile(VMM_QEMU, false), compile(VMM_FIRECRACKER, false)};
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;

	(void)state;
	assert_int_equal(verdict_of_socket(&programs[0], SYS_socket, AF_UNIX, stream), refused);
	assert_int_equal(verdict_of_socket(&programs[1], SYS_socket, AF_UNIX, stream),
			 SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		assert_int_equal(verdict_of_socket(&programs[i], SYS_socketpair, AF_UNIX, stream),
				 SECCOMP_RET_ALLOW);
		for (size_t j = 0; j < ARRAY_SIZE(families); j++)
			assert_int_equal(
				verdict_of_socket(&programs[i], SYS_socket, families[j], stream),
				refused);
		for (size_t j = 0; j < ARRAY_SIZE(types); j++) {
			int type = types[j] | SOCK_NONBLOCK;

			assert_int_equal(verdict_of_socket(&programs[i], SYS_socket, AF_UNIX, type),
					 refused);
			assert_int_equal(
				verdict_of_socket(&programs[i], SYS_socketpair, AF_UNIX, type),
				refused);
		}
		free(programs[i].filter);
	}
}

/* Returns the verdict of both filters on a call of that number with these arguments. */
static void assert_verdicts(int number, const uint64_t args[4], uint32_t qemu, uint32_t firecracker)
{
	struct sock_fprog programs[] = {compile(VMM_QEMU, false), compile(VMM_FIRECRACKER, false)};
	const uint32_t expected[] = {qemu, firecracker};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const struct seccomp_data data = {.nr = number,
						  .arch = seccomp_arch_native(),
						  .args = {args[0], args[1], args[2], args[3]}};
		uint32_t is = verdict(&programs[i], &data);

		if (is != expected[i])
			fail_msg("call %d: %x of program %zu", number, is, i);
		free(programs[i].filter);
	}
}

/* A file keeps its attributes, also one that the process only reads and whose owner it is. */
static void no_attributes_of_files(void **state)
{
	static const uint64_t commands[] = {FS_IOC_SETFLAGS,
					    FS_IOC32_SETFLAGS,
					    FS_IOC_FSSETXATTR,
					    FS_IOC_SETVERSION,
					    FS_IOC_ENABLE_VERITY,
					    FS_IOC_SET_ENCRYPTION_POLICY,
					    FIFREEZE,
					    FICLONE,
					    FS_IOC_SETFSLABEL};
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const uint64_t args[4] = {0, commands[i]};

		assert_verdicts(SYS_ioctl, args, refused, refused);
	}
}

/* A program that opens its files does not wait for it, and nobody gets a signal. */
static void nobody_is_held_up(void **state)
{
	static const uint64_t commands[] = {F_SETLEASE, F_NOTIFY, F_SETOWN, F_SETOWN_EX, F_SETSIG};
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;
	const uint64_t asynchronous[4] = {0, F_SETFL, O_ASYNC | O_NONBLOCK};
	const uint64_t unblocked[4] = {0, F_SETFL, O_NONBLOCK};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const uint64_t plain[4] = {0, commands[i]}, wide[4] = {0, commands[i] | 1ull << 32};

		assert_verdicts(SYS_fcntl, plain, refused, refused);
		assert_verdicts(SYS_fcntl, wide, refused, refused);
	}
	assert_verdicts(SYS_fcntl, asynchronous, refused, refused);
	assert_verdicts(SYS_fcntl, unblocked, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW);
}

/* A TCP socket that the live supervisor hands to it goes nowhere else. */
static void sockets_are_connected_nowhere_else(void **state)
{
	static const int anew[] = {SYS_bind, SYS_connect, SYS_listen};
	static const struct {
		int number, flags;
	} sending[] = {{SYS_sendto, 3}, {SYS_sendmsg, 2}, {SYS_sendmmsg, 3}};
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(anew); i++)
		assert_verdicts(anew[i], (const uint64_t[4]){0}, refused, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(sending); i++) {
		uint64_t args[4] = {0};

		args[sending[i].flags] = MSG_NOSIGNAL | MSG_DONTWAIT;
		assert_verdicts(sending[i].number, args, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW);
		args[sending[i].flags] |= MSG_FASTOPEN;
		assert_verdicts(sending[i].number, args, refused, refused);
	}
}

/* The disk of an ordinary user's machine is that user's file, and the guest writes its contents. */
static void no_file_becomes_a_set_user_id_program(void **state)
{
	static const int changing[] = {
		SYS_fchmod,   SYS_fchmodat,  FCHMODAT2,	 SYS_fchown,
		SYS_fchownat, SYS_utimensat, SYS_linkat, SYS_openat2,
#ifdef __x86_64__
		SYS_chmod,    SYS_chown,     SYS_lchown, SYS_utime,
		SYS_utimes,   SYS_futimesat, SYS_link,
#endif
	};
	static const struct {
		int number, mode;
	} making[] = {
		{SYS_openat, 3},
#ifdef __x86_64__
		{SYS_open, 2},
		{SYS_creat, 1},
#endif
	};
	static const uint64_t bits[] = {S_ISUID, S_ISGID};
	const uint32_t refused = SECCOMP_RET_ERRNO | ENOSYS;

	(void)state;
	/* A link can name files of others. The stand-in for Firecracker makes some. */
	assert_verdicts(SYS_symlinkat, (const uint64_t[4]){0}, refused, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < ARRAY_SIZE(changing); i++)
		assert_verdicts(changing[i], (const uint64_t[4]){0, 0600, 0600, 0600}, refused,
				refused);
	for (size_t i = 0; i < ARRAY_SIZE(making); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bits); j++) {
			uint64_t args[4] = {0};

			args[making[i].mode] = 0666;
			assert_verdicts(making[i].number, args, SECCOMP_RET_ALLOW,
					SECCOMP_RET_ALLOW);
			args[making[i].mode] |= bits[j];
			assert_verdicts(making[i].number, args, refused, refused);
		}
}

static void other_architectures_end_it(void **state)
{
	struct sock_fprog program = compile(VMM_QEMU, false), logs = compile(VMM_QEMU, true);
	struct seccomp_data i386 = {.nr = 20, .arch = AUDIT_ARCH_I386};

	(void)state;
	assert_int_equal(verdict(&program, &i386), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(verdict(&logs, &i386), SECCOMP_RET_LOG);
	if (seccomp_arch_native() == SCMP_ARCH_X86_64)
		assert_int_equal(verdict_of(&program, X32 | SYS_getpid, 0),
				 SECCOMP_RET_KILL_PROCESS);
	free(program.filter);
	free(logs.filter);
}

/* --- processes under it ---------------------------------------------------------------------- */

/* Returns how a child ends that has the filter and does that. */
static int status_under(const struct sock_fprog *program, int (*act)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program) < 0)
			_exit(100);
		_exit(act());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static int make_ptrace(void)
{
	return (int)syscall(SYS_ptrace, 16, 1, 0, 0);
}

static int make_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

#ifdef __x86_64__
static int make_x32(void)
{
	return (int)syscall(X32 | SYS_getpid);
}
#endif

static int make_unknown(void)
{
	static const long calls[] = {UNKNOWN, SYS_clone3, SYS_setuid};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (syscall(calls[i], 0, 0) != -1 || errno != ENOSYS)
			return 1;
	return 0;
}

static void *do_nothing(void *data)
{
	return data;
}

/* The C library does this by clone3() if it can. */
static int make_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL);
}

static int become_another(void)
{
	execl("/bin/true", "true", NULL);
	return 1;
}

static void a_process_is_ended_or_refused(void **state)
{
	static const struct {
		int (*act)(void);
		bool ends;
	} cases[] = {
		{make_ptrace, true},  {make_namespace, true},  {make_unknown, false},
		{make_thread, false}, {become_another, false},
#ifdef __x86_64__
		{make_x32, true},
#endif
	};
	struct sock_fprog program = compile(VMM_QEMU, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int status = status_under(&program, cases[i].act);

		if (cases[i].ends)
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
		else
			assert_int_equal(status, 0);
	}
	free(program.filter);
}

static int open_without_support(void)
{
	struct error err = {0};
	int fd;

	return vmm_filter_open(VMM_QEMU, false, &fd, &err) < 0 && err.code == ERR_UNAVAILABLE &&
			       strstr(err.msg, "this kernel does not have the system call filter")
		       ? 0
		       : 1;
}

/* As on a kernel without seccomp(2). This is the first test, since libseccomp asks a kernel
 * once. */
static void an_old_kernel_is_told(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	(void)state;
	assert_int_equal(status_under(&program, open_without_support), 0);
}

static void the_mode_is_a_word(void **state)
{
	struct error err = {0};
	bool only_logs = true;

	(void)state;
	assert_ok(vmm_filter_mode("MICROAGENT_QEMU_SECCOMP", &only_logs, &err));
	assert_false(only_logs);
	setenv("MICROAGENT_QEMU_SECCOMP", "", 1);
	assert_ok(vmm_filter_mode("MICROAGENT_QEMU_SECCOMP", &only_logs, &err));
	assert_false(only_logs);
	setenv("MICROAGENT_QEMU_SECCOMP", "off", 1);
	only_logs = true;
	assert_int_equal(vmm_filter_mode("MICROAGENT_QEMU_SECCOMP", &only_logs, &err), -1);
	assert_code(err, ERR_INVALID);
	assert_string_equal(
		err.msg,
		"the variable MICROAGENT_QEMU_SECCOMP must be \"log\" or unset, and is \"off\"");
	assert_true(only_logs);
	only_logs = false;
	setenv("MICROAGENT_QEMU_SECCOMP", "log", 1);
	assert_ok(vmm_filter_mode("MICROAGENT_QEMU_SECCOMP", &only_logs, &err));
	assert_true(only_logs);
	unsetenv("MICROAGENT_QEMU_SECCOMP");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_old_kernel_is_told),
		cmocka_unit_test(rows_are_in_order_and_have_reasons),
		cmocka_unit_test(each_call_has_its_fate),
		cmocka_unit_test(sockets_are_few),
		cmocka_unit_test(sockets_are_connected_nowhere_else),
		cmocka_unit_test(no_attributes_of_files),
		cmocka_unit_test(nobody_is_held_up),
		cmocka_unit_test(no_file_becomes_a_set_user_id_program),
		cmocka_unit_test(other_architectures_end_it),
		cmocka_unit_test(a_process_is_ended_or_refused),
		cmocka_unit_test(the_mode_is_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
