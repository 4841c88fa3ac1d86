import { describe, expect, test } from 'vitest'
import { readBelongings } from '../../../support/scenarios/belongings.ts'
import { schemathesisPath } from '../../../support/servers/programs.ts'
import { type FuzzedService, runSchemathesis } from '../../../support/servers/schemathesis.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

/** Both runs together take three minutes on a machine that is free. */
const RUN_TIMEOUT_MS = 1_800_000
const FIXED_SEED = 20261124
const randomSeed = Math.floor(Math.random() * 2 ** 31)

// A fuzzer that others wrote finds what ours does not: it makes requests from the document alone.
describe.skipIf(schemathesisPath() === null)('Schemathesis, over the whole document', () => {
  test.concurrent.each([
    ['a fixed seed', FIXED_SEED],
    ['a random seed', randomSeed],
  ])(
    'finds no answer that the document does not have, with %s',
    async (_name, seed) => {
      const service = await TestService.start(backends.at(-1) ?? expect.fail('there is a database'))
      try {
        const run = { seed, requestsMax: 20 }
        const { code, output, requests } = await runSchemathesis(await readFuzzed(service), run)
        expect(code, `seed ${seed}: ${output}`).toBe(0)
        expect(requests).toBeGreaterThan(5_000)
      } finally {
        await service.close()
      }
    },
    RUN_TIMEOUT_MS,
  )
})

async function readFuzzed(service: TestService): Promise<FuzzedService> {
  const team = await Team.of(service)
  const account = { name: 'fuzzer', role: 'admin' }
  const { token } = await team.done('POST', '/v1/service-accounts', account)
  const ids = await readBelongings(team, 'Fuzzed')
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 })
  return { url, token, key: team.key, ids }
}
