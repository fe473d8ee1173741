// The pages of the other agents, each used as a person would, without a model:
// `node agents.mjs <chromium> <pictures> <name>=<program>…`
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { launch } from './browser.mjs';
import { manners } from './manners.mjs';
import { planner } from './planner.mjs';
import { react } from './react.mjs';
import { ended, serve } from './server.mjs';
import { steward } from './steward.mjs';
import { transparent } from './transparent.mjs';

const VISITS = { planner, react, steward, transparent };
const [browserPath, pictures, ...programs] = process.argv.slice(2);
const began = Date.now();
const step = (what) => console.log(`${((Date.now() - began) / 1000).toFixed(1)} s  ${what}`);

const browser = await launch(browserPath);
try {
  for (const it of programs) {
    const [name, program] = it.split('=');
    const folder = mkdtempSync(join(tmpdir(), `${name}-`));
    const server = await serve(program, folder);
    try {
      await VISITS[name]({ url: server.url, program, browser, pictures, folder, step });
      await manners(name, { url: server.url, browser, step });
    } finally {
      server.child.kill('SIGTERM');
      await ended(server.child);
      rmSync(folder, { recursive: true, force: true });
    }
  }
} finally {
  await browser.close();
}
