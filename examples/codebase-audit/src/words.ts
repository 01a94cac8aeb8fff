// Owns the words in which an audit tells what it found and where.

import { join } from 'node:path';
import { SEVERITIES } from './facts/facts.ts';
import { number, plural } from './screen.ts';
import type { AuditResult } from './workflow.ts';

export function resultLines(result: AuditResult, out: string): string[] {
  const findings = SEVERITIES.map((severity) => `${number(result.findings[severity])} ${severity}`).join(', ');
  const files = result.report.map(({ file, bytes }) => `${join(out, file)} (${kilobytes(bytes)})`);
  return [
    `Findings: ${findings}; among them ${plural(result.cycles, 'import cycle')} and ${plural(result.deadExports, 'dead export')}.`,
    ...(result.unreadable > 0
      ? [`${plural(result.unreadable, 'file')} could not be read; the report names them.`]
      : []),
    ...summaryLines(result.summaries),
    `Report: ${files.join(', ')}`,
  ];
}

function summaryLines({ model, written, missing, unasked, tokens, reason }: AuditResult['summaries']): string[] {
  if (model === null)
    return ['No model key in the environment (OPENAI_API_KEY or AI_GATEWAY_API_KEY): summaries skipped.'];
  const more = unasked > 0 ? `; ${plural(unasked, 'smaller module')} not asked about` : '';
  const lines = [`Summaries: ${written} by ${model}, ${number(tokens)} tokens${more}.`];
  return missing === 0 ? lines : [...lines, `${plural(missing, 'summary', 'summaries')} missing: ${reason}.`];
}

export function kilobytes(bytes: number): string {
  return bytes < 1_024 ? `${bytes} B` : `${number(Math.round(bytes / 1_024))} KB`;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
