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
  /** Sends what is not sent yet, where that is possible at once. */
  close(): Promise<void>
}

/** Something that keeps things of one kind in memory. */
export interface Keeper {
  /** What is kept under the name has changed. */
  expire(name: string): void
  /** Anything that is kept may have changed. */
  mistrust(): void
}

/** What a process keeps in memory, by kind. */
export class Kept implements ChangeListener {
  private readonly keepers = new Map<ChangedKind, Keeper>()

  add(kind: ChangedKind, keeper: Keeper): void {
    this.keepers.set(kind, keeper)
  }

  changed(kind: ChangedKind, name: string): void {
    this.keepers.get(kind)?.expire(name)
  }

  missedSome(): void {
    for (const keeper of this.keepers.values()) keeper.mistrust()
  }
}

/** The feed of a service that is one process. */
export function localFeed(listener: ChangeListener): ChangeFeed {
  return {
    tell: (kind, name) => listener.changed(kind, name),
    close: async () => {},
  }
}
