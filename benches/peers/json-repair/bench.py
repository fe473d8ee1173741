"""The workload `repair` on json_repair.

Takes a workload, a size, a budget in milliseconds and a folder; prints one JSON object.
"""

import itertools
import json
import os
import statistics
import sys
import time

import json_repair


def peak_memory():
    """The most memory that this process held, its program not counted, where Linux tells."""
    try:
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        held = int(lines["VmHWM"].split()[0]) - int(lines["RssFile"].split()[0])
        return held * 1024 / 1e6
    except OSError:
        return None


def answers(kilobytes):
    """The answers of which it is known what is meant, so often that they make so many KB."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "noisy.jsonl"), encoding="utf-8") as file:
        known = [line["raw"] for line in map(json.loads, file) if line["wanted"] is not None]
    left = kilobytes * 1000
    for raw in itertools.cycle(known):
        if left <= 0:
            break
        left -= len(raw.encode())
        yield raw


def main():
    workload, size, budget = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1000
    if workload != "repair":
        print(json.dumps({"unsupported": "it repairs JSON and does nothing else"}))
        return
    texts, spent = list(answers(size)), []
    begin = time.monotonic()
    while not spent or time.monotonic() - begin < budget:
        cpu, wall = time.process_time(), time.monotonic()
        for text in texts:
            json_repair.loads(text)
        spent.append((time.process_time() - cpu, time.monotonic() - wall))
    print(
        json.dumps(
            {
                "us_cpu": statistics.median(cpu for cpu, _ in spent) * 1e6 / size,
                "us_wall": statistics.median(wall for _, wall in spent) * 1e6 / size,
                "peak_rss_mb": peak_memory(),
            }
        )
    )


if __name__ == "__main__":
    main()
