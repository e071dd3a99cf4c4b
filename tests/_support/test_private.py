"""A folder from which code is run is this user's alone, on its whole way; else it is not used."""

import os
from pathlib import Path

import pytest

from llwlc._support.private_folders import make_private_folder

STRANGER = 54321
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder to somebody else")


def test_a_private_folder_is_made_for_the_user_alone(tmp_path):
    old = os.umask(0o002)
    try:
        folder = make_private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    assert folder == tmp_path / "a" / "b"
    assert [p.stat().st_mode & 0o777 for p in (folder, folder.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o722])
def test_a_folder_that_others_can_write_is_refused(tmp_path, mode):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    assert make_private_folder(tmp_path / "shared") is None
    assert (
        make_private_folder(tmp_path / "shared" / "inside") is None
    )  # whoever writes above it can put another in its place


def test_a_shared_folder_with_the_sticky_bit_may_hold_one(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp").chmod(0o1777)
    assert make_private_folder(tmp_path / "tmp" / "mine") is not None
    assert make_private_folder(tmp_path / "tmp") is None


@as_root
def test_a_folder_or_link_of_another_user_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", STRANGER, STRANGER)
    assert make_private_folder(tmp_path / "theirs") is None
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    assert make_private_folder(tmp_path / "link") == tmp_path / "mine"
    os.lchown(tmp_path / "link", STRANGER, STRANGER)
    assert make_private_folder(tmp_path / "link") is None
    assert make_private_folder(tmp_path / "link" / "inside") is None


@pytest.mark.parametrize("place", ["/proc/nowhere/at/all", "/dev/null/x"])
def test_an_impossible_private_folder_is_none(place):
    assert make_private_folder(Path(place)) is None


def test_a_dangling_or_circular_link_is_refused(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "lost").symlink_to(tmp_path / "gone" / "away")
    assert make_private_folder(tmp_path / "round") is None
    assert make_private_folder(tmp_path / "lost") is None
