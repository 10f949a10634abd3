/* SPDX-License-Identifier: MIT */
/* A part of session_fixture.h: requests of a session's live supervisor to its backend. */
#ifndef SESSION_LIVE_STANDIN_H
#define SESSION_LIVE_STANDIN_H

/* Functions of the backend beside the stand-in's: one request at a time. */
static vm_done_fn *standin_done_fn;

static void standin_done(struct loop *loop, void *data)
{
	(void)loop;
	standin_done_fn(data, NULL);
}

static int standin_pause(struct vm *vm, vm_done_fn *fn, void *data, struct error *err)
{
	standin_done_fn = fn;
	return loop_add_timer(vm->loop, 0, standin_done, data, err) ? 0 : -1;
}

static int standin_layer_room(struct vm *vm, uint64_t bytes, vm_done_fn *fn, void *data,
			      struct error *err)
{
	(void)bytes;
	return standin_pause(vm, fn, data, err);
}

/* The saved state of a machine. STANDIN_MACHINE: its host has another machine now. */
static struct {
	vm_saved_fn *fn;
	void *data;
} standin_saving;

static void standin_saved(struct loop *loop, void *data)
{
	(void)loop;
	(void)data;
	standin_saving.fn(standin_saving.data, clock_mono_ns(), NULL);
}

static int standin_save(struct vm *vm, int state_fd, vm_saved_fn *fn, void *data, struct error *err)
{
	standin_saving.fn = fn;
	standin_saving.data = data;
	return fd_write_all(state_fd, "a machine", 9, err) < 0 ||
			       !loop_add_timer(vm->loop, 0, standin_saved, vm, err)
		       ? -1
		       : 0;
}

static int standin_save_facts(const struct config *config, enum accelerator accelerator,
			      json_t *facts, struct error *err)
{
	const char *machine = getenv("STANDIN_MACHINE");

	(void)config;
	(void)accelerator;
	return json_put_string(facts, "vmm", "/proc/self/exe", err) < 0
		       ? -1
		       : json_put_string(facts, "machine", machine ? machine : "standin", err);
}

static inline int standin_supervisor(int argc, char **argv)
{
	struct backend backend = standin_backend;

	backend.pause = standin_pause;
	backend.layer_room = standin_layer_room;
	backend.save = standin_save;
	backend.save_facts = standin_save_facts;
	setenv("STANDIN", "1", 1);
	return supervisor_main(&backend, argc, argv);
}

#endif
