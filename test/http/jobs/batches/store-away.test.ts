import { expect, onTestFinished, test, vi } from 'vitest'
import { firstBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

// Without its store no batch begins, and nothing else would tell the operator.
test('a start without the store of batches is counted as a failure', async () => {
  const service = await TestService.start(firstBackend, {
    env: { BATCH_STORE: 'file:///nowhere/at/all' },
  })
  onTestFinished(() => service.close())
  await vi.waitFor(
    async () => {
      const { body } = await service.call({ method: 'GET', url: '/metrics' })
      expect(body).toMatch(/^scoreline_batch_upkeep_failures_total [1-9]/m)
    },
    { timeout: 30_000, interval: 100 },
  )
})
