"""What models answer where one JSON object was asked for: made up, with noise of every kind.

`noisy.py FILE` writes one JSON object a line with `kind`, `raw`, what is meant (`wanted`; null where
nobody can know), and whether json_repair gets it right (`oracle`). `noisy.py --check FILE` fails
unless the file is what would be written.
"""

import json
import random
import re
import sys

import json_repair

PER_KIND = 8
SPEAK = [
    "Moving the review to Tuesday.",
    "I'll look at what is free, then place it.",
    "It's done; don't forget the exam (room B 204).",
    "Which of the three tasks do you mean?",
    "把复习移到周二下午。",
    "第3天第2节已经有安排了，换一个时间吗？",
    "Path C:\\notes, 100% sure; see {plan} and [draft].",
    "First line.\nSecond line.",
]
REASONS = ["the slot is free", "步骤1已完成", "day 4 is full: 3 of 3", "the user said no, so I stop"]
BEFORE = [
    "Sure! Here is the decision:\n",
    "好的，这是我的决定：\n\n",
    "Let me think {briefly} about it.\n\n",
    "I would answer: ",
]
AFTER = ["\n\nLet me know if that helps!", "\n如有需要请告诉我。", " That is all.", "\n\n\n"]


def decision(dice):
    """What is meant."""
    wanted = {
        "speak": dice.choice(SPEAK),
        "action": dice.choice(["continue", "ask_user", "confirm", "done"]),
        "reason": dice.choice(REASONS),
        "goal_check": dice.choice([None, "seen in the calendar", ""]),
        "tool_call": {
            "name": dice.choice(["place", "move_task", "query_range"]),
            "arguments": {
                "task_id": dice.randint(1, 99),
                "days": sorted(dice.sample(range(1, 8), 3)),
                "share": dice.choice([0.5, 1.25, -3]),
                "force": dice.random() < 0.5,
                "labels": dice.sample(["exam", "gym", "复习", "long walk"], 2),
            },
        },
        "sure": dice.random() < 0.5,
    }
    for key in dice.sample(["reason", "goal_check", "sure"], dice.randint(0, 2)):
        del wanted[key]
    return wanted


def written(wanted, dice):
    """As JSON, in one line or in several."""
    return json.dumps(wanted, ensure_ascii=dice.random() < 0.1, indent=dice.choice([None, 2]))


def fence(text, dice, wanted):
    return dice.choice(["```json\n", "```\n", "```JSON\n"]) + text + "\n```"


def prose(text, dice, wanted):
    return dice.choice(BEFORE) + text + dice.choice(AFTER)


def think(text, dice, wanted):
    return "<think>\nPerhaps {\"action\": \"done\"}? No.\n</think>\n\n" + text


def trailing_comma(text, dice, wanted):
    return re.sub(r"(\s*)([}\]])", r",\1\2", text) if "{plan}" not in text else text[:-1] + ",}"


def unquoted_keys(text, dice, wanted):
    return re.sub(r'"(\w+)": ', r"\1: ", text)


def half_quoted_key(text, dice, wanted):
    return text.replace('"action": ', 'action": ')


def unquoted_value(text, dice, wanted):
    return re.sub(r'"action": "(\w+)"', r'"action": \1', text)


def python(text, dice, wanted):
    return repr(wanted)


def python_literals(text, dice, wanted):
    for ours, theirs in (("true", "True"), ("false", "False"), ("null", "None")):
        text = re.sub(rf": {ours}\b", f": {theirs}", text)
    return text


def line_comments(text, dice, wanted):
    sign = dice.choice(["//", "#"])
    text = json.dumps(wanted, ensure_ascii=False, indent=2)
    return text.replace(",\n", f", {sign} as planned\n", 2)


def block_comments(text, dice, wanted):
    return text.replace('"action"', '/* what next */ "action"')


def missing_braces(text, dice, wanted):
    return text.rstrip("}\n ")


def missing_last_brace(text, dice, wanted):
    return fence(text[:-1].rstrip(), dice, wanted)


def missing_bracket(text, dice, wanted):
    call = wanted["tool_call"]["arguments"]
    call["labels"] = call.pop("labels")
    text = written(wanted, dice)
    return re.sub(r"\]\s*\}(?=\s*\})", "}", text)


def missing_comma(text, dice, wanted):
    text = json.dumps(wanted, ensure_ascii=False, indent=2)
    return re.sub(r'",(\n\s*")', r'"\1', text, count=2)


def raw_lines(text, dice, wanted):
    wanted["speak"] = "First line.\nSecond line."
    return written(wanted, dice).replace("\\n", "\n")


def inner_quotes(text, dice, wanted):
    wanted["speak"] = dice.choice(
        ['You said "move it", so I do.', 'Is "gym" meant, or "exam"?', '用户说"复习"，我来安排。']
    )
    return json.dumps(wanted, ensure_ascii=False).replace('\\"', '"')


def needless_escapes(text, dice, wanted):
    wanted["speak"] = "It's done; don't worry."
    return json.dumps(wanted, ensure_ascii=False).replace("'", "\\'")


def curly_quotes(text, dice, wanted):
    wanted["speak"] = dice.choice(["Which one?", "哪一个？"])
    return re.sub(r'"([^"]*)"', "“\\1”", json.dumps(wanted, ensure_ascii=False))


def full_width(text, dice, wanted):
    return json.dumps(wanted, ensure_ascii=False).replace('", "', '"， "').replace('": "', '"："')


def loose_number(text, dice, wanted):
    wanted["tool_call"]["arguments"]["share"] = 0.5
    return written(wanted, dice).replace('"share": 0.5', '"share": .5')


def cut_in_text(text, dice, wanted):
    return text[: text.index('"speak"') + 14]


def cut_in_number(text, dice, wanted):
    return text[: re.search(r'"task_id": \d', text).end()]


def cut_in_key(text, dice, wanted):
    return text[: text.index('"arguments"') + 5]


def twice(text, dice, wanted):
    return text.replace('"action": ', '"action": "abort", "action": ')


def missing_quote(text, dice, wanted):
    return re.sub(r'("action": "\w+)",', r"\1,", text)


def a_list(text, dice, wanted):
    return f"[{text}, {text}]"


def words(text, dice, wanted):
    return dice.choice(BEFORE).replace("{", "").replace("}", "") + dice.choice(SPEAK[:6])


NOISE = [
    fence, prose, think, trailing_comma, unquoted_keys, half_quoted_key, unquoted_value, python,
    python_literals, line_comments, block_comments, missing_braces, missing_last_brace,
    missing_bracket, missing_comma, raw_lines, inner_quotes, needless_escapes, curly_quotes,
    full_width, loose_number,
]
PAIRS = [
    (python, fence), (python, prose), (trailing_comma, prose), (unquoted_keys, trailing_comma),
    (line_comments, fence), (python_literals, trailing_comma), (block_comments, missing_braces),
    (unquoted_keys, missing_last_brace), (inner_quotes, fence), (unquoted_value, python_literals),
    (half_quoted_key, trailing_comma), (missing_comma, prose),
]
UNKNOWABLE = [cut_in_text, cut_in_number, cut_in_key, twice, missing_quote, a_list, words]


def repaired(raw):
    """What json_repair makes of it; it gives a list where it finds more than the object."""
    found = json_repair.loads(raw)
    if isinstance(found, list):
        found = next((item for item in reversed(found) if isinstance(item, dict)), found)
    return found


def same(found, wanted):
    """Equal, and of the same types: to Python, 1 is True."""
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def lines():
    dice = random.Random(4)
    plain = [("clean", ())] * 4
    noisy = [(noise.__name__, (noise,)) for noise in NOISE]
    pairs = [("+".join(noise.__name__ for noise in pair), pair) for pair in PAIRS]
    unknowable = [(noise.__name__, (noise,)) for noise in UNKNOWABLE]
    for kind, noises in plain + noisy + pairs + unknowable:
        for _ in range(PER_KIND):
            wanted = decision(dice)
            raw = written(wanted, dice)
            for noise in noises:
                raw = noise(raw, dice, wanted)
            if any(noise in UNKNOWABLE for noise in noises):
                yield {"kind": kind, "raw": raw, "wanted": None, "oracle": False}
            else:
                oracle = same(repaired(raw), wanted)
                yield {"kind": kind, "raw": raw, "wanted": wanted, "oracle": oracle}


def main():
    made = [json.dumps(line, ensure_ascii=False, sort_keys=True) for line in lines()]
    text = "\n".join(made) + "\n"
    *check, path = sys.argv[1:]
    if check:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{path} is not what this program writes")
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    known = [line for line in map(json.loads, made) if line["wanted"] is not None]
    right = sum(line["oracle"] for line in known)
    print(f"json_repair reads {right} of {len(known)} noisy answers as they are meant")


if __name__ == "__main__":
    main()
