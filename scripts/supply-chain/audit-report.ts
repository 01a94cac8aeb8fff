/**
 * Owns reading the output of `npm audit --json`, and which faults stop a release: high or critical ones in what is shipped. It reports
 * those of development tools. Pure.
 */

/** The part of version 2 of the report that is read. */
export interface AuditReport {
  readonly auditReportVersion: 2;
  readonly vulnerabilities: Readonly<Record<string, Vulnerability>>;
}

interface Vulnerability {
  readonly name: string;
  /** Its own advisories; a text names another vulnerable package that makes it one. */
  readonly via: readonly (string | Advisory)[];
  /** Where it lies, as in package-lock.json. */
  readonly nodes: readonly string[];
}

interface Advisory {
  readonly title: string;
  readonly url: string;
  readonly severity: string;
}

/** By the last part of an advisory's address (GHSA-…): why it doesn't concern us, and until when that needs no review. */
export type AcceptedAdvisories = Readonly<Record<string, { readonly reason: string; readonly until: string }>>;

export interface Judged {
  /** Faults to mend before anything is shipped. */
  readonly faults: readonly string[];
  readonly notes: readonly string[];
}

const STOPS = new Set(['high', 'critical']);

/** Undefined: the text is no report, since there was no answer. */
export function reportOf(text: string): AuditReport | undefined {
  try {
    const said = JSON.parse(text) as Partial<AuditReport>;
    return said.auditReportVersion === 2 && said.vulnerabilities !== undefined ? (said as AuditReport) : undefined;
  } catch {
    return undefined;
  }
}

/** `shipped`: by place. `today`: an ISO date. */
export function judgeReport(
  report: AuditReport,
  shipped: ReadonlySet<string>,
  accepted: AcceptedAdvisories,
  today: string,
): Judged {
  const faults: string[] = [];
  const notes: string[] = [];
  for (const { name, via, nodes } of Object.values(report.vulnerabilities)) {
    const isShipped = nodes.some((place) => shipped.has(place));
    for (const advisory of via) {
      if (typeof advisory === 'string') continue;
      const id = advisory.url.split('/').at(-1) ?? '';
      const line = `${name} (${isShipped ? 'shipped' : 'to develop'}): ${advisory.severity}: ${advisory.title} (${id})`;
      const exception = Object.hasOwn(accepted, id) ? accepted[id] : undefined;
      if (!isShipped || !STOPS.has(advisory.severity)) notes.push(line);
      else if (exception === undefined) faults.push(line);
      else if (exception.until < today) faults.push(`${line}: accepted until ${exception.until}: look at it again`);
      else notes.push(`${line}: accepted until ${exception.until}: ${exception.reason}`);
    }
  }
  return { faults: faults.sort(), notes: notes.sort() };
}
