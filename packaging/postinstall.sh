#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers etui.conf
elif ! getent passwd etui >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/etui --shell /usr/sbin/nologin etui
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart etui.service || true
fi
