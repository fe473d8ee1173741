// A first-time user, who reads no word of documentation: with a mouse and keys, and with a finger on a phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { accessible } from './browser.mjs';
import { ended, serve } from './server.mjs';

const soon = (days, time) => `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}T${time}00Z`;
const calendar = () => ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', 'BEGIN:VEVENT', 'UID:1', 'DTSTAMP:20260101T000000Z',
  `DTSTART:${soon(3, '0800')}`, `DTEND:${soon(3, '0940')}`, 'SUMMARY:Logic', 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n');

// A page on the scheduler, and whatever goes wrong in it.
async function opened({ scheduler, folder, browser }, more, work) {
  const server = await serve(scheduler, folder);
  const context = await browser.newContext({ locale: 'en-GB', acceptDownloads: true, colorScheme: 'light', ...more });
  try {
    const page = await context.newPage();
    const wrong = [];
    page.on('pageerror', (error) => wrong.push(String(error)));
    page.on('console', (said) => said.type() === 'error' && wrong.push(said.text()));
    await page.goto(server.url);
    await work(page);
    assert.deepEqual(wrong, [], 'the console is quiet');
  } finally {
    await context.close();
    server.child.kill('SIGTERM');
    await ended(server.child);
  }
}

const rest = (page) => page.waitForFunction(() => !document.querySelector('#send').disabled && document.querySelector('#typing').hidden && !document.querySelector('.question'));
const items = (page, hasText) => page.locator('.week .item:not(.course)', { hasText });

// The panels of a phone lie over the conversation.
async function add(page, name, group) {
  await page.getByRole('button', { name: 'Add item' }).click();
  const dialog = page.locator('dialog.edit');
  await dialog.getByLabel('What is to be done').fill(name);
  await dialog.getByLabel('Group').fill(group);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.locator('.pending .item', { hasText: name }).waitFor();
}

// A free pair of sections in the week that is shown, behind today.
const free = (page) => page.evaluate(() => {
  const cells = [...document.querySelectorAll('.week td[data-day]:not(.today)')].filter((it) => !it.children.length && it.dataset.section % 2 === 1);
  const pair = cells.findLast((it) => {
    const next = document.querySelector(`td[data-day="${it.dataset.day}"][data-section="${Number(it.dataset.section) + 1}"]`);
    return next && !next.children.length;
  });
  return [pair.dataset.day, pair.dataset.section];
});

const placeOf = (page, name) => items(page, name).first().evaluate((it) => [it.parentElement.dataset.day, it.parentElement.dataset.section]);

// Turns to the week in which an item lies.
async function turn(page, name) {
  for (let nth = 0; nth < 12 && !(await items(page, name).count()); nth += 1) await page.getByRole('button', { name: 'Later' }).click();
  await items(page, name).first().waitFor();
}

export async function person({ scheduler, folder, browser, pictures, step }) {
  await opened({ scheduler, folder, browser }, { viewport: { width: 1400, height: 900 } }, async (page) => {
    await page.locator('#start button', { hasText: 'Plan my weeks' }).waitFor();
    await page.locator('.week thead th.today').waitFor();
    assert.match(await page.locator('.week tbody th').first().innerText(), /^\d\d:\d\d$/);
    await accessible(page, 'the beginning');
    await page.locator('input[type=file]').setInputFiles([{ name: 'my.ics', mimeType: 'text/calendar', buffer: Buffer.from(calendar()) }]);
    await page.locator('.note', { hasText: '1 entries' }).waitFor();
    // The sample's items go; one's own come.
    for (const name of ['Draft the essay', 'Read chapter three', 'Revise the essay']) await add(page, name, 'Essay');
    await page.locator('.pending .item', { hasText: 'Revise the essay' }).click();
    await page.getByLabel('What is to be done').fill('Polish the essay');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.pending .item', { hasText: 'Polish the essay' }).waitFor();
    assert.equal(await page.locator('.pending .item', { hasText: 'Revise the essay' }).count(), 0);
    step('person: a calendar is imported, items are added and changed');

    await page.locator('#start button', { hasText: 'Plan my weeks' }).click();
    await page.locator('.question .moves li', { hasText: 'Draft the essay' }).waitFor({ timeout: 30_000 });
    await accessible(page, 'a card');
    await page.getByRole('button', { name: 'Fold' }).click();
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).waitFor();
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).click();
    await rest(page);
    await turn(page, 'Draft the essay');
    await page.screenshot({ path: join(pictures, 'person.png') });
    step('person: planned and agreed');

    await items(page, 'Draft the essay').first().click();
    await accessible(page, 'an item');
    await page.getByRole('button', { name: 'Why here?' }).click();
    await page.locator('.block.text', { hasText: 'Draft the essay' }).last().waitFor();
    await rest(page);
    step('person: why it is there');

    // Moved with the mouse; what was agreed to is moved on a card, and undone by a button.
    const before = await placeOf(page, 'Draft the essay');
    const [day, section] = await free(page);
    const cell = page.locator(`.week td[data-day="${day}"][data-section="${section}"]`);
    const [from, to] = [await items(page, 'Draft the essay').first().boundingBox(), await cell.boundingBox()];
    await page.mouse.move(from.x + 12, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(from.x + 30, from.y + 20);
    await page.locator('.ghost').waitFor();
    await page.mouse.move(to.x + 12, to.y + 8, { steps: 4 });
    await page.locator('td.over').waitFor();
    await page.mouse.up();
    await page.locator('.question', { hasText: 'Draft the essay' }).waitFor();
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).click();
    await rest(page);
    await page.waitForFunction(([day, section]) => document.querySelector(`.week td[data-day="${day}"][data-section="${section}"] .item`), [day, section]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).click();
    await rest(page);
    await page.waitForFunction(([day, section]) => document.querySelector(`.week td[data-day="${day}"][data-section="${section}"] .item`), before);
    assert.equal(await page.locator('.badge[data-status=rejected]').count(), 0, 'nobody rejected anything');
    step('person: moved with the mouse on a card, and undone');

    // With the keyboard alone.
    await items(page, 'Draft the essay').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('td.over').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Month', exact: true }).click();
    await page.locator('.month .item:not(.course)').first().waitFor();
    await accessible(page, 'a month');
    await page.screenshot({ path: join(pictures, 'month.png') });
    await page.getByRole('tab', { name: 'At work' }).click();
    await page.locator('.entries button').nth(2).click();
    await page.locator('.changes tr').first().waitFor();
    await accessible(page, 'at work');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('tab', { name: 'Schedule' }).click();
    await accessible(page, 'dark');
    await page.screenshot({ path: join(pictures, 'month-dark.png') });

    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
    const path = join(pictures, 'person.ics');
    await download.saveAs(path);
    assert.match(readFileSync(path, 'utf8'), /SUMMARY:Draft the essay/);
    // Chinese words are answered in Chinese, whatever the page speaks.
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('textbox', { name: 'Your message' }).fill('周一有什么？');
    await page.keyboard.press('Enter');
    await page.locator('.block.text', { hasText: /\p{Script=Han}/u }).waitFor();
    await rest(page);
    step('person: keyboard, month, dark, exported, and answered in Chinese');
  });
}

export async function phone({ scheduler, folder, browser, pictures, step }) {
  await opened({ scheduler, folder, browser }, { viewport: { width: 390, height: 800 }, hasTouch: true, isMobile: true }, async (page) => {
    const example = page.locator('#start button', { hasText: 'Plan my weeks' });
    await example.waitFor();
    await accessible(page, 'a phone');
    await page.screenshot({ path: join(pictures, 'phone-start.png') });
    await example.tap();
    await page.locator('.question .moves li').first().waitFor({ timeout: 30_000 });
    await page.screenshot({ path: join(pictures, 'phone-card.png') });
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).tap();
    await rest(page);
    await page.locator('#open-side').tap();
    await page.locator('.week .item').first().waitFor();
    await accessible(page, 'the weeks on a phone');

    // A finger holds an item, carries it, and lets go.
    await page.getByRole('button', { name: 'Later' }).tap();
    const item = page.locator('.week .item[data-drag]').first();
    await item.scrollIntoViewIfNeeded();
    const id = await item.getAttribute('data-task');
    const box = await item.boundingBox();
    const finger = await page.context().newCDPSession(page);
    const touch = (type, x, y) => finger.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] });
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await touch('touchStart', x, y);
    await page.locator('.ghost').waitFor();
    const target = await page.evaluate(([x, y]) => {
      const seen = [...document.querySelectorAll('.week td[data-day]')].filter((it) => !it.children.length && it.dataset.section % 2 === 1).map((it) => [it, it.getBoundingClientRect()])
        .filter(([, box]) => box.left > 60 && box.right < innerWidth && box.top > 100 && box.bottom < innerHeight && Math.hypot(box.left - x, box.top - y) > 60);
      const [, box] = seen.find(([it]) => {
        const next = document.querySelector(`td[data-day="${it.dataset.day}"][data-section="${Number(it.dataset.section) + 1}"]`);
        return next && !next.children.length;
      });
      return [box.left + box.width / 2, box.top + 8];
    }, [x, y]);
    for (const part of [0.3, 0.6, 1]) await touch('touchMove', x + (target[0] - x) * part, y + (target[1] - y) * part);
    await page.locator('td.over').waitFor();
    await page.screenshot({ path: join(pictures, 'phone-drag.png') });
    await touch('touchEnd');
    await page.locator('#close-side').tap();
    const name = await page.evaluate((id) => document.querySelector(`.item[data-task="${id}"] .name`)?.textContent ?? '', id);
    await page.locator('.question', { hasText: name }).waitFor();
    await page.locator('.question').getByRole('button', { name: 'Accept', exact: true }).tap();
    await rest(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, 'nothing is cut off');
    step('phone: an example pressed, an item carried by a finger, agreed to');
  });
}
