# SPDX-License-Identifier: MIT
# Says what this system's release has under a name or number of its own. It is read by the other scripts and by the Makefile.
#   llvm           the version of clang and its tools
#   objc           the version of gcc whose Objective-C runtime the stand-in for a framework of macOS is built with
#   share_package  the package with virtiofsd, where qemu-system-common has none
#   docker_client  the package with docker's client, where docker.io has none
# Debian 12 and 13 were tried. Of Ubuntu 24.04 only the names were compared with its list of packages.
# shellcheck shell=sh disable=SC2034,SC1091  # whoever reads it uses them; the host's own file
llvm=19 objc=14 share_package=virtiofsd docker_client=docker-cli
case "$(. /etc/os-release 2>/dev/null && echo "${ID-} ${VERSION_ID-}")" in
"debian 12") llvm=14 objc=12 share_package="" docker_client="" ;;
"ubuntu 24.04") llvm=18 objc=13 docker_client="" ;;
esac
