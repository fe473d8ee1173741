// Tools are shown as they are called, what is to be remembered is, and a file waits for a yes.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { looks, reload, visit } from './browser.mjs';

export async function react({ url, browser, pictures, folder, step }) {
  const view = await visit(browser, url);
  const { page } = view;
  await view.say('(17 + 25) * 2');
  await view.blocks('text', '84').waitFor();
  await view.rest();
  assert.deepEqual(await view.told('tool'), [['tool', 'completed']]);
  await view.say('remember that I drink tea');
  await view.blocks('note', 'I drink tea').filter({ hasText: 'Noted' }).waitFor();
  await view.rest();
  await reload(view, 'user', 'note', 'status', 'tool', 'text');
  step('react: a tool is shown, and what is to be remembered');

  await page.getByRole('button', { name: 'New', exact: true }).click();
  await view.say('what do you remember?');
  await view.blocks('text', 'I drink tea').waitFor();
  await view.rest();
  await view.say('write list.md: tea');
  await view.asked('list.md');
  const said = await view.card.innerText();
  for (const part of ['Write a file', 'makes a new file', 'tea', 'The tool says of itself']) assert.ok(said.includes(part), said);
  assert.match(said, /^\[[A-Z]\d[A-Z]\d\] /, 'an approval has its code');
  const list = join(folder, 'files', 'list.md');
  assert.ok(!existsSync(list), 'nothing is written before it is agreed to');
  await looks(view, pictures, 'react');
  await view.press('Accept');
  await view.blocks('text', 'list.md is written').waitFor();
  await view.rest();
  assert.equal(readFileSync(list, 'utf8'), 'tea');
  await reload(view, 'user', 'note', 'status', 'tool', 'asked', 'text');
  step('react: it is remembered elsewhere, a file waits for a yes, and a reload shows it all');

  // More than one answer of the server lists.
  const older = Array.from({ length: 201 }, (_, at) => `0-${String(at).padStart(3, '0')}`);
  for (const name of older) {
    const body = JSON.stringify({ text: '1 + 1' });
    const begun = await fetch(`${url}threads/${name}/runs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    assert.equal(begun.status, 202, await begun.text());
  }
  await page.reload();
  await view.blocks('text', 'list.md is written').waitFor();
  await page.locator('#thread-list [aria-current="true"]').waitFor();
  const listed = await page.locator('#thread-list > li').evaluateAll((them) => them.map((it) => it.dataset.name));
  assert.equal(listed.length, 200);
  assert.equal(listed.at(-1), older[3]);
  step('react: of many conversations the newest are listed');
  await view.leave();
}
