# SPDX-License-Identifier: MIT
# Objects, archives, programs and the library of the system that is built for.

# --- objects and archives ------------------------------------------------------------------------

define compiled_below
$(BUILD)/obj/%.o: $(1)/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $$(@D)
	$$(call say,CC   )$$(CC) $$(CPPFLAGS) $$(HOST_CFLAGS) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(BUILD)/guest/%.o: $(1)/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $$(@D)
	$$(call say,CC   )$$(CC) $$(CPPFLAGS) $$(GUEST_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach place,ports src,$(eval $(call compiled_below,$(place))))

define archive
$(call lib,$(1)): $(call objects,$(call sources,$(1))) $(addprefix $(BUILD)/obj/,$(EMBEDDED_$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR   )$$(AR) $(AR_FLAGS) $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call archive,$(f))))

# All that folders are made of, and nothing linked: `make objects FOLDERS=base`.
OBJECTS = $(foreach f,$(FOLDERS),$(call objects,$(call sources,$(f))) $(addprefix $(BUILD)/obj/,$(EMBEDDED_$(f))))
objects: $(OBJECTS)
list-objects:
	@echo $(OBJECTS)

as_numbers = od -An -v -tx1 $(1) | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'

$(BUILD)/embedded/schemas.c: schema/mcp.json schema/defs.json
	@mkdir -p $(@D)
	$(call say,GEN  )for f in mcp defs; do \
		echo "extern const char schema_$$f[]; const char schema_$$f[] = {"; \
		$(call as_numbers,schema/$$f.json); \
		echo "0};"; \
	done >$@.new && mv $@.new $@
$(BUILD)/embedded/backends.c: src/api/backends.json
	@mkdir -p $(@D)
	$(call say,GEN  ){ echo "extern const char stored_backends[]; const char stored_backends[] = {"; \
		$(call as_numbers,$<); echo "0};"; } >$@.new && mv $@.new $@
# Small, since each share's cell has a copy; and without a sanitizer, whose runtime virtiofsd has not.
$(BUILD)/embedded/virtiofsd_preload.so: src/virtiofsd/preload.c src/base/platform/linux/kernel_fs.h $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIC -shared -s -Wl,-z,noseparate-code,-z,relro,-z,now -o $@ $<
$(BUILD)/embedded/virtiofsd_preload.c: $(BUILD)/embedded/virtiofsd_preload.so
	$(call say,GEN  ){ echo '#include "backend/parts/virtiofsd.h"'; echo "const unsigned char virtiofsd_preload[] = {"; \
		$(call as_numbers,$<); echo "};"; echo "const size_t virtiofsd_preload_len = sizeof(virtiofsd_preload);"; } >$@.new && mv $@.new $@
$(BUILD)/obj/embedded/%.o: $(BUILD)/embedded/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(HOST_CFLAGS) $(CFLAGS) -c -o $@ $<

# --- programs ------------------------------------------------------------------------------------

# program: name, folder of its main.c, archives in link order, libraries
define program
$(BUILD)/bin/$(1): $(BUILD)/obj/$(2)/main.o $(foreach l,$(3),$(call lib,$(l)))
	@mkdir -p $$(@D)
	$$(call say,LD   )$$(CC) $$(HOST_LDFLAGS) -o $$@ $$^ $(4)
endef
$(eval $(call program,microagent,cli,cli mcp session api channel store contract base,$(HOST_LIBS)))

# A supervisor for each backend: the same objects, and a main.o that names its struct.
backend_folder = $(if $(filter $(PORTS),$(1)),$(1),backend/$(1))
$(BUILD)/obj/supervisor/main-%.o: src/supervisor/main.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) -DBACKEND=$* $(HOST_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
define supervisor
$(BUILD)/bin/microagent-$(1)-supervisor: $(BUILD)/obj/supervisor/main-$(1).o \
		$(foreach l,supervisor $(call backend_folder,$(1)) backend-parts channel store contract base,$(call lib,$(l)))
	@mkdir -p $$(@D)
	$$(call say,LD   )$$(CC) $$(HOST_LDFLAGS) -o $$@ $$^ $$(SUPERVISOR_LIBS)
	$$(SIGN)
endef
$(foreach b,$(BACKENDS),$(eval $(call supervisor,$(b))))

$(eval $(call program,microagent-vsockd,vsockd,vsockd base,-lseccomp))
ifneq ($(PLATFORM),darwin)
$(eval $(call program,microagent-oci,oci,oci oci-config api channel store contract base,$(HOST_LIBS) -Wl$(,)-Bstatic -lseccomp -Wl$(,)-Bdynamic))
endif
$(eval $(call program,microagent-netgate,netgate,netgate base,-lseccomp))
$(eval $(call program,microagent-artifact,artifact,artifact store contract base,$(ARTIFACT_LIBS)))

# Isolation is for daemons of the host; in the guest it would pull in a static libseccomp.
GUEST_SOURCES := $(filter-out src/base/platform/linux/isolate%.c %/sha256.c %/subids.c,$(call sources,base) $(call sources,guest) src/guest/main.c)
GUEST_OBJECTS := $(patsubst src/%.c,$(BUILD)/guest/%.o,$(GUEST_SOURCES))
$(BUILD)/bin/microagent-init: $(GUEST_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(GUEST_LDFLAGS) -s -o $@ $^ -ljansson

# Who runs it finds the binding where the link leads to.
$(BUILD)/bin/microagent-perf: python/microagent-perf
	@mkdir -p $(@D)
	@ln -sfn $(abspath $<) $@

# --- the library ---------------------------------------------------------------------------------

# Isolation is for daemons; here it would pull in libseccomp.
LIBRARY_OBJECTS := $(foreach f,$(LIBRARY_FOLDERS),$(call objects,$(filter-out src/base/platform/linux/isolate%.c,$(call sources,$(f)))) \
	$(addprefix $(BUILD)/obj/,$(EMBEDDED_$(f))))

$(BUILD)/lib/libmicroagent.so.$(VERSION): $(LIBRARY_OBJECTS) src/api/exported.map
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(filter-out -pie,$(HOST_LDFLAGS)) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs \
		-Wl,--version-script=src/api/exported.map -o $@ $(LIBRARY_OBJECTS) -ljansson -lmd

$(BUILD)/lib/$(SONAME): $(BUILD)/lib/libmicroagent.so.$(VERSION)
	@ln -sf $(<F) $@

# What is hidden stays so; the public names are marked in their headers.
$(BUILD)/lib/libmicroagent.0.dylib: $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(HOST_LDFLAGS) -dynamiclib -install_name $(LIBDIR)/$(@F) -o $@ $^ $(HOST_LIBS)

# One object in which every name but the public ones is local, so that no program's own clash with them.
$(BUILD)/lib/libmicroagent.o: $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) -r -nostdlib -o $@ $^
	@$(OBJCOPY) --localize-hidden $@
$(BUILD)/lib/libmicroagent.a: $(BUILD)/lib/libmicroagent.o
	@rm -f $@
	$(call say,AR   )$(AR) $(AR_FLAGS) $@ $^
