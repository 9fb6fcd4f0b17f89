"""What the release of CANN is called, and what it can do."""

from __future__ import annotations

import pytest

import acl
from tests.compat._programs import good, untyped


def test_the_interfaces_version() -> None:
    """The version of the interface is three numbers, known before init."""
    assert acl.get_version() == (1, 4, 0, 0)


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("", ("8", "5", "0", "")),
        ("7.0.0", ("7", "0", "0", "")),
        ("8.0.RC2.alpha001", ("8", "0", "RC2", "alpha001")),
        (" 9.1.0 ", ("9", "1", "0", "")),
    ],
)
def test_versions_of_packages(version: str, parts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every package has the release that AACL_CANN_VERSION says, as one text and in parts."""
    monkeypatch.setenv("AACL_CANN_VERSION", version)
    whole = version.strip() or "8.5.0"

    assert acl.get_version_str("runtime") == acl.get_version_str("cann") == (whole, 0)
    assert good(acl.get_cann_version(1)) == {
        "version": whole,
        **dict(zip(("majorVersion", "minorVersion", "releaseVersion", "patchVersion"), parts, strict=True)),
    }


def test_packages_that_are_not_here() -> None:
    """The communication library and the driver are not here; other names and numbers mean nothing; each has a text."""
    for name, number in (("hccl", 3), ("driver", 7)):
        assert acl.get_version_str(name) == ("", 200006)
        assert acl.get_cann_version(number) == ({}, 200006)
        assert f"package {name}" in (acl.get_recent_err_msg() or "")
    for wrong in ("", "Runtime", "numpy"):
        assert acl.get_version_str(wrong) == ("", 100000)
    for number in (-1, 8, 2**70):
        assert acl.get_cann_version(number) == ({}, 100000)
    assert "0 to 7" in (acl.get_recent_err_msg() or "")
    with pytest.raises(TypeError):
        untyped.get_version_str(1)
    with pytest.raises(TypeError):
        untyped.get_cann_version("runtime")


@pytest.mark.parametrize("version", ["eight", "8", "8.5", "8.5.", "8..0", "-1.0.0"])
def test_what_is_no_version(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An AACL_CANN_VERSION that is no version is told."""
    monkeypatch.setenv("AACL_CANN_VERSION", version)

    assert acl.get_version_str("runtime") == ("", 100000)
    assert f"AACL_CANN_VERSION is {version!r}" in (acl.get_recent_err_msg() or "")


def test_answers_are_the_programs_own() -> None:
    """What a program does to a result changes no later one."""
    good(acl.get_cann_version(0)).clear()
    acl.get_cann_version(99)[0]["x"] = "y"

    assert good(acl.get_cann_version(0))["version"] == "8.5.0"
    assert acl.get_cann_version(99)[0] == {}


def test_attributes() -> None:
    """Infinities, bfloat16 and compiling while the program runs are there, each alone too; others are unknown."""
    names, number, ret = acl.get_cann_attribute_list()

    assert (names, number, ret) == ([0, 1, 2], 3, 0)
    assert [acl.get_cann_attribute(each) for each in names] == [(1, 0)] * 3
    assert acl.get_cann_attribute(-1) == acl.get_cann_attribute(3) == (0, 100000)
    names.clear()
    assert acl.get_cann_attribute_list()[0] == [0, 1, 2]
