"""The watch that the GPU tests keep for compilers sees them."""

import subprocess

from tests.tools.watch import CompilerWatch


def test_the_watch_sees_compilers(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    watch = CompilerWatch()
    watch.start(tmp_path)
    subprocess.run(["sh", "-c", "g++ -c x.cc"], check=False)
    subprocess.run([tmp_path / "ptxas", "x.ptx"], check=False)
    assert watch.called() == ["subprocess.Popen " + str(tmp_path / "ptxas"), "g++ -c x.cc", "ptxas x.ptx"]
