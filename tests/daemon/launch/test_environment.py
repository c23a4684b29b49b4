"""What of the person's environment comes into a box."""

from __future__ import annotations

from pathlib import Path

from windlass.daemon.launch.environment import for_box

HOME = Path("/state")
PRIVATE = Path("/state/agents/fox/home")


def test_a_box_knows_the_certificates_that_it_shows_and_no_file_that_it_does_not() -> None:
    shown = {
        "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
        "SSL_CERT_DIR": "/etc/ssl/certs",
        "NODE_EXTRA_CA_CERTS": "/usr/local/share/ca-certificates/ours.crt",
    }
    hidden = {"SSL_CERT_FILE": "/home/ann/ca.pem", "REQUESTS_CA_BUNDLE": "", "PIP_INDEX_URL": "x"}
    env = for_box({**shown, **hidden}, home=HOME, private=PRIVATE)
    assert {name: env.get(name) for name in (*shown, *hidden)} == {
        **shown,
        **dict.fromkeys(hidden),
    }
    asked = for_box(hidden, home=HOME, private=PRIVATE, also=("SSL_CERT_FILE",))
    assert asked["SSL_CERT_FILE"] == "/home/ann/ca.pem"
