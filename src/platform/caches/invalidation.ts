/** Things that processes cache and that management changes. */
export type ChangedKind = 'deployment' | 'key' | 'user' | 'service_account'

/**
 * Notifies all processes of each change, once it is committed.
 *
 * The process that makes a change applies it before `publish` returns, so that its own caches are
 * never older than its responses; the others apply it within a second. If a message is lost, they
 * serve the old state until the time-to-live of their caches ends.
 */
export interface InvalidationFeed {
  publish(kind: ChangedKind, name: string): void
  /** Waits briefly for messages that are being sent, then closes the connections. */
  close(): Promise<void>
}

interface InvalidatedCache {
  /** The thing with this name has changed. */
  invalidate(name: string): void
  /** Any cached thing may have changed. */
  invalidateAll(): void
}

/** The caches of a process, by kind: they receive the changes that this process or another makes. */
export class InvalidatedCaches {
  private readonly caches = new Map<ChangedKind, InvalidatedCache>()

  add(kind: ChangedKind, cache: InvalidatedCache): void {
    this.caches.set(kind, cache)
  }

  /** @param name under which the thing is cached */
  changed(kind: ChangedKind, name: string): void {
    this.caches.get(kind)?.invalidate(name)
  }

  /** Changes may have been missed: any cached thing may be stale. */
  missedSome(): void {
    for (const cache of this.caches.values()) cache.invalidateAll()
  }
}

/** The feed of a service that is one process. */
export function localFeed(listener: InvalidatedCaches): InvalidationFeed {
  return {
    publish: (kind, name) => listener.changed(kind, name),
    close: async () => {},
  }
}
