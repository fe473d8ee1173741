// Clients of the AI SDK, AG-UI and OpenAI approve and reject a write that the library's own gate asks
// about: an approved one is done once, a rejected one never.
import assert from "node:assert/strict";
import { buildResumeArray, HttpAgent } from "@ag-ui/client";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import OpenAI from "openai";
import { Chat } from "./chat.mjs";
import { base, within } from "./said.mjs";

const gated = `${base}/gated`;
const TEXT = "line one\nline two\nthe end of it";
const written = async (path) => (await (await fetch(`${gated}/files`)).json())[path] ?? 0;

// What a person reads of the card, whatever shows it.
function isWhole(text, path) {
  for (const part of [`path: ${path}`, "line one", "line two", "the end of it"]) {
    assert.ok(text.includes(part), `${part} in ${text}`);
  }
}

async function sdk(path, approved) {
  const chat = new Chat(`sdk-${path}`, `${gated}/api/chat`, {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => {
      chat.failed = error;
    },
  });
  await within(chat.sendMessage({ text: path }), "a message");
  assert.equal(chat.failed, undefined);
  const tool = () => chat.parts.find((part) => part.type === "dynamic-tool");
  assert.deepEqual([tool().state, tool().input], ["approval-requested", { path, text: TEXT }]);
  assert.deepEqual(chat.of("data-interrupt", "data"), []);
  assert.equal(await written(path), 0);
  await within(chat.addToolApprovalResponse({ id: tool().approval.id, approved }), "an answer");
  while (chat.status !== "ready") await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(chat.failed, undefined);
  assert.equal(tool().state, approved ? "output-available" : "output-error");
  // What was done or not comes first, by code.
  const told = chat.of("text", "text").join("");
  assert.ok(told.startsWith(approved ? "Done: " : "Not done: ") && told.endsWith("That is all."), told);
}

async function agUi(path, approved) {
  const agent = new HttpAgent({ url: `${gated}/agui`, threadId: `agui-${path}` });
  const outcomes = [];
  const heard = { onRunFinishedEvent: ({ outcome }) => outcomes.push(outcome) };
  agent.addMessage({ id: "m1", role: "user", content: path });
  await within(agent.runAgent({}, heard), "a run");
  const [asked] = agent.pendingInterrupts;
  isWhole(asked.message, path);
  assert.match(asked.metadata.code, /^[A-Z]\d[A-Z]\d$/);
  const calls = agent.messages.flatMap((message) => message.toolCalls ?? []);
  const call = calls.find((call) => call.id === asked.toolCallId);
  assert.deepEqual(JSON.parse(call.function.arguments), { path, text: TEXT });
  assert.equal(await written(path), 0);
  const answer = { status: "resolved", payload: approved };
  const resume = buildResumeArray(agent.pendingInterrupts, { [asked.id]: answer });
  await within(agent.runAgent({ resume }, heard), "a run that is answered");
  assert.deepEqual(outcomes, ["interrupt", "success"]);
}

async function openai(path, approved, stream) {
  const client = new OpenAI({ baseURL: `${gated}/v1`, apiKey: "none", maxRetries: 0 });
  const talk = async (content, extra) => {
    const messages = [{ role: "user", content }];
    const body = { model: "gated", messages, extra: { conversation_id: `openai-${path}`, ...extra } };
    if (!stream) {
      const whole = await within(client.chat.completions.create(body), "a completion");
      return { said: whole.choices[0].message.content, id: whole.ext.interrupts[0]?.id };
    }
    const chunks = [];
    for await (const chunk of await client.chat.completions.create({ ...body, stream })) chunks.push(chunk);
    const said = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    return { said, id: chunks.find((chunk) => chunk.ext?.confirm)?.ext.confirm.interaction_id };
  };
  const { said, id } = await talk(path);
  isWhole(said, path);
  assert.match(said, /reply: yes ([A-Z]\d[A-Z]\d)\. To refuse, reply: no \1\.$/);
  assert.equal(await written(path), 0);
  const action = approved ? "approve" : "reject";
  const resume = { interaction_id: id, type: "confirm", action };
  const told = (await talk("", { resume })).said;
  assert.ok(told.endsWith("That is all."), told);
}

const ways = { sdk, agui: agUi, openai: (...of) => openai(...of, false), stream: (...of) => openai(...of, true) };
for (const [name, way] of Object.entries(ways)) {
  for (const approved of [true, false]) {
    const path = `${name}-${approved}.txt`;
    await way(path, approved);
    assert.equal(await written(path), approved ? 1 : 0, `${path} is written`);
  }
}
