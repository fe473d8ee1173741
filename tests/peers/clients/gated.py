"""The Python client of OpenAI approves and rejects a write that the library's own gate asks about:
python gated.py URL"""
import json
import re
import sys
import urllib.request

# The names of these files must not hide those of packages.
sys.path.pop(0)

import openai  # noqa: E402

GATED = f"{sys.argv[1]}/gated"
client = openai.OpenAI(base_url=f"{GATED}/v1", api_key="none", max_retries=0)


def written(path):
    with urllib.request.urlopen(f"{GATED}/files") as response:
        return json.load(response).get(path, 0)


def talk(path, text, **extra):
    return client.chat.completions.create(
        model="gated",
        messages=[{"role": "user", "content": text}],
        extra_body={"extra": {"conversation_id": f"python-{path}", **extra}},
    )


for action, times in (("approve", 1), ("reject", 0)):
    path = f"python-{action}.txt"
    asked = talk(path, path)
    said = asked.choices[0].message.content
    for part in (f"    path: {path}\n", "      line one\n", "      the end of it\n"):
        assert part in said, said
    assert re.search(r"reply: yes [A-Z]\d[A-Z]\d\.", said), said
    assert written(path) == 0
    (card,) = asked.model_extra["ext"]["interrupts"]
    resume = {"interaction_id": card["id"], "type": "confirm", "action": action}
    told = talk(path, "", resume=resume).choices[0].message.content
    assert told.endswith("That is all."), told
    assert written(path) == times, path
