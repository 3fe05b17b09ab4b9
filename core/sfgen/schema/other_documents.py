"""Documents that a schema may refer to: the files of a directory that the user names, and the metaschemas.

Nothing is ever fetched. A document is found by the URI that it calls itself (``$id``), or by its path. The directory
has the URI ``file:///``, and the one that stands before it in ``"URL=DIRECTORY"``: of a reference only the path from
there counts, so where the directory lies is said in no schema and in no saved file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from typing import Any
from urllib.parse import quote, unquote

from sfgen import arguments
from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.schema.from_python import from_python
from sfgen.schema.json_file import MAX_BYTES, file_data, json_of, shown
from sfgen.schema.keywords import ANY_DRAFT, subschemas
from sfgen.schema.references import UnresolvedError, joined_uri
from sfgen.schema.strict_json import NotJsonError, parse

MAX_FILES = 10_000
"""The most files and folders of a directory that are looked at."""

MAX_TOTAL_BYTES = 1 << 26
"""How many bytes the files may have together where the one with an identifier is sought."""

ENDINGS = (".json", ".schema", ".jsonschema")
"""How the names of the files end that can be referred to."""

_HERE = "file:///"
_URL_AND_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+://[^=]*)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class OtherDocument:
    """A document that a schema refers to.

    Attributes:
        root: What it is: any JSON.
        uri: Where it was found.
        key: A short name, under which it is kept.
        name: The name for people: that of the file.
        text: Its text; empty if there was none.
        part: The URI of a schema in it, where that was sought.
    """

    root: Any
    uri: str
    key: str
    name: str
    text: str = ""
    part: str = ""

    @property
    def own_uri(self) -> str:
        """What it calls itself; if nothing, where it was found.

        Raises:
            UnresolvedError: It is not a URI.
        """
        return joined_uri(self.uri, identifier_of(self.root))


class OtherDocuments:
    """Finds documents by their URIs.

    Args:
        directory: The directory, ``"URL=DIRECTORY"`` for one whose files are at a URL, too; ``None``: only the
            metaschemas are there.

    Raises:
        InputError: There is no such directory.
    """

    def __init__(self, directory: str | PathLike[str] | None = None) -> None:
        self.directory: str | None = None
        """The path of the directory."""
        self._urls = [_HERE]
        if directory is None:
            return
        path = arguments.path("schema_dir", directory, error=InputError)
        found = _URL_AND_PATH.fullmatch(str(directory)) if isinstance(directory, str) else None
        if found:
            url, self.directory = found.groups()
            self._urls.append(url if url.endswith("/") else f"{url}/")
        else:
            self.directory = os.fspath(path)
        if not os.path.isdir(self.directory):
            reason = "it is not a directory" if os.path.exists(self.directory) else "there is no such directory"
            raise InputError(
                f"cannot read the directory of schemas {shown(self.directory)}: {reason}",
                hint="Name the directory that has the files, as in schemas or https://example.com/schemas/=schemas.",
            )

    def place_of(self, name: str) -> str:
        """Return the URI of a file in the directory.

        For any other file it is the URI of the directory.

        Args:
            name: The file; empty for a schema from none.
        """
        if name and self.directory is not None:
            path, around = os.path.realpath(name), os.path.realpath(self.directory)
            if _is_inside(path, around):
                return self._uri_of(os.path.relpath(path, around).replace(os.sep, "/"))
        return self._urls[-1]

    def find(self, uri: str) -> OtherDocument | None:
        """Find the document that has a URI itself or inside it.

        Args:
            uri: The URI, without a fragment.

        Returns:
            ``None`` if there is no such document.

        Raises:
            SchemaError: The file is not JSON, or more than one has this identifier.
            SchemaTooLarge: A limit is passed.
            InputError: The file cannot be read.
        """
        found = _metaschema(uri)
        if found is not None or self.directory is None:
            return found
        for url in self._urls:
            name = unquote(uri.removeprefix(url)) if uri.startswith(url) else ""
            if name and self._is_file(name):
                return self._read(name)
        names = self._by_identifier.get(uri, [])
        if len(names) > 1:
            raise SchemaError(
                f"{shown(uri)} is the identifier of {names[0]} and of {names[1]} in {shown(self.directory)}",
                hint="Give each file an identifier of its own.",
            )
        if not names:
            return None
        document = self._read(names[0])
        return document if uri == document.own_uri else replace(document, part=uri)

    def near(self, reference: str) -> str:
        """Hint at the documents that were perhaps meant."""
        assert self.directory is not None, "there is a directory"
        path = unquote(reference.partition("#")[0])
        name = path.rpartition("/")[2]
        if os.path.islink(os.path.join(self.directory, path.lstrip("/"))):
            return "It is a link that leads out of the directory, which is not followed."
        by_name = {file.rpartition("/")[2]: file for file in self._files}
        near = get_close_matches(name, list(by_name), 1)
        return f"Did you mean {by_name[near[0]]}?" if near else ""

    def _uri_of(self, name: str) -> str:
        return self._urls[-1] + quote(name)

    def _is_file(self, name: str) -> bool:
        """Whether a name is that of a file in the directory that can be referred to."""
        assert self.directory is not None
        if not name.endswith(ENDINGS) or "\0" in name:
            return False
        path = os.path.realpath(os.path.join(self.directory, name))
        return os.path.isfile(path) and _is_inside(path, os.path.realpath(self.directory))

    def _read(self, name: str) -> OtherDocument:
        assert self.directory is not None
        path = os.path.normpath(os.path.join(self.directory, name))
        root, text = json_of(file_data(path), shown(path))
        return OtherDocument(root, self._uri_of(name), name, shown(path), text)

    @cached_property
    def _files(self) -> tuple[str, ...]:
        """The names of all files that can be referred to, by their paths in the directory."""
        return tuple(sorted(self._walk()))

    def _walk(self) -> Iterator[str]:
        assert self.directory is not None
        seen = 0
        for folder, folders, files in os.walk(self.directory):
            seen += len(folders) + len(files)
            if seen > MAX_FILES:
                raise SchemaTooLarge(
                    f"{shown(self.directory)} has more than {MAX_FILES:,} files and folders",
                    hint="Name a directory with the schemas alone.",
                )
            for file in files:
                name = os.path.relpath(os.path.join(folder, file), self.directory).replace(os.sep, "/")
                if self._is_file(name):
                    yield name

    @cached_property
    def _by_identifier(self) -> dict[str, list[str]]:
        """The names of the files by the URIs of schemas in them. What is not JSON has none."""
        assert self.directory is not None
        found: dict[str, list[str]] = {}
        size = 0
        for name in self._files:
            data = file_data(os.path.join(self.directory, name))
            size += len(data)
            if size > MAX_TOTAL_BYTES:
                raise SchemaTooLarge(
                    f"the files of {shown(self.directory)} pass the limit of {MAX_TOTAL_BYTES:,} bytes together",
                    hint="Name a directory with the schemas alone.",
                )
            if len(data) > MAX_BYTES or not re.search(rb'"\$?id"', data):
                continue
            try:
                root = parse(data)
            except NotJsonError:
                continue
            for uri in dict.fromkeys(_identifiers(root, self._uri_of(name))):
                found.setdefault(uri, []).append(name)
        return found


def identifier_of(root: Any) -> str:
    """Return a schema's identifier without a fragment; empty if it has none.

    >>> identifier_of({"$id": "http://example.com/a#"}), identifier_of({"id": "http://example.com/b"})
    ('http://example.com/a', 'http://example.com/b')
    """
    if not isinstance(root, dict):
        return ""
    found = root.get("$id", root.get("id"))
    if not isinstance(found, str) or not ("$id" in root or re.search("[:#]", found)):
        return ""
    return found.partition("#")[0]


def _identifiers(root: Any, uri: str) -> Iterator[str]:
    """The URIs of a document and of the schemas in it that call themselves something."""
    stack = [(root, uri)]
    while stack:
        schema, base = stack.pop()
        if not isinstance(schema, dict):
            continue
        identifier = identifier_of(schema)
        if identifier:
            try:
                base = joined_uri(base, identifier)
            except UnresolvedError:
                continue
            yield base
        stack += [(inner, base) for _, inner in subschemas(schema, ANY_DRAFT)]


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _metaschema(uri: str) -> OtherDocument | None:
    """The metaschema of a draft, or one of its parts; from the package that jsonschema has them from."""
    if "json-schema.org/" not in uri:
        return None
    from jsonschema_specifications import REGISTRY

    found = REGISTRY.get(uri)
    return None if found is None else OtherDocument(from_python(found.contents), uri, uri, uri)
