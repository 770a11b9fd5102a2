"""The signature of a pack: its keys, and what is found where it and the files disagree."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from aotriton.errors import PackError
from aotriton.pack.signature import SIGNATURE, build_date, check_signature, git_hashes, make_signature, read_signature


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "flash/attn_fwd.zip"
    path.parent.mkdir()
    path.write_bytes(b"zip")
    entry = {"sha256": hashlib.sha256(b"zip").hexdigest(), "tables": {"gfx942": "aa", "gfx950": "bb"}}
    data = make_signature("amd-gfx942", {"flash/attn_fwd.zip": entry}, version="1.2", triton_version="3.9.0")
    (tmp_path / SIGNATURE).write_bytes(data)
    return tmp_path


def test_the_originals_keys_and_ours(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads((pack / SIGNATURE).read_bytes())
    assert list(content)[:4] == ["AOTRITON_GIT_SHA1", "AOTRITON_GIT_TREESHA1", "DB_SHA256", "TRITON_VERSION"]
    tables = {"gfx942": {"flash": {"attn_fwd": "aa"}}, "gfx950": {"flash": {"attn_fwd": "bb"}}}
    assert content["DB_SHA256"] == {"primary": tables, "secondary": {}}
    assert (content["TRITON_VERSION"], content["project_version"], content["pack"]) == ("3.9.0", "1.2", "amd-gfx942")
    assert check_signature(pack) == []
    monkeypatch.setenv("AOTRITON_CI_SUPPLIED_SHA1", "abc")
    monkeypatch.setenv("AOTRITON_GIT_TREESHA1", "def")
    assert git_hashes() == {"AOTRITON_GIT_SHA1": "abc", "AOTRITON_GIT_TREESHA1": "def"}


def test_the_date_can_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert build_date() == "1970-01-01T00:00:00+00:00"
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert build_date() > "2024"


def test_what_disagrees_is_found(pack: Path) -> None:
    path = pack / "flash/attn_fwd.zip"
    path.write_bytes(b"zap")
    assert check_signature(pack) == [f"{path} is not the file that the signature describes"]
    path.rename(path.with_name("other.zip"))
    assert check_signature(pack) == [f"{path} is missing", f"{path.with_name('other.zip')} is not in the signature"]
    (pack / SIGNATURE).unlink()
    assert "can't be read" in check_signature(pack)[0]


def test_a_signature_names_nothing_outside_of_its_pack(pack: Path) -> None:
    content = json.loads((pack / SIGNATURE).read_text())
    content["kernels"] = {"../x.zip": {}, "/etc/passwd": {}}
    (pack / SIGNATURE).write_text(json.dumps(content))
    assert [problem.endswith("not below the pack") for problem in check_signature(pack)][:2] == [True, True]


NO_SIGNATURES = ["", "{", "[]", "null", "{}", "[" * 100000, b"\xff\xfe"]
NO_SIGNATURES += ['{"format": 2, "kernels": {}}', '{"format": 1}', '{"format": 1, "kernels": {"a": 1}}']


@pytest.mark.parametrize("text", NO_SIGNATURES)
def test_what_is_no_signature_is_an_error(pack: Path, text: str | bytes) -> None:
    (pack / SIGNATURE).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PackError) as caught:
        read_signature(pack)
    assert caught.value.hint
    assert len(check_signature(pack)) == 1
