"""Failures without what happened inside the package: the message says all, and a notebook would print every frame."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar, cast

from syncopate.common.errors import Failure

Function = TypeVar("Function", bound=Callable[..., Any])


def brief(function: Function) -> Function:
    """The function; the traceback of its failures and of an interrupt ends at the call. Other exceptions are faults of the package, and keep theirs."""
    @functools.wraps(function)
    def outer(*arguments: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True        # a notebook leaves out this frame, too
        try:
            return function(*arguments, **keywords)
        except (Failure, KeyboardInterrupt) as error:
            raise error.with_traceback(None) from None
    return cast(Function, outer)
