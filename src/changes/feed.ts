/** Things that processes keep in memory, and that management changes. */
export type ChangedKind = 'deployment' | 'key' | 'user'

/** What one process does when something changed, wherever that was. */
export interface ChangeListener {
  /** @param name under which the thing is kept in memory */
  changed(kind: ChangedKind, name: string): void
  /** Changes may have been missed: nothing that is kept is certain any more. */
  missedSome(): void
}

/**
 * Tells all processes of each change, once it is committed.
 *
 * The process that makes a change hears of it before `tell` returns, so that its own answer is never ahead of
 * what it serves; the others within a second. A lost message costs no more than the time-to-live
 * of what is kept.
 */
export interface ChangeFeed {
  tell(kind: ChangedKind, name: string): void
  close(): void
}

/** The feed of a service that is one process. */
export function localFeed(listener: ChangeListener): ChangeFeed {
  return {
    tell: (kind, name) => listener.changed(kind, name),
    close: () => {},
  }
}
