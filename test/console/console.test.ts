/** The console end to end in a real browser: started, watched live, decided, searched, by keyboard, in the dark, with hostile names. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtConsole, type Listening, listenApi, localAuthenticator } from '@tidemark/api';
import { AccessError } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildConsole, isConsoleStale } from '../../scripts/console.mjs';
import { essay, letters } from './agents.ts';
import { findBrowser, type OpenBrowser, openBrowser } from './browser.ts';
import { definitions, HOSTILE_ID, openSeeded, seed } from './seed.ts';

vi.setConfig({ hookTimeout: 300_000 });

const executable = await findBrowser();
// In CI a browser that can't be had is a failure.
const describeBrowser = executable === undefined && process.env.CI !== 'true' ? describe.skip : describe;

describeBrowser('the console in a browser', () => {
  let folder: string;
  let host: Host;
  let api: Listening;
  let browser: OpenBrowser;
  let page: Page;
  const problems: string[] = [];

  const serve = (port = 0): Promise<Listening> =>
    listenApi({
      ...{ place: host, definitions, authenticator: localAuthenticator, host: '127.0.0.1', port },
      consoleFolder: builtConsole(),
    });

  beforeAll(async () => {
    if (isConsoleStale()) buildConsole();
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-console-'));
    host = await openSeeded(path.join(folder, 'state'));
    await seed(host);
    api = await serve();
    browser = await openBrowser(executable!);
    page = browser.page;
    page.setDefaultTimeout(60_000);
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (said) => {
      // What the policy refuses is said here.
      if (said.type() === 'error' && /Content Security|Refused/.test(said.text())) problems.push(said.text());
    });
    page.on('dialog', (dialog) => {
      problems.push(`a script of a name ran: ${dialog.message()}`);
      void dialog.dismiss();
    });
  });
  afterAll(async () => {
    await browser?.close();
    await api?.close();
    await host?.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(problems.splice(0)).toEqual([]));

  it('starts a workflow, shows its progress live and then its output', async () => {
    await page.goto(`${api.url}/workflows`);
    await page.getByRole('button', { name: 'Start a workflow' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Definition').selectOption('backfill');
    await dialog.getByLabel('Input').fill('{"steps": 12, "pauseMs": 150}');
    await dialog.getByLabel('Id').fill('watched-1');
    await dialog.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('heading', { name: 'watched-1' }).waitFor();
    const timeline = page.getByRole('listbox', { name: 'Timeline' });
    await timeline.getByText('copied rows up to 500').waitFor();
    await timeline.getByText('Completed').waitFor();
    await page.getByRole('status').getByText('Ended').waitFor();
    await page.keyboard.press('2');
    await page.getByRole('list', { name: 'Output' }).getByText('12').waitFor();
  });

  it('shows belief at a checkpoint against any other, and what a model call saw', async () => {
    await page.goto(`${api.url}/workflows/review-payments-1182?at=5`);
    const belief = page.getByRole('list', { name: 'Belief' });
    await belief.getByText('1 changed').first().waitFor();
    await page.getByLabel('Compare with checkpoint').fill('0');
    await belief.getByText('billing').first().waitFor();
    await page.goto(`${api.url}/workflows/review-payments-1182?tab=calls&call=5`);
    await page.getByText('rebuilt, identical to what was sent').waitFor();
    await page.getByText('You review code for mistakes that lose money').waitFor();
    await page.getByRole('button', { name: 'Kept and trimmed' }).click();
    await page.getByText('pieces kept').waitFor();
  });

  it('shows working memory of a phase, and which keys a hand-over carried and left', async () => {
    await host.client.start(essay, {}, { id: 'essay-1' });
    await page.goto(`${api.url}/workflows/essay-1?tab=state`);
    const memory = page.getByRole('list', { name: 'Working memory' });
    await memory.getByText('moon and sun').waitFor();
    const handover = page.getByRole('region', { name: 'Hand-over #1' });
    await handover.getByText('notes, style').waitFor();
    await handover.getByText('scratch').waitFor();
    await page.getByLabel('Compare hand-overs with').selectOption({ label: '#1 research → text' });
    await handover.getByText('Added to #1').waitFor();
    await page.goto(`${api.url}/workflows/essay-1?at=1`);
    await page.getByRole('complementary', { name: 'Selected' }).getByText('committed').waitFor();
    await memory.getByText('moon and sun').waitFor();
  });

  it('shows what a function calls, by name, and what that returned', async () => {
    await host.client.start(letters, { to: ['Ann', 'Ben'] }, { id: 'letters-1' });
    await host.client.start(letters, { to: ['Ann', 'Eve'] }, { id: 'letters-2' });
    for (const id of ['letters-2', 'letters-1']) {
      await page.goto(`${api.url}/workflows/${id}?at=3`);
      await page.getByRole('cell', { name: 'waits for the approval send of a person' }).waitFor();
    }
    const timeline = page.getByRole('listbox', { name: 'Timeline' });
    await timeline.getByText('look up').waitFor();
    expect(await timeline.getByText('write', { exact: true }).count()).toBe(2);
    await page.getByText('Dear Ben of Harbour Road 7').waitFor();
    await page.goto(`${api.url}/workflows/letters-1?tab=state`);
    await page.getByRole('cell', { name: 'send', exact: true }).waitFor();
    await page.getByText('There is none.').waitFor();
    expect(await page.getByRole('img', { name: 'Flow of steps' }).count()).toBe(0);
    await page.goto(`${api.url}/workflows/letters-1?tab=forks&with=letters-2`);
    await page.getByText('At checkpoint 3: after step write on the left, after step write on the right').waitFor();
    await page.getByRole('list', { name: 'Differences' }).getByText('Dear Eve of Harbour Road 7').waitFor();
  });

  it('counts who asks on the fleet page as the inbox does, approvals among them', async () => {
    await page.goto(api.url);
    const tile = page.getByRole('link', { name: /Needs a person/ });
    await tile.getByText(/\d approval/).waitFor();
    const inbox = page.getByTitle(/wait for a person/);
    await expect.poll(() => tile.locator('strong').textContent()).toBe(await inbox.textContent());
  });

  it('leads to the inbox from a workflow that waits for an approval, and where no parked one is found', async () => {
    await page.goto(`${api.url}/workflows/payout-2210`);
    await page.getByText('waits for the approval').getByRole('link').click();
    await page.waitForURL(/\/inbox\?workflow=payout-2210&task=0\.0$/);
    await page.getByRole('region', { name: 'Approval', exact: true }).waitFor();
    await page.goto(`${api.url}/workflows?status=parked&text=payout`);
    await page.getByText('No workflow matches.').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'inbox' }).click();
    await page.waitForURL(/\/inbox$/);
  });

  it('answers a question, after it was said why', async () => {
    await page.goto(`${api.url}/inbox`);
    await page.getByRole('link', { name: /refund-8821/ }).click();
    const question = page.getByRole('region', { name: 'Question for a person' });
    await question
      .getByText(/the line went dead/)
      .first()
      .waitFor();
    await question.getByRole('button', { name: 'It was done' }).click();
    const dialog = page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: 'It was done' });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel('Why').fill('the bank confirmed it by phone');
    await dialog.getByLabel('What it answered').fill('{"nonsense": true}');
    await button.click();
    // What doesn't fit is refused, and said so.
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('What it answered').fill('{"receipt": "r-1"}');
    await button.click();
    await dialog.waitFor({ state: 'detached' });
    await page.goto(`${api.url}/workflows/refund-8821`);
    await page.getByRole('listbox', { name: 'Timeline' }).getByText('done by local').waitFor();
    await page.getByText('Completed').first().waitFor();
  });

  it('answers an approval by its form, by keyboard, with what is wrong at its fields', async () => {
    await page.goto(`${api.url}/inbox?workflow=payout-meridian&task=0.0`);
    const card = page.getByRole('region', { name: 'Approval' });
    await card.getByText('Meridian Shipping', { exact: true }).waitFor();
    await card.getByLabel('cents', { exact: true }).focus();
    await page.keyboard.type('9000000');
    await page.keyboard.press('Enter');
    await card.getByText('It must be at most 5000000.').waitFor();
    await card.getByText('Choose one.').waitFor();
    // The first that is wrong has the keyboard.
    expect(await page.evaluate('document.activeElement.dataset.place')).toBe('/cents');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('649000');
    await card.getByRole('radio', { name: 'Yes' }).focus();
    await page.keyboard.press('Space');
    await card.getByRole('button', { name: 'Add' }).click();
    await card.getByLabel('account').fill('4711');
    await card.getByLabel('cents').last().fill('12');
    await card.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('link', { name: /Pay Meridian Shipping/ }).waitFor({ state: 'detached' });
    expect(await host.client.run('payout-meridian').result()).toEqual({ approved: true, by: 'local' });
  });

  it('links children and parents, both ways', async () => {
    await page.goto(`${api.url}/workflows/survey-2026?tab=children`);
    await page.getByRole('table', { name: 'Children' }).getByRole('link', { name: 'survey-2026~1.7' }).click();
    await page.getByRole('heading', { name: 'survey-2026~1.7' }).waitFor();
    await page
      .getByText(/child of/)
      .getByRole('link', { name: 'survey-2026' })
      .click();
    await page.getByRole('table', { name: 'Children' }).waitFor();
    await page.keyboard.press('2');
    await page.getByRole('link', { name: 'survey-2026~1.7' }).waitFor();
  });

  it('goes on where a list has more than a page', async () => {
    const row = (offset: number) => ({
      ...{ partition: 0, offset, workflow: null, type: null, reason: 'malformed', at: null },
    });
    await page.route('**/v1/rejected?*', (route) => {
      const isSecond = new URL(route.request().url()).searchParams.get('cursor') === 'second';
      const json = isSecond
        ? { rejected: [row(41)], next_cursor: null }
        : { rejected: [row(43), row(42)], next_cursor: 'second' };
      return route.fulfill({ json });
    });
    await page.goto(`${api.url}/rejected`);
    const rows = page.getByRole('table', { name: 'Rejected events' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(2);
    await page.getByRole('button', { name: 'More rejected events' }).click();
    await expect.poll(() => rows.count()).toBe(3);
    expect(await page.getByRole('button', { name: 'More rejected events' }).count()).toBe(0);
    await page.unroute('**/v1/rejected?*');
  });

  it('triggers a schedule, and begins and follows a job from a search', async () => {
    await page.goto(`${api.url}/schedules/nightly-backfill`);
    const card = page.getByRole('region', { name: 'Schedule' });
    const runs = card.getByRole('table', { name: 'Runs' }).getByRole('link');
    await runs.first().waitFor();
    const before = await runs.count();
    await card.getByRole('button', { name: 'Trigger now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Trigger now' }).click();
    await expect.poll(() => runs.count()).toBe(before + 1);
    await page.goto(`${api.url}/workflows?definition=order&status=open`);
    await page.getByRole('table', { name: 'Workflows' }).getByText('order-5109').waitFor();
    await page.getByRole('button', { name: 'All of these' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('3 workflows', { exact: true }).first().waitFor();
    await dialog.getByLabel('Why').fill('the dock is closed');
    const begin = dialog.getByRole('button', { name: 'Pause 3 workflows' });
    expect(await begin.isDisabled()).toBe(true);
    await dialog.getByRole('checkbox').check();
    await begin.click();
    const job = page.getByRole('region', { name: 'Job' });
    await job.getByText('the dock is closed').waitFor();
    await job.locator('.fact', { hasText: 'Done' }).locator('dd', { hasText: '3' }).waitFor();
  });

  it('pauses and resumes, and names the version that a pin keeps', async () => {
    await page.goto(`${api.url}/workflows/survey-2026~1.7`);
    for (const [verb, told] of [
      ['Pause', 'Paused'],
      ['Resume', 'Resumed'],
    ] as const) {
      await page.getByRole('button', { name: verb, exact: true }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Why').fill('a test');
      await dialog.getByRole('button', { name: verb, exact: true }).click();
      await page.getByRole('listbox', { name: 'Timeline' }).getByText(told).waitFor();
    }
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('dialog').getByText('Keep it to version 2?').waitFor();
  });

  it('shows hostile names as text, in lists, titles and links', async () => {
    const evil = await host.client.start(
      definitions[2] as never,
      { item: '</script><script>alert(2)</script>', times: 1 } as never,
      { id: `${'x'.repeat(150)}/../%2e?#&"'` },
    );
    await page.goto(`${api.url}/workflows`);
    await page.getByText('<img src=x onerror=alert(1)>').first().click();
    await page.getByRole('heading', { name: '<img src=x' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/workflows/${encodeURIComponent(HOSTILE_ID)}`);
    expect(await page.locator('img').count()).toBe(0);
    // The character that turns the text around it is a mark.
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toContain('␣gnp.exe');
    await page.goto(`${api.url}/workflows/${encodeURIComponent(evil.id)}?tab=state`);
    await page.getByText('</script><script>alert(2)</script>').first().waitFor();
    const wide = await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
    expect(wide).toBe(true);
  });

  it('is used by keyboard alone', async () => {
    await page.goto(api.url);
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.getByRole('heading', { name: 'Workflows' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('review ledger');
    await page.waitForURL(/text=review/);
    await page.getByRole('table', { name: 'Workflows' }).getByText('review-ledger-1183').waitFor();
    await page.getByText('backfill-customers').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'review-ledger-1183' }).waitFor();
    await page.getByRole('listbox', { name: 'Timeline' }).getByText('made a plan').waitFor();
    await page.keyboard.press('n');
    await page
      .getByRole('complementary', { name: 'Selected' })
      .getByText(/Checkpoint 1/)
      .waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('is dark where the system is, and where it was chosen', async () => {
    const ground = (): Promise<string> =>
      page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    await page.goto(api.url);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.getByRole('button', { name: 'Use the light theme' }).click();
    expect(await ground()).toBe(light);
    await page.reload();
    expect(await ground()).toBe(light);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.evaluate('window.localStorage.clear()');
  });

  it('goes on by itself when the server was away, and nothing is missing', async () => {
    const run = await host.client.start(definitions[3] as never, { steps: 30, pauseMs: 100 } as never, {
      id: 'over-the-gap',
    });
    await page.goto(`${api.url}/workflows/${run.id}`);
    await page.getByRole('listbox', { name: 'Timeline' }).getByText('copied rows up to 500').waitFor();
    const port = Number(new URL(api.url).port);
    await api.close();
    await page.getByText('Connection lost, trying again').waitFor();
    api = await serve(port);
    await page.getByRole('status').getByText('Ended').waitFor();
    await page.getByText('Completed').first().waitFor();
    const checkpoints = page.locator('.fact', { hasText: 'Checkpoints' }).locator('dd');
    await expect.poll(() => checkpoints.textContent()).toBe('30');
  });

  it('asks for a key where the server does, keeps it for the tab, and never in the address', async () => {
    const guarded = await listenApi({
      ...{ place: host, definitions, host: '127.0.0.1', port: 0, consoleFolder: builtConsole() },
      authenticator: {
        async authenticate({ authorization }) {
          if (authorization === 'Bearer look-only') {
            return { subject: 'key:ben', tenant: null, roles: ['viewer'], kind: 'key' };
          }
          if (authorization !== 'Bearer open-sesame') throw new AccessError('credentials-missing', 'Show credentials.');
          return { subject: 'ana', tenant: null, roles: ['admin'], kind: 'key' };
        },
      },
    });
    try {
      await page.goto(`${guarded.url}/workflows`);
      await page.getByLabel('API key or token').fill('wrong');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').waitFor();
      await page.getByLabel('API key or token').fill('open-sesame');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('table', { name: 'Workflows' }).getByText('backfill-customers').waitFor();
      expect(page.url()).not.toContain('sesame');
      await page.reload();
      await page.getByRole('table', { name: 'Workflows' }).waitFor();
      expect(await page.evaluate('JSON.stringify({ ...window.localStorage })')).not.toContain('sesame');
      await page.getByRole('button', { name: 'Start a workflow' }).waitFor();
      // Who may only look is offered nothing that would be refused.
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key or token').fill('look-only');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('table', { name: 'Workflows' }).getByText('backfill-customers').waitFor();
      expect(await page.getByRole('button', { name: 'Start a workflow' }).count()).toBe(0);
      await page.goto(`${guarded.url}/inbox?workflow=payout-2210&task=0.0`);
      await page.getByRole('region', { name: 'Approval' }).getByText('You can read it').waitFor();
      expect(await page.getByRole('button', { name: /Approve|Reject/ }).count()).toBe(0);
      await page.goto(`${guarded.url}/storage`);
      await page.getByRole('alert').getByText('right-missing').waitFor();
    } finally {
      await page.goto('about:blank');
      await guarded.close();
    }
  });
});
