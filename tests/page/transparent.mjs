// Everything that the agent does is seen: what it thinks, plans, searches, calls, mends and answers.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { looks, reload, visit } from './browser.mjs';
import { ended, serve } from './server.mjs';

const PLAN = '帮我找出上周写的项目计划书';

export async function transparent({ url, program, browser, pictures, step }) {
  const view = await visit(browser, url);
  const { page } = view;
  await view.say(PLAN);
  await view.blocks('text', 'plan_v1.md').waitFor();
  await view.rest();
  assert.match(await view.blocks('text').innerText(), /draft\.docx/);
  const told = await view.told('user', 'note', 'status', 'tool', 'text');
  assert.deepEqual(told.map(([kind, what]) => (['note', 'tool'].includes(kind) ? what : kind)), [
    'user', 'task_analysis', 'planning', 'status', 'rag_query', 'rag_result', 'status', 'completed', 'status', 'text',
  ]);
  assert.equal(await view.blocks('note').filter({ hasText: '计划' }).locator('.planned li').count(), 2, 'a plan is a list of steps');
  await view.blocks('tool', '列出文件').locator('summary').click();
  assert.match(await view.blocks('tool', '列出文件').innerText(), /计划书[\s\S]*Documents\/plan_v1\.md/);
  step('transparent: a search is seen from its analysis to its answer');
  await looks(view, pictures, 'transparent');

  await view.say('read Documents/plan_v2.md');
  await view.blocks('text', 'I could not do this').waitFor();
  await view.rest();
  assert.equal(await view.blocks('tool', 'reading a file').locator('.badge').getAttribute('data-status'), 'failed');
  await view.blocks('note', 'Corrected').waitFor();
  step('transparent: what fails is told, and what was tried');

  await view.say('take a photo');
  await view.asked('Take a photo');
  assert.equal(await view.blocks('tool', 'taking a photo').locator('.badge').innerText(), 'next', 'nothing is called before it is agreed to');
  await view.press('Accept');
  await view.blocks('text', 'no camera is set up').waitFor();
  await view.rest();
  assert.equal(await view.blocks('tool', 'taking a photo').locator('.badge').getAttribute('data-status'), 'blocked');
  step('transparent: what it may not do is told as it is');
  await reload(view, 'user', 'note', 'status', 'tool', 'asked', 'text');
  step('transparent: a reload shows it again');

  await view.say('remind me in 6 seconds to drink water');
  await view.asked('drink water');
  await view.press('Accept');
  await view.blocks('text', 'It is scheduled').waitFor();
  await view.blocks('text', 'Reminder: drink water').waitFor();
  step('transparent: an open page shows a reminder when it is due');
  await view.leave();
  await summed(program, browser, step);
}

// A conversation that is longer than the settings allow is summed up, and an open page says so.
async function summed(program, browser, step) {
  const folder = mkdtempSync(join(tmpdir(), 'transparent-'));
  writeFileSync(join(folder, 'config.toml'), '[compaction]\nturns = 4\nkeep_recent = 1\n');
  const server = await serve(program, folder);
  try {
    for (const [words, began, over] of [
      ['I am allergic to nuts and this is important', 'summing up what was said before', 'summed up'],
      ['我对花生过敏，这很重要', '正在压缩较早的对话', '压缩完成'],
    ]) {
      const view = await visit(browser, server.url);
      const shown = async () => (await view.told('user', 'status', 'text')).map(([kind, what]) => (kind === 'status' ? what.trim() : kind));
      let told = [];
      while (!told.includes(began) && told.filter((it) => it === 'user').length < 8) {
        await view.say(words);
        await view.blocks('text').nth(told.filter((it) => it === 'text').length).waitFor();
        await view.rest();
        told = await shown();
      }
      const at = told.indexOf(began);
      assert.deepEqual([told[at + 1], told.at(-1)], [over, 'text'], `it is summed up before the answer: ${told}`);
      assert.ok(told.indexOf('text') < at, `nothing is summed up at first: ${told}`);
      await view.leave();
    }
    step('transparent: an open page says that old words are summed up');
  } finally {
    server.child.kill('SIGTERM');
    await ended(server.child);
    rmSync(folder, { recursive: true, force: true });
  }
}
