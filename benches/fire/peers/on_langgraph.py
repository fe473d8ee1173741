"""Plays the actions on LangGraph as its page "Durable execution" asks for: what has side effects is
a task of the functional API, the checkpointer is a database, durability is `sync`, and a run that
was broken off is invoked again without input.
"""

import sqlite3
from importlib.metadata import version

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task

import player


def play(world, actions, folder):
    connection = sqlite3.connect(f"{folder}/langgraph.db", check_same_thread=False)
    saver = SqliteSaver(connection)

    @task
    def call(action):
        return world.call(action)

    @entrypoint(checkpointer=saver)
    def run(actions):
        return [call(action).result() for action in actions]

    thread = {"configurable": {"thread_id": "run"}}
    begun = saver.get_tuple(thread) is not None
    run.invoke(None if begun else actions, thread, durability="sync")


player.play(f"langgraph {version('langgraph')}", play)
