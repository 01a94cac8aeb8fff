/**
 * Owns restricting queries of metrics to one installation: one Prometheus may scrape several, and an aggregate over all would hide one
 * behind another. The chart labels what it scrapes with `installation`, NAMESPACE/RELEASE; elsewhere it is empty.
 */

import { exposedName, INSTRUMENTS } from '@tidemark/telemetry';

const NAMES = (Object.keys(INSTRUMENTS) as (keyof typeof INSTRUMENTS)[]).map(exposedName);

/** Queries name histograms with these endings. */
const METRIC = new RegExp(`\\b(?:up|${NAMES.join('|')})(?:_bucket|_sum|_count)?\\b(?:\\{([^}]*)\\})?`, 'g');

/** The expression with `matcher` (`label="value"`) in each of its selectors. */
export const within = (matcher: string, expr: string): string =>
  expr.replaceAll(METRIC, (selector: string, matchers?: string) => {
    const [metric] = selector.split('{');
    return `${metric}{${[matcher, matchers].filter(Boolean).join(',')}}`;
  });

/** Placeholder for the installation's name, which the chart's template fills in. */
const PLACE = 'INSTALLATION';

/** The chart's text of deploy/prometheus/rules.yml: each expression restricted to one installation, and each alert labelled with it. */
export const rulesOfInstallation = (text: string): string =>
  text
    .replaceAll(/^ {8}expr: (?:>-\n(?: {10}.*\n)+|.*\n)/gm, (expr) => within(`installation="${PLACE}"`, expr))
    .replaceAll(/^( {8}labels: \{ .*) \}$/gm, `$1, installation: ${PLACE} }`);
