// Clients of AG-UI, the AI SDK, WebSockets and named events talk to the endpoints that any agent can
// mount.
import assert from "node:assert/strict";
import { buildResumeArray, HttpAgent } from "@ag-ui/client";
import { DefaultChatTransport, readUIMessageStream } from "ai";
import { EventSource } from "eventsource";
import WebSocket from "ws";
import { base, SAID, within } from "./said.mjs";

const served = `${base}/served`;
const post = async (path, body) => {
  const response = await fetch(`${served}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return [response.status, await response.json()];
};
const go = () => fetch(`${base}/go`, { method: "POST" });

// AG-UI: asked, cancelled, and started again.
const desk = new HttpAgent({ url: `${served}/agui`, threadId: "agui" });
const outcomes = [];
const heard = { onRunFinishedEvent: ({ outcome, result }) => outcomes.push([outcome, result]) };
desk.addMessage({ id: "m1", role: "user", content: "plan my week" });
await within(desk.runAgent({}, heard), "a run");
const [asked] = desk.pendingInterrupts;
const resume = buildResumeArray(desk.pendingInterrupts, { [asked.id]: { status: "cancelled" } });
await within(desk.runAgent({ resume }, heard), "a run that is answered");
assert.deepEqual(outcomes, [["interrupt", undefined], ["success", "left"]]);

// The AI SDK: a page that is loaded again while an answer comes.
const transport = new DefaultChatTransport({ api: `${served}/api/chat` });
const message = { id: "m1", role: "user", parts: [{ type: "text", text: "slow talk" }] };
const chat = { chatId: "ai", messages: [message], trigger: "submit-message" };
const first = await transport.sendMessages(chat);
const stream = await transport.reconnectToStream({ chatId: "ai" });
await go();
const whole = async (stream) => {
  let last;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last.parts.filter((part) => part.type === "text").map((part) => part.text);
};
assert.deepEqual(await within(Promise.all([first, stream].map(whole)), "an answer"), [[SAID], [SAID]]);
assert.equal(await transport.reconnectToStream({ chatId: "ai" }), null);

// The page's API: a run is begun while a browser reads and a socket listens; the socket answers.
assert.deepEqual(await post("/threads/page/runs", { text: "slow" }), [202, { thread: "page", run: 1 }]);
const events = new EventSource(`${served}/threads/page/events`);
const kinds = [];
let finish;
const finished = new Promise((resolve) => (finish = resolve));
for (const name of ["llm_token", "card", "interrupt", "run_finished", "event"]) {
  events.addEventListener(name, ({ data }) => {
    kinds.push(JSON.parse(data).ev.kind);
    if (name === "run_finished") finish();
  });
}
const socket = new WebSocket(`${served.replace("http", "ws")}/ws/chat?thread=page`);
socket.on("message", (text) => {
  const { event, data } = JSON.parse(text);
  const say = (event, data) => socket.send(JSON.stringify({ event, data }));
  if (event === "status" && data.code === "conversation") go();
  if (event === "interrupt") say("answer", { id: data.id, answer: true });
});
await within(finished, "the end of a run");
events.close();
socket.close();
for (const kind of ["text_delta", "interrupt_raised", "interrupt_answered", "run_finished"]) {
  assert.ok(kinds.includes(kind), `${kind} in ${kinds}`);
}
const shown = await (await fetch(`${served}/threads/page`)).json();
assert.deepEqual([shown.status, shown.interrupts], ["idle", []]);
