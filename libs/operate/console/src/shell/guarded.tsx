/** Owns containing the failure of a page, so that the others keep working. */

import { Component, type ReactNode } from 'react';
import { Failure } from '../parts/answers.tsx';

export class Guarded extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    return error === null ? (
      this.props.children
    ) : (
      <Failure error={error} again={() => this.setState({ error: null })} />
    );
  }
}
