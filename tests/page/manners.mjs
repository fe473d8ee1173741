// What every page of an agent does, in both languages: it begins with what the agent is and what one
// may ask, speaks the language of the conversation, says what typing does under a card, shows one
// copy of it whose buttons have one name, and no name of a field, a tool or a schedule of cron.
import assert from 'node:assert/strict';

import { visit } from './browser.mjs';

// A request that waits for a card, in each language, and words of the person that may look like a name.
const ASKS = {
  planner: { en: 'buy 0.1 BTC', zh: '买入 0.1 BTC' },
  react: { en: 'write list.md: tea', zh: '写入 list.md：茶' },
  steward: {
    en: 'Apply for a trip to Oslo from 2 March 2099 to 5 March 2099 by train, to visit a client, budget 1200 yuan',
    zh: '申请出差：2099年6月2日到2099年6月5日去上海拜访客户，坐火车，预算1200元',
  },
  transparent: { en: 'remind me in 40 minutes to drink water', zh: '四十分钟后提醒我喝水' },
};
const SAYS = {
  en: { accept: 'Accept', reject: 'Reject', typing: /^Yes, no because/, send: 'Send', what: 'What does that mean?', is: /[a-z]{3}/ },
  zh: { accept: '同意', reject: '拒绝', typing: /^是、否并说明原因/, send: '发送', what: '那是什么意思？', is: /\p{Script=Han}{3}/u },
};
const RAW = [/\b[a-z]+_[a-z_]+\b/, /(?:^|\s)[\d*/]+(?: [\d*/]+){4,5}(?:\s|$)/m, /\[object |undefined|null/];

export async function manners(name, { url, browser, step }) {
  for (const [lang, other] of [['en', 'zh-CN'], ['zh', 'en-GB']]) {
    // The browser speaks the other language.
    const view = await visit(browser, url, { locale: other });
    const { page, card } = view;
    const start = page.locator('#start');
    await start.getByRole('button').nth(2).waitFor();
    assert.ok((await start.locator('p').innerText()).length > 20, 'it says what it is');
    const words = SAYS[lang];
    await view.say(ASKS[name][lang]);
    await view.asked(/[\s\S]/);
    await page.getByRole('button', { name: words.send, exact: true }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), lang, 'the page speaks as the conversation does');
    assert.match(await page.locator('#say').getAttribute('placeholder'), words.typing);
    assert.equal(await page.getByRole('button', { name: words.accept, exact: true }).count(), 1, 'one card, and one name of its buttons');
    assert.equal(await page.getByRole('button', { name: words.reject, exact: true }).count(), 1);
    const shown = await page.evaluate(() => [...document.querySelectorAll('#chat, #panels > section:not([hidden])')]
      .filter((it) => !it.querySelector('.log')).map((it) => it.innerText).join('\n'));
    for (const raw of RAW) assert.doesNotMatch(shown, raw, `${name} ${lang}: ${shown}`);
    // No expression of cron is folded away, either.
    const values = await card.locator('dd').allTextContents();
    for (const value of values) assert.doesNotMatch(value, RAW[1], `${name} ${lang}`);
    // In a wide window the person's words stay in the column of the answers.
    const { width, height } = page.viewportSize();
    await page.setViewportSize({ width: 2560, height: 1200 });
    const [own, column] = await page.evaluate(() => ['#blocks > .user', '#blocks > :not(.user)'].map((it) => document.querySelector(it).getBoundingClientRect().right));
    assert.ok(own <= column + 1, `${name}: ${own} is right of ${column}`);
    await page.setViewportSize({ width, height });
    // Words that are no answer are answered, and leave the card; in the panel of words nothing is lost.
    const told = () => page.evaluate(() => [...document.querySelectorAll('.block.text, .question .said')].map((it) => it.innerText).join('\n'));
    const before = await told();
    await view.say(words.what);
    await page.waitForFunction((before) => {
      const now = [...document.querySelectorAll('.block.text, .question .said')].map((it) => it.innerText).join('\n');
      return document.querySelector('.question') && document.querySelector('#typing').hidden && now !== before;
    }, before);
    assert.match((await told()).replace(before, ''), words.is);
    await view.asked(/[\s\S]/);
    assert.equal(await view.blocks('error').count(), 0);
    // After a reload it is the same, whatever the browser speaks.
    await page.reload();
    await page.getByRole('button', { name: words.reject, exact: true }).click();
    await view.rest();
    await view.leave();
    step(`${name}: a page with manners (${lang})`);
  }
}
