/* SPDX-License-Identifier: MIT */
/*
 * Every limit, interval and deadline of the system, in one table. The code reads them by
 * limit_get(), and the command `contract` prints them. The environment variable
 * MICROAGENT_TEST_LIMIT_<NAME> changes one limit for one process, so that end-to-end tests can
 * shorten it. The value of the variable is a decimal number in the unit of the limit.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdint.h>

/*    name                    value        unit   what */
#define LIMIT_TABLE(X)                                                                             \
	X(REQUEST_BYTES, 1048576, "bytes", "longest request document on stdin")                    \
	X(VARIABLE_BYTES, 131071, "bytes",                                                         \
	  "longest variable of an env-file, which is Linux's limit")                               \
	X(FRAME_BYTES, 16777216, "bytes", "longest frame of a guest protocol")                     \
	X(RESULT_BYTES, 16777216, "bytes", "longest result document of a guest")                   \
	X(RESULT_STREAM_BYTES, 1048576, "bytes",                                                   \
	  "stdout kept in result.json, and the same of stderr")                                    \
	X(STATE_FILE_BYTES, 33554432, "bytes", "longest state file that is read")                  \
	X(RUNTIME_BYTES, 1048576, "bytes", "longest runtime.json that is read")                    \
	X(EVENTS_KEPT, 1024, "events", "entries of events.json; older ones are dropped")           \
	X(AUDIT_LINE_BYTES, 65536, "bytes", "longest line of an audit log")                        \
	X(AUDIT_BYTES, 67108864, "bytes",                                                          \
	  "audit.log; a guest's messages may use half of it, its connections a quarter")           \
	X(AUDIT_FILE_BYTES, 268435456, "bytes", "longest audit.log that is read")                  \
	X(AUDIT_GUEST_LINES, 128, "lines/s",                                                       \
	  "most lines of an audit log that a guest's messages cause")                              \
	X(AUDIT_NET_LINES, 128, "lines/s",                                                         \
	  "most lines of an audit log that a guest's connections cause")                           \
	X(AUDIT_SYNC_MS, 1000, "ms",                                                               \
	  "age of the lines of an audit log that a loss of power may take")                        \
	X(AUDIT_WAITING, 256, "events", "events that wait until the audit log has room")           \
	X(AUDIT_LOCK_MS, 1000, "ms", "longest wait of a reader for an audit log that is locked")   \
	X(AUDIT_LOOK_MS, 5000, "ms",                                                               \
	  "time between two looks at a VMM's processes and at its audit log")                      \
	X(AUDIT_EXECS, 64, "execs/s", "commands of a guest that are reported one by one")          \
	X(DIRECTORY_LOOK_MS, 5000, "ms",                                                           \
	  "time between two looks whether a machine's directory still exists")                     \
	X(TELEMETRY_BYTES, 16777216, "bytes",                                                      \
	  "telemetry.jsonl; records beyond this are counted and dropped")                          \
	X(SETTLE_MS, 1000, "ms", "time for a guest to send its last messages before it is killed") \
	X(TELEMETRY_DIGEST_MS, 60000, "ms", "time between two digests of telemetry.jsonl")         \
	X(PRESSURE_US, 500000, "us",                                                               \
	  "wait for memory in two seconds that counts as memory pressure")                         \
	X(PRESSURE_AGAIN_MS, 60000, "ms", "time until memory pressure is reported again")          \
	X(SERIAL_LOG_BYTES, 8388608, "bytes", "serial.log; a longer one loses its oldest half")    \
	X(SUPERVISOR_LOG_BYTES, 4194304, "bytes", "supervisor.log")                                \
	X(BOOT_TCG_MS, 60000, "ms", "time from the start to a guest that is ready, under TCG")     \
	X(FIRMWARE_MS, 60000, "ms",                                                                \
	  "time from the start to the first sign of the guest's kernel, under KVM")                \
	X(BOOT_KVM_MS, 20000, "ms", "time from that sign to a guest that is ready, under KVM")     \
	X(BOOT_MACOS_MS, 300000, "ms", "time from the start to a macOS guest that is ready")       \
	X(MACOS_GUESTS, 2, "guests", "macOS guests that run at once, which is Apple's limit")      \
	X(HALT_MS, 15000, "ms", "time for a clean power-off before the VM is killed")              \
	X(KILL_MS, 10000, "ms", "time for all processes of a workspace to end after a kill")       \
	X(QMP_MS, 10000, "ms", "wait for QEMU's answer to one QMP command")                        \
	X(QMP_GREETING_MS, 30000, "ms",                                                            \
	  "time from QEMU's start to its first message, on a busy host")                           \
	X(QMP_LINE_BYTES, 1048576, "bytes", "longest message of a VMM's monitor")                  \
	X(API_MS, 10000, "ms", "wait for the answer of Firecracker's API to one call")             \
	X(API_RUNNING_MS, 60000, "ms",                                                             \
	  "the same wait while a guest runs, since its flushes go first")                          \
	X(API_START_MS, 30000, "ms", "time from Firecracker's start to its API, on a busy host")   \
	X(API_LOOK_MS, 2, "ms",                                                                    \
	  "time between two looks for the API; ten times that for a balloon's size")               \
	X(API_BODY_BYTES, 65536, "bytes", "longest document of Firecracker's API")                 \
	X(METRICS_MS, 1000, "ms", "time between two lines of Firecracker's metrics that are kept") \
	X(LOAD_MS, 40000, "ms",                                                                    \
	  "time in which nobody may write to a kernel, while QEMU starts and reads it")            \
	X(CELL_MS, 10000, "ms", "time to make a cell")                                             \
	X(VMM_END_MS, 2000, "ms", "time for a VMM or a companion to end by itself")                \
	X(HCS_MS, 60000, "ms", "time for an operation of Windows' Host Compute System")            \
	X(PROBE_MS, 2000, "ms", "time for the whole probe of the accelerator")                     \
	X(PROBE_LOOP_MS, 50, "ms",                                                                 \
	  "time for a million iterations of 64-bit code, under a usable KVM")                      \
	X(TIME_PUSH_MS, 60000, "ms", "time between two messages that set the guest's clock")       \
	X(CLOCK_JUMP_MS, 1000, "ms", "smallest jump of the clock that is reported")                \
	X(SAVE_MS, 60000, "ms", "time to write a machine's state")                                 \
	X(QUIESCE_MS, 30000, "ms", "time for a guest to get ready to be saved")                    \
	X(STAND_STILL_MS, 250, "ms",                                                               \
	  "time for a guest's commands to stand still before it is saved")                         \
	X(REST_MS, 180000, "ms",                                                                   \
	  "time after which a guest's commands go on although no host said that a save is over")   \
	X(SAVE_PAUSE_MS, 100, "ms", "longest pause of a machine at the end of its save")           \
	X(ON_FORK_MS, 60000, "ms",                                                                 \
	  "time for the command of --on-fork in each fork, if no other time is given")             \
	X(ON_FORK_MOST_S, 600, "s", "longest time that may be given for that command")             \
	X(FORK_CHILDREN, 100, "sessions", "forks that one command makes")                          \
	X(SIBLING_MS, 200, "ms", "wait for another live supervisor to give its template's memory") \
	X(BALLOON_MS, 3000, "ms",                                                                  \
	  "wait for a guest to give up or take back memory, before the answer")                    \
	X(PUBLISH_MS, 10000, "ms",                                                                 \
	  "wait for a running guest to say that it listens for a published port")                  \
	X(SHARE_MS, 30000, "ms",                                                                   \
	  "wait for a running guest to mount a directory that it was given")                       \
	X(DISK_CHECK_MS, 1000, "ms",                                                               \
	  "time between two looks at the free space that a VM waits for")                          \
	X(COMMAND_LOCK_MS, 30000, "ms",                                                            \
	  "wait for another command that holds the command lock of a workspace")                   \
	X(CONTROL_REQUEST_MS, 5000, "ms", "wait for a live supervisor's answer to a request")      \
	X(CAPABILITIES_MS, 10000, "ms", "wait for a program that prints what it can do")           \
	X(SHELL_PROBE_MS, 3000, "ms",                                                              \
	  "wait for the agent's answer by which inspect finds shellReady")                         \
	X(SEVER_MS, 5000, "ms", "time of a quarantine to cut every channel and to prove it")       \
	X(SEVER_LOOK_MS, 20, "ms",                                                                 \
	  "time between two looks at the descriptors that a VMM still has")                        \
	X(SEVER_STOP_MS, 1000, "ms", "time of a quarantine to stop all threads of a VMM")          \
	X(SEVER_NAMES, 4096, "names",                                                              \
	  "names beside its sockets that a VMM may have made, in quarantine")                      \
	X(CONSOLE_BYTES, 262144, "bytes",                                                          \
	  "console output that is kept for a client that does not read")                           \
	X(ENDING_MS, 2000, "ms",                                                                   \
	  "time for the processes of a workspace to end after its end is recorded")                \
	X(AGENT_LOST_MS, 2000, "ms",                                                               \
	  "time from the end of the control stream to the end of the VM")                          \
	X(WORKLOAD_GRACE_MS, 30000, "ms",                                                          \
	  "wait for a guest's result after the timeout of its workload")                           \
	X(CGROUP_OVERHEAD_MIB, 512, "MiB",                                                         \
	  "memory of a workspace's cgroup for the programs around the guest")                      \
	X(CGROUP_PIDS, 1024, "processes", "processes and threads in a workspace's cgroup")         \
	X(DIGEST_MS, 900000, "ms", "time to hash one file")                                        \
	X(FREEZE_MS, 10000, "ms", "time for which a file system is frozen to be copied")           \
	X(FILES_MS, 30000, "ms", "wait for the first message of the guest's program for files")    \
	X(TRANSFER_SILENCE_MS, 300000, "ms",                                                       \
	  "time without a byte after which a copy or a listing fails")                             \
	X(TREE_LINKS, 65536, "files",                                                              \
	  "files with several names that stay one file in a copied tree")                          \
	X(LISTING_BYTES, 33554432, "bytes", "longest listing of a directory of a guest")           \
	X(AUTORUN_FILES, 1000, "files", "changed autorun files that are listed of a share")        \
	X(AUTORUN_ENTRIES, 2000000, "entries",                                                     \
	  "names of a share that are searched for autorun files")                                  \
	X(PROVISION_MS, 7200000, "ms", "time for the script that provisions a base")               \
	X(PROVISION_MEMORY_MIB, 1024, "MiB", "least memory of the machine that provisions a base") \
	X(PROVISION_LOG_BYTES, 16777216, "bytes",                                                  \
	  "provision.log of a base; output beyond this is only shown")                             \
	X(PROVISION_LINE_BYTES, 65536, "bytes",                                                    \
	  "longest line of a script's output that is not split")                                   \
	X(OWN_DIRS_LOCK_MS, 1000, "ms",                                                            \
	  "wait for the lock of the list of microagent's own directories")                         \
	X(READER_LOCK_MS, 60000, "ms", "wait for another command that reads the same workspace")   \
	X(BUNDLE_BYTES, 8589934592, "bytes",                                                       \
	  "size of an archive of config.bundles after it is unpacked")                             \
	X(BUNDLE_FILES, 1000000, "files", "files in an archive of config.bundles")                 \
	X(REVIEW_BYTES, 34359738368, "bytes", "files of a directory that is taken for a review")   \
	X(REVIEW_FILES, 1000000, "files", "files of a directory that is taken for a review")       \
	X(REVIEW_LIST_BYTES, 1073741824, "bytes", "list of the files of a reviewed directory")     \
	X(REVIEW_CLAIMS_BYTES, 134217728, "bytes",                                                 \
	  "paths and kinds of the files that a guest changed in a reviewed directory")             \
	X(CHANGES_BYTES, 4294967296, "bytes",                                                      \
	  "bytes of a guest's changes that are fetched, with their holes")                         \
	X(REVIEW_MOVED_BYTES, 67108864, "bytes",                                                   \
	  "new paths of the files in directories that a guest moved in a reviewed directory")      \
	X(REVIEWS_KEPT, 8, "images", "images of reviewed directories that are kept in the cache")  \
	X(ARCHIVE_MEMORY_MIB, 1024, "MiB",                                                         \
	  "memory of the process that reads an archive of a bundle or an image")                   \
	X(IMAGE_FETCH_BYTES, 1099511627776, "bytes",                                               \
	  "size of an image that is fetched or unpacked")                                          \
	X(IMAGE_BLOBS, 65536, "files", "files in `blobs` of an OCI layout that is imported")       \
	X(IMAGE_FILES, 2000000, "files", "files in an image that is imported")                     \
	X(IMAGE_TEXT_BYTES, 268435456, "bytes",                                                    \
	  "paths, link targets and attributes of an image that is imported")                       \
	X(LAYER_TAIL_BYTES, 67108864, "bytes", "bytes after the ends of the layers of an image")   \
	X(PACKAGE_BYTES, 8589934592, "bytes", "bytes that are taken out of a Debian package")      \
	X(PACKAGE_FILES, 200000, "files", "files that are taken out of a Debian package")          \
	X(BUNDLE_MS, 600000, "ms", "time to build the disk of a bundle")                           \
	X(DIGEST_SETTLED_MS, 2000, "ms", "least age of a file whose digest is remembered")         \
	X(DIGESTS_KEPT, 1024, "digests",                                                           \
	  "digests that are remembered; those longest unused are dropped")                         \
	X(DIAL_MS, 5000, "ms", "wait for the OK line of a hybrid-vsock dial")                      \
	X(AGENT_IDLE_MS, 10000, "ms",                                                              \
	  "time after which the agent closes a connection without a request")                      \
	X(EXEC_ENVELOPE_MS, 30000, "ms",                                                           \
	  "timeout of exec in the envelope form when none is given")                               \
	X(EXEC_FRAME_MS, 300000, "ms", "timeout of exec in the frame form when none is given")     \
	X(EXEC_OUTPUT_BYTES, 8388608, "bytes",                                                     \
	  "stdout of one exec that is kept, and the same of stderr")                               \
	X(EXEC_DRAIN_MS, 250, "ms",                                                                \
	  "wait for more output after a command's exit, if a child holds the pipe")                \
	X(STREAM_FRAME_BYTES, 65536, "bytes", "output bytes in one frame of a streamed exec")      \
	X(CANCEL_MS, 5000, "ms", "wait for the exit of a streamed exec that its client cancelled") \
	X(LOST_MS, 1000, "ms",                                                                     \
	  "wait for the reason after the connection of a run broke, before the kill")              \
	X(AGENT_ANSWER_MS, 60000, "ms", "wait for the agent to say that a command has begun")      \
	X(STANDIN_MS, 90000, "ms",                                                                 \
	  "microagent-oci: wait for the answer of a stand-in or a keeper")                         \
	X(UNREAD_MS, 2000, "ms",                                                                   \
	  "time for a reader to take the last output of a command; then it is dropped")            \
	X(EXEC_LATE_MS, 15000, "ms",                                                               \
	  "wait for the agent to say that a command has ended, after its timeout")                 \
	X(PAUSE_WATCH_MS, 500, "ms",                                                               \
	  "age of a command from which on pauses of its machine are reported")                     \
	X(REDIALS, 12, "dials", "failed dials in a row after which a resumable exec gives up")     \
	X(REDIAL_MS, 20, "ms",                                                                     \
	  "wait before the second of these dials; each later wait is so much longer")              \
	X(TELEMETRY_RECORDS, 1000, "records/s",                                                    \
	  "most records of a guest's trace; more are only counted; 0: no trace")                   \
	X(TELEMETRY_WRITE_BYTES, 1048576, "bytes", "smallest written file that is traced")         \
	X(VSOCK_STREAMS, 1024, "streams", "concurrent vsock streams of one guest")                 \
	X(VSOCK_STREAM_BYTES, 131072, "bytes", "vsock credit of a stream; a power of two")         \
	X(VSOCK_HOST_PORTS, 64, "ports", "host ports that one guest may dial")                     \
	X(VSOCK_LINE_MS, 5000, "ms", "wait for the CONNECT line of a host's client")               \
	X(VSOCK_ANSWER_MS, 10000, "ms", "wait for the guest kernel's answer to a connect")         \
	X(VSOCK_CLOSE_MS, 8000, "ms",                                                              \
	  "wait for the guest kernel's RST after both ends have closed")                           \
	X(VSOCK_DRAIN_MS, 2000, "ms",                                                              \
	  "time to deliver a guest's last bytes after the VM has ended")                           \
	X(VSOCK_IDLE_MS, 2000, "ms", "quiet after which vsockd gives back pages of guest memory")  \
	X(GUEST_DHCP_MS, 10000, "ms", "wait of a bridged guest for an address")                    \
	X(GUEST_DHCP_TRY_MS, 1000, "ms",                                                           \
	  "wait for the answer to one DHCP message before it is sent again")                       \
	X(GUEST_SSH_KEY_MS, 10000, "ms", "time for a restored guest to make a new ssh host key")   \
	X(NETGATE_LINES, 64, "lines/s", "connections of a guest that are listed one by one")       \
	X(NETGATE_REFUSALS, 256, "frames/s", "refused frames of a guest that are answered")        \
	X(NETGATE_FLOW_MS, 300000, "ms", "quiet after which the same ports are a new connection")  \
	X(NETGATE_OPEN_FLOW_MS, 7200000, "ms",                                                     \
	  "the same quiet for a TCP connection that a name has opened")                            \
	X(NETGATE_QUERIES, 20, "queries/s",                                                        \
	  "DNS queries of a guest that goes by names; at once, those of 3 s")                      \
	X(NETGATE_ANSWER_MS, 10000, "ms",                                                          \
	  "wait for the resolver's answer to a query of such a guest")                             \
	X(NETGATE_ASK_AGAIN_MS, 1000, "ms",                                                        \
	  "wait before a query that others wait for is sent again")                                \
	X(NETGATE_PIN_LEAST_S, 60, "s",                                                            \
	  "least time for which an address belongs to a name, whatever the TTL is")                \
	X(NETGATE_PIN_MOST_S, 3600, "s", "most time for which an address belongs to a name")       \
	X(NETGATE_PIN_GRACE_S, 30, "s",                                                            \
	  "time by which an address belongs to a name longer than its TTL")                        \
	X(NETGATE_OPENING_MS, 10000, "ms",                                                         \
	  "time for which a connection's first words are held if others wait")                     \
	X(WORKSPACE_MEMORY_MIN_MIB, 64, "MiB", "least memory of a guest")                          \
	X(LEASE_LOOK_MS, 1000, "ms", "wait of a start for a reader that looks at the lease")       \
	X(AGENT_CONNECTIONS, 1024, "connections",                                                  \
	  "connections to the guest agent that are open at once")                                  \
	X(AGENT_REQUESTS, 256, "requests",                                                         \
	  "requests that run at once on one connection to the guest agent")                        \
	X(AGENT_QUEUE_BYTES, 262144, "bytes",                                                      \
	  "output queued for one connection before its commands wait")                             \
	X(AGENT_LINGERING, 256, "pipes",                                                           \
	  "pipes of ended commands that are read on for their background children")                \
	X(RESUMABLE_EXECS, 256, "execs",                                                           \
	  "resumable commands that run, or whose client has not released them")                    \
	X(RESUME_MS, 3600000, "ms", "longest wait of a resumable exec for a new connection")       \
	X(RING_BYTES, 65536, "bytes",                                                              \
	  "output of a resumable exec that is always kept, each stream")                           \
	X(RING_MOST_BYTES, 524288, "bytes", "the same while the pool has room; a power of two")    \
	X(RING_POOL_BYTES, 16777216, "bytes",                                                      \
	  "output of all resumable execs beyond what is always kept")                              \
	X(STDIN_WINDOW_BYTES, 524288, "bytes", "stdin of one request on its way to the command")   \
	X(STDIN_ACK_BYTES, 65536, "bytes", "bytes of stdin after which they are acknowledged")     \
	X(STDIN_AGAIN_BYTES, 131072, "bytes",                                                      \
	  "stdin of a resumable exec that its client keeps to send again")                         \
	X(ACK_BYTES, 32768, "bytes", "bytes of output after which they are acknowledged")          \
	X(ENVELOPE_BYTES, 25165824, "bytes", "longest line of the envelope form")                  \
	X(COPYOUT_BYTES, 16777216, "bytes", "longest file that copyout returns")                   \
	X(WRITE_BYTES, 16777216, "bytes", "longest file that write makes")                         \
	X(LIST_ENTRIES, 100000, "entries", "entries of a directory that list returns")             \
	X(LIST_BYTES, 16777216, "bytes", "longest answer of list, about")                          \
	X(HANG_UP_MS, 2000, "ms",                                                                  \
	  "time for a terminal's command to end when its client is gone; then the kill")           \
	X(USER_SETTLED_MS, 1000, "ms",                                                             \
	  "least age of a guest's user files whose default user is remembered")                    \
	X(ATTACH_CLOSE_MS, 10000, "ms",                                                            \
	  "time for which a result is held until the attached client has closed")                  \
	X(POWER_GRACE_MS, 2000, "ms", "time from SIGTERM to SIGKILL when the guest powers off")    \
	X(ROOT_DISK_MS, 10000, "ms", "wait of the guest's init for the root disk")                 \
	X(AGENT_RESTARTS, 5, "restarts", "restarts of the guest agent before the guest gives up")  \
	X(CONSOLE_SHELL_MS, 1000, "ms",                                                            \
	  "least life of a console's shell; after a shorter one the next waits")                   \
	X(RELAY_BYTES, 65536, "bytes",                                                             \
	  "bytes held for a slow reader of a forwarded connection, each way")                      \
	X(RELAY_GONE_MS, 5000, "ms",                                                               \
	  "wait for a slow reader whose peer is gone; then the rest is dropped")                   \
	X(PUBLISHES, 64, "ports", "ports that one guest publishes")                                \
	X(LISTENING_MS, 10, "ms",                                                                  \
	  "time between a guest's looks at who listens, and between messages that count")          \
	X(PUBLISH_AGAIN_MS, 1000, "ms", "time between two tries to listen at a published port")    \
	X(LISTENING_LOOK_MS, 100, "ms",                                                            \
	  "time between a guest's looks if its kernel does not report changes")                    \
	X(PUBLISH_CONNECTIONS, 256, "connections",                                                 \
	  "connections to one published port that are open at once; more wait")                    \
	X(PUBLISH_CONNECTIONS_ALL, 768, "connections",                                             \
	  "connections to all published ports of a machine; more wait")                            \
	X(LISTENER_CONNECTIONS, 128, "connections",                                                \
	  "connections of a guest to one listener or mediation; more are closed")                  \
	X(ACCEPT_AGAIN_MS, 100, "ms", "wait before the next accept when no descriptor is free")    \
	X(REACH_MS, 10000, "ms", "wait for the far side of a forwarded connection")                \
	X(RESOLVE_MS, 5000, "ms", "wait for the addresses of a target's host name")                \
	X(RESOLVED_MS, 5000, "ms", "age at which a target's addresses are looked up again")        \
	X(PROBE_KEPT_MS, 1000, "ms", "age up to which an observed readiness is answered again")    \
	X(MEDIATION_PROBE_MS, 1000, "ms",                                                          \
	  "wait for the connection by which inspect finds mediationReady")                         \
	X(POOL_MEMBERS_PER_CPU, 8, "sessions",                                                     \
	  "sessions in all pools together, for each processor online")                             \
	X(POOL_FREE_MIB, 1024, "MiB",                                                              \
	  "memory that stays available on the host, without swap, beside a new member")            \
	X(POOL_FREE_DISK_MIB, 64, "MiB",                                                           \
	  "free space of the state directory before a member of a pool is started")                \
	X(POOL_ANSWER_MS, 100, "ms",                                                               \
	  "wait for a member's answer before the next member is asked; 0: no asking")              \
	X(POOL_SILENT_MS, 20000, "ms",                                                             \
	  "wait for a member's answer to its filler before the member is ended")                   \
	X(POOL_LOCK_MS, 60000, "ms", "wait for another command that sets or drains the same pool") \
	X(POOL_OVERHEAD_MIB, 128, "MiB", "memory of a member beyond its guest's memory")           \
	X(POOL_LEAST_MIB, 32, "MiB",                                                               \
	  "least memory of the host that a waiting member is taken to use")                        \
	X(POOL_QUIET_MS, 2000, "ms", "time without a claim before a member of a pool is started")  \
	X(POOL_ROOM_MS, 5000, "ms", "time between two looks for room for the next member")         \
	X(POOL_FAILURES, 3, "members",                                                             \
	  "members in a row that fail before a pool's filler gives up")                            \
	X(POOL_LOG_BYTES, 262144, "bytes", "filler.log; a longer one begins anew")                 \
	X(DISK_QUOTA_BYTES, 17179869184, "bytes",                                                  \
	  "largest default quota of a session's disk; it is the base's size if smaller")           \
	X(DISK_QUOTA_MIB_MAX, 16777216, "MiB", "largest quota of a session's disk")                \
	X(DISK_QUOTA_LOOK_MS, 250, "ms",                                                           \
	  "time between two looks at the growth of a disk that is a reflink")                      \
	X(DISK_QUOTA_LOOK_CALLS, 16, "calls",                                                      \
	  "calls that count extents of a session's disk before other work is done")                \
	X(DISK_QUOTA_NEAR_BYTES, 4194304, "bytes",                                                 \
	  "a layer that ends this near to its room has no room left")                              \
	X(SESSION_ENDS_MS, 60000, "ms",                                                            \
	  "time between two looks at sessions with an end that lost their supervisor")             \
	X(MCP_LINE_BYTES, 8388608, "bytes", "longest message of an MCP client")                    \
	X(MCP_CALLS, 16, "calls", "calls of tools that run at once")                               \
	X(MCP_COMMAND_S, 600, "s", "timeout of a tool's command when none is given")               \
	X(MCP_OUTPUT_BYTES, 8388608, "bytes",                                                      \
	  "output of a command that can be read later, each stream")                               \
	X(MCP_KEPT_BYTES, 67108864, "bytes",                                                       \
	  "such output of all commands together; the oldest is dropped first")                     \
	X(MCP_FILE_BYTES, 16777216, "bytes", "longest file that a tool reads")                     \
	X(MCP_COPY_BYTES, 4294967296, "bytes", "bytes that a tool copies from a guest at once")    \
	X(MCP_PROGRESS_MS, 250, "ms", "time between two messages about the progress of a call")    \
	X(MCP_CALLS_END_MS, 2500, "ms", "time for running calls to end when the server ends")      \
	X(MCP_END_MS, 4500, "ms", "the same time, and that for the sessions of the server to end") \
	X(MCP_LAST_WORD_MS, 500, "ms",                                                             \
	  "time for a client that has hung up to take its last answer")                            \
	X(STATE_FREE_BYTES, 16777216, "bytes", "free space below which start is refused")

enum limit {
#define LIMIT_ENUM(name, value, unit, text) LIMIT_##name,
	LIMIT_TABLE(LIMIT_ENUM)
#undef LIMIT_ENUM
		LIMIT_COUNT
};

struct limit_row {
	const char *name; /* the name of the limit, for example "BOOT_TCG_MS" */
	uint64_t value;
	const char *unit;
	const char *text;
};
extern const struct limit_row limit_table[LIMIT_COUNT];

/* Returns the value of a limit: the value of its environment variable, if that is set, otherwise
 * the value in the table. The environment is read only once in a process. Any thread may call this
 * function. */
uint64_t limit_get(enum limit which);
/* Returns the monotonic time, in ns (clock_mono_ns()), that is later than the present time by the
 * limit `which`, whose unit is ms. */
uint64_t limit_deadline(enum limit which);
/* Change a limit of this process. limit_set() sets any value. limit_reset() restores the value of
 * the environment or of the table. Only for unit tests. */
void limit_set(enum limit which, uint64_t value);
void limit_reset(enum limit which);

#endif
