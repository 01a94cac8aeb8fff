/**
 * Owns the keyboard: what keys do on the current page. Keys typed into a field belong to the field, except Escape. A page registers its own
 * keys while it is shown.
 */

import { useEffect, useRef } from 'react';

export interface Shortcut {
  /** `j`, `/`, `?`, `Enter`, or two in turn: `g w`. */
  readonly keys: string;
  readonly what: string;
  readonly run: () => void;
}

/** Longest wait for the second of two keys, in milliseconds. */
const SEQUENCE_MAX_MS = 1_200;

const groups = new Map<symbol, { readonly name: string; readonly list: readonly Shortcut[] }>();
let first: { readonly key: string; readonly atMs: number } | undefined;

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** A focused link or button keeps its own Enter. */
const hasOwnEnter = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(A|BUTTON|SUMMARY)$/.test(target.tagName);

function pressed(event: KeyboardEvent): void {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
  const { key, target } = event;
  if (isField(target)) {
    if (key === 'Escape' && target instanceof HTMLElement && target.closest('dialog') === null) {
      // A search field would empty itself.
      event.preventDefault();
      target.blur();
    }
    return;
  }
  if (document.querySelector('dialog[open]') !== null) return;
  if (key === 'Enter' && hasOwnEnter(target)) return;
  const before = first !== undefined && event.timeStamp - first.atMs < SEQUENCE_MAX_MS ? `${first.key} ` : '';
  const all = [...groups.values()].toReversed().flatMap(({ list }) => list);
  const found = all.find(({ keys }) => keys === before + key) ?? all.find(({ keys }) => keys === key);
  first = undefined;
  if (found !== undefined) {
    event.preventDefault();
    found.run();
  } else if (all.some(({ keys }) => keys.startsWith(`${key} `))) first = { key, atMs: event.timeStamp };
}

window.addEventListener('keydown', pressed);

/** Registered while the component is shown. */
export function useShortcuts(name: string, list: readonly Shortcut[]): void {
  const id = useRef(Symbol(name));
  useEffect(() => {
    groups.set(id.current, { name, list });
  });
  useEffect(() => {
    const mine = id.current;
    return () => {
      groups.delete(mine);
    };
  }, []);
}

export const knownShortcuts = (): readonly { readonly name: string; readonly list: readonly Shortcut[] }[] => [
  ...groups.values(),
];
