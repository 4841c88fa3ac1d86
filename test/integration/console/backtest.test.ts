import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)
  let visitor: ConsolePage
  let slug: string

  beforeAll(async () => {
    slug = (await team.deploy(sampleSpec())).slug
    const applicants = sampleApplicants().slice(0, 50)
    const { request_id } = await team.scoreBatch(
      slug,
      applicants.map(({ applicant }) => applicant),
    )
    await statsWith(service, team.owner, slug, 50)
    await team.done('PUT', '/v1/outcome-definitions/gb12', {
      label: 'Bad within 12 months',
      window_months: 12,
      bad_rule_text: '90 days past due',
      maturity_months: 12,
    })
    const outcomes = applicants.map((_, record_index) => ({
      request_id,
      record_index,
      kind: 'performance',
      definition: 'gb12',
      as_of: '2026-06-30',
      outcome: record_index % 3 === 0 ? 'bad' : 'good',
    }))
    await team.done('POST', '/v1/outcomes', { outcomes })
    visitor = await browser.signIn()
  })
  afterAll(() => visitor?.close())

  // A modeler must see what a card would have done before anyone registers it.
  test('a card from a file is tried on logged applicants, and what it would have done is shown', async () => {
    const { page } = visitor
    await visitor.go('models')
    await page.getByRole('link', { name: 'Backtest a card' }).click()
    await visitor.heading('Backtest')
    const spec = { ...sampleSpec(), version: '2', base_points: 300 }
    await page.getByLabel('Scorecard').setInputFiles({
      name: 'candidate.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(spec)),
    })
    await page.getByLabel('Deployment').selectOption(slug)
    await page.getByLabel('Cut-off (optional)').fill('480')
    await page.getByLabel('Against outcomes (optional)').selectOption('gb12')
    await visitor.press('Backtest')
    await visitor.sees('Exact scores')
    await visitor.sees('100.0 %')
    const swaps = page.getByRole('table', { name: 'Swap set' })
    await expect.poll(() => swaps.getByRole('row').count()).toBe(6)
    await visitor.sees('Only the present card approves')
    await visitor.sees('Against known outcomes')
    await visitor.sees('17 bad, of 50 applicants')
    await visitor.sees('Gini of the present card')
    // A link shows a colleague the same.
    await page.reload()
    await visitor.sees('17 bad, of 50 applicants')
    await visitor.sees('Gini of the present card')
    expect(await visitor.violations()).toEqual([])
    await page.setViewportSize({ width: 320, height: 800 })
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
  })
})
