"""Finding a program and executing it as ``__main__``, as Python itself does."""

from __future__ import annotations

import _thread
import builtins
import gc
import importlib.util
import io
import os
import pkgutil
import sys
import threading
import zipfile
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ("finish", "run_code", "run_module", "run_script")

_PATIENCE = 2.0  # seconds


def run_module(words: Sequence[str]) -> None:
    """Run a module by name, or a package's ``__main__``; the rest are its arguments.

    Raises:
        SystemExit: there is no such module, or it is not Python (1).
        BaseException: what the program raises.
    """
    _first_on_path(os.getcwd())
    sys.argv[:] = ["-m", *words[1:]]  # what packages on the way see: their file is not known yet
    spec = _module_spec(words[0])
    sys.argv[0] = spec.origin or "-m"
    _execute(_code_of(spec), spec.origin, spec)


def run_code(words: Sequence[str]) -> None:
    """Run a piece of code; the rest are its arguments.

    Raises:
        BaseException: what the program raises.
    """
    _first_on_path("")
    sys.argv[:] = ["-c", *words[1:]]
    _execute(compile(words[0], "<string>", "exec", dont_inherit=True))


def run_script(words: Sequence[str]) -> None:
    """Run a file, or the ``__main__.py`` of a folder or zip file; the rest are its arguments.

    Raises:
        SystemExit: the file cannot be opened (2), or the folder has no ``__main__.py`` (1).
        BaseException: what the program raises.
    """
    path = os.path.abspath(words[0])
    sys.argv[:] = words
    if Path(path).is_dir() or zipfile.is_zipfile(path):
        _run_folder(path)
        return
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        _stop(f"can't open file {path!r}: {error.strerror}; name an existing Python file", 2)
    _first_on_path(str(Path(path).resolve().parent))
    _execute(compile(source, path, "exec", dont_inherit=True), path)


def _run_folder(path: str) -> None:
    """Run the ``__main__`` of a folder or zip file, which become the first entry of the path."""
    finder = pkgutil.get_importer(path)
    spec = None if finder is None else finder.find_spec("__main__", None)
    if spec is None:
        _stop(f"can't find '__main__' module in {path!r}; put a __main__.py there", 1)
    _first_on_path(path)
    _execute(_code_of(spec), spec.origin, spec)


def _module_spec(name: str) -> ModuleSpec:
    """Find a module, or the ``__main__`` of a package."""
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{name}.__main__"
            spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # a package on the way lacks something of its own
        spec = None
    if spec is None:
        _stop(f"No module named {name}; is its folder the current one, or on PYTHONPATH?", 1)
    return spec


def _code_of(spec: ModuleSpec) -> CodeType:
    code: CodeType | None = getattr(spec.loader, "get_code", lambda _name: None)(spec.name)
    if code is None:
        _stop(f"{spec.name} has no Python code to run; name a module written in Python", 1)
    return code


def _execute(code: CodeType, file: str | None = None, spec: ModuleSpec | None = None) -> None:
    """Execute code as the main module, which stays in place for threads, pickles and exit functions."""
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins)
    if file is not None:
        module.__file__ = file
        module.__loader__ = SourceFileLoader("__main__", file)
    if spec is not None:
        module.__spec__, module.__loader__, module.__package__ = spec, spec.loader, spec.parent
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def finish() -> None:
    """Let the globals of the main module go that have something to do at their end, as Python is about to.

    Programs end their handles in the ``__del__`` of a global, which runs after all exit functions. All other globals
    stay, for daemon threads may use them yet; so do objects of ours, which are what is left open.
    """
    names = vars(sys.modules["__main__"])
    ending = [name for name in [*names] if _has_an_end(type(names.get(name)))]
    if ending:
        with _patience():
            for name in ending:
                names[name] = None
            gc.collect()


@contextmanager
def _patience() -> Iterator[None]:
    """Interrupt what waits for something that may never be over; Python refuses such waits once it ends."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_PATIENCE):
            _thread.interrupt_main()

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()
        yield
    except KeyboardInterrupt:  # ours, where no finalizer took it
        pass
    finally:
        is_over.set()


def _has_an_end(kind: type) -> bool:
    return hasattr(kind, "__del__") and kind.__module__.partition(".")[0] != "aacl"


def _first_on_path(folder: str) -> None:
    # What stands there is the folder of the `aacl` command itself; under -P nothing does.
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _stop(text: str, status: int) -> NoReturn:
    print(f"aacl run: {text}", file=sys.stderr)
    raise SystemExit(status)
