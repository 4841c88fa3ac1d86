import { beforeAll, describe, expect, test } from 'vitest'
import { BatchCaller } from '../../support/batches/batches.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const TWICE = '"income":-1,"income":1,"income":-1'
/** What `numberedSpec(1)` gives to an income of -1. */
const SCORE = 1001
const WARNINGS = ['repeated_name: income', 'repeated_name: income']

// JSON.parse takes the last of two values with one name without a word.
describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let slug: string

  beforeAll(async () => {
    slug = (await team.deploy(numberedSpec(1))).slug
  })

  const sent = async (url: string, body: string, token = team.key) => {
    const response = await service.call({ url, token, body })
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }

  test('a name that is said more than once is named in the warnings of its applicant, on every way', async () => {
    const single = await sent(`/v1/score/${slug}`, `{${TWICE}}`)
    expect(single).toMatchObject({ score: SCORE, warnings: WARNINGS })
    const inner = await sent('/api/v1/score', `{"scorecard_id":"${slug}","applicant":{${TWICE}}}`)
    expect(inner).toMatchObject({ score: SCORE, warnings: WARNINGS })
    const trial = await sent(`/v1/deployments/${slug}/trial`, `{${TWICE}}`, team.owner)
    expect(trial).toMatchObject({ score: SCORE, warnings: WARNINGS })
    const records = `{"records":[{"income":-1},{${TWICE}},{"income":1,"id":"12:30"}]}`
    const { results } = await sent(`/v1/score/${slug}/batch`, records)
    expect(results.map(({ warnings }: { warnings: unknown }) => warnings)).toEqual([
      [],
      WARNINGS,
      [],
    ])
  })

  // The first list would be lost without a word.
  test('names that a batch says more than once are named in the warnings of each record', async () => {
    const lists = (name: string) => `"${name}":[{"income":1}],"${name}":[{"income":-1},{${TWICE}}]`
    const warned = ({ results }: { results: { warnings: unknown }[] }, name: string) =>
      expect(results.map(({ warnings }) => warnings)).toEqual([
        [`repeated_name: ${name}`],
        [`repeated_name: ${name}`, ...WARNINGS],
      ])
    warned(await sent(`/v1/score/${slug}/batch`, `{${lists('records')}}`), 'records')
    const body = `{"scorecard_id":"${slug}",${lists('applicants')}}`
    warned(await sent('/api/v1/score/batch', body), 'applicants')
  })

  test('a file of applicants counts them as warned, and scores the last value', async () => {
    const file = `{${TWICE}}\n{"income":-1}\n`
    const { counts } = await new BatchCaller(service, team.key).score(slug, file, {
      format: 'ndjson',
    })
    expect(counts).toMatchObject({ scored: 2, warned: 1 })
  })
})
