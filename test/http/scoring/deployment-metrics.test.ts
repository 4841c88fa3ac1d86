import { expect, onTestFinished, test } from 'vitest'
import { firstBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const NAME = 'scoreline_deployment_values_total'

async function startWith(env: Readonly<Record<string, string>>) {
  const service = await TestService.start(firstBackend, { env })
  onTestFinished(() => service.close())
  const team = await Team.of(service)
  const slugs: string[] = []
  for (const number of [1, 2, 3]) {
    const { slug } = await team.deploy(numberedSpec(number))
    slugs.push(slug)
    await team.score(slug, { income: 'a text' })
  }
  await team.scoreBatch(slugs[0] ?? '', [{ income: 1 }, { income: 2 }])
  const text = (await service.call({ method: 'GET', url: '/metrics' })).body
  return { slugs, lines: text.split('\n').filter((line) => line.startsWith(NAME)) }
}

// One broken client of thirty is too few to see in the sum over all deployments.
test('values are counted by deployment up to a bound, and together beyond it', async () => {
  const { slugs, lines } = await startWith({ METRICS_DEPLOYMENTS: '1' })
  const [first] = slugs
  expect(lines).toHaveLength(10)
  expect(lines).toContain(`${NAME}{deployment="${first}",outcome="matched"} 2`)
  expect(lines).toContain(`${NAME}{deployment="${first}",outcome="not_a_number"} 1`)
  expect(lines).toContain(`${NAME}{deployment="other",outcome="not_a_number"} 2`)
})

test('no deployment is named unless the operator wants it', async () => {
  const { lines } = await startWith({})
  expect(lines).toEqual([])
})
