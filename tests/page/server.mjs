// The program that serves the page, and a model that says what it is told to.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

// A server on a port of this machine, a free one unless it is named; it says where it listens.
export async function serve(scheduler, folder, port = 0, more = []) {
  const arguments_ = ['serve', '--listen', `127.0.0.1:${port}`, '--dir', folder, '--lang', 'en', ...more];
  const child = spawn(scheduler, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = line.match(/http:\S+/)?.[0];
    if (url) return { child, url };
  }
  throw new Error('the server ended before it listened');
}

export const ended = (child) => new Promise((done) => (child.exitCode === null && child.signalCode === null ? child.once('exit', done) : done()));

// A model that speaks the chat completions protocol and gives these answers, one after the other.
export async function scripted(answers) {
  const left = [...answers];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const content = left.shift();
      if (content === undefined) {
        response.writeHead(500).end('{"error":{"message":"the script is over"}}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = (delta, finish = null) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      chunk({ role: 'assistant', content: typeof content === 'string' ? content : JSON.stringify(content) });
      chunk({}, 'stop');
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, left, close: () => new Promise((closed) => server.close(closed)) };
}
