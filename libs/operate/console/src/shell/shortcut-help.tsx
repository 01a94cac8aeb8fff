/** Owns the list of keys that work on the current page. */

import { useEffect, useRef } from 'react';
import { Key } from '../parts/words.tsx';
import { knownShortcuts } from './shortcuts.ts';

export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = box;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={box} className="help" aria-label="Keyboard shortcuts" onClose={onClose}>
      <h2>Keyboard</h2>
      {knownShortcuts().map(({ name, list }) => (
        <section key={name}>
          <h3>{name}</h3>
          <dl>
            {list.map(({ keys, what }) => (
              <div key={keys}>
                <dt>
                  {keys.split(' ').map((key) => (
                    <Key key={key}>{key}</Key>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </dialog>
  );
}
