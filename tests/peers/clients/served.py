"""The Python client of OpenAI talks to the endpoints that any agent can mount: python served.py URL"""
import sys

# The names of these files must not hide those of packages.
sys.path.pop(0)

import openai  # noqa: E402

SAID = 'Let me look: "今天"\n😀 ok.'
client = openai.OpenAI(base_url=f"{sys.argv[1]}/served/v1", api_key="none", max_retries=0)


def create(text, stream=False, headers=None, model="desk", **extra):
    return client.chat.completions.create(
        model=model,
        messages=[{"role": "user", "content": text}],
        stream=stream,
        extra_headers=headers,
        extra_body={"extra": extra},
    )


def refused(kind, error, *args, **extra):
    try:
        create(*args, **extra)
    except error as caught:
        assert caught.body["type"] == kind, caught.body
    else:
        raise AssertionError(f"{kind} is told")


assert [model.id for model in client.models.list()] == ["desk"]

# A new conversation: its name comes with the answer, and with it one goes on.
first = create("plan my week")
content = first.choices[0].message.content
assert content.startswith(SAID) and "] Place it?\n    Algebra on day 2\n" in content, first
assert first.choices[0].message.model_extra["reasoning_content"] == "Which day?", first
assert first.usage.total_tokens == 12, first
name = first.model_extra["ext"]["conversation_id"]
(asked,) = first.model_extra["ext"]["interrupts"]
assert asked["prompt"]["title"] == "Place it?", asked


def resume(id, action="approve"):
    return {"interaction_id": id, "type": "confirm", "action": action}


# Who says something else is shown what waits.
waits = create("more", conversation_id=name).choices[0].message.content
assert "] Place it?\n    Algebra on day 2\n" in waits, waits
refused("unknown_interrupt", openai.NotFoundError, "", conversation_id=name, resume=resume("x"))
refused("not_found", openai.NotFoundError, "", conversation_id="other", resume=resume(asked["id"]))
stream = create("", stream=True, conversation_id=name, resume=resume(asked["id"]))
said = "".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices)
assert said == "Done, 好的.", said

# A request with a key is carried out once.
key = {"Idempotency-Key": "talk-1"}
once, again = create("talk", headers=key), create("talk", headers=key)
assert once.choices[0].message.content == SAID, once
assert again.choices[0].message.content == "talked", again
refused("request_changed", openai.UnprocessableEntityError, "talk more", headers=key)

refused("model_not_found", openai.NotFoundError, "talk", model="another")
refused("unusable", openai.UnprocessableEntityError, "")
refused("run_failed", openai.InternalServerError, "talk and fail")
