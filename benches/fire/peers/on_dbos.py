"""Plays the actions on DBOS as its page "Workflows" asks for: what has side effects is a step of a
workflow with an id of its own, and a workflow that was broken off goes on when DBOS is launched.
"""

import logging
from importlib.metadata import version

from dbos import DBOS, SetWorkflowID

import player


def play(world, actions, folder):
    address = f"sqlite:///{folder}/dbos.db"
    DBOS(config={"name": "fire", "system_database_url": address, "log_level": "ERROR"})

    @DBOS.step()
    def call(action):
        return world.call(action)

    @DBOS.workflow()
    def run(actions):
        return [call(action) for action in actions]

    DBOS.launch()
    with SetWorkflowID("run"):
        DBOS.start_workflow(run, actions).get_result()


logging.disable(logging.WARNING)
player.play(f"DBOS {version('dbos')}", play)
