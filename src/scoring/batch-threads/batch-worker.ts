import { parentPort } from 'node:worker_threads'
import { END } from '../../platform/worker-thread.ts'
import { BatchScorer } from './batch-scorer.ts'
import type { BatchMessage, BatchReply } from './messages.ts'

const scorer = new BatchScorer()

parentPort?.on('message', async (message: BatchMessage | typeof END) => {
  if (message === END) {
    parentPort?.close()
    return
  }
  const { kind } = message
  if (kind === 'hold') scorer.hold(message)
  else if (kind === 'drop') scorer.drop(message.heldId)
  else if (kind === 'memory') scorer.giveBack(message.memory)
  else {
    const { id, heldId, order } = message
    const outcome = await scorer.score(heldId, order)
    const isDone = typeof outcome === 'object' && 'memory' in outcome
    const moved = isDone ? [outcome.memory, outcome.rows.buffer] : []
    parentPort?.postMessage({ id, outcome } satisfies BatchReply, moved)
  }
})
// A message that can't be read is lost: the thread ends, and its batches are scored elsewhere.
parentPort?.on('messageerror', (error) => {
  throw error
})
