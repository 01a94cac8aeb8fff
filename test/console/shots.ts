/** `node test/console/shots.ts URL FOLDER [light|dark] [NAME…]`: pictures of the console's pages, of what is served at the address. */

import path from 'node:path';
import { findBrowser, openBrowser } from './browser.ts';

const [url = '', folder = '.', theme = 'light', ...names] = process.argv.slice(2);
const PAGES: Readonly<Record<string, string>> = {
  fleet: '/',
  list: '/workflows',
  timeline: '/workflows/review-payments-1182?at=5',
  state: '/workflows/review-payments-1182?tab=state',
  calls: '/workflows/review-payments-1182?tab=calls&call=5',
  holders: '/workflows/review-payments-1182?tab=holders',
  forks: '/workflows/review-payments-1182?tab=forks&at=4',
  inbox: '/inbox',
  session: '/sessions/acme-q3',
  rejected: '/rejected',
  storage: '/storage',
};
const { page, close } = await openBrowser((await findBrowser())!, { dark: theme === 'dark' });
page.on('console', (said) => said.type() === 'error' && console.log('console:', said.text()));
page.on('pageerror', (error) => console.log('error:', error.message));
for (const [name, address] of Object.entries(PAGES)) {
  if (names.length > 0 && !names.includes(name)) continue;
  await page.goto(url + address);
  await page.waitForLoadState('load');
  await page
    .locator('.loading')
    .first()
    .waitFor({ state: 'detached', timeout: 10_000 })
    .catch(() => {});
  await page.evaluate('document.fonts.ready.then(() => null)');
  await page.waitForTimeout(1_200);
  await page.screenshot({ path: path.join(folder, `${name}-${theme}.png`) });
}
await close();
