"""What the command line's guide shows of the server is run as typed, against one, and prints what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from tests.support.running.installed import needs
from tests.support.running.served import Served, served
from tests.support.sources.documents import ROOT

from sfgen.serve import app
from sfgen.serve.bodies import ChatRequest, CompletionRequest
from sfgen.serve.responses import ResponsesRequest

GUIDE = (ROOT / "cli" / "README.md").read_text("utf-8")
SECTION = GUIDE.partition("\n## serve: ")[2].partition("\n## ")[0]
SHOWN = re.findall(r"```(sh|py)\n((?:(?!```).)*)```\n\n```text\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as server:
        yield server


@needs("curl")
@pytest.mark.parametrize(("language", "code", "output"), SHOWN, ids=[code.split()[0] for _, code, _ in SHOWN])
def test_what_the_guide_shows(server: Served, language: str, code: str, output: str) -> None:
    if language == "sh" and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    words = ["bash", "-e", "-o", "pipefail", "-c"] if language == "sh" else [sys.executable, "-c"]
    done = subprocess.run([*words, code.replace("8317", str(server.port))], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == output


def test_there_is_something_to_run() -> None:
    assert [language for language, _, _ in SHOWN] == ["sh", "py", "sh", "sh"]
    assert GUIDE.count("http://127.0.0.1:8317") >= 4


def test_the_tables_of_the_guide_have_all_endpoints_and_fields() -> None:
    named = set(re.findall(r"`([^`]+)`", SECTION.partition("| endpoints |")[2].partition("\n\n")[0]))
    with TestClient(app("tiny"), base_url="http://localhost") as client:
        paths = {path.replace("{name}", "NAME") for path in client.get("/openapi.json").json()["paths"]}
    assert not paths - named
    rows = "\n".join(line for line in SECTION.splitlines() if line.startswith("|"))
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", rows))))
    kinds = (CompletionRequest, ChatRequest, ResponsesRequest)
    fields = {field.alias or name for kind in kinds for name, field in kind.model_fields.items()}
    assert not {field for field in fields if not field.startswith("guided_")} - words
