"""What the release of CANN that the module stands for is called, and what it can do."""

from __future__ import annotations

import os
import re
from operator import index

from aacl.errors import InvalidArgument, NotSupported
from acl._arguments import check_text
from acl._status import entry, with_code

__all__ = ("get_cann_attribute", "get_cann_attribute_list", "get_cann_version", "get_version", "get_version_str")

_INTERFACE = (1, 4, 0)  # as in the public headers' ACL_MAJOR_VERSION and its siblings
_RELEASE = "8.5.0"  # the first with every function that is counted here, such as finalize_reference
_PACKAGES = ("cann", "runtime", "compiler", "hccl", "toolkit", "opp", "opp_kernel", "driver")
_ABSENT = ("hccl", "driver")
_ATTRIBUTES = (0, 1, 2)  # ACL_CANN_ATTR_INF_NAN, _BF16 and _JIT_COMPILE: all of them are here
_SHAPE = re.compile(r"([0-9]+)\.([0-9]+)\.([^.]+)(?:\.(.+))?")


@entry(lambda code: (0, 0, 0, code))
def get_version() -> tuple[int, int, int, int]:
    """Return the version of the interface.

    Returns:
        (major, minor, patch, 0).

    Source: aclrtGetVersion.
    """
    return (*_INTERFACE, 0)


@with_code("")
def get_version_str(pkg_name: str, /) -> tuple[str, int]:
    """Return the version of one package of CANN.

    Args:
        pkg_name: ``"cann"``, ``"runtime"``, ``"compiler"``, ``"toolkit"``, ``"opp"`` or ``"opp_kernel"``.

    Returns:
        (version, 0): that of the CANN release whose interface the module has, or what ``AACL_CANN_VERSION`` says; ("",
        200006) for ``"hccl"`` and ``"driver"``, which there are not; ("", 100000) for another name, or an
        ``AACL_CANN_VERSION`` that is no version.

    Source: aclsysGetVersionStr.
    """
    check_text(pkg_name, 1)
    if pkg_name not in _PACKAGES:
        raise InvalidArgument(f"there is no package {pkg_name!r}; there are {', '.join(_PACKAGES)}")
    if pkg_name in _ABSENT:
        raise NotSupported(f"the package {pkg_name} is not here: the software device needs none")
    return ".".join(part for part in _parts() if part), 0


@with_code({})
def get_cann_version(package_name: int, /) -> tuple[dict[str, str], int]:
    """Return the version of one package of CANN in parts.

    Args:
        package_name: CANN (0), runtime (1), compiler (2), HCCL (3), toolkit (4), OPP (5), OPP kernels (6), driver (7).

    Returns:
        ({"version", "majorVersion", "minorVersion", "releaseVersion", "patchVersion"}, 0), every value a str; codes as
        `get_version_str`, with {}.

    Source: aclsysGetCANNVersion.
    """
    number = index(package_name)
    if not 0 <= number < len(_PACKAGES):
        raise InvalidArgument(f"there is no package {number}; they are 0 to {len(_PACKAGES) - 1}")
    if _PACKAGES[number] in _ABSENT:
        raise NotSupported(f"the package {_PACKAGES[number]} is not here: the software device needs none")
    parts = _parts()
    names = ("majorVersion", "minorVersion", "releaseVersion", "patchVersion")
    return {"version": ".".join(part for part in parts if part), **dict(zip(names, parts, strict=True))}, 0


def _parts() -> tuple[str, ...]:
    """Return major, minor, release and patch; the last may be empty."""
    text = os.environ.get("AACL_CANN_VERSION", "").strip() or _RELEASE
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise InvalidArgument(f"AACL_CANN_VERSION is {text!r}; set it to a version such as {_RELEASE}")
    return match.groups("")


@with_code([], 0)
def get_cann_attribute_list() -> tuple[list[int], int, int]:
    """Return what software and device can do together.

    Returns:
        (attributes, their number, 0): infinities and NaN (0), bfloat16 (1), and operators that are compiled while the
        program runs (2).

    Source: aclGetCannAttributeList.
    """
    return [*_ATTRIBUTES], len(_ATTRIBUTES), 0


@with_code(0)
def get_cann_attribute(cann_attr: int, /) -> tuple[int, int]:
    """Return whether software and device can do something together.

    Args:
        cann_attr: one of `get_cann_attribute_list`.

    Returns:
        (1, 0); (0, 100000) for another number.

    Source: aclGetCannAttribute.
    """
    if index(cann_attr) not in _ATTRIBUTES:
        raise InvalidArgument(
            f"the attribute {cann_attr} is not known; acl.get_cann_attribute_list names those that are"
        )
    return 1, 0
