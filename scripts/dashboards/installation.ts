/**
 * Owns that what is asked of metrics is asked of one installation: one Prometheus may scrape several, and an aggregate over all would hide one
 * behind another. The chart labels what it has scraped with `installation`, NAMESPACE/RELEASE; elsewhere it is empty.
 */

import { INSTRUMENTS } from '@tidemark/telemetry';

/** Histograms are asked for by these endings. */
const METRIC = new RegExp(
  `\\b(?:up|${Object.keys(INSTRUMENTS).join('|')})(?:_bucket|_sum|_count)?\\b(?:\\{([^}]*)\\})?`,
  'g',
);

/** The expression with `matcher` (`label="value"`) in every selector of it. */
export const within = (matcher: string, expr: string): string =>
  expr.replaceAll(METRIC, (selector: string, matchers?: string) => {
    const [metric] = selector.split('{');
    return `${metric}{${[matcher, matchers].filter(Boolean).join(',')}}`;
  });

/** What the chart's template puts the installation's name in place of. */
const PLACE = 'INSTALLATION';

/** The text of deploy/prometheus/rules.yml as the chart has it: each expression of one installation, and each alert labelled with it. */
export const rulesOfInstallation = (text: string): string =>
  text
    .replaceAll(/^ {8}expr: (?:>-\n(?: {10}.*\n)+|.*\n)/gm, (expr) => within(`installation="${PLACE}"`, expr))
    .replaceAll(/^( {8}labels: \{ .*) \}$/gm, `$1, installation: ${PLACE} }`);
