"""The workloads on LangGraph.

Takes a workload, a size, a budget in milliseconds and a folder; prints one JSON object.
"""

import json
import operator
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StreamWriter, interrupt

AGENT_SAYS = ("The calendar is free on Tuesday. " * 7)[31:]
TOOL_SAYS = ("lecture at 8:00 in room B 204;  " * 7)[24:]


def peak_memory():
    """The most memory that this process held, its program not counted, where Linux tells."""
    try:
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        held = int(lines["VmHWM"].split()[0]) - int(lines["RssFile"].split()[0])
        return held * 1024 / 1e6
    except OSError:
        return None


def measure(size, budget, prepare, run, units, bytes_of=lambda prepared: None):
    """Repeats rounds: one to warm up, then until the budget is used up."""
    spent, left = [], None
    begin = time.monotonic()
    while True:
        prepared = prepare()
        cpu, wall = time.process_time(), time.monotonic()
        run(prepared)
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        left = bytes_of(prepared)
        spent.append((cpu, wall))
        if len(spent) == 1:
            peak = peak_memory()
        if time.monotonic() - begin >= budget:
            break
    if len(spent) > 1:
        spent = spent[1:]
    return {
        "us_cpu": statistics.median(cpu for cpu, _ in spent) * 1e6 / units,
        "us_wall": statistics.median(wall for _, wall in spent) * 1e6 / units,
        "peak_rss_mb": peak,
        "bytes": left,
    }


class Still(TypedDict):
    weight: str


class Count(TypedDict):
    reached: int


class Talk(TypedDict):
    messages: Annotated[list, operator.add]


class Tally(TypedDict):
    items: int
    squares: Annotated[list, operator.add]
    sum: int


class Wide(TypedDict):
    values: Annotated[dict, operator.or_]
    rounds: int


class Approval(TypedDict):
    approved: bool


class Campaign(TypedDict):
    subjects: list
    slogans: Annotated[list, operator.add]
    length: int


class Slogan(TypedDict):
    subject: str
    text: str
    slogans: list


class Number(TypedDict):
    number: int
    squares: list


class Ticket(TypedDict, total=False):
    messages: Annotated[list, operator.add]
    events: Annotated[list, operator.add]
    medium: str
    autoresponse: Any
    issue: Any
    rules: list
    memories: list
    categories: Annotated[list, operator.add]
    responses: Annotated[list, operator.add]
    user: Any
    customer: Any
    mail_thread: str
    participants: Annotated[dict, operator.or_]
    bot: str
    notified: Annotated[dict, operator.or_]


def config(steps, thread="thread"):
    return {"recursion_limit": steps + 10, "configurable": {"thread_id": thread}}


def chain_graph(size):
    builder = StateGraph(Still)
    for number in range(size):
        builder.add_node(f"node-{number}", lambda state: {})
        builder.add_edge(f"node-{number - 1}" if number else START, f"node-{number}")
    builder.add_edge(f"node-{size - 1}", END)
    return builder.compile()


def build(size, budget):
    return measure(size, budget, lambda: None, lambda _: chain_graph(size), size)


def chain(size, budget, weight):
    graph = chain_graph(size)
    state = {"weight": "x" * weight}
    return measure(size, budget, lambda: None, lambda _: graph.invoke(state, config(size)), size)


def start(size, budget):
    builder = StateGraph(Still)
    builder.add_node("only", lambda state: {})
    builder.add_edge(START, "only")
    builder.add_edge("only", END)
    graph = builder.compile()

    def run(_):
        for _ in range(size):
            graph.invoke({"weight": ""})

    return measure(size, budget, lambda: None, run, size)


def cycle(size, budget):
    if size > 100_000:
        return {"unsupported": "needs minutes for a million steps"}
    builder = StateGraph(Count)
    builder.add_node("count", lambda state: {"reached": state["reached"] + 1})
    builder.add_edge(START, "count")
    builder.add_conditional_edges(
        "count", lambda state: "count" if state["reached"] < size else END, ["count", END]
    )
    graph = builder.compile()
    return measure(
        size, budget, lambda: None, lambda _: graph.invoke({"reached": 0}, config(size)), size
    )


def react(size, budget):
    arguments = {"query": "free on Tuesday? " * 211}
    call = {"id": "call-1", "name": "search", "arguments": arguments}
    agent = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = "lecture at 8:00 in room B 204;  " * 1125
    tool = {"role": "tool", "content": result, "tool_call_id": "call-1"}
    graph = talk_graph(size, None, agent, tool)

    def run(_):
        done = graph.invoke({"messages": []}, config(2 * size))
        assert len(done["messages"]) == 2 * size

    return measure(size, budget, lambda: None, run, size)


def talk_graph(turns, saver=None, agent=None, tool=None):
    agent = agent or {"role": "assistant", "content": AGENT_SAYS}
    tool = tool or {"role": "tool", "content": TOOL_SAYS, "tool_call_id": "call-1"}
    builder = StateGraph(Talk)
    builder.add_node("agent", lambda state: {"messages": [agent]})
    builder.add_node("tools", lambda state: {"messages": [tool]})
    builder.add_edge(START, "agent")
    builder.add_edge("agent", "tools")
    builder.add_conditional_edges(
        "tools", lambda state: "agent" if len(state["messages"]) < 2 * turns else END, ["agent", END]
    )
    return builder.compile(checkpointer=saver)


def talk(size, budget, saver_of=lambda: None, bytes_of=lambda prepared: None):
    def run(prepared):
        graph, saver = prepared
        durability = "sync" if saver else None
        done = graph.invoke({"messages": []}, config(2 * size), durability=durability)
        assert len(done["messages"]) == 2 * size

    def prepare():
        saver = saver_of()
        return talk_graph(size, saver), saver

    return measure(size, budget, prepare, run, 2 * size, bytes_of)


def sqlite_saver(folder, synchronous):
    file = os.path.join(tempfile.mkdtemp(dir=folder), "checkpoints.db")
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    connection.execute(f"PRAGMA synchronous={synchronous}")
    saver.file = file
    return saver


def sqlite_bytes(prepared):
    """What the saver left on disk; the folder is removed."""
    _, saver = prepared
    folder = os.path.dirname(saver.file)
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    size = sum(os.path.getsize(name) for name in names if not name.endswith("-shm"))
    saver.conn.close()
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    os.rmdir(folder)
    return size


def grouped(size, budget, folder):
    turns = 25

    def run(prepared):
        graph, _ = prepared

        def one(thread):
            graph.invoke({"messages": []}, config(2 * turns, f"thread-{thread}"), durability="sync")

        with ThreadPoolExecutor(size) as pool:
            list(pool.map(one, range(size)))

    def prepare():
        saver = sqlite_saver(folder, "FULL")
        return talk_graph(turns, saver), saver

    return measure(size, budget, prepare, run, size * turns * 2, sqlite_bytes)


def fan_out(size, budget):
    builder = StateGraph(Tally)
    builder.add_node("plan", lambda state: {})
    builder.add_node("worker", lambda item: {"squares": [item * item]})
    builder.add_node("join", lambda state: {"sum": sum(state["squares"])})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges(
        "plan", lambda state: [Send("worker", item) for item in range(state["items"])], ["worker"]
    )
    builder.add_edge("worker", "join")
    builder.add_edge("join", END)
    graph = builder.compile()

    def run(_):
        done = graph.invoke({"items": size, "squares": []}, config(10))
        assert len(done["squares"]) == size

    return measure(size, budget, lambda: None, run, size)


def subgraph(size, budget):
    inner = StateGraph(Number, output_schema=TypedDict("Squares", {"squares": list}))
    inner.add_node("square", lambda state: {"number": state["number"] ** 2})
    inner.add_node("keep", lambda state: {"squares": [state["number"]]})
    inner.add_edge(START, "square")
    inner.add_edge("square", "keep")
    inner.add_edge("keep", END)

    def workers(state):
        return [Send("worker", {"number": item}) for item in range(state["items"])]

    builder = StateGraph(Tally)
    builder.add_node("plan", lambda state: {})
    builder.add_node("worker", inner.compile())
    builder.add_node("join", lambda state: {"sum": sum(state["squares"])})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", workers, ["worker"])
    builder.add_edge("worker", "join")
    builder.add_edge("join", END)
    graph = builder.compile()

    def run(_):
        done = graph.invoke({"items": size, "squares": []}, config(10))
        assert len(done["squares"]) == size

    return measure(size, budget, lambda: None, run, size)


def campaign(size, budget):
    enough = " a" * 10
    inner = StateGraph(Slogan, output_schema=TypedDict("Slogans", {"slogans": list}))
    inner.add_node("edit", lambda state: {"subject": state["subject"] + " - if you please"})
    inner.add_node("generate", lambda state: {"text": "A word on " + state["subject"]})

    def bump(state):
        text = state["text"] + " a"
        return {"text": text, "slogans": [text]}

    inner.add_node("bump", bump)
    inner.add_edge(START, "edit")
    inner.add_edge("edit", "generate")
    inner.add_edge("generate", "bump")
    inner.add_conditional_edges(
        "bump", lambda state: END if state["text"].endswith(enough) else "bump", ["bump", END]
    )

    def writers(state):
        return [Send("write", {"subject": subject}) for subject in state["subjects"]]

    builder = StateGraph(Campaign)
    builder.add_node("plan", lambda state: {})
    builder.add_node("write", inner.compile())
    builder.add_node("join", lambda state: {"length": sum(map(len, state["slogans"]))})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", writers, ["write"])
    builder.add_edge("write", "join")
    builder.add_edge("join", END)
    graph = builder.compile()

    def run(_):
        subjects = [f"subject {number}" for number in range(size)]
        done = graph.invoke({"subjects": subjects, "slogans": []}, config(20))
        assert len(done["slogans"]) == size
        assert all(slogan.endswith(enough) for slogan in done["slogans"])

    return measure(size, budget, lambda: None, run, 13 * size)


def ticket(size, budget):
    def name(key):
        return str(key) * 10

    outer, inner = (5, 5) if size < 450 else (3, 5) if size < 900 else (3, 3)
    facts = ["hello " * 5, True, 1, 6_327_816_386_138, None] * 5
    message = {name(key): {name(key): facts for key in range(inner)} for key in range(outer)}

    def two(state):
        return {"autoresponse": state["events"][-1], "issue": state["events"][-1]}

    def four(state):
        events = state["events"]
        return {"categories": events, "responses": events, "memories": events}

    def five(state):
        person = state["categories"][-1]
        return {
            "user": person,
            "customer": person,
            "mail_thread": "thread" * 4,
            "participants": person,
            "bot": "bot" * 8,
            "notified": person,
        }

    builder = StateGraph(Ticket)
    builder.add_node("one", lambda state: {"events": state["messages"], "medium": "mail" * 6})
    builder.add_node("two", two)
    builder.add_node("three", lambda state: {"rules": [state["autoresponse"]]})
    builder.add_node("four", four)
    builder.add_node("five", five)
    builder.add_node("six", lambda state: {"messages": state["responses"]})
    builder.add_edge(START, "one")
    builder.add_edge("one", "two")
    builder.add_edge("two", "three")
    builder.add_edge("two", "four")
    builder.add_edge(["three", "four"], "five")
    builder.add_edge("five", "six")
    builder.add_conditional_edges(
        "six", lambda state: END if len(state["messages"]) > size else "one", ["one", END]
    )
    graph = builder.compile()

    def run(_):
        done = graph.invoke({"messages": [message]}, config(100))
        counts = (len(done["messages"]), len(done["responses"]))
        assert counts in ((595, 406), (1873, 1278)), counts

    return measure(size, budget, lambda: None, run, 1)


def wide(size, budget):
    def grower(number):
        keys = [f"key-{key:04}" for key in range(number * 100, (number + 1) * 100)]

        def grow(state):
            values = state["values"]
            change = {"values": {key: values[key] + 1 for key in keys}}
            if number == 9:
                change["rounds"] = state["rounds"] + 1
            return change

        return grow

    builder = StateGraph(Wide)
    for number in range(10):
        builder.add_node(f"node-{number}", grower(number))
        builder.add_edge(f"node-{number - 1}" if number else START, f"node-{number}")
    builder.add_conditional_edges(
        "node-9", lambda state: "node-0" if state["rounds"] < size else END, ["node-0", END]
    )
    graph = builder.compile()
    state = {"values": {f"key-{key:04}": 0 for key in range(1000)}, "rounds": 0}
    return measure(
        size, budget, lambda: None, lambda _: graph.invoke(state, config(10 * size)), 10 * size
    )


def approval():
    builder = StateGraph(Approval)
    builder.add_node("ask", lambda state: {"approved": interrupt("Write it?")})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", END)
    return builder


def parked(size, budget, folder):
    if size > 10_000:
        return {"unsupported": "needs minutes to park 100,000 threads"}
    saver = sqlite_saver(folder, "OFF")
    graph = approval().compile(checkpointer=saver)

    def one(thread, feed):
        return graph.invoke(feed, config(10, f"thread-{thread}"), durability="sync")

    for thread in range(size):
        one(thread, {"approved": False})
    saver.conn.commit()
    saver.conn.execute("PRAGMA synchronous=FULL")
    units, took = min(size, 1000), []
    cpu, wall = time.process_time(), time.monotonic()
    for number in range(units):
        begin = time.monotonic()
        assert one(number * (size // units), Command(resume=True))["approved"]
        took.append((time.monotonic() - begin) * 1e6)
    took.sort()
    result = {
        "us_cpu": (time.process_time() - cpu) * 1e6 / units,
        "us_wall": (time.monotonic() - wall) * 1e6 / units,
        "peak_rss_mb": peak_memory(),
        "p50_us": took[units * 50 // 100],
        "p99_us": took[units * 99 // 100],
    }
    sqlite_bytes((graph, saver))
    return result


def postgres(size, budget, url):
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    turns, rounds = 25, iter(range(1_000_000))
    settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    with ConnectionPool(url, min_size=size, max_size=size, kwargs=settings) as connections:
        saver = PostgresSaver(connections)
        saver.setup()
        graph = talk_graph(turns, saver)

        def run(_):
            name = f"thread-{os.getpid()}-{next(rounds)}"

            def one(thread):
                end = graph.invoke(
                    {"messages": []}, config(2 * turns, f"{name}-{thread}"), durability="sync"
                )
                assert len(end["messages"]) == 2 * turns

            with ThreadPoolExecutor(size) as pool:
                list(pool.map(one, range(size)))

        return measure(size, budget, lambda: None, run, size * turns * 2)


def survivor_graph(file, steps):
    """A graph that says when it begins the step of this number, and waits to be killed."""
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()

    def speak(state):
        if len(state["messages"]) >= steps:
            print(int(time.process_time() * 1e6), flush=True)
            sys.stdin.readline()
        return {"messages": [{"role": "assistant", "content": AGENT_SAYS}]}

    builder = StateGraph(Talk)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    builder.add_edge("speak", "speak")
    return builder.compile(checkpointer=saver)


def recover(size, budget, folder):
    folder = tempfile.mkdtemp(dir=folder)
    file = os.path.join(folder, "checkpoints.db")
    # Step by step it would write gigabytes: the state is as it would be, its history is not.
    message = {"role": "assistant", "content": AGENT_SAYS}
    graph = survivor_graph(file, size + 1)
    graph.update_state(config(size), {"messages": [message] * size}, as_node="speak")
    spent, begin = [], time.monotonic()
    while not spent or time.monotonic() - begin < budget:
        size += 1
        program = [sys.executable, __file__, "--survive", file, str(size)]
        wall = time.monotonic()
        process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        cpu = int(process.stdout.readline())
        spent.append((cpu, (time.monotonic() - wall) * 1e6))
        process.kill()
        process.wait()
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    os.rmdir(folder)
    return {
        "us_cpu": statistics.median(cpu for cpu, _ in spent),
        "us_wall": statistics.median(wall for _, wall in spent),
    }


def interrupts(size, budget, folder):
    builder = approval()

    def run(prepared):
        graph, _ = prepared
        for feed in ({"approved": False}, Command(resume=True)):

            def one(thread):
                graph.invoke(feed, config(10, f"thread-{thread}"), durability="sync")

            with ThreadPoolExecutor(64) as pool:
                list(pool.map(one, range(size)))

    def prepare():
        saver = sqlite_saver(folder, "FULL")
        return builder.compile(checkpointer=saver), saver

    return measure(size, budget, prepare, run, size, sqlite_bytes)


def events(size, budget):
    def produce(state, writer: StreamWriter):
        for _ in range(size):
            writer("word ")
        return {}

    builder = StateGraph(Still)
    builder.add_node("produce", produce)
    builder.add_edge(START, "produce")
    builder.add_edge("produce", END)
    graph = builder.compile()

    def run(_):
        seen = sum(1 for _ in graph.stream({"weight": ""}, stream_mode="custom"))
        assert seen == size

    return measure(size, budget, lambda: None, run, size)


def open_thread(size, budget, folder):
    saver = sqlite_saver(folder, "OFF")
    # Each checkpoint holds the whole list: the newest is what opening reads.
    graph = talk_graph(size // 2, saver)
    graph.invoke({"messages": []}, config(size), durability="exit")

    def run(_):
        assert len(graph.get_state(config(size)).values["messages"]) == size

    result = measure(size, budget, lambda: None, run, 1)
    sqlite_bytes((graph, saver))
    return result


def main():
    if sys.argv[1] == "--survive":
        file, steps = sys.argv[2], int(sys.argv[3])
        survivor_graph(file, steps).invoke(None, config(steps), durability="sync")
        return
    workload, size, milliseconds, folder, *server = sys.argv[1:]
    size, budget = int(size), int(milliseconds) / 1000

    def talk_in_sqlite(synchronous):
        return talk(size, budget, lambda: sqlite_saver(folder, synchronous), sqlite_bytes)

    workloads = {
        "start": lambda: start(size, budget),
        "build": lambda: build(size, budget),
        "chain": lambda: chain(size, budget, 0),
        "heavy-chain": lambda: chain(size, budget, 100_000),
        "cycle": lambda: cycle(size, budget),
        "loop": lambda: talk(size, budget),
        "loop-memory": lambda: talk(size, budget, InMemorySaver),
        "loop-normal": lambda: talk_in_sqlite("NORMAL"),
        "loop-full": lambda: talk_in_sqlite("FULL"),
        "grouped": lambda: grouped(size, budget, folder),
        "fan-out": lambda: fan_out(size, budget),
        "subgraph": lambda: subgraph(size, budget),
        "fan-out-subgraph": lambda: campaign(size, budget),
        "wide": lambda: wide(size, budget),
        "wide-state": lambda: ticket(size, budget),
        "react": lambda: react(size, budget),
        "parked": lambda: parked(size, budget, folder),
        "postgres": lambda: postgres(size, budget, *server),
        "recover": lambda: recover(size, budget, folder),
        "interrupt": lambda: interrupts(size, budget, folder),
        "events": lambda: events(size, budget),
        "open": lambda: open_thread(size, budget, folder),
    }
    reason = {
        "redis": "its Redis saver needs a server with modules for JSON and search",
    }
    effects = "has no record of what was done to the outside world"
    unknown = {"unsupported": reason.get(workload, effects)}
    print(json.dumps(workloads.get(workload, lambda: unknown)()))


if __name__ == "__main__":
    main()
