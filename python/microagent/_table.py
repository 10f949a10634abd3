# SPDX-License-Identifier: MIT
# Made by scripts/python-table.py of libmicroagent's headers: change those, and run it.
"""What is used of libmicroagent, in the words of its headers. _library.py makes ctypes of it. Of a struct all fields are
here, in their order; what is NULL, 0 or false by default need not be used by anybody."""
STRUCTS = {
    "error": """
        enum error_code code;
        int errnum;
        char msg[1024];
        enum error_reason reason;
        char subject[256];
    """,
    "microagent_exec": """
        const char *const *command;
        const char *const *env;
        const char *cwd;
        const char *user;
        int64_t timeout_seconds;
        int64_t resume_seconds;
        json_t *rlimits;
        const struct microagent_terminal *terminal;
    """,
    "microagent_sink": """
        void (*take)(void *data, bool is_stderr, const void *bytes, size_t len);
        void *data;
    """,
    "microagent_streams": """
        int in;
        int out;
        int err;
        int cancel;
        const struct microagent_signals *signals;
        const struct microagent_sink *sink;
        void (*paused)(void *data, const struct error *why);
        void *paused_data;
    """,
    "microagent_outcome": """
        enum microagent_end end;
        int exit_code;
        int signal;
        bool timed_out;
        bool killed;
        bool unread;
        int64_t elapsed_ms;
        char start_error[256];
    """,
    "microagent_callbacks": """
        int (*output)(void *data, enum microagent_output stream, const void *bytes, size_t len);
        void (*started)(void *data);
        void *data;
    """,
    "microagent_result": """
        char *stdout_bytes;
        char *stderr_bytes;
        size_t stdout_len;
        size_t stderr_len;
        bool stdout_truncated;
        bool stderr_truncated;
        int exit_code;
        int signal;
        bool timed_out;
        bool cancelled;
        bool killed;
        int64_t elapsed_ms;
        char start_error[256];
    """,
    "microagent_rates": """
        int64_t disk_bytes;
        int64_t disk_ops;
        int64_t net_bytes;
    """,
    "microagent_egress": """
        const char *const *names;
        const char *const *from;
        bool sni_off;
        bool dry_run;
    """,
    "microagent_machine": """
        const char *architecture;
        const char *network;
        const char *network_interface;
        const char *const *allow;
        struct microagent_egress egress;
        const char *const *publish;
        const char *mediation;
        bool mediation_optional;
        const char *const *vsock;
        const char *const *disks;
        const char *const *shares;
        bool share_anyway;
        bool share_git;
        struct microagent_rates rates;
        int64_t memory_mib;
        int64_t cpus;
        const char *accelerator;
    """,
    "microagent_spec": """
        struct microagent_machine machine;
        const char *image;
        const char *kernel;
        const char *initrd;
        bool no_disk;
        const char *const *env;
        const char *user;
        const char *const *command;
        int64_t timeout_seconds;
        const char *const *bundles;
        const char *const *outputs;
        const char *console;
    """,
    "microagent_run_options": """
        const char *name;
        bool keep;
        void (*started)(void *data, const char *name, const char *accelerator);
        void *data;
    """,
    "microagent_run_limits": """
        const void *stdin_bytes;
        size_t stdin_len;
        uint32_t timeout_ms;
        size_t stdout_cap;
        size_t stderr_cap;
        const struct microagent_cancel *cancel;
    """,
    "microagent_copy": """
        const char *user;
        void (*skipped)(void *data, const char *path, const char *why);
        void *data;
        void (*progress)(void *data, uint64_t bytes, const char *path);
        int cancel;
        uint64_t limit_bytes;
        int within;
        int file;
    """,
    "microagent_base_spec": """
        const char *image;
        const char *oci;
        const char *ipsw;
        const char *put_agent;
        const char *kernel;
        struct microagent_machine machine;
        const char *script;
        const char *const *stage;
        int64_t size_mib;
        int cancel;
        void (*booted)(void *data, const char *accelerator);
        void (*said)(void *data, enum microagent_base_line kind, const char *text);
        void (*progressed)(void *data, uint64_t done, uint64_t total);
        void *data;
    """,
    "microagent_warm_spec": """
        const char *const *const *run;
        struct microagent_machine machine;
        int cancel;
        void (*booted)(void *data, const char *accelerator);
        void (*said)(void *data, enum microagent_base_line kind, const char *text);
        void *data;
    """,
    "microagent_session_spec": """
        const char *base;
        struct microagent_machine machine;
        const char *share;
        const char *share_at;
        bool share_read_only;
        const char *share_cache;
        int64_t share_timeout_seconds;
        bool no_share;
        bool cold;
        int64_t disk_quota_mib;
        int64_t lifetime_seconds;
        int64_t idle_seconds;
        bool owned;
        int cancel;
    """,
    "microagent_session_share": """
        const char *dir;
        const char *at;
        bool read_only;
        bool anyway;
        const char *cache;
        int64_t timeout_seconds;
    """,
    "microagent_fork_spec": """
        int64_t count;
        int cancel;
        bool owned;
        const struct microagent_exec *on_fork;
    """,
    "microagent_pool_spec": """
        const char *base;
        int64_t size;
        struct microagent_machine machine;
    """,
    "microagent_exec_times": """
        uint64_t reached_ns;
        uint64_t started_ns;
        uint64_t ended_ns;
    """,
}

ENUMERATORS = {
    "MICROAGENT_STDOUT": 0,
    "MICROAGENT_STDERR": 1,
    "MICROAGENT_LINES": 0,
    "MICROAGENT_CHUNKS": 1,
    "MICROAGENT_EXITED": 0,
    "MICROAGENT_CANCELLED": 1,
    "MICROAGENT_NETWORK_ALLOW": 0,
    "MICROAGENT_NETWORK_DENY": 1,
    "MICROAGENT_NETWORK_PUBLISH": 2,
    "MICROAGENT_NETWORK_UNPUBLISH": 3,
}

# A function that can fail ends in `struct error *err`, and says so by -1 or NULL.
FUNCTIONS = """
    const char *microagent_version(void);
    const char *microagent_error_name(enum error_code code);
    const char *microagent_reason_name(enum error_reason reason);
    struct microagent *microagent_open(const char *state_dir, struct error *err);
    void microagent_close(struct microagent *agent);
    const char *microagent_state_dir(const struct microagent *agent);
    int microagent_use_backend(struct microagent *agent, const char *name, struct error *err);
    int microagent_run(struct microagent *agent, const struct microagent_spec *spec,
        const struct microagent_run_options *options, const struct microagent_streams *streams,
        struct microagent_outcome *outcome, struct error *err);
    int microagent_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
        const struct microagent_streams *streams, struct microagent_outcome *outcome, struct error *err);
    json_t *microagent_last_start(struct microagent *agent, const char *name, struct error *err);
    int microagent_time_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
        struct microagent_exec_times *out, struct error *err);
    json_t *microagent_footprint(struct microagent *agent, const char *name, struct error *err);
    struct microagent_cancel *microagent_cancel_new(struct error *err);
    void microagent_cancel_fire(struct microagent_cancel *cancel);
    void microagent_cancel_free(struct microagent_cancel *cancel);
    int microagent_cancel_fd(const struct microagent_cancel *cancel);
    void microagent_result_free(struct microagent_result *result);
    int microagent_guest_copy_out(struct microagent_guest *guest, const char *path, const char *host_path,
        const struct microagent_copy *options, const struct microagent_run_limits *limits, struct error *err);
    int microagent_guest_copy_in(struct microagent_guest *guest, const char *host_path, const char *path,
        const struct microagent_copy *options, const struct microagent_run_limits *limits, struct error *err);
    json_t *microagent_guest_list(struct microagent_guest *guest, const char *path, const char *user,
        const struct microagent_run_limits *limits, struct error *err);
    json_t *microagent_guest_stat(struct microagent_guest *guest, const char *path, const char *user,
        const struct microagent_run_limits *limits, struct error *err);
    int microagent_changes(struct microagent *agent, const char *name, const struct microagent_copy *options,
        const char *const *paths, json_t **changes, struct error *err);
    int microagent_changes_diff(struct microagent *agent, const char *name, const char *const *paths, bool colour,
        int fd, struct error *err);
    int microagent_changes_apply(struct microagent *agent, const char *name, const char *digest,
        const char *const *paths, json_t **result, struct error *err);
    int microagent_changes_drop(struct microagent *agent, const char *name, struct error *err);
    int microagent_base_create(struct microagent *agent, const char *word, const struct microagent_base_spec *spec,
        json_t **base, struct error *err);
    int microagent_base_warm(struct microagent *agent, const char *word, const struct microagent_warm_spec *spec,
        json_t **base, struct error *err);
    json_t *microagent_base_list(struct microagent *agent, struct error *err);
    json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err);
    int microagent_base_delete(struct microagent *agent, const char *word, struct error *err);
    int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
        struct microagent_session **out, struct error *err);
    int microagent_session_clone_base(struct microagent *agent, const struct microagent_session_spec *spec,
        struct microagent_session **out, struct error *err);
    int microagent_session_boot(struct microagent_session *session, struct error *err);
    int microagent_session_open(struct microagent *agent, const char *word, struct microagent_session **out,
        struct error *err);
    int microagent_session_run(struct microagent_session *session, const struct microagent_exec *exec,
        const struct microagent_run_limits *limits, struct microagent_result *out, struct error *err);
    int microagent_session_stream(struct microagent_session *session, const struct microagent_exec *exec,
        enum microagent_pieces pieces, const struct microagent_callbacks *callbacks,
        const struct microagent_run_limits *limits, struct microagent_result *out, struct error *err);
    struct microagent_guest *microagent_session_guest(struct microagent_session *session, struct error *err);
    int microagent_session_give_share(struct microagent_session *session, const struct microagent_session_share *share,
        json_t **told, struct error *err);
    int microagent_session_give_shares(struct microagent_session *session, const struct microagent_session_spec *spec,
        json_t **told, struct error *err);
    int microagent_session_change_network(struct microagent_session *session, enum microagent_network_change change,
        const char *word, json_t **network, struct error *err);
    int microagent_session_fork(struct microagent_session *session, const struct microagent_fork_spec *spec,
        struct microagent_session **children, json_t **told, struct error *err);
    int microagent_session_snapshot(struct microagent_session *session, const char *name, json_t **told,
        struct error *err);
    int microagent_session_restore(struct microagent_session *session, const char *name, json_t **told,
        struct error *err);
    json_t *microagent_session_snapshots(struct microagent_session *session, struct error *err);
    int microagent_session_snapshot_delete(struct microagent_session *session, const char *name, struct error *err);
    int microagent_session_destroy(struct microagent_session *session, struct error *err);
    int microagent_session_destroy_named(struct microagent *agent, const char *word, struct error *err);
    void microagent_session_close(struct microagent_session *session);
    const char *microagent_session_name(const struct microagent_session *session);
    json_t *microagent_session_describe(const struct microagent_session *session, struct error *err);
    json_t *microagent_session_list(struct microagent *agent, struct error *err);
    json_t *microagent_session_gc(struct microagent *agent, struct error *err);
    int microagent_pool_set(struct microagent *agent, const struct microagent_pool_spec *spec, struct error *err);
    json_t *microagent_pool_status(struct microagent *agent, struct error *err);
    int microagent_pool_drain(struct microagent *agent, const char *word, struct error *err);
"""

# Of jansson, which the library is linked to: what turns a document into text, and frees it.
JANSSON = """
    json_t *json_array(void);
    int json_array_append_new(json_t *array, json_t *value);
    char *json_dumps(const json_t *json, size_t flags);
    void json_delete(json_t *json);
"""
