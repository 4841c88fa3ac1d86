import { describe, expect, test, vi } from 'vitest'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  // A challenger that is judged without its own features is judged wrongly.
  test('reports on a challenger say of how many applicants it missed which feature', async () => {
    const { slug } = await team.deploy(card([plainFeature('income')], { version: '1.0' }))
    await team.shadow(slug, true)
    const wide = card(['income', 'rent', 'age'].map(plainFeature), { version: '2.0' })
    const { id } = await team.challenge(slug, wide, 10)
    const { id: whole } = await team.challenge(
      slug,
      card([plainFeature('income')], { version: '3.0' }),
      10,
    )
    const records = Array.from({ length: 12 }, (_, index) => ({
      id: `A-${index}`,
      income: index,
      ...(index % 4 === 0 && { rent: 1 }),
      ...(index % 3 !== 0 && { age: 40 }),
    }))
    await team.scoreBatch(slug, records)
    const missing_features = [
      { name: 'rent', n: 9 },
      { name: 'age', n: 4 },
    ]
    const at = (report: string, challenger: string) =>
      team.done('GET', `/v1/deployments/${slug}/${report}challenger_id=${challenger}`)
    await vi.waitFor(async () => {
      expect(await at('migration?', id)).toMatchObject({ n: 12, missing_features })
    }, 40_000)
    expect(await at('swap-set?cutoff=100&', id)).toMatchObject({ n: 12, missing_features })
    expect(await at('migration?', whole)).not.toHaveProperty('missing_features')
    expect(await at('swap-set?cutoff=100&', whole)).not.toHaveProperty('missing_features')
  })
})
