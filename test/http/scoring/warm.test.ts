import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const SAMPLE = new URL('../../../src/cli/demo/german-credit/', import.meta.url)
const spec = JSON.parse(readFileSync(new URL('spec.json', SAMPLE), 'utf8'))
const [first] = JSON.parse(readFileSync(new URL('applicants.json', SAMPLE), 'utf8'))

/** What keys, deployments and models are read from. */
const ON_THE_WAY = /from "(api_keys|deployments|models|users|challengers)"/
/** Behind them the drain reads the models of its records, all at once. */
const OF_THE_DRAIN = /from "models" where "models"\."id" in \(/

describe.each(backends)('on $name', (backend) => {
  const statements: string[] = []
  let service: TestService

  beforeAll(async () => {
    service = await TestService.start(backend, {
      // Behind the requests the score log is drained and kept up: that is not part of their way.
      onQuery: (statement) => {
        if (ON_THE_WAY.test(statement) && !OF_THE_DRAIN.test(statement)) statements.push(statement)
      },
    })
  })
  afterAll(() => service.close())

  // A database on the way of every score would set its latency and its uptime.
  test('a warm score makes no database query, single or batch, in either form', async () => {
    const owner = await service.signIn()
    const slug = await service.deploy(owner, spec)
    const key = await service.createKey(owner)
    const { applicant } = first
    const calls = [
      { url: `/v1/score/${slug}`, body: applicant },
      { url: `/v1/score/${slug}/batch`, body: { records: [applicant, applicant] } },
      { url: '/api/v1/score', body: { scorecard_id: slug, applicant } },
      { url: '/api/v1/score/batch', body: { scorecard_id: slug, applicants: [applicant] } },
    ]
    expect(
      (await service.call({ ...calls[0], url: `/v1/score/${slug}`, token: key })).statusCode,
    ).toBe(200)
    // Key, deployment and model are in memory now, if they were not announced before.
    const before = statements.length

    for (const call of calls) {
      for (let round = 0; round < 25; round++) {
        expect((await service.call({ ...call, token: key })).statusCode).toBe(200)
      }
    }
    expect(statements.length).toBe(before)
  })
})
