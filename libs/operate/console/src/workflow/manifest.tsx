/** Owns the account of a bundle: how lanes shared its budget, and every piece with why it was kept or left out. */

import type { Manifest } from '@tidemark/core';
import { Chip } from '../parts/words.tsx';
import { count, plain, words } from '../text/format.ts';

const LANES = 6;

export function ManifestView({ manifest }: { readonly manifest: Manifest }) {
  const { totals, directives, tokenizer } = manifest;
  const lanes = Object.entries(manifest.lanes);
  const parts = [
    ['directives', directives.tokens] as const,
    ...lanes.map(([name, { tokens }]) => [name, tokens] as const),
  ];
  const whole = Math.max(totals.token_budget, totals.token_estimate, 1);
  const starts = parts.map((_, at) => parts.slice(0, at).reduce((sum, [, tokens]) => sum + tokens, 0));
  return (
    <div className="manifest">
      <p>
        <b>{count(totals.token_estimate)}</b> of {count(totals.token_budget)} tokens, {count(totals.kept)} of{' '}
        {count(totals.items)} pieces kept <span className="dim">({plain(tokenizer)})</span>
      </p>
      <svg className="budget" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="Budget by lane">
        {parts.map(([name, tokens], at) => (
          <rect
            key={name}
            data-lane={at % LANES}
            x={(1_000 * starts[at]!) / whole}
            width={(1_000 * tokens) / whole}
            height={14}
          />
        ))}
      </svg>
      <table>
        <thead>
          <tr>
            <th>Lane</th>
            <th className="num">Share</th>
            <th className="num">Kept</th>
            <th className="num">Trimmed</th>
            <th className="num">Tokens</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <LaneName name="directives" at={0} />
            <td className="num dim">first</td>
            <td className="num">{directives.kept}</td>
            <td className="num">0</td>
            <td className="num">{count(directives.tokens)}</td>
          </tr>
          {lanes.map(([name, lane], at) => (
            <tr key={name}>
              <LaneName name={name} at={at + 1} />
              <td className="num dim">{Math.round(lane.share * 100)} %</td>
              <td className="num">{lane.kept}</td>
              <td className="num">{lane.trimmed === 0 ? 0 : <span className="trimmed">{lane.trimmed}</span>}</td>
              <td className="num">{count(lane.tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3>Pieces</h3>
      <table>
        <tbody>
          {manifest.items.map(({ place, type, tokens, state, cut }) => (
            <tr key={place} data-left={state !== 'kept'}>
              <td className="mono">{plain(place)}</td>
              <td>{plain(words(type))}</td>
              <td>
                <Chip tone={state === 'kept' && cut === undefined ? 'good' : 'warn'}>
                  {cut === undefined
                    ? plain(words(state))
                    : `cut: ${count(cut.chars)} of ${count(cut.of_chars)} characters`}
                </Chip>
              </td>
              <td className="num">{tokens === null ? '' : count(tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const LaneName = ({ name, at }: { readonly name: string; readonly at: number }) => (
  <td>
    <span className="worker" data-lane={at % LANES}>
      <i aria-hidden="true" />
    </span>{' '}
    {plain(words(name))}
  </td>
);
