// Texts that would act on a page, or look like a part of it, wherever the page shows a text: they are
// seen with their marks, and nothing else comes of them: `node forged.mjs <chromium> <page> <texts>`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { launch } from './browser.mjs';

const [chromium, files, texts] = process.argv.slice(2);
const FORGED = JSON.parse(readFileSync(texts));
const RAW = /[\0-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/u;

// What the page's own modules draw of a text: on a card, in each block, and as a name.
const drawn = async (text) => {
  const [{ Cards }, { Blocks }, { Thread }, { element, show }] = await Promise.all(
    ['/cards.js', '/blocks.js', '/thread.js', '/element.js'].map((it) => import(it)));
  const root = document.body.appendChild(document.createElement('div'));
  root.style.gridColumn = '1 / -1';
  const [cards, blocks] = [0, 1].map(() => root.appendChild(document.createElement('section')));
  const thread = new Thread();
  const call = { id: 'c', name: 'pay', arguments: { amount: 99999, note: text, [text]: 'x' } };
  const prompt = { title: text, summary: text, consequence: text, says: text, call };
  thread.ask({ id: 'forged', digest: 'd', prompt, schema: { type: 'boolean' } });
  new Cards(cards, async () => {}).draw(thread);
  thread.said(text);
  for (const ev of [
    { kind: 'status', code: 's', summary: text }, { kind: 'correction', message: text },
    { kind: 'reasoning_delta', block: 'r', text }, { kind: 'text_delta', block: 't', text: text.slice(0, 1) },
    { kind: 'text_delta', block: 't', text: text.slice(1) }, { kind: 'tool_started', call: 'c', name: text, preview: text },
    { kind: 'tool_finished', call: 'c', name: text, status: 'ok', summary: text, result: text },
    { kind: 'custom', name: 'plan', data: { note: text } }, { kind: 'run_failed', error: text },
  ]) thread.take(ev);
  new Blocks(blocks).draw(thread);
  root.append(element('button', { title: text, 'aria-label': text }, text));
  show(root.appendChild(document.createElement('p')), text);
  const all = [...root.querySelectorAll('*')];
  const told = {
    text: root.textContent,
    named: all.flatMap((it) => ['title', 'aria-label', 'placeholder'].map((name) => it.getAttribute(name) ?? '')).join(''),
    names: [...new Set(all.map((it) => it.localName))].sort(),
    buttons: [...cards.querySelectorAll('button')].map((it) => it.textContent),
    heading: cards.querySelector('h2').textContent,
    boxes: cards.querySelectorAll('dd').length,
    high: cards.querySelector('.question').offsetHeight,
  };
  root.remove();
  return told;
};

// The files of the page, and a document with nothing but its style.
const server = createServer(({ url }, response) => {
  const path = new URL(url, 'http://page').pathname;
  const kind = { css: 'text/css', js: 'text/javascript' }[path.split('.').at(-1)];
  response.setHeader('content-type', kind ?? 'text/html; charset=utf-8');
  response.setHeader('content-security-policy', "default-src 'none'; script-src 'self'; style-src 'self'");
  response.end(kind ? readFileSync(join(files, path.slice(1))) : '<!doctype html><title>page</title><link rel=stylesheet href=/style.css>');
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const browser = await launch(chromium);
try {
  const page = await browser.newPage();
  const foreign = [];
  const url = `http://127.0.0.1:${server.address().port}/`;
  page.on('request', (request) => request.url().startsWith(url) || foreign.push(request.url()));
  page.on('dialog', () => assert.fail('a script ran'));
  await page.goto(url);
  const plain = await page.evaluate(drawn, 'harmless');
  for (const { name, text, times = 1, block, line } of FORGED) {
    const seen = await page.evaluate(drawn, text.repeat(times));
    assert.doesNotMatch(seen.text + seen.named, RAW, name);
    assert.deepEqual(seen.buttons, plain.buttons, `${name}: a card has its own buttons`);
    const more = seen.names.filter((it) => !plain.names.includes(it));
    assert.deepEqual(more, [], `${name}: no element is made of it`);
    assert.match(seen.heading, /^\[[A-Z]\d[A-Z]\d\] /, name);
    assert.equal(seen.boxes, 3, name);
    assert.ok(seen.high < 4000, `${name}: ${seen.high} px`);
    if (block) assert.ok(seen.text.includes(block) && seen.named.includes(line), `${name}: ${seen.text}`);
    assert.equal(await page.title(), 'page', name);
  }
  assert.deepEqual(foreign, [], 'nothing is asked of anybody else');
  console.log(`${FORGED.length} forged texts are seen with their marks, and nothing else comes of them`);
} finally {
  await browser.close();
  server.close();
}
