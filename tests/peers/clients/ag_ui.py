"""The validator of AG-UI finds nothing in our streams: python ag_ui.py URL"""
import json
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.pop(0)

from ag_ui_validate import create_validator  # noqa: E402

RANDOM = 300


def post(url, body=None):
    data = json.dumps(body or {}).encode()
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as response:
        return response.read().decode()


def complaints(stream):
    """What is wrong with a stream, other than what is only worth knowing."""
    validator = create_validator()
    for line in stream.splitlines():
        if line.startswith("data: "):
            validator.feed(json.loads(line.removeprefix("data: ")))
    validator.finalize()
    report = validator.report()
    return [found for found in report.diagnostics if found.severity in ("error", "warning")]


def main(url):
    # A whole conversation by its own program, transport included.
    program = Path(sys.executable).with_name("ag-ui-validate")
    arguments = [program, f"{url}/agui", "--max-warnings", "0", "--no-color"]
    subprocess.run(arguments, check=True, stdout=sys.stderr)
    for full in ("false", "true"):
        for seed in range(RANDOM):
            found = complaints(post(f"{url}/random/agui/{seed}?full={full}"))
            assert not found, (seed, full, found)


main(sys.argv[1])
