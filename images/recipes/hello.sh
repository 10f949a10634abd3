#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The least that a recipe does, for any image:
#
#   microagent base create hello --provision hello.sh
#
# It runs as root, in the directory that has the staged files ($MICROAGENT_STAGE). Lines of its output
# that begin with "### " are shown as its steps. Ending with anything but 0 means that no base is made.
set -eu

echo "### a program for every session"
cat >/usr/local/bin/hello <<'EOF'
#!/bin/sh
echo "hello from $(uname -n)"
EOF
chmod 755 /usr/local/bin/hello

echo "### staged files"
for file in "$MICROAGENT_STAGE"/*; do
	[ -e "$file" ] || continue
	mkdir -p /usr/local/share
	cp "$file" /usr/local/share/
done
