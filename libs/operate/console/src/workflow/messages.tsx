/** Owns the messages of a model call as they were sent: each with its role, as text. */

import { Lines } from '../parts/json-tree.tsx';
import { plain } from '../text/format.ts';

export interface Message {
  readonly role: string;
  readonly content: string | readonly Piece[];
}

interface Piece {
  readonly type: string;
  readonly text?: string;
  readonly [more: string]: unknown;
}

export const Messages = ({ messages }: { readonly messages: readonly Message[] }) =>
  messages.map(({ role, content }, index) => (
    <div key={index} className="message" data-role={role}>
      <h3>{plain(role)}</h3>
      {typeof content === 'string' ? (
        <Lines text={content} />
      ) : (
        content.map((piece, at) =>
          piece.text === undefined ? (
            <code key={at} className="wrap">
              {plain(
                piece.type === 'opaque'
                  ? `${String(piece.of)}, ${String(piece.bytes)} bytes, for the provider alone`
                  : JSON.stringify(piece),
              )}
            </code>
          ) : (
            <Lines key={at} text={piece.text} />
          ),
        )
      )}
    </div>
  ));
