"""From a request to its summary with the Python client of OpenAI: python sequence.py URL TEXT SUMMARY"""
import sys

sys.path.pop(0)

import openai  # noqa: E402

url, text, summary = sys.argv[1:]
client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def talk(text, **extra):
    """The tools that ran, the text, and the card that is open."""
    messages = [{"role": "user", "content": text}]
    stream = client.chat.completions.create(
        model="scheduler", messages=messages, stream=True, extra_body={"ext": extra}
    )
    tools, said, card = [], "", None
    for chunk in stream:
        ext = (chunk.model_extra or {}).get("ext") or {}
        said += "".join(choice.delta.content or "" for choice in chunk.choices)
        if ext.get("kind") == "tool_result":
            tools.append(ext["tool"]["name"])
        if ext.get("kind") == "confirm_request":
            card = ext["confirm"]
    return tools, said, card


def approve(card):
    resume = {"interaction_id": card["interaction_id"], "type": "confirm", "action": "approve"}
    return talk("", conversation_id="python", resume=resume)


tools, _, planned = talk(text, conversation_id="python")
assert tools == [] and planned["summary"].count("\n") == 1, (tools, planned)
tools, _, wanted = approve(planned)
assert tools == ["get_overview", "find_free"], tools
assert any(words in wanted["summary"] for words in ["goes to", "安排到"]), wanted
tools, said, card = approve(wanted)
assert tools == ["place", "list_tasks"] and card is None, (tools, card)
assert said.endswith(summary), said
