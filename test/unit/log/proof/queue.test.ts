import { expect, test } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import type { UserCaller } from '../../../../src/http/access/caller.ts'
import { ProofService } from '../../../../src/log/proof/service.ts'
import { newId } from '../../../../src/platform/ids.ts'

const CALLER: UserCaller = { kind: 'user', userId: 'usr_1', teamId: 'team_1', role: 'viewer' }

// Each proof decodes a block and hashes it: without a bound, a loop of one reader stops all scores.
test('two proofs are made at a time, eight wait, and the next is refused', async () => {
  const opened: (() => void)[] = []
  const blocks = {
    async *blocksAt() {
      await new Promise<void>((resolve) => opened.push(resolve))
    },
  }
  const reading = { get: async () => ({ request: { isBatch: false, engineVersion: '1' } }) }
  const proofs = new ProofService({ reading, blocks } as never)
  const messages: string[] = []
  const prove = () =>
    proofs.prove(CALLER, newId('req_', 0), undefined).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== 'unavailable') throw error
      messages.push(error.message)
    })
  const running = Array.from({ length: 10 }, prove)
  await prove()
  expect(messages).toEqual(['the service has too much to do at the moment: try again in a minute'])
  expect(opened).toHaveLength(2)
  for (let done = 0; done < 10; done++) {
    await expect.poll(() => opened.length).toBeGreaterThan(done)
    opened[done]?.()
  }
  await Promise.all(running)
  expect(messages).toHaveLength(11)
  expect(new Set(messages).size).toBe(2)
})
