"""The Python client of OpenAI reads our chunks: python openai.py URL"""
import sys

# The name of this file must not hide that of the package.
sys.path.pop(0)

import openai  # noqa: E402

SAID = 'Let me look: "今天"\n😀 ok.'


def talk(client, text, user, full, extra=None):
    """One completion: what was said and thought, the extensions, the reason of the end, the usage."""
    stream = client.chat.completions.create(
        model="desk",
        messages=[{"role": "user", "content": text}],
        stream=True,
        stream_options={"include_usage": True},
        user=user,
        extra_query={"full": "true"} if full else None,
        extra_body={"extra": extra} if extra else None,
    )
    said, thought, extensions, reasons, usage = "", "", [], [], None
    for chunk in stream:
        usage = chunk.usage or usage
        extensions.append(chunk.model_extra.get("ext") or {})
        for choice in chunk.choices:
            said += choice.delta.content or ""
            thought += (choice.delta.model_extra or {}).get("reasoning_content") or ""
            assert not choice.delta.tool_calls, "tools of the server are not the client's"
            if choice.finish_reason:
                reasons.append(choice.finish_reason)
    return said, thought, extensions, reasons, usage


def check(url, full):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    user = f"python-{full}"
    said, thought, extensions, reasons, usage = talk(client, "plan my week", user, full)
    assert said.startswith(SAID) and "] Place it?\n    Algebra on day 2\n" in said, said
    assert (thought, reasons) == ("Which day?", ["stop"]), (thought, reasons)
    assert usage.total_tokens == 12, usage
    kinds = [ext.get("kind") for ext in extensions]
    assert {"start", "confirm_request", "tool_result", "business_card"} <= set(kinds), kinds
    assert full == any("ev" in ext for ext in extensions)
    confirm = next(ext["confirm"] for ext in extensions if ext.get("kind") == "confirm_request")
    assert confirm["summary"] == "Algebra on day 2", confirm

    action = {"interaction_id": confirm["interaction_id"], "type": "confirm", "action": "approve"}
    said, _, extensions, reasons, _ = talk(client, "", user, full, {"resume": action})
    assert (said, reasons) == ("Done, 好的.", ["stop"]), (said, reasons)
    tools = [ext["tool"]["status"] for ext in extensions if "tool" in ext]
    assert tools == ["start", "done"], tools

    seen = min(ext["seq"] for ext in extensions if "seq" in ext)
    _, _, missed, _, _ = talk(client, "", user, full, {"resume": {"after": seen}})
    positions = [ext["seq"] for ext in missed if "seq" in ext]
    assert positions == sorted(positions) and positions[0] == seen + 1, positions

    try:
        talk(client, "fail", f"failing-{user}", full)
    except openai.APIError as error:
        assert "the model is not there" in error.message, error.message
    else:
        raise AssertionError("a failed run ends in an error")


for fidelity in (False, True):
    check(sys.argv[1], fidelity)
