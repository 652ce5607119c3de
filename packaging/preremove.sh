#!/bin/sh
# $1 is "remove" (deb) or 0 (rpm) when the package goes for good.
if { [ "$1" = remove ] || [ "$1" = 0 ]; } && [ -d /run/systemd/system ]; then
	systemctl disable --now etui.service || true
fi
