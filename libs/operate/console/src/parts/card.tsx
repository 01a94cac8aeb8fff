/** Owns a card: what it is about, what is said beside that, and its content. */

import type { ReactNode } from 'react';

export function Card(props: {
  readonly title: string;
  readonly note?: string | undefined;
  /** What stands at the end of the card's header. */
  readonly end?: ReactNode;
  readonly label?: string;
  readonly children: ReactNode;
}) {
  const { title, note, end, label, children } = props;
  return (
    <section className="card" aria-label={label}>
      <header>
        <h2>{title}</h2>
        {note === undefined ? null : <span className="dim">{note}</span>}
        {end}
      </header>
      {children}
    </section>
  );
}
