// An EventSource reads our named events, and comes back by itself where it was cut off.
import assert from "node:assert/strict";
import { EventSource } from "eventsource";
import { base, SAID, within } from "./said.mjs";

const names = {
  react: ["run_started", "node_start", "node_end", "llm_token", "tool_start", "tool_end", "interrupt", "planning", "card", "status", "run_parked", "run_finished", "run_failed"],
  planner: ["plan", "tool", "delta", "card", "interrupt", "done", "error"],
};

// Reads until the server says that there is nothing more, coming back in between.
async function read(vocabulary, query) {
  const source = new EventSource(`${base}/sse/${vocabulary}?${query}`);
  const seen = [];
  const closed = new Promise((resolve) => {
    source.addEventListener("error", (event) => {
      if (source.readyState === EventSource.CLOSED || event.code === 204) resolve();
    });
    for (const name of names[vocabulary]) {
      source.addEventListener(name, (event) => {
        seen.push({ name, data: event.data && JSON.parse(event.data), id: event.lastEventId });
        if (["run_parked", "run_finished", "run_failed", "done"].includes(name)) resolve();
      });
    }
  });
  await within(closed, "a stream");
  source.close();
  return seen;
}

for (const full of [false, true]) {
  const seen = await read("react", `thread=react-${full}&text=plan&full=${full}`);
  const of = (name) => seen.filter((event) => event.name === name).map((event) => event.data);
  assert.equal(of("llm_token").map((data) => data.token).join(""), SAID);
  assert.equal(of("llm_token").map((data) => data.reasoning_token).join(""), "Which day?");
  assert.deepEqual(of("tool_start").map((data) => [data.tool, data.args]), [["find_free", { duration: 2 }]]);
  assert.equal(of("interrupt").length, 1);
  assert.equal(seen.at(-1).name, "run_parked");
  const planned = await read("planner", `thread=planner-${full}&text=plan&full=${full}`);
  const texts = planned.filter((event) => event.name === "delta").map((event) => event.data.text);
  assert.equal(texts.join(""), SAID);
  assert.equal(planned.at(-1).name, "done");
}

// A connection that is cut in the middle: what comes after it is asked for by the last id.
const before = await fetch(`${base}/sse/react?thread=cut&text=plan`);
const whole = await before.text();
const ids = [...whole.matchAll(/^id: (\d+)$/gm)].map((found) => Number(found[1]));
for (const id of [ids[0], ids[2], ids.at(-1)]) {
  const again = await fetch(`${base}/sse/react?thread=cut`, { headers: { "last-event-id": String(id) } });
  const rest = await again.text();
  const durable = (text) => text.split("\n\n").filter((frame) => /^id: /m.test(frame));
  const expected = durable(whole).filter((frame) => Number(/^id: (\d+)/m.exec(frame)[1]) >= id);
  assert.deepEqual(durable(rest), expected);
}
