"""What the guides show of the server is run as typed, against one, and prints what it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.support.running.installed import needs
from tests.support.running.served import Served, served
from tests.support.sources.documents import ROOT

from sfgen.serve import app
from sfgen.serve.bodies import ChatRequest, CompletionRequest
from sfgen.serve.responses import ResponsesRequest

ENDPOINTS, CHATS = (
    (ROOT / "cli" / "guides" / name).read_text("utf-8") for name in ("server.md", "server-functions.md")
)


def shown(guide: str) -> list[tuple[str, str, str]]:
    """The language of each example with what it prints below, its code and that."""
    return re.findall(r"```(sh|py)\n((?:(?!```).)*)```\n\n```text\n(.*?)```", guide, re.DOTALL)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as server:
        yield server


@pytest.fixture(scope="module")
def chat_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of the model that the guide of chats makes before its examples."""
    folder = tmp_path_factory.mktemp("models")
    (made,) = re.findall(r"```sh\n(cp (?:(?!```).)*)sfgen serve -m \./chat\n```", CHATS, re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-e", "-c", made], cwd=folder, env=environment, check=True)
    with served("-m", str(folder / "chat")) as server:
        yield server


def run(server: Served, language: str, code: str, output: str) -> None:
    if language == "sh" and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    words = ["bash", "-e", "-c"] if language == "sh" else [sys.executable, "-c"]
    done = subprocess.run([*words, code.replace("8317", str(server.port))], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == output


@needs("curl")
@pytest.mark.parametrize(("language", "code", "output"), shown(ENDPOINTS))
def test_what_the_guide_shows(server: Served, language: str, code: str, output: str) -> None:
    run(server, language, code, output)


@pytest.mark.parametrize(("language", "code", "output"), shown(CHATS))
def test_what_the_guide_of_chats_shows(chat_server: Served, language: str, code: str, output: str) -> None:
    run(chat_server, language, code, output)


def test_there_is_something_to_run() -> None:
    assert [language for language, _, _ in shown(ENDPOINTS)] == ["sh", "py", "sh", "sh", "sh"]
    assert [language for language, _, _ in shown(CHATS)] == ["py", "py", "py"]
    assert (ENDPOINTS + CHATS).count("http://127.0.0.1:8317") >= 8


def test_the_tables_of_the_guide_have_all_endpoints_and_fields() -> None:
    named = set(re.findall(r"`([^`]+)`", ENDPOINTS.partition("| endpoints |")[2].partition("\n\n")[0]))
    with TestClient(app("tiny"), base_url="http://localhost") as client:
        paths = {path.replace("{name}", "NAME") for path in client.get("/openapi.json").json()["paths"]}
    assert not paths - named
    rows = "\n".join(line for line in (ENDPOINTS + CHATS).splitlines() if line.startswith("|"))
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", rows))))
    kinds = (CompletionRequest, ChatRequest, ResponsesRequest)
    fields = {field.alias or name for kind in kinds for name, field in kind.model_fields.items()}
    assert not {field for field in fields if not field.startswith("guided_")} - words
