"""Files that are whole or not there."""

from __future__ import annotations

import os

import pytest

from primal._files import written_whole


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_has_its_content_and_nothing_else_is_left(tmp_path, durable):
    with written_whole(tmp_path / "file", durable=durable) as stream:
        stream.write(b"all of it")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"all of it"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half():
        with written_whole(path) as stream:
            stream.write(b"ne")
            raise error

    with pytest.raises(type(error)):
        write_half()
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with written_whole(tmp_path / "file"):
        pass
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
