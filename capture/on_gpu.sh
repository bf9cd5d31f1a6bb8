#!/usr/bin/env bash
# Builds, tests and measures on this machine's GPU, into one folder; gpu/README.md has the steps and options.
#   capture/on_gpu.sh FOLDER [--minutes 9] [--only 'capture:resnet50*'] [--after FOLDER/report.json] ...
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v python3 > /dev/null; then
  echo "on_gpu: python3 is missing; install it, or put the folder of the one that has PyTorch first in PATH" >&2
  exit 5
fi
exec python3 "$here/gpu/session.py" "$@"
