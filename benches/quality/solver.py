"""The best possible quality of each problem, one JSON object a line in and out.

Needs OR-Tools. The model knows nothing of how schedules are made: it knows which blocks are open
to whom, and what a schedule costs.
"""
import json
import sys

from ortools.sat.python import cp_model


def solve(problem, seconds):
    model = cp_model.CpModel()
    subjects = problem["subjects"]
    takes = {}
    for c, cls in enumerate(problem["classes"]):
        takes[c] = {(d, b): model.new_bool_var("") for d, b, _ in cls["open"]}
        model.add(sum(takes[c].values()) == cls["items"])
        for place, var in takes[c].items():
            if cls["plan"]:
                model.add_hint(var, list(place) in cls["plan"])
    for d in range(len(problem["days"])):
        for b in range(6):
            model.add_at_most_one(t[d, b] for t in takes.values() if (d, b) in t)
    hosts = {}
    for c, cls in enumerate(problem["classes"]):
        for d, b, host in cls["open"]:
            if host:
                hosts.setdefault(host, []).append(takes[c][d, b])
    for guests in hosts.values():
        model.add_at_most_one(guests)
    cost = []
    for d, blocks in enumerate(problem["days"]):
        cost.append(day_cost(model, subjects, takes, d, blocks, problem["share"]))
        cost.extend(wishes_of_day(model, takes, d, problem["wishes"]))
    cost.extend(bunching(model, takes, problem))
    model.minimize(sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return {"feasible": False}
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        # What was found is an upper bound, what was proved a lower one.
        return {
            "feasible": True,
            "best": round(solver.objective_value),
            "bound": round(solver.best_objective_bound),
        }
    return {}


def wishes_of_day(model, takes, d, wishes):
    here = [sum(t[d, b] for t in takes.values() if (d, b) in t) for b in range(6)]
    cost = [c * taken for c, taken in zip(wishes["blocks"][d], here)]
    if wishes["daily_limit"] and wishes["over_limit"]:
        over = model.new_int_var(0, 12, "")
        model.add(over >= 2 * sum(here) - wishes["daily_limit"])
        cost.append(wishes["over_limit"] * over)
    if wishes["longest_run"] and wishes["no_break"]:
        # A block after as many as may be without a break costs both its sections.
        most = wishes["longest_run"] // 2
        for b in range(most, 6):
            run = model.new_bool_var("")
            model.add(run >= sum(here[b - most : b + 1]) - most)
            cost.append(2 * wishes["no_break"] * run)
    return cost


def bunching(model, takes, problem):
    weeks, cost = problem["wishes"]["weeks"], []
    price = problem["wishes"]["bunching"]
    for c, cls in enumerate(problem["classes"]):
        if cls["share"] is None or not price:
            continue
        for week in sorted(set(weeks)):
            over = model.new_int_var(0, cls["items"], "")
            items = sum(var for (d, _), var in takes[c].items() if weeks[d] == week)
            model.add(over >= items - cls["share"])
            cost.append(price * over)
    return cost


def day_cost(model, subjects, takes, d, blocks, share):
    switches, heavy = [], []
    last = {}  # subject -> a literal that is true if it is the last one so far
    load = 0
    for b, fixed in enumerate(blocks):
        here = {c: t[d, b] for c, t in takes.items() if (d, b) in t}
        load += 2 * sum(var for c, var in here.items() if subjects[c]["spread"])
        load += sum(1 for s in fixed if subjects[s]["spread"])
        for s in fixed:
            here = {s: True}
            after(model, subjects, here, last, switches, heavy)
            last = {s: True}
        if fixed:
            continue
        if here:
            after(model, subjects, here, last, switches, heavy)
            nobody = 1 - sum(here.values())
            now = {}
            for s in set(here) | set(last):
                var = model.new_bool_var("")
                if s in here:
                    model.add(var >= here[s])
                if s in last:
                    model.add(var >= last[s] + nobody - 1)
                now[s] = var
            last = now
    cost = 0
    if heavy:
        bad = model.new_bool_var("")
        for pair in heavy:
            model.add(bad >= pair)
        cost += 1000 * bad
    if switches:
        extra = model.new_int_var(0, len(switches), "")
        model.add(extra >= sum(switches) - 1)
        cost += 20 * extra
    over = model.new_int_var(0, 12, "")
    model.add(over >= load - share)
    return cost + over


def after(model, subjects, here, last, switches, heavy):
    """Whoever lies here follows whoever was last."""
    follows = []
    for s, now in here.items():
        for before, was in last.items():
            if before != s:
                pair = now + was - 1
                follows.append(pair)
                if subjects[s]["demanding"] and subjects[before]["demanding"]:
                    heavy.append(pair)
    if follows:
        switch = model.new_bool_var("")
        for pair in follows:
            model.add(switch >= pair)
        switches.append(switch)


def fewest_moves(problem, seconds):
    """How many items have to move, those of other classes that make room included."""
    model = cp_model.CpModel()
    places, items = problem["places"], problem["items"]
    takes = []
    for n, old in enumerate(items):
        takes.append([model.new_bool_var("") if place["open"] else None for place in places])
        model.add_exactly_one(var for var in takes[n] if var is not None)
    at = [sum(p * var for p, var in enumerate(row) if var is not None) for row in takes]
    for before, after in zip(at, at[1:]):
        model.add(before + 1 <= after)
    cost = []
    for p, place in enumerate(places):
        here = [row[p] for row in takes if row[p] is not None]
        if place["taken"] and here:
            leaves = model.new_bool_var("")
            model.add(leaves >= sum(here))
            cost.append(leaves)
    stays = [row[old] for row, old in zip(takes, items) if row[old] is not None]
    model.minimize(len(items) - sum(stays) + sum(cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    if solver.solve(model) == cp_model.OPTIMAL:
        return {"moves": round(solver.objective_value)}
    return {}


for line in sys.stdin:
    problem = json.loads(line)
    answer = fewest_moves if "places" in problem else solve
    print(json.dumps(answer(problem, float(sys.argv[1]))), flush=True)
