// An application in words waits for its button, also after a reload, and is written once.
import assert from 'node:assert/strict';

import { looks, reload, visit } from './browser.mjs';

const TRIP = '申请出差：3月2日到3月5日去上海拜访客户，坐火车，预算1200元';
const TAXI = 'Reimburse my taxi 86.50 yuan from February 20, receipt.pdf attached';

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
  const order = ['at work', 'planning', 'judging fields', 'executing', 'fill application fields', 'run duplicate precheck', 'waiting for your answer'];
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
  await view.card.getByRole('button', { name: 'Accept', exact: true }).dblclick();
  await view.blocks('text', 'A-1').waitFor();
  await view.rest();
  assert.deepEqual(await written(), [['A-1 submitted'], []]);
  assert.equal(await pending.count(), 0);
  await view.say(TAXI);
  await view.asked('86.5');
  await view.card.getByRole('button', { name: 'Accept', exact: true }).dblclick();
  await view.blocks('text', 'R-1').waitFor();
  await view.rest();
  assert.deepEqual(await written(), [['A-1 submitted'], ['R-1 draft']]);
  await page.locator('.steward h3', { hasText: 'R-1' }).first().waitFor();
  assert.equal(await view.blocks('error').count(), 0);
  await reload(view, 'user', 'tool', 'asked', 'text');
  assert.deepEqual(await written(), [['A-1 submitted'], ['R-1 draft']]);
  step('steward: two clicks write once, and a reload writes nothing');
  await view.leave();
}
