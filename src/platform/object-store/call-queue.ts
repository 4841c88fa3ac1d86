import { ObjectStoreError } from './object-store.ts'

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
