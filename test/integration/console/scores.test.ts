import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
/** Where pictures of the pages go, for a person to look at. */
const PICTURES = process.env['SCORELINE_TEST_PICTURES']

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let visitor: ConsolePage
  let page: Page
  let slug: string

  beforeAll(async () => {
    service = await TestService.start(backend)
    team = await Team.of(service)
    const champion = sampleSpec()
    slug = (await team.deploy(champion)).slug
    const successor = { ...champion, version: '1.1.0', base_points: 470 }
    await team.challenge(slug, successor, 20)
    await team.shadow(slug, true)
    browser = await ConsoleBrowser.start(service)
    visitor = await browser.signIn()
    page = visitor.page
  })
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    await service?.close()
  })

  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return
    mkdirSync(PICTURES, { recursive: true })
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
  }

  const find = async (text: string) => {
    await page.getByLabel('Request id or reference').fill(text)
    await visitor.press('Find')
  }

  // An applicant asks why: whoever answers must find the score and see what made it.
  test('a score is found by its request, with every model and the points of each feature', async () => {
    const [{ applicant } = expect.fail('the sample has applicants')] = sampleApplicants()
    const { purpose: _purpose, ...others } = applicant
    const answer = await team.score(slug, { ...others, purpose: 'space travel' })
    await visitor.go('scores')
    await visitor.sees('Which score?')
    await picture('scores')
    await find(answer.request_id)
    await visitor.heading('Score')
    await visitor.sees('answered')
    const champion = page.getByRole('region', { name: `${answer.model_name} 1.0.0`, exact: true })
    await champion.getByText('unseen category').waitFor()
    const rows = await champion.getByRole('row').allInnerTexts()
    expect(rows).toHaveLength(2 + 1 + Object.keys(answer.contributions).length)
    await page.getByRole('region', { name: `${answer.model_name} 1.1.0`, exact: true }).waitFor()
    await visitor.sees('key of a test')
    await picture('score')
    expect(await visitor.violations()).toEqual([])
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
    await page.setViewportSize({ width: 390, height: 800 })
    await picture('score-narrow')
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('scores are found by a reference with any characters, and lead to their record', async () => {
    const records = sampleApplicants().slice(0, 3)
    const id = 'A-1/ü 100 %'
    const body = records.map(({ applicant }, index) => ({
      ...applicant,
      id: `${id}${index || ''}`,
    }))
    const answer = await team.scoreBatch(slug, body)
    await statsWith(service, team.key, slug, 3)
    await visitor.go('scores')
    await find(id)
    await visitor.heading(`Scores of ${id}`)
    await picture('scores-found')
    await page.getByRole('link', { name: answer.request_id }).click()
    await visitor.sees('Record 1 of 3')
    await page.getByRole('link', { name: 'Next' }).click()
    await visitor.sees('Record 2 of 3')
    await visitor.sees(`${id}1`)
    await picture('score-of-batch')
    await visitor.go('scores')
    await find('nothing has this')
    await visitor.sees('No score has this reference')
  })

  test('an owner exports the log of a day as a file', async () => {
    await team.score(slug, sampleApplicants()[0]?.applicant ?? {})
    await visitor.go('scores')
    await visitor.heading('Export')
    await picture('scores-export')
    expect(await visitor.violations()).toEqual([])
    const downloaded = page.waitForEvent('download')
    await visitor.press('Export')
    const download = await downloaded
    const today = new Date().toISOString().slice(0, 10)
    expect(download.suggestedFilename()).toBe(`score-log-${today}-to-${today}.csv`)
    const [head, ...rows] = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n')
    expect(head).toMatch(/^request_id,/)
    expect(rows.length).toBeGreaterThan(1)
  })

  test('a request that the log lacks is told as such', async () => {
    await visitor.go('scores/req_0VLGkC4wLq8OzTn3HsAj9e')
    await visitor.sees('has no such score')
  })
})
