# SPDX-License-Identifier: MIT
# Unit programs, stand-ins, fuzz targets, and the commands that run tests and checks.

ALL_LIBS := $(foreach f,$(filter-out guest guest-macos vsockd netgate,$(FOLDERS)),$(call lib,$(f)))
LINK_ALL := -Wl,--start-group $(ALL_LIBS) -Wl,--end-group -ljansson -larchive -lcrypto -lext2fs -lmd -lseccomp
# guest, vsockd and netgate are programs of their own, whose names may be those of other programs' parts; their
# tests link with them and base alone.
UNIT_PLACES := $(wildcard ports/*/tests/unit) tests/unit
UNIT_SOURCES := $(wildcard $(UNIT_PLACES:%=%/test_*.c))
UNIT := $(patsubst %.c,$(BUILD)/unit/%,$(notdir $(UNIT_SOURCES)))

define lone_test
$(BUILD)/unit/test_$(subst -,_,$(1))_%: $(or $(2),tests/unit)/test_$(subst -,_,$(1))_%.c $(BUILD)/flags $(call lib,$(1)) $(call lib,base)
	@mkdir -p $$(@D)
	$$(call say,TEST )$$(CC) $$(CPPFLAGS) -Itests/unit $$(HOST_CFLAGS) -MMD -MP $$(HOST_LDFLAGS) -o $$@ $$< \
		$(call lib,$(1)) $(call lib,base) -ljansson -lseccomp -lcmocka
endef
$(foreach f,guest vsockd netgate,$(eval $(call lone_test,$(f))))

define test_below
$(BUILD)/unit/%: $(1)/%.c $(BUILD)/flags $(ALL_LIBS)
	@mkdir -p $$(@D)
	$$(call say,TEST )$$(CC) $$(CPPFLAGS) -Itests/unit $$(HOST_CFLAGS) -MMD -MP $$(HOST_LDFLAGS) -o $$@ $$< $$(LINK_ALL) -lcmocka
endef
$(foreach place,$(UNIT_PLACES),$(eval $(call test_below,$(place))))

# It writes a header of the library, and must be there before the library compiles.
$(BUILD)/unit/print_fields: tests/unit/print_fields.c $(BUILD)/flags $(call lib,contract) $(call lib,base)
	@mkdir -p $(@D)
	$(call say,TEST )$(CC) $(CPPFLAGS) $(HOST_CFLAGS) -MMD -MP $(HOST_LDFLAGS) -o $@ $< $(call lib,contract) $(call lib,base) -ljansson

TABLES := $(BUILD)/unit/print_fields $(BUILD)/unit/print_tables
unit: $(UNIT) $(TABLES)

# Writes what follows from the headers and the tables of fields and options: members of a header, entries of schemas and
# manuals, the binding of Python, and the library's list of what each backend has.
lists: $(BUILD)/unit/print_fields
	BUILD=$(BUILD) scripts/config-texts.py header
	scripts/python-table.py
	+$(MAKE) BUILD=$(BUILD) all standin $(BUILD)/unit/print_tables
	BUILD=$(BUILD) scripts/config-texts.py
	BUILD=$(BUILD) /usr/bin/python3 tests/e2e/capabilities.py
	+$(MAKE) BUILD=$(BUILD) all

# The stand-in for Firecracker has the vsock device in its own process, a Python's, where no sanitizer's runtime is.
STANDIN_SOURCES := tests/standin/firecracker/vsock.c src/backend/qemu/tsc.c \
	$(filter-out src/base/platform/linux/isolate%.c %/sha256.c src/vsockd/isolate.c src/vsockd/seccomp.c src/vsockd/options.c,$(call sources,vsockd) $(call sources,base))
$(BUILD)/standin/%.o: %.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIC -MMD -MP -c -o $@ $<
$(BUILD)/standin/libvsock.so: $(patsubst %.c,$(BUILD)/standin/%.o,$(STANDIN_SOURCES))
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) -shared -Wl,-z,defs -Wl,--as-needed -o $@ $^ -ljansson

standin: $(BUILD)/standin/libvsock.so

# Fuzz targets and all they link are built by clang with coverage, apart from everything else.
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ := $(patsubst %.c,$(FUZZ_BUILD)/bin/%,$(notdir $(wildcard tests/fuzz/fuzz_*.c ports/*/tests/fuzz/fuzz_*.c)))
FUZZ_CFLAGS := -std=gnu17 -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
	       -fno-sanitize-recover=undefined -DMICROAGENT_FUZZ=1 -DMICROAGENT_SANITIZE=1
fuzz_objects = $(call objects_in,$(FUZZ_BUILD)/obj,$(foreach f,$(1),$(call sources,$(f))))

define fuzzed_below
$(FUZZ_BUILD)/obj/%.o: $(1)/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $$(@D)
	$$(call say,FUZZ )$$(CLANG) $$(CPPFLAGS) $$(FUZZ_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach place,ports src,$(eval $(call fuzzed_below,$(place))))
$(FUZZ_BUILD)/obj/embedded/%.o: $(BUILD)/embedded/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,FUZZ )$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -c -o $@ $<
$(FUZZ_BUILD)/libhost.a: $(call fuzz_objects,$(filter-out guest guest-macos,$(FOLDERS))) $(EMBEDDED:%=$(FUZZ_BUILD)/obj/embedded/%.o)
$(FUZZ_BUILD)/libguest.a: $(call fuzz_objects,guest base)
$(FUZZ_BUILD)/lib%.a:
	@rm -f $@
	$(call say,AR   )$(AR) $(AR_FLAGS) $@ $^
fuzz_link = $(call say,FUZZ )$(CLANG) $(CPPFLAGS) -Itests/fuzz $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< \
	$(FUZZ_BUILD)/lib$(1).a -ljansson -larchive -lcrypto -lext2fs -lmd -lseccomp
$(FUZZ_BUILD)/bin/fuzz_agent_%: tests/fuzz/fuzz_agent_%.c $(FUZZ_BUILD)/libguest.a
	@mkdir -p $(@D)
	$(call fuzz_link,guest)
$(FUZZ_BUILD)/bin/%: tests/fuzz/%.c $(FUZZ_BUILD)/libhost.a
	@mkdir -p $(@D)
	$(call fuzz_link,host)
fuzz: $(FUZZ)

# These files are carried inside the object.
$(BUILD)/obj/artifact/recipes.o $(FUZZ_BUILD)/obj/artifact/recipes.o: images/kernel/tuned.config images/kernel/tuned-arm64.config \
	images/debian/packages

test: setup all unit standin standin-hyperv $(if $(SANITIZE),,fuzz)
	BUILD=$(BUILD) SANITIZE=$(SANITIZE) ACCEL=$(ACCEL) /usr/bin/python3 tests/run.py $(TESTS)

soak: setup all unit standin standin-hyperv fuzz $(if $(if $(TESTS),$(filter e2e %test_arm64_unit.py,$(TESTS)),all),arm64)
	$(if $(if $(TESTS),$(filter sanitized,$(TESTS)),all),+$(MAKE) SANITIZE=1 BUILD=$(BUILD)/sanitize all)
	BUILD=$(BUILD) /usr/bin/python3 tests/run.py --soak $(TESTS)

bench: setup standin
	BUILD=$(BUILD) ACCEL=$(ACCEL) /usr/bin/python3 tests/bench/run.py $(if $(STORE),--store) $(BENCH)

lint:
	scripts/install-packages.sh lint windows
	scripts/lint.sh

darwin-check:
	scripts/install-packages.sh darwin
	scripts/darwin-check.sh
