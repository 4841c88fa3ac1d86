import { parentPort } from 'node:worker_threads'

/** Message that ends a thread after its current work. */
export const END = 'end'
/** Message of a thread that the database did not answer in time. */
export const SILENT = 'silent'

/** A message to a thread; without an id nobody waits for a reply. */
export interface Sent<Message> {
  readonly id: number | null
  readonly message: Message
}

export interface Replied<Reply> {
  readonly id: number
  readonly reply: Reply
}

interface AnswerOptions<Reply> {
  /** Finds the memory that leaves the thread with a reply; by default none. */
  readonly movedWith?: (reply: Reply) => readonly ArrayBuffer[]
  readonly onEnd?: () => Promise<void>
}

/**
 * Answers the calls of the `WorkerThread` that started this thread. Those that come meanwhile are
 * answered beside them. What `answer` throws ends the thread.
 */
export function answerCalls<Message, Reply>(
  answer: (message: Message) => Reply | Promise<Reply>,
  { movedWith = () => [], onEnd = async () => undefined }: AnswerOptions<Reply> = {},
): void {
  parentPort?.on('message', async (sent: Sent<Message> | typeof END) => {
    if (sent === END) {
      await onEnd()
      parentPort?.close()
      return
    }
    const { id, message } = sent
    const reply = await answer(message)
    if (id !== null)
      parentPort?.postMessage({ id, reply } satisfies Replied<Reply>, movedWith(reply))
  })
  // A message that can't be read is lost: whoever waits for its reply learns of the end.
  parentPort?.on('messageerror', (error) => {
    throw error
  })
}
