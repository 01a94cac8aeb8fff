/**
 * Owns how people read a JSON value, or the difference of two: a tree whose branches open, with long texts cut until they are opened.
 * Everything in it is text.
 */

import { memo, useState } from 'react';
import { type Branch, type Change, changesBetween, type Json, type Leaf, type Node } from '../belief/changes.ts';
import { plain } from '../text/format.ts';

/** Longest text that is shown at once, in characters, and members of a branch; more on request. */
const TEXT_SHOWN_CHARS = 400;
const MEMBERS_SHOWN_COUNT = 60;
/** Members and characters that are shown of a closed branch. */
const PREVIEW_COUNT = 6;
const PREVIEW_MAX_CHARS = 64;
/** Branches deeper than this are closed at first. */
const OPEN_DEPTH = 2;

export const JsonTree = memo(function JsonTree({ value, label }: { readonly value: Json; readonly label: string }) {
  return (
    <ul className="tree" aria-label={label}>
      <Item name={null} node={changesBetween(value, value)} depth={0} onlyChanges={false} />
    </ul>
  );
});

export const ChangesTree = memo(function ChangesTree(props: {
  readonly before: Json | undefined;
  readonly after: Json | undefined;
  readonly onlyChanges: boolean;
  readonly label: string;
}) {
  const { before, after, onlyChanges, label } = props;
  const node = changesBetween(before, after);
  if (onlyChanges && node.change === 'same') return <p className="dim">Nothing differs.</p>;
  return (
    <ul className="tree changes" aria-label={label}>
      <Item name={null} node={node} depth={0} onlyChanges={onlyChanges} />
    </ul>
  );
});

interface ItemProps {
  readonly name: string | null;
  readonly node: Node;
  readonly depth: number;
  readonly onlyChanges: boolean;
}

function Item({ name, node, depth, onlyChanges }: ItemProps) {
  if (node.kind === 'leaf' || node.members.length === 0) {
    return (
      <li data-change={node.change}>
        <Mark change={node.change} />
        {name === null ? null : <MemberName name={name} />}
        {node.kind === 'leaf' ? <LeafValue leaf={node} /> : <span className="dim">{empty(node.shape)}</span>}
      </li>
    );
  }
  return <BranchItem name={name} node={node} depth={depth} onlyChanges={onlyChanges} />;
}

function BranchItem({ name, node, depth, onlyChanges }: ItemProps & { readonly node: Branch }) {
  const differs = node.change === 'changed' && node.changeCount > 0;
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH || (onlyChanges && differs && depth < 6));
  const [shown, setShown] = useState(MEMBERS_SHOWN_COUNT);
  const members = onlyChanges && differs ? node.members.filter(([, of]) => of.change !== 'same') : node.members;
  return (
    <li data-change={node.change === 'changed' ? 'same' : node.change}>
      <button type="button" className="twig" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Mark change={node.change === 'changed' ? 'same' : node.change} />
        <span className="caret" aria-hidden="true" />
        {name === null ? null : <MemberName name={name} />}
        <span className="dim">
          {node.shape === 'array' ? `[${node.members.length}]` : `{${node.members.length}}`}
          {differs ? ` · ${node.changeCount} changed` : ''}
        </span>
        {isOpen ? null : <Preview of={node} />}
      </button>
      {isOpen ? (
        <ul>
          {members.slice(0, shown).map(([key, of]) => (
            <Item key={key} name={key} node={of} depth={depth + 1} onlyChanges={onlyChanges} />
          ))}
          {members.length > shown ? (
            <li>
              <button type="button" className="more" onClick={() => setShown(shown + 500)}>
                {members.length - shown} more
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </li>
  );
}

/** The beginning of a closed branch's content, in a line. */
function Preview({ of: { members, shape } }: { readonly of: Branch }) {
  const reported: string[] = [];
  let chars = 0;
  for (const [key, node] of members.slice(0, PREVIEW_COUNT)) {
    if (node.kind !== 'leaf') continue;
    const value = node.after ?? node.before;
    const said = typeof value === 'string' ? value.slice(0, PREVIEW_MAX_CHARS) : JSON.stringify(value ?? null);
    reported.push(shape === 'array' ? said : `${key.slice(0, PREVIEW_MAX_CHARS)}: ${said}`);
    chars += said.length;
    if (chars > PREVIEW_MAX_CHARS) break;
  }
  if (reported.length === 0) return null;
  const line = reported.join(', ');
  const isCut = line.length > PREVIEW_MAX_CHARS || reported.length < members.length;
  return <bdi className="preview">{plain(`${line.slice(0, PREVIEW_MAX_CHARS)}${isCut ? ' …' : ''}`)}</bdi>;
}

const empty = (shape: Branch['shape']): string => (shape === 'array' ? 'empty list' : 'empty');

const MARKS: Readonly<Record<Change, readonly [string, string]>> = {
  same: ['', ''],
  added: ['+', 'added'],
  gone: ['−', 'removed'],
  changed: ['~', 'changed'],
};

function Mark({ change }: { readonly change: Change }) {
  const [sign, said] = MARKS[change];
  return sign === '' ? null : (
    <span className="mark" role="img" aria-label={said}>
      {sign}
    </span>
  );
}

const MemberName = ({ name }: { readonly name: string }) => <bdi className="member">{plain(name)}</bdi>;

function LeafValue({ leaf: { change, before, after } }: { readonly leaf: Leaf }) {
  if (change === 'changed') {
    return (
      <>
        <del>
          <Value value={before as Json} />
        </del>
        <ins>
          <Value value={after as Json} />
        </ins>
      </>
    );
  }
  return <Value value={(change === 'gone' ? before : after) as Json} />;
}

function Value({ value }: { readonly value: Json }) {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== 'string') {
    const kind = value === null ? 'null' : typeof value;
    return <span data-kind={kind}>{typeof value === 'object' ? JSON.stringify(value) : String(value)}</span>;
  }
  const isCut = value.length > TEXT_SHOWN_CHARS && !isWhole;
  return (
    <span data-kind="string">
      <bdi>{multiline(isCut ? value.slice(0, TEXT_SHOWN_CHARS) : value)}</bdi>
      {isCut ? (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          … {value.length - TEXT_SHOWN_CHARS} more characters
        </button>
      ) : null}
    </span>
  );
}

/** Keeps line breaks; other invisible characters become marks. */
const multiline = (text: string): string => text.split('\n').map(plain).join('\n');

/** A text of several lines, such as a message, unchanged. */
export const Lines = ({ text }: { readonly text: string }) => <bdi className="lines">{multiline(text)}</bdi>;
