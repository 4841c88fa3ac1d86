import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type ListQuery, type ObjectInfo, ObjectStoreError } from './object-store.ts'

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

interface Task {
  begin(): void
  refuse(error: Error): void
}

/** Calls that wait; a further one is refused. */
const WAITING_MAX = 1_000

/**
 * Runs calls on files one after the other.
 *
 * A call on a directory that does not answer, such as one on a network, holds a thread of the pool
 * that the whole process shares, and nothing can take the thread back. At most one call of a queue
 * can hang. While it does, all others are refused at once, and no further thread is lost.
 */
export class CallQueue {
  private readonly waiting: Task[] = []
  private isBusy = false
  private isHung = false

  /**
   * @param work is told when it was given up: then it must change nothing any more
   * @throws ObjectStoreError `away` if the work takes longer, or that before it hangs
   */
  run<T>(work: (isGivenUp: () => boolean) => Promise<T>, longestMs: number): Promise<T> {
    if (this.isHung || this.waiting.length >= WAITING_MAX) return Promise.reject(hungError())
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.waiting.push({
      begin: () => {
        let isGivenUp = false
        const timer = setTimeout(() => {
          isGivenUp = true
          this.hang()
          reject(hungError())
        }, longestMs)
        work(() => isGivenUp)
          .then(resolve, reject)
          .finally(() => {
            clearTimeout(timer)
            this.isBusy = false
            this.isHung = false
            this.next()
          })
      },
      refuse: reject,
    })
    this.next()
    return promise
  }

  private next(): void {
    if (this.isBusy) return
    const task = this.waiting.shift()
    if (task === undefined) return
    this.isBusy = true
    task.begin()
  }

  private hang(): void {
    this.isHung = true
    for (const task of this.waiting.splice(0)) task.refuse(hungError())
  }
}

function hungError(): ObjectStoreError {
  return new ObjectStoreError('away', 'the directory of objects does not answer')
}

/** End of the name of a file that is not whole yet; its name begins with a dot. */
export const UNFINISHED = '.unfinished'

export function isUnfinished(name: string): boolean {
  return name.startsWith('.') && name.endsWith(UNFINISHED)
}

/**
 * The keys below a directory in the order of their bytes. Directories that can hold none of the
 * keys that were asked for are not read.
 */
export async function* listedIn(
  root: string,
  { prefix, after = '' }: Pick<ListQuery, 'prefix' | 'after'>,
  parent = '',
): AsyncGenerator<string> {
  const entries = await readdir(join(root, parent), { withFileTypes: true }).catch(absentAsEmpty)
  const names = entries
    .filter(({ name }) => !isUnfinished(name))
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  for (const name of names) {
    if (name.endsWith('/')) {
      const isNear = name.startsWith(prefix) || prefix.startsWith(name)
      const isBefore = isAfter(after, name) && !after.startsWith(name)
      if (isNear && !isBefore) yield* listedIn(root, { prefix, after }, name)
    } else if (name.startsWith(prefix) && isAfter(name, after)) {
      yield name
    }
  }
}

function isAfter(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) > 0
}

/** A directory that has gone meanwhile. */
function absentAsEmpty(error: unknown): [] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
  throw error
}

interface FileFacts {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

/** Returns what a store of files says of one. Its version changes with the file. */
export function makeInfo(key: string, { size, mtimeMs, ino }: FileFacts): ObjectInfo {
  return { key, bytes: size, version: `${ino}-${size}-${mtimeMs}` }
}
