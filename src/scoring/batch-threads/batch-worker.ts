import { answerCalls } from '../../platform/worker-thread.ts'
import { BatchScorer } from './batch-scorer.ts'
import type { BatchMessage, BatchReply } from './messages.ts'

const scorer = new BatchScorer()

answerCalls(answer, {
  movedWith: (reply) =>
    typeof reply === 'object' && reply !== null && 'memory' in reply
      ? [reply.memory, reply.rows.buffer]
      : [],
})

async function answer(message: BatchMessage): Promise<BatchReply> {
  const { kind } = message
  if (kind === 'score') return scorer.score(message.heldId, message.order)
  if (kind === 'hold') scorer.hold(message)
  else if (kind === 'drop') scorer.drop(message.heldId)
  else scorer.giveBack(message.memory)
  return null
}
