"""The console through a real sshd on loopback: the default there, judging, and a line that stalls."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_console_process import bench as bench  # a fixture
from test_console_process import verdicts

from support.pseudo_terminal import PseudoTerminal
from support.screen import until

SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin")
QUESTION = b"\x1b[6n"

pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None or os.getuid() != 0,
    reason="needs an sshd that this user may run (apt install openssh-server, as root)",
)


@pytest.fixture
def server(tmp_path):
    """A server with a configuration, keys and a port of its own; the command that reaches it."""
    folder = tmp_path / "ssh"
    folder.mkdir(mode=0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "authorized").write_text((folder / "user.pub").read_text())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder / 'host'}\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder / 'authorized'}\nStrictModes no\nPermitRootLogin yes\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    )
    Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "config"], stderr=subprocess.PIPE, text=True)
    until(lambda: _listens(port) or process.poll() is not None)
    if process.poll() is not None:
        pytest.skip(f"sshd does not run here: {process.stderr.read().strip()}")
    yield [
        *("ssh", "-tt", "-i", str(folder / "user"), "-p", str(port), "-o", "StrictHostKeyChecking=no"),
        *("-o", f"UserKnownHostsFile={folder / 'known'}", "-o", "LogLevel=ERROR"),
        f"{getpass.getuser()}@127.0.0.1",
    ]
    process.terminate()
    process.wait()
    process.stderr.close()


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_inline_by_default_and_quick_on_a_line_that_stalls(server, bench, tmp_path):
    settings = [f"SENTRYSEARCH_DATA={tmp_path / 'data'}", "COLORTERM=truecolor"]
    program = ["env", *settings, sys.executable, "-m", "accuracy_tui", "-b", str(bench)]
    console = PseudoTerminal([*server, *program], environ=dict(os.environ))
    try:
        console.wait_for("? help", 60)
        console.type("\r")
        console.wait_for("hit 1 of 3 for a", 30)
        until(lambda: QUESTION in console.written)  # a picture was drawn, without being asked for inline
        console.type("w")  # with what lies around the window, so that the picture changes
        console.stall()
        time.sleep(3)
        console.forget()
        console.resume()
        time.sleep(0.3)
        # 24 pictures would have been due; a terminal that doesn't answer gets two, then one a second.
        assert console.written.count(QUESTION) <= 8
        time.sleep(0.5)
        until(lambda: _judged(console))
        console.type("q")
        console.wait_for("enter play")
        console.type("q")
        assert console.process.wait(20) == 0
        assert verdicts(bench) == {("red thing", 0.0): True}
    finally:
        console.close()


def _judged(console):
    console.type("y")
    time.sleep(0.4)
    return "✓ yes" in console.text


def test_a_connection_that_drops_loses_nothing(server, bench, tmp_path):
    program = ["env", f"SENTRYSEARCH_DATA={tmp_path / 'data'}", sys.executable, "-m", "accuracy_tui"]
    console = PseudoTerminal([*server, *program, "-b", str(bench)], environ=dict(os.environ))
    try:
        console.wait_for("? help", 60)
        console.type("y")
        console.wait_for("✓ yes")
        console.process.kill()  # the near end is gone: what a dropped line comes to
        console.process.wait()
        until(lambda: not _running(bench), 30)
        assert verdicts(bench) == {("red thing", 0.0): True}
    finally:
        console.close()


def _running(bench):
    found = subprocess.run(["pgrep", "-f", f"accuracy_tui -b {bench}"], capture_output=True, check=False)
    return found.returncode == 0
