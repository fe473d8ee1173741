// The Node client of OpenAI and the AI SDK's provider read our chunks: node openai.mjs URL
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";
import { base, SAID, THOUGHT, within } from "./said.mjs";

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });

async function talk(text, user, full, extra) {
  const body = {
    model: "desk",
    messages: [{ role: "user", content: text }],
    user,
    stream_options: { include_usage: true },
    ...(extra && { extra }),
  };
  const stream = client.chat.completions.stream(body, { query: full ? { full: "true" } : {} });
  const extensions = [];
  stream.on("chunk", (chunk) => extensions.push(chunk.ext ?? {}));
  const completion = await within(stream.finalChatCompletion(), "a completion");
  return { completion, choice: completion.choices[0], extensions };
}

for (const full of [false, true]) {
  const user = `node-${full}`;
  const { completion, choice, extensions } = await talk("plan my week", user, full);
  const content = choice.message.content;
  assert.ok(content.startsWith(SAID) && content.includes("] Place it?\n    Algebra on day 2\n"), content);
  assert.equal(choice.message.role, "assistant");
  assert.equal(choice.finish_reason, "stop");
  assert.equal(completion.usage.total_tokens, 12);
  assert.equal(choice.message.tool_calls, undefined);
  assert.equal(extensions.some((ext) => ext.ev), full);
  const asked = extensions.find((ext) => ext.kind === "confirm_request");
  const resume = { interaction_id: asked.confirm.interaction_id, type: "confirm", action: "reject" };
  const rejected = await talk("not on Monday", user, full, { resume });
  assert.equal(rejected.choice.message.content, "Left.");
  const tool = rejected.extensions.find((ext) => ext.kind === "tool_result").tool;
  assert.equal(tool.status, "blocked");
  await assert.rejects(talk("fail", `failing-${user}`, full), /the model is not there/);
}

// The same chunks, read by the provider that the AI SDK has for compatible servers.
const provider = createOpenAICompatible({ name: "desk", baseURL: `${base}/v1` });
const result = streamText({ model: provider("desk"), prompt: "talk", maxRetries: 0 });
assert.equal(await within(result.text, "a text"), SAID);
assert.equal(await result.finishReason, "stop");
assert.equal(await result.reasoningText, THOUGHT);
