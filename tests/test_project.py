"""The project's own files agree with each other, and hold nothing of one machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())

UNWANTED = {
    "a path of one machine": r"/(?:root|work|home/\w+|Users/\w+|opt/(?:wheels|pypi))(?:/|\b)(?!\()",
    "where pip shall look": r"--(?:extra-)?(?:index-url|find-links|trusted-host)",
    "a password in a URL": r"://[^/\s:@]+:[^/\s:@{]+@",
    "a private key": r"BEGIN [A-Z ]*PRIVATE KEY",
    "an access token": r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_\w{36}|glpat-[\w-]{20}|pypi-AgE\w{20})",
}


def _project_files() -> Iterator[Path]:
    """What is, or would be, under version control."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if not _made_here(name)]
        yield from (Path(folder, name) for name in names if not name.endswith((".pyc", ".om")))


def _made_here(folder: str) -> bool:
    return folder in ("__pycache__", "build", "dist", "out") or (folder.startswith(".") and folder != ".ci")


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _requirements() -> list[Requirement]:
    project = PROJECT["project"]
    lists = [PROJECT["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    return [Requirement(line) for lines in lists for line in lines]


def test_files_hold_no_machine_paths_hosts_or_secrets() -> None:
    """No file names a folder of one machine, a package index or a credential."""
    found = []
    for path in _project_files():
        text = path.read_bytes().decode(errors="replace")
        found += [
            f"{path.relative_to(ROOT)}: {what}: {hit.group()}"
            for what, pattern in UNWANTED.items()
            for hit in re.finditer(pattern, text)
        ]

    assert found == []


@pytest.mark.parametrize(
    "text",
    # In two halves, for this file is among those searched.
    [
        "cd /" + "root/x",
        "see /" + "work/aacl",
        "/" + "home/kim/file",
        "--index" + "-url x",
        "https://kim:" + "pw@host/",
        "-----BEGIN RSA PRIVATE" + " KEY-----",
    ],
)
def test_unwanted_text_is_recognised(text: str) -> None:
    """The patterns of the test above match what they are for."""
    assert any(re.search(pattern, text) for pattern in UNWANTED.values())


@pytest.mark.parametrize("file", ["README.md", ".ci/run"])
def test_make_commands_of_the_texts_exist(file: str) -> None:
    """Each `make X` that README and CI name is a target of the Makefile."""
    named = set(re.findall(r"(?:^|\$ |`)make ([a-z]+)", (ROOT / file).read_text(), re.MULTILINE))

    assert named
    assert named - _targets() == set()


def test_readme_names_every_target() -> None:
    """What the Makefile offers stands in the README, but for help, which `make` itself tells."""
    named = set(re.findall(r"\bmake (?:clean )?([a-z]+)", (ROOT / "README.md").read_text()))

    assert _targets() - named == {"help"}


def test_readme_leads_to_every_page() -> None:
    """Each page of docs is linked from the README."""
    links = re.findall(r"\]\((docs/\w[\w-]*\.md)\)", (ROOT / "README.md").read_text())

    assert {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")} == set(links)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.stem
)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    """What a page links to in this project exists, and so does the heading that a link names."""
    lost = []
    for file, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
        target = page.parent / file if file else page
        if not target.exists() or (heading and heading not in _anchors(target)):
            lost.append(f"{file}#{heading}")

    assert lost == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_phony_targets_are_the_targets() -> None:
    """Each word of the Makefile is phony, so that a file of that name cannot hide it."""
    phony = re.search(r"^\.PHONY: ((?:[a-z]+ ?)+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert phony is not None
    assert set(phony[1].split()) == _targets()


def test_constraints_are_exact_versions_and_nothing_else() -> None:
    """A constraint is a name and one version: no host, no path, no editable install; sorted, none twice."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    names = [line.split("==")[0].lower() for line in lines]

    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    assert names == sorted(set(names))


def test_constraints_satisfy_every_requirement() -> None:
    """Each dependency of the package, of its extras and of its build has a pin that it accepts."""
    pins = _pins()
    unmet = [
        str(requirement)
        for requirement in _requirements()
        if not requirement.specifier.contains(pins.get(canonicalize_name(requirement.name), "0"))
    ]

    assert unmet == []


def test_constraints_cover_what_the_requirements_require() -> None:
    """Nothing that the installed tests and demo rest on floats: dependencies of dependencies are pinned too."""
    pins, seen = _pins(), set[str]()
    queue = [canonicalize_name(requirement.name) for requirement in _requirements()]
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = [Requirement(line) for line in distribution(name).requires or ()]
        except PackageNotFoundError:  # of the bench environment only
            continue
        queue += [
            canonicalize_name(need.name) for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})
        ]

    assert seen - pins.keys() == set()


def test_the_test_environment_is_free_of_torch() -> None:
    """Only the bench extra names PyTorch; nothing that is installed here brings it."""
    extras = PROJECT["project"]["optional-dependencies"]

    assert [name for name, lines in extras.items() if any(Requirement(each).name == "torch" for each in lines)] == [
        "bench"
    ]
    with pytest.raises(PackageNotFoundError):
        distribution("torch")


def _examples() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_readme_has_an_example_of_each_face() -> None:
    """README shows the native face, its operators and own kernels, and the drop-in, each by one program."""
    faces = [("import aacl" in code, "import acl" in code) for code in _examples()]
    assert faces == [(True, False), (True, False), (True, False), (False, True)]


@pytest.mark.parametrize("code", _examples(), ids=["native", "operators", "own kernels", "compat"])
def test_readme_examples_run(code: str, tmp_path: Path) -> None:
    """The programs that README shows run as they stand, and print a result."""
    script = tmp_path / "example.py"
    script.write_text(code)

    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(("[", "(("))
