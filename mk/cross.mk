# SPDX-License-Identifier: MIT
# The programs and unit programs of the other architecture, by a cross compiler.

CROSS_MAKE = +$(MAKE) --no-print-directory CROSS_BUILD=1 SANITIZE= BUILD=$(BUILD)/arm64 AR=$(CROSS)ar OBJCOPY=$(CROSS)objcopy \
	CC='$(if $(findstring ccache,$(CC)),ccache )$(CROSS)gcc --sysroot=$(abspath $(SYSROOT))'

sysroot: | $(FIRST)
	@scripts/fetch-sysroot.sh $(SYSROOT)

ifdef FOREIGN_INIT
$(FOREIGN_INIT): $(wildcard src/guest/*.[ch] src/guest/*/*.[ch] src/base/*.[ch] src/base/*/*.[ch] src/base/*/*/*.[ch]) | sysroot
	$(CROSS_MAKE) $(BUILD)/arm64/bin/microagent-init
	@mkdir -p $(@D)
	@cp $(BUILD)/arm64/bin/microagent-init $@
arm64-init: $(FOREIGN_INIT)
arm64: $(FOREIGN_INIT)
	$(CROSS_MAKE) all unit
else
arm64-init: $(BUILD)/bin/microagent-init
arm64: all unit
endif
