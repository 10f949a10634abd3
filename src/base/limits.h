/* SPDX-License-Identifier: MIT */
/*
 * Every limit, interval and deadline of the system, in one table. The code reads them through
 * limit_get(), `contract` prints them, and end-to-end tests may shorten one for a single process by
 * the environment variable MICROAGENT_TEST_LIMIT_<NAME> (a decimal number in the same unit).
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

/*    name                    value        unit   what */
#define LIMIT_TABLE(X)                                                                             \
	X(REQUEST_BYTES, 1048576, "bytes", "longest request document on stdin")                    \
	X(VARIABLE_BYTES, 131071, "bytes", "longest variable of an env-file, as Linux takes it")   \
	X(FRAME_BYTES, 16777216, "bytes", "longest frame of a guest protocol")                     \
	X(RESULT_BYTES, 16777216, "bytes", "longest result document of a guest")                   \
	X(RESULT_STREAM_BYTES, 1048576, "bytes", "stdout and stderr kept in result.json, each")    \
	X(STATE_FILE_BYTES, 33554432, "bytes", "longest state file that is read")                  \
	X(RUNTIME_BYTES, 1048576, "bytes", "longest runtime.json that is read")                    \
	X(EVENTS_KEPT, 1024, "events", "entries of events.json; older ones are dropped")           \
	X(AUDIT_LINE_BYTES, 65536, "bytes", "longest line of an audit log")                        \
	X(AUDIT_BYTES, 67108864, "bytes",                                                          \
	  "audit.log; a guest's word may use half of it, its connections a quarter")               \
	X(AUDIT_FILE_BYTES, 268435456, "bytes", "audit.log as a whole; a longer one is not read")  \
	X(AUDIT_GUEST_LINES, 128, "lines/s", "of an audit log that are a guest's word")            \
	X(AUDIT_NET_LINES, 128, "lines/s", "of an audit log on a guest's connections")             \
	X(AUDIT_SYNC_MS, 1000, "ms", "lines of an audit log that a loss of power may take")        \
	X(AUDIT_WAITING, 256, "events", "that wait for room for the audit log")                    \
	X(AUDIT_LOCK_MS, 1000, "ms", "that a reader waits for an audit log that is locked")        \
	X(AUDIT_LOOK_MS, 5000, "ms", "between two looks at what a VMM has, and at its audit log")  \
	X(AUDIT_EXECS, 64, "execs/s", "of a guest that are reported one by one")                   \
	X(DIRECTORY_LOOK_MS, 5000, "ms", "between two looks at whether a VM's directory is there") \
	X(TELEMETRY_BYTES, 16777216, "bytes", "telemetry.jsonl; what comes above it is counted")   \
	X(SETTLE_MS, 1000, "ms", "a guest tells what it has not told yet, before it is killed")    \
	X(TELEMETRY_DIGEST_MS, 60000, "ms", "between two digests of telemetry.jsonl")              \
	X(PRESSURE_US, 500000, "us", "stalled for memory in two seconds: the host's pressure")     \
	X(PRESSURE_AGAIN_MS, 60000, "ms", "until memory pressure is told again")                   \
	X(SERIAL_LOG_BYTES, 8388608, "bytes", "serial.log; the oldest half is dropped above it")   \
	X(SUPERVISOR_LOG_BYTES, 4194304, "bytes", "supervisor.log")                                \
	X(BOOT_TCG_MS, 60000, "ms", "start to guest ready under TCG")                              \
	X(FIRMWARE_MS, 60000, "ms", "start to the first sign of the guest's kernel under KVM")     \
	X(BOOT_KVM_MS, 20000, "ms", "that to guest ready under KVM")                               \
	X(BOOT_MACOS_MS, 300000, "ms", "start to guest ready of a macOS guest")                    \
	X(MACOS_GUESTS, 2, "guests", "of macOS that run at once: Apple's own limit")               \
	X(HALT_MS, 15000, "ms", "clean power-off before the VM is killed")                         \
	X(KILL_MS, 10000, "ms", "end of every process of a workspace after a kill")                \
	X(QMP_MS, 10000, "ms", "answer to one QMP command")                                        \
	X(QMP_GREETING_MS, 30000, "ms", "start of QEMU to its first word, on a busy host")         \
	X(QMP_LINE_BYTES, 1048576, "bytes", "longest message of a VMM's monitor")                  \
	X(API_MS, 10000, "ms", "answer of Firecracker's API to one call")                          \
	X(API_RUNNING_MS, 60000, "ms", "the same while a guest runs, whose flushes go first")      \
	X(API_START_MS, 30000, "ms", "start of Firecracker to its API, on a busy host")            \
	X(API_LOOK_MS, 2, "ms", "between two looks for it; ten of them for a balloon's size")      \
	X(API_BODY_BYTES, 65536, "bytes", "longest document of Firecracker's API")                 \
	X(METRICS_MS, 1000, "ms", "between two lines of Firecracker's metrics that are kept")      \
	X(LOAD_MS, 40000, "ms", "nobody writes to a kernel while QEMU starts and reads it")        \
	X(CELL_MS, 10000, "ms", "a cell to be made")                                               \
	X(VMM_END_MS, 2000, "ms", "end of a VMM or companion that should end by itself")           \
	X(HCS_MS, 60000, "ms", "an operation of Windows' Host Compute System")                     \
	X(PROBE_MS, 2000, "ms", "accelerator probe in all")                                        \
	X(PROBE_LOOP_MS, 50, "ms", "a million iterations of 64-bit code under a usable KVM")       \
	X(TIME_PUSH_MS, 60000, "ms", "wall time pushed into the guest")                            \
	X(CLOCK_JUMP_MS, 1000, "ms", "a jump of the clock that is told")                           \
	X(SAVE_MS, 60000, "ms", "a machine's state to be written")                                 \
	X(QUIESCE_MS, 30000, "ms", "a guest's getting ready to be saved")                          \
	X(SAVE_PAUSE_MS, 100, "ms", "a machine stands still when no more is left to be saved")     \
	X(ON_FORK_MS, 60000, "ms",                                                                 \
	  "the command of a fork, in each child, unless it says otherwise")                        \
	X(ON_FORK_MOST_S, 600, "s", "the same, where it says otherwise")                           \
	X(FORK_CHILDREN, 100, "sessions", "of one fork")                                           \
	X(SIBLING_MS, 200, "ms", "a live supervisor's gift of its template's memory")              \
	X(BALLOON_MS, 3000, "ms", "a guest's giving up or taking back of memory, for the answer")  \
	X(PUBLISH_MS, 10000, "ms", "a running guest's word that it listens for a published port")  \
	X(SHARE_MS, 30000, "ms", "a running guest's mount of a directory that it was given")       \
	X(DISK_CHECK_MS, 1000, "ms", "free space looked at while a VM waits for it")               \
	X(COMMAND_LOCK_MS, 30000, "ms", "another command's hold of a workspace's command lock")    \
	X(CONTROL_REQUEST_MS, 5000, "ms", "a request to a live supervisor and its answer")         \
	X(CAPABILITIES_MS, 10000, "ms",                                                            \
	  "a supervisor's word on what it does, Firecracker's on itself")                          \
	X(SHELL_PROBE_MS, 3000, "ms", "agent round trip by which inspect knows shellReady")        \
	X(SEVER_MS, 5000, "ms", "quarantine: the end of every channel, until it is proven")        \
	X(SEVER_LOOK_MS, 20, "ms", "between two looks at what a VMM still holds")                  \
	X(SEVER_STOP_MS, 1000, "ms", "quarantine: until all threads of a VMM stand still")         \
	X(SEVER_NAMES, 4096, "names", "quarantine: what a VMM may have made beside its sockets")   \
	X(CONSOLE_BYTES, 262144, "bytes", "console output kept for a client that does not read")   \
	X(ENDING_MS, 2000, "ms", "last moments of a workspace that has recorded its end")          \
	X(AGENT_LOST_MS, 2000, "ms", "end of the VM after the end of its control stream")          \
	X(WORKLOAD_GRACE_MS, 30000, "ms", "result of a guest after its workload's own timeout")    \
	X(CGROUP_OVERHEAD_MIB, 512, "MiB",                                                         \
	  "memory of a workspace's cgroup beyond the guest's own: the programs around it")         \
	X(CGROUP_PIDS, 1024, "processes", "and threads in a workspace's cgroup")                   \
	X(DIGEST_MS, 900000, "ms", "hashing of one file")                                          \
	X(FREEZE_MS, 10000, "ms", "a file system frozen to be copied")                             \
	X(FILES_MS, 30000, "ms", "first word of the guest's program for files")                    \
	X(TRANSFER_SILENCE_MS, 300000, "ms",                                                       \
	  "a guest that neither sends nor takes any of a copy; a whole listing")                   \
	X(TREE_LINKS, 65536, "files", "with more than one name that a copied tree keeps as such")  \
	X(LISTING_BYTES, 33554432, "bytes", "longest listing of a directory of a guest")           \
	X(PROVISION_MS, 7200000, "ms", "the script that provisions a base")                        \
	X(PROVISION_MEMORY_MIB, 1024, "MiB", "of the machine that provisions a base, at least")    \
	X(PROVISION_LOG_BYTES, 16777216, "bytes",                                                  \
	  "provision.log of a base; the rest is only shown")                                       \
	X(PROVISION_LINE_BYTES, 65536, "bytes", "longest line of a script that is not split")      \
	X(OWN_DIRS_LOCK_MS, 1000, "ms", "wait for the list of directories to be known again")      \
	X(READER_LOCK_MS, 60000, "ms", "another command's reading of the same workspace")          \
	X(BUNDLE_BYTES, 8589934592, "bytes", "what an archive of config.bundles unpacks to")       \
	X(BUNDLE_FILES, 1000000, "files", "in an archive of config.bundles")                       \
	X(ARCHIVE_MEMORY_MIB, 1024, "MiB", "what reads an archive of a bundle or an image")        \
	X(IMAGE_FETCH_BYTES, 1099511627776, "bytes", "of an image as it is fetched or unpacked")   \
	X(IMAGE_BLOBS, 65536, "files", "in blobs of an OCI layout that is imported")               \
	X(IMAGE_FILES, 2000000, "files", "in an image that is imported")                           \
	X(IMAGE_TEXT_BYTES, 268435456, "bytes", "its paths, targets of links, and attributes")     \
	X(LAYER_TAIL_BYTES, 67108864, "bytes", "behind the ends of the layers of an image")        \
	X(PACKAGE_BYTES, 8589934592, "bytes", "what is taken out of a Debian package")             \
	X(PACKAGE_FILES, 200000, "files", "of those")                                              \
	X(BUNDLE_MS, 600000, "ms", "a bundle's disk to be built")                                  \
	X(DIGEST_SETTLED_MS, 2000, "ms", "age of a file before its digest is remembered")          \
	X(DIGESTS_KEPT, 1024, "digests", "remembered; those longest unused are dropped")           \
	X(DIAL_MS, 5000, "ms", "hybrid-vsock dial to its OK line")                                 \
	X(AGENT_IDLE_MS, 10000, "ms", "agent connection without a request in it")                  \
	X(EXEC_ENVELOPE_MS, 30000, "ms",                                                           \
	  "timeout of exec in the envelope form when none is given")                               \
	X(EXEC_FRAME_MS, 300000, "ms", "timeout of exec in the frame form when none is given")     \
	X(EXEC_OUTPUT_BYTES, 8388608, "bytes", "buffered stdout and stderr of one exec, each")     \
	X(EXEC_DRAIN_MS, 250, "ms",                                                                \
	  "output waited for after a command's exit when a child holds the pipe")                  \
	X(STREAM_FRAME_BYTES, 65536, "bytes", "output bytes in one frame of a streamed exec")      \
	X(CANCEL_MS, 5000, "ms", "exit of a streamed exec after the client cancelled it")          \
	X(LOST_MS, 1000, "ms",                                                                     \
	  "word of a run's machine after its connection broke, before the kill")                   \
	X(AGENT_ANSWER_MS, 60000, "ms", "the guest agent's word that a command has begun")         \
	X(STANDIN_MS, 90000, "ms", "microagent-oci: a stand-in's or a keeper's answer")            \
	X(UNREAD_MS, 2000, "ms",                                                                   \
	  "a reader's taking of output of a command that is to end, before the rest is dropped")   \
	X(EXEC_LATE_MS, 15000, "ms", "its word that a command has ended, after its timeout")       \
	X(PAUSE_WATCH_MS, 500, "ms",                                                               \
	  "how long a command has gone on when pauses of its machine begin to be told")            \
	X(REDIALS, 12, "dials",                                                                    \
	  "in a row for a resumable exec whose connection broke, without anything new")            \
	X(REDIAL_MS, 20, "ms", "between two of these, and as much more each time")                 \
	X(TELEMETRY_RECORDS, 1000, "records/s",                                                    \
	  "of what a guest traces; the next are counted; 0: a session is not traced")              \
	X(TELEMETRY_WRITE_BYTES, 1048576, "bytes", "smallest written file that is traced")         \
	X(VSOCK_STREAMS, 1024, "streams", "concurrent vsock streams of one guest")                 \
	X(VSOCK_STREAM_BYTES, 131072, "bytes", "vsock credit of a stream; a power of two")         \
	X(VSOCK_HOST_PORTS, 64, "ports", "host ports that one guest may dial")                     \
	X(VSOCK_LINE_MS, 5000, "ms", "a host client's CONNECT line")                               \
	X(VSOCK_ANSWER_MS, 10000, "ms", "the guest kernel's answer to a connect")                  \
	X(VSOCK_CLOSE_MS, 8000, "ms", "the guest kernel's RST after both ends have closed")        \
	X(VSOCK_DRAIN_MS, 2000, "ms", "a guest's last bytes delivered after the VM has ended")     \
	X(VSOCK_IDLE_MS, 2000, "ms", "quiet after which vsockd lets guest memory go")              \
	X(GUEST_DHCP_MS, 10000, "ms", "a bridged guest's wait for an address")                     \
	X(GUEST_DHCP_TRY_MS, 1000, "ms", "answer to one DHCP message before it is said again")     \
	X(GUEST_SSH_KEY_MS, 10000, "ms", "the making of a restored guest's host key for ssh")      \
	X(NETGATE_LINES, 64, "lines/s", "connections of a guest that are listed one by one")       \
	X(NETGATE_REFUSALS, 256, "frames/s", "refused frames of a guest that are answered")        \
	X(NETGATE_FLOW_MS, 300000, "ms", "quiet after which the same ports are a new connection")  \
	X(NETGATE_OPEN_FLOW_MS, 7200000, "ms", "the same of TCP that a name has opened")           \
	X(NETGATE_QUERIES, 20, "queries/s", "of DNS by a guest that goes by names; 3 s' at once")  \
	X(NETGATE_ANSWER_MS, 10000, "ms", "the resolver's answer to a question of such a guest")   \
	X(NETGATE_ASK_AGAIN_MS, 1000, "ms", "before a question that others wait for leaves again") \
	X(NETGATE_PIN_LEAST_S, 60, "s", "an address stays a name's, whatever its TTL")             \
	X(NETGATE_PIN_MOST_S, 3600, "s", "the same at most")                                       \
	X(NETGATE_PIN_GRACE_S, 30, "s", "and longer than who asked keeps it")                      \
	X(NETGATE_OPENING_MS, 10000, "ms", "a connection's first words are held if others wait")   \
	X(WORKSPACE_MEMORY_MIN_MIB, 64, "MiB", "smallest guest")                                   \
	X(LEASE_LOOK_MS, 1000, "ms", "a reader's look at a lease, waited out by who takes it")     \
	X(AGENT_CONNECTIONS, 1024, "connections", "open at once to the guest agent")               \
	X(AGENT_REQUESTS, 256, "requests", "running at once on one connection to the guest agent") \
	X(AGENT_QUEUE_BYTES, 262144, "bytes",                                                      \
	  "output queued for one connection before its commands wait")                             \
	X(AGENT_LINGERING, 256, "pipes",                                                           \
	  "of ended commands, read on for their background children")                              \
	X(RESUMABLE_EXECS, 256, "execs",                                                           \
	  "resumable, that run or whose client has not released them")                             \
	X(RESUME_MS, 3600000, "ms", "longest wait of a resumable exec for a new connection")       \
	X(RING_BYTES, 65536, "bytes", "output of such an exec kept for certain, each stream")      \
	X(RING_MOST_BYTES, 524288, "bytes", "the same as long as the pool has room; 2^n")          \
	X(RING_POOL_BYTES, 16777216, "bytes",                                                      \
	  "kept by all such execs together, beyond what is certain")                               \
	X(STDIN_WINDOW_BYTES, 524288, "bytes",                                                     \
	  "of one request's stdin on their way to the command")                                    \
	X(STDIN_ACK_BYTES, 65536, "bytes", "of stdin after which they are acknowledged")           \
	X(STDIN_AGAIN_BYTES, 131072, "bytes",                                                      \
	  "of a resumable exec's stdin that its client keeps to send again")                       \
	X(ACK_BYTES, 32768, "bytes", "of an output after which they are acknowledged")             \
	X(ENVELOPE_BYTES, 25165824, "bytes", "longest line of the envelope form")                  \
	X(COPYOUT_BYTES, 16777216, "bytes", "longest file that copyout returns")                   \
	X(WRITE_BYTES, 16777216, "bytes", "longest file that write makes")                         \
	X(LIST_ENTRIES, 100000, "entries", "of a directory that list tells")                       \
	X(LIST_BYTES, 16777216, "bytes", "answer of list, about")                                  \
	X(HANG_UP_MS, 2000, "ms",                                                                  \
	  "end of a terminal's command after its client went away, before the kill")               \
	X(USER_SETTLED_MS, 1000, "ms",                                                             \
	  "age of the guest's user files before its default user is remembered")                   \
	X(ATTACH_CLOSE_MS, 10000, "ms", "result held until the attached client has closed")        \
	X(POWER_GRACE_MS, 2000, "ms", "SIGTERM to SIGKILL when the guest powers off")              \
	X(ROOT_DISK_MS, 10000, "ms", "the root disk waited for by the guest's init")               \
	X(AGENT_RESTARTS, 5, "restarts", "of the guest agent before the guest gives up")           \
	X(CONSOLE_SHELL_MS, 1000, "ms", "a console's shell lives, or the next one is put off")     \
	X(RELAY_BYTES, 65536, "bytes",                                                             \
	  "held for a slow reader of a forwarded connection, each way")                            \
	X(RELAY_GONE_MS, 5000, "ms",                                                               \
	  "a slow reader's next bytes of a peer that is gone, before the rest is dropped")         \
	X(PUBLISHES, 64, "ports", "published by one guest")                                        \
	X(LISTENING_MS, 10, "ms",                                                                  \
	  "between two looks of a guest at who listens there, and two of its words that count")    \
	X(PUBLISH_AGAIN_MS, 1000, "ms", "between two tries to listen at a published port")         \
	X(LISTENING_LOOK_MS, 100, "ms", "the same looks where its kernel tells of no change")      \
	X(PUBLISH_CONNECTIONS, 256, "connections",                                                 \
	  "open at once to one published port; the next ones wait")                                \
	X(LISTENER_CONNECTIONS, 128, "connections",                                                \
	  "open at once from a guest through mediation or one listener; the next are closed")      \
	X(ACCEPT_AGAIN_MS, 100, "ms", "wait for a descriptor when there is none for a connection") \
	X(REACH_MS, 10000, "ms", "the far side of a forwarded connection")                         \
	X(RESOLVE_MS, 5000, "ms", "addresses of a target's host name")                             \
	X(RESOLVED_MS, 5000, "ms", "age at which a target's addresses are looked up anew")         \
	X(PROBE_KEPT_MS, 1000, "ms", "readiness as observed last is answered again")               \
	X(MEDIATION_PROBE_MS, 1000, "ms", "connection by which inspect knows mediationReady")      \
	X(POOL_MEMBERS_PER_CPU, 8, "sessions", "in all pools together, for each processor online") \
	X(POOL_FREE_MIB, 1024, "MiB",                                                              \
	  "available on the host, without swap, beside the next member of a pool")                 \
	X(POOL_FREE_DISK_MIB, 64, "MiB",                                                           \
	  "free where the state directory is, before a member of a pool is started")               \
	X(POOL_ANSWER_MS, 100, "ms",                                                               \
	  "for a member to answer before the next one is asked; 0: not asked")                     \
	X(POOL_SILENT_MS, 20000, "ms", "for a member to answer its filler before it is ended")     \
	X(POOL_LOCK_MS, 60000, "ms", "wait for another command that sets or drains the same pool") \
	X(POOL_OVERHEAD_MIB, 128, "MiB", "of a member beyond its guest's memory")                  \
	X(POOL_LEAST_MIB, 32, "MiB", "that a waiting member takes of the host's memory at least")  \
	X(POOL_QUIET_MS, 2000, "ms", "without a claim before a member of a pool is started")       \
	X(POOL_ROOM_MS, 5000, "ms", "between two looks for room for the next member")              \
	X(POOL_FAILURES, 3, "members", "in a row that fail before a pool's filler gives up")       \
	X(POOL_LOG_BYTES, 262144, "bytes", "filler.log; it begins anew above it")                  \
	X(DISK_QUOTA_BYTES, 17179869184, "bytes",                                                  \
	  "growth of a session's disk where none is asked for: its base's size, and at most this") \
	X(DISK_QUOTA_MIB_MAX, 16777216, "MiB", "largest quota of a session's disk")                \
	X(DISK_QUOTA_LOOK_MS, 250, "ms",                                                           \
	  "between two looks at the growth of a session's disk that is a reflink")                 \
	X(DISK_QUOTA_LOOK_CALLS, 16, "calls",                                                      \
	  "by which the extents of a session's disk are counted before other work is done")        \
	X(DISK_QUOTA_NEAR_BYTES, 4194304, "bytes",                                                 \
	  "below its room a layer ends that has none left: a write that is not made")              \
	X(SESSION_ENDS_MS, 60000, "ms",                                                            \
	  "between two looks of sweeps at sessions that have an end, for one left without a "      \
	  "supervisor")                                                                            \
	X(MCP_LINE_BYTES, 8388608, "bytes", "longest message of a client of tools")                \
	X(MCP_CALLS, 16, "calls", "of tools that are under way at once")                           \
	X(MCP_COMMAND_S, 600, "s", "a command of a tool that asks for no time of its own")         \
	X(MCP_OUTPUT_BYTES, 8388608, "bytes",                                                      \
	  "of each stream of a command that can be read later")                                    \
	X(MCP_KEPT_BYTES, 67108864, "bytes", "of all of them; the oldest go first")                \
	X(MCP_FILE_BYTES, 16777216, "bytes", "longest file that a tool reads")                     \
	X(MCP_COPY_BYTES, 4294967296, "bytes", "that a tool copies from a guest at once")          \
	X(MCP_PROGRESS_MS, 250, "ms", "between two words on how far a call is")                    \
	X(MCP_CALLS_END_MS, 2500, "ms", "calls under way at the end, until they are given up")     \
	X(MCP_END_MS, 4500, "ms", "the same and the end of the sessions that were made")           \
	X(MCP_LAST_WORD_MS, 500, "ms", "a client that has hung up takes an answer all the same")   \
	X(STATE_FREE_BYTES, 16777216, "bytes", "free space below which start is refused")

enum limit {
#define LIMIT_ENUM(name, value, unit, text) LIMIT_##name,
	LIMIT_TABLE(LIMIT_ENUM)
#undef LIMIT_ENUM
		LIMIT_COUNT
};

struct limit_row {
	const char *name; /* "BOOT_TCG_MS" */
	uint64_t value;
	const char *unit;
	const char *text;
};
extern const struct limit_row limit_table[LIMIT_COUNT];

/* Returns the value in force: the table's, or the test environment's, which is read once in a
 * process. Safe from any thread. */
uint64_t limit_get(enum limit which);
/* Returns the time on clock_mono_ns() at which a limit in milliseconds, counted from now, is
 * over. */
uint64_t limit_deadline(enum limit which);
/* Set another value in this process, and restore the environment's or the table's; only for unit
 * tests. */
void limit_set(enum limit which, uint64_t value);
void limit_reset(enum limit which);

#endif
