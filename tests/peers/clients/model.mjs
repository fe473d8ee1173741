// A model server that gives the answers it was handed, one after the other: OpenAI's protocol, streamed.
import { createServer } from "node:http";

export async function modelServer() {
  const answers = [];
  const asked = [];
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { messages } = JSON.parse(Buffer.concat(parts).toString());
    // A title is asked for when a run has ended: no answer of the script is meant for that.
    if (/^(Name the conversation|请给这个会话起)/.test(messages[0]?.content)) {
      response.writeHead(400).end("there is no title");
      return;
    }
    asked.push(messages);
    const answer = answers.shift();
    if (!answer) {
      response.writeHead(400).end("the model was asked once too often");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of pieces(written(answer, messages))) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return { url, answers, asked, close: () => server.close() };
}

// A decision stands in the tag that the prompt asks for, and what the person reads stands behind it.
function written({ decision, says = "" }, messages) {
  if (!decision) return says;
  const tag = messages.at(-1).content.match(/<decision[^>]*>/);
  return `${tag}${JSON.stringify(decision)}</decision>${says}`;
}

function* pieces(text) {
  for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7);
}
