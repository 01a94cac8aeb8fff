/**
 * Owns `npm run dashboards`: writes Grafana's dashboards from scripts/dashboards into the chart, which can read nothing from
 * elsewhere (Compose mounts them from there), and its copy of the alerts, which are restricted to one installation there. `--check` writes nothing, and exits
 * with 1 when a file differs.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fleet } from './dashboards/fleet.ts';
import { rulesOfInstallation } from './dashboards/installation.ts';
import { life } from './dashboards/life.ts';
import { type Dashboard, dashboardFile } from './dashboards/panel.ts';
import { scaling } from './dashboards/scaling.ts';
import { storage } from './dashboards/storage.ts';

const FOLDER = path.resolve(import.meta.dirname, '../helm/tidemark/files/dashboards');

export const dashboards: Readonly<Record<string, Dashboard>> = { fleet, life, scaling, storage };

const ROOT = path.resolve(import.meta.dirname, '..');

/** The chart's copy of the alerts: its file name, and their text. */
export const chartRules = (): readonly [string, string] => [
  path.join(ROOT, 'helm/tidemark/files/rules.yml'),
  rulesOfInstallation(readFileSync(path.join(ROOT, 'deploy/prometheus/rules.yml'), 'utf8')),
];

/** File name and text of each. */
export const dashboardFiles = (): readonly (readonly [string, string])[] =>
  Object.entries(dashboards).map(([name, dashboard]) => [
    path.join(FOLDER, `${name}.json`),
    `${JSON.stringify(dashboardFile(dashboard), null, 2)}\n`,
  ]);

if (import.meta.main) {
  const isCheck = process.argv.includes('--check');
  for (const [file, text] of [...dashboardFiles(), chartRules()]) {
    if (!isCheck) writeFileSync(file, text);
    else if (readFileSync(file, 'utf8') !== text) {
      console.error(`${path.relative(process.cwd(), file)} is not as it would be written. Run npm run dashboards.`);
      process.exitCode = 1;
    }
  }
}
