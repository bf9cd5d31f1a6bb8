"""Writing what -o names."""

import os
import stat
import tempfile
from pathlib import Path

from syncopate.common.errors import OutputError

STDOUT = 1


def is_stdout(path):
    """Whether that is "-", or a name of what stdout goes to."""
    try:
        return str(path) == "-" or os.path.samestat(os.stat(path), os.fstat(STDOUT))
    except OSError:
        return False


def write(path, content):
    """The whole file or none: written beside its place, then renamed. A link is followed; "-" is stdout; a device, a pipe or a descriptor
    is written to. Raises OutputError."""
    temporary = None
    try:
        descriptor = STDOUT if is_stdout(path) else descriptor_of(path)
        if descriptor is not None:
            write_to(descriptor, content)
            return
        if path.parent.exists() and not path.parent.is_dir():
            raise OutputError(f"{path}: cannot be written: {path.parent} is not a folder; name another one")
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise OutputError(f"{path}: cannot be written: it is a folder; name a file")
        if path.exists() and not path.is_file():
            with open(path, "wb") as stream:
                stream.write(content)
            return
        target = Path(os.path.realpath(path))
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".syncopate-", suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(handle, mode_of(target))
            stream.write(content)
            stream.flush()
            os.fsync(handle)
        os.replace(temporary, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}; choose another place with -o or --picture") \
            from None
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def descriptor_of(path):
    """The descriptor of this process that a path leads to, such as /dev/fd/3, or None."""
    own = os.path.realpath("/proc/self/fd")
    for _ in range(40):     # links, as the system has it
        if os.path.realpath(path.parent) == own and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / os.readlink(path)
    return None


def write_to(descriptor, content):
    print(end="", flush=True)
    with open(descriptor, "wb", closefd=False) as stream:
        stream.write(content)


def mode_of(path):
    """The permissions of a file that is replaced, or those that a new one gets."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
