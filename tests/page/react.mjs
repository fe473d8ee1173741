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
  await view.blocks('note', 'I drink tea').waitFor();
  await view.rest();
  step('react: a tool is shown, and what is to be remembered');

  await page.getByRole('button', { name: 'New', exact: true }).click();
  await view.say('what do you remember?');
  await view.blocks('text', 'I drink tea').waitFor();
  await view.rest();
  await view.say('write list.md: tea');
  await view.asked('path=list.md, text=tea');
  const list = join(folder, 'files', 'list.md');
  assert.ok(!existsSync(list), 'nothing is written before it is agreed to');
  await looks(view, pictures, 'react');
  await view.press('Accept');
  await view.blocks('text', 'list.md is written').waitFor();
  await view.rest();
  assert.equal(readFileSync(list, 'utf8'), 'tea');
  await reload(view, 'user', 'note', 'status', 'tool', 'asked', 'text');
  step('react: it is remembered elsewhere, a file waits for a yes, and a reload shows it all');
  await view.leave();
}
