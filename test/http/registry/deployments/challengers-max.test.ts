import { describe, expect, test } from 'vitest'
import { formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

// What is decided from is the same on each database.
describe.each(backends.slice(-1))('on $name', (backend) => {
  test('an eleventh challenger is refused by both families of paths', async () => {
    const { service, team } = await TwoTeams.start(backend)
    try {
      const { slug } = await team.deploy(numberedSpec(1))
      for (let version = 2; version <= 11; version++)
        await team.challenge(slug, numberedSpec(version), 1)
      const model_id = await team.register(numberedSpec(12))
      const order = { action: 'add_challenger', model_id, traffic_pct: 1 }
      const version = { challenger_version: '12.0', mode: 'shadow', traffic_pct: 1 }
      for (const answer of [
        await team.traffic(slug, order),
        await team.call('POST', `/api/v1/scorecards/${slug}/challengers`, version),
      ]) {
        const { status, error, message } = formatRefusal(answer)
        expect([status, error]).toEqual([422, 'invalid_traffic_config'])
        expect(message).toContain('at most 10 active challengers')
      }
      expect((await team.deployment(slug)).challengers).toHaveLength(10)
    } finally {
      await service.close()
    }
  })
})
