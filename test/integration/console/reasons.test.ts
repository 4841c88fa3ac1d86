import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { explainedCard, type SampleReasons } from '../../../src/cli/demo/explained-card.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { stepCard } from '../../support/cards/reason-cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
/** Where pictures of the pages go, for a person to look at. */
const PICTURES = process.env['SCORELINE_TEST_PICTURES']
const REASONS = new URL('../../../src/cli/demo/german-credit/reasons.json', import.meta.url)

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)
  let visitor: ConsolePage
  let page: Page
  let slug: string
  let modelId: string
  let card: { version: string }

  beforeAll(async () => {
    const reasons = JSON.parse(readFileSync(REASONS, 'utf8')) as SampleReasons
    const codes = { ...reasons.reason_codes, R13: { en: 'Instalments in relation to income' } }
    card = explainedCard(sampleSpec(), { ...reasons, reason_codes: codes })
    const deployed = await team.deploy(card)
    slug = deployed.slug
    modelId = deployed.modelId
    visitor = await browser.signIn()
    page = visitor.page
  })
  afterAll(() => visitor?.close())

  /** Looks at the page in both colours and at three widths. */
  async function looksRight(name: string): Promise<void> {
    expect(await visitor.violations()).toEqual([])
    for (const [colorScheme, width] of [
      ['light', 1440],
      ['dark', 1440],
      ['light', 320],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
      expect(await visitor.violations({ rule: 'color-contrast' })).toEqual([])
      if (PICTURES === undefined) continue
      mkdirSync(PICTURES, { recursive: true })
      const path = join(PICTURES, `${name}-${colorScheme}-${width}.png`)
      await page.screenshot({ path, fullPage: true })
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
  }

  const queryRows = (name: string) =>
    page.getByRole('table', { name, exact: true }).getByRole('row').allInnerTexts()

  // Whoever answers an applicant must find what to write, in the applicant's language.
  test('a declined score has its reasons, what would have changed it, and a letter', async () => {
    const declined = sampleApplicants().find(({ score }) => score < 420)
    const { request_id: requestId } = await team.score(slug, declined?.applicant ?? {})
    await visitor.go(`scores/${requestId}`)
    await visitor.sees('1. Duration of the credit')
    expect(await queryRows('Reasons')).toHaveLength(1 + 4)
    await visitor.sees('average points of the development sample, 1,000 applications')
    // The baseline, each feature, the score.
    await page.locator('summary', { hasText: 'Against the baseline' }).click()
    expect(await queryRows('Points against the baseline')).toHaveLength(1 + 2 + 13)
    await page.getByText('Your score was 356').waitFor()
    await visitor.sees('The score is 64 points away from grade C.')
    await page.getByLabel('Score to reach').fill('600')
    await visitor.press('Show')
    await visitor.sees('These changes together would have reached it')
    await page.getByLabel('Language of texts').selectOption('de')
    await visitor.sees('1. Laufzeit des Kredits')
    await page.getByText('Dies waren die Hauptgründe').waitFor()
    await page.locator('summary', { hasText: 'The score with each other bin' }).click()
    await looksRight('explanation')
  })

  test('a kept letter that can’t be read is named, and is not written back', async () => {
    const { request_id: requestId } = await team.score(slug, {})
    await page.evaluate("localStorage.setItem('scoreline.letter', '{half')")
    await visitor.go(`scores/${requestId}`)
    await visitor.sees('can’t be read, so the standard is shown')
    await page.getByText('Dear applicant').first().waitFor()
    await looksRight('letter-unreadable')
    await page.getByLabel('Lender', { exact: true }).fill('A bank')
    await page.getByText('can’t be read').waitFor({ state: 'detached' })
    const kept = await page.evaluate("localStorage.getItem('scoreline.letter')")
    expect(kept).toBe('{"lender":"A bank"}')
  })

  test('the page of a model shows its codes, and which text is missing', async () => {
    await visitor.go(`models/${modelId}`)
    await visitor.sees('A text is missing: R13 (de).')
    const rows = await queryRows('Reason codes')
    expect(rows).toHaveLength(1 + 13)
    expect(rows[10]).toContain('Laufzeit des Kredits')
    expect(rows[13]).toContain('missing')
    await looksRight('model-reasons')
  })

  test('a trial shows its reasons', async () => {
    await visitor.go(`deployments/${slug}/try`)
    await page.getByLabel('Language of texts').selectOption('de')
    await visitor.press('Fill in an example')
    await visitor.press('Score')
    await visitor.heading('Reasons')
    const german = /Guthaben|Laufzeit|Dauer|Bisherige|Alter/
    await page.getByRole('listitem').getByText(german).first().waitFor()
    await looksRight('trial-reasons')
  })

  test('reasons of a period are counted by grade', async () => {
    const some = sampleApplicants().slice(0, 200)
    const { slug: counted } = await team.deploy({ ...card, version: '2.0.0' })
    await team.scoreBatch(
      counted,
      some.map(({ applicant }) => applicant),
    )
    await statsWith(service, team.key, counted, 200)
    await visitor.go(`deployments/${counted}`)
    await page.getByRole('link', { name: 'Reasons', exact: true }).click()
    await visitor.sees('200 answers; 0 of them have no adverse factor')
    const rows = await queryRows('Reasons by grade')
    expect(rows[0]).toMatch(/In A.*In B.*In C.*In D.*In E/s)
    expect(rows.length).toBeGreaterThan(10)
    await visitor.sees('No baselines yet')
    await page.getByLabel('Language of texts').selectOption('de')
    expect((await queryRows('Reasons by grade')).join()).toContain('Guthaben auf dem Girokonto')
    await looksRight('reasons-by-grade')
  })

  test('a baseline is made from a period and put in force', async () => {
    const steps = await team.deploy(stepCard({ method: 'mean_at_cutoff' }))
    for (const a of [0, 1, 2]) await team.score(steps.slug, { a, b: 1 })
    await statsWith(service, team.key, steps.slug, 3)
    await visitor.go(`deployments/${steps.slug}/reasons`)
    await visitor.sees('3 answers have no reasons, because no baseline was in force')
    await visitor.sees('No baselines yet')
    await visitor.press('Make a baseline')
    await page.getByLabel('Cut-off', { exact: true }).fill('120')
    await visitor.press('Make it')
    await visitor.sees('min_population is 200')
    await page.getByLabel('Fewest applicants').fill('1')
    expect(await visitor.violations({ within: 'dialog' })).toEqual([])
    await visitor.press('Make it')
    await visitor.sees('(cut-off 120, 10 points)')
    await page.getByRole('button', { name: 'Put the baseline' }).click()
    await page.getByText('in force', { exact: true }).waitFor()
    await looksRight('baselines')
    const answer = await service.call({
      url: `/v1/score/${steps.slug}?reasons=4`,
      token: team.key,
      body: { a: 0, b: 0 },
    })
    expect(answer.json().reason_method).toMatchObject({ cutoff: 120, population_n: 2 })
  })
})
