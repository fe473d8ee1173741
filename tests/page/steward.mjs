// An application in words waits for its button, also after a reload, and is written once.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { looks, reload, visit } from './browser.mjs';

const TRIP = '申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元';
// No text has these bytes, so that only the file itself is the same.
const RECEIPT = Buffer.concat([Buffer.from('%PDF-1.4 taxi\n'), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))]);
const TAXI = 'Reimburse my taxi 86.50 yuan from February 20';

export async function steward({ url, browser, pictures, step }) {
  const view = await visit(browser, url);
  const { page } = view;
  const written = async () => {
    const { applications, reimbursements } = await view.get('steward/documents');
    return [applications, reimbursements].map((forms) => forms.map(({ id, status }) => `${id} ${status}`));
  };
  // What is shown, in the order in which it comes, and what the page says of itself meanwhile.
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const state = document.querySelector('#state').textContent;
      const lines = [...document.querySelectorAll('.block.status, .block.tool .what')].map((it) => it.textContent);
      for (const line of [...lines, state]) if (line && !window.seen.includes(line)) window.seen.push(line);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await view.say(TRIP);
  await view.asked('目的地: 上海');
  const seen = await page.evaluate(() => window.seen);
  // The conversation is Chinese, and so is the page.
  const order = ['工作中', '读取请求中', '字段判断中', '执行动作', '填写表单', '检查重复', '等待你的回答'];
  const places = order.map((what) => seen.findIndex((line) => line.includes(what)));
  assert.ok(places.every((at, nth) => at >= 0 && (nth === 0 || at > places[nth - 1])), JSON.stringify([order, seen]));
  step('steward: the phases of an application are shown as it is worked on');

  const pending = page.locator('.steward .waits');
  await pending.waitFor();
  const id = await view.card.getAttribute('data-id');
  assert.deepEqual(await written(), [[], []]);
  await looks(view, pictures, 'steward');
  await page.reload();
  await view.asked('目的地: 上海');
  assert.equal(await view.card.getAttribute('data-id'), id);
  await view.blocks('user', TRIP).waitFor();
  await pending.waitFor();
  assert.deepEqual(await written(), [[], []]);
  step('steward: it waits, also after a reload, and nothing is written');

  // There is one copy of a card; who clicks it twice means once.
  assert.equal(await pending.getByRole('button').count(), 0);
  await view.card.getByRole('button', { name: '同意', exact: true }).dblclick();
  await view.blocks('text', 'A-1').waitFor();
  await view.rest();
  assert.deepEqual(await written(), [['A-1 submitted'], []]);
  await pending.waitFor({ state: 'detached' });
  await page.locator('.steward input[type=file]').setInputFiles({ name: 'receipt.pdf', mimeType: 'application/pdf', buffer: RECEIPT });
  // A link saves the very file, wherever it is shown: while it waits, under a card, and of a document.
  const saves = async (where) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.locator(`.steward ${where}`).getByRole('link', { name: 'receipt.pdf', exact: true }).click()]);
    assert.equal(download.suggestedFilename(), 'receipt.pdf');
    assert.deepEqual(await readFile(await download.path()), RECEIPT, where);
  };
  await saves('> .files');
  await view.say(TAXI);
  await view.asked('86.5');
  await saves('.waits .files');
  await view.card.getByRole('button', { name: 'Accept', exact: true }).dblclick();
  await view.blocks('text', 'R-1').waitFor();
  await view.rest();
  assert.deepEqual(await written(), [['A-1 submitted'], ['R-1 draft']]);
  await page.locator('.steward h3', { hasText: 'R-1' }).first().waitFor();
  await saves('article:has(h3:text("R-1 ·")) .files');
  assert.equal(await view.blocks('error').count(), 0);
  await reload(view, 'user', 'tool', 'asked', 'text');
  assert.deepEqual(await written(), [['A-1 submitted'], ['R-1 draft']]);
  step('steward: two clicks write once, a reload writes nothing, and a link saves the file');

  // A button of the panel checks first, and hands in with the finding; the card asks as always.
  await view.say('存草稿：申请出差：2099年4月2日到2099年4月5日去北京拜访客户，坐火车，预算900元');
  await view.asked('北京');
  await view.card.getByRole('button', { name: '同意', exact: true }).click();
  await view.blocks('text', 'A-2').waitFor();
  await view.rest();
  assert.deepEqual(await written(), [['A-1 submitted', 'A-2 draft'], ['R-1 draft']]);
  const desk = page.locator('.steward');
  assert.doesNotMatch((await desk.innerText()).replaceAll(/receipt.pdf|taxi/g, ''), /[a-z]{2}/, 'the panel speaks as the conversation does');
  const hand = desk.getByRole('button', { name: '提交出差申请', exact: true });
  await hand.click();
  await view.asked('北京');
  const executed = () => view.sent.filter(([path]) => path === 'execute').map(([, { action, precheck_ref }]) => [action, typeof precheck_ref]);
  const [checks, submits] = [['run_duplicate_precheck', 'undefined'], ['submit_application', 'string']];
  assert.deepEqual(executed(), [checks, submits]);
  // While a card waits, it is what is to be answered.
  await hand.waitFor({ state: 'detached' });
  await view.card.getByRole('button', { name: '同意', exact: true }).click();
  await view.rest();
  await desk.locator('h3', { hasText: 'A-2 · 已提交' }).waitFor();
  assert.deepEqual(await written(), [['A-1 submitted', 'A-2 submitted'], ['R-1 draft']]);
  // What is already handed in for these days is found before anything is handed in again.
  await view.say('申请出差：2099年4月3日到2099年4月4日去北京拜访客户，坐飞机，预算300元');
  await view.blocks('text', '不能继续').waitFor();
  await view.rest();
  await hand.click();
  await desk.locator('[role=status]', { hasText: 'A-2' }).waitFor();
  assert.deepEqual(executed(), [checks, submits, checks], 'nothing is handed in that the check speaks against');
  assert.deepEqual(await written(), [['A-1 submitted', 'A-2 submitted'], ['R-1 draft']]);
  step('steward: a button of the panel checks, and then hands in');
  await view.leave();
}
