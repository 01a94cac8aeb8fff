/** `node test/console/shots.ts URL FOLDER [light|dark] [wide|narrow] [NAME…]`: pictures of the console's pages, of what is served at the address. */

import path from 'node:path';
import { findBrowser, openBrowser } from './browser.ts';

const [url = '', folder = '.', theme = 'light', width = 'wide', ...names] = process.argv.slice(2);
const REVIEW = '/workflows/review-payments-1182';
const PAGES: Readonly<Record<string, string>> = {
  fleet: '/',
  list: '/workflows',
  timeline: `${REVIEW}?at=5`,
  state: `${REVIEW}?tab=state`,
  calls: `${REVIEW}?tab=calls&call=5`,
  manifest: `${REVIEW}?tab=calls&call=10`,
  children: '/workflows/survey-2026?tab=children',
  recovery: `${REVIEW}?tab=holders`,
  forks: '/workflows/review-ledger-1183?tab=forks&with=review-payments-1182',
  inbox: '/inbox?workflow=payout-meridian&task=0.0',
  question: '/inbox?workflow=refund-8821',
  hostile: '/inbox?workflow=payout-odd&task=0.0',
  schedules: '/schedules',
  schedule: '/schedules/nightly-backfill',
  jobs: '/jobs/freeze-backfills',
  session: '/sessions/acme-q3',
  rejected: '/rejected',
  storage: '/storage',
  unknown: '/workflows/nothing-of-the-kind',
};
const isNarrow = width === 'narrow';
const { page, close } = await openBrowser((await findBrowser())!, {
  dark: theme === 'dark',
  ...(isNarrow && { width: 390, height: 844 }),
});
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
  if (name === 'manifest') await page.getByRole('button', { name: 'Kept and trimmed' }).click();
  const tooWide = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
  if (Number(tooWide) > 0) console.log(`${name}: ${tooWide} px too wide`);
  await page.screenshot({ path: path.join(folder, `${name}-${theme}${isNarrow ? '-narrow' : ''}.png`) });
}
await close();
