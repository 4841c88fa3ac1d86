import { CallQueue } from './call-queue.ts'

export type CallKind = 'read' | 'write'

/** A call on files. Once it was given up, it must change nothing any more. */
export type Work<T> = (isGivenUp: () => boolean) => Promise<T>

/** Runs the calls on a directory. */
export interface RunsCalls {
  /** @param bytes that are read or written */
  run<T>(kind: CallKind, bytes: number, work: Work<T>): Promise<T>
}

/** Longest time of a call, beside that of its bytes. */
const CALL_MS: Readonly<Record<CallKind, number>> = { read: 10_000, write: 30_000 }
/** A slower directory counts as one that hangs. */
const BYTES_A_MS_MIN = 256

/**
 * The calls of a process on one directory: at most one that reads and one that writes are under
 * way, and hold no more than two threads when the directory hangs. See `CallQueue`.
 */
export class DirectoryCalls implements RunsCalls {
  private readonly callMs: Readonly<Record<CallKind, number>>
  private readonly queues = { read: new CallQueue(), write: new CallQueue() }

  /** @param callMs longest time of a call, beside that of its bytes */
  constructor(callMs: Readonly<Record<CallKind, number>> = CALL_MS) {
    this.callMs = callMs
  }

  /** @throws ObjectStoreError `away` if the call takes too long, or one before it hangs */
  run<T>(kind: CallKind, bytes: number, work: Work<T>): Promise<T> {
    const longestMs = this.callMs[kind] + Math.ceil(bytes / BYTES_A_MS_MIN)
    return this.queues[kind].run(work, longestMs)
  }
}
