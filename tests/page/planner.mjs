// An order is planned, asked about, accepted and filled; another session has a place in the list.
import assert from 'node:assert/strict';

import { looks, reload, visit } from './browser.mjs';

export async function planner({ url, browser, pictures, step }) {
  const view = await visit(browser, url);
  const { page } = view;
  await view.say('buy 0.1 BTC');
  await view.asked('buy 0.1 BTC-USDT at the market price');
  await view.blocks('note', 'placing an order').first().waitFor();
  await looks(view, pictures, 'planner');
  const id = await view.card.getAttribute('data-id');
  await page.reload();
  await view.asked('buy 0.1 BTC-USDT at the market price');
  assert.equal(await view.card.getAttribute('data-id'), id);
  step('planner: an order is asked about, also after a reload');

  await view.press('Accept');
  await view.blocks('text', 'order #1 is filled').waitFor();
  await view.rest();
  assert.equal(await view.blocks('tool', 'placing an order').locator('.badge').getAttribute('data-status'), 'completed');
  await reload(view, 'user', 'note', 'status', 'tool', 'asked', 'text');
  await view.rest();
  step('planner: it is filled, and shown as it was');

  await page.getByRole('button', { name: 'New', exact: true }).click();
  await view.say('create a trader named alpha');
  await view.asked('Which model? There are: glimmer, harbour');
  await view.card.getByRole('textbox').fill('glimmer');
  await view.card.getByRole('textbox').press('Enter');
  await view.asked('model glimmer, name alpha');
  await view.press('Reject');
  await view.rest();
  const sessions = page.locator('#thread-list li');
  await sessions.filter({ hasText: 'create a trader' }).waitFor();
  assert.equal(await sessions.count(), 2);
  await sessions.filter({ hasText: 'buy 0.1 BTC' }).locator('button').first().click();
  await view.blocks('text', 'order #1 is filled').waitFor();
  assert.equal(await view.blocks('user', 'trader').count(), 0, 'sessions do not mix');
  step('planner: two sessions, each with its own words');
  await view.leave();
}
