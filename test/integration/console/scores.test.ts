import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { provenBy } from '../../support/expect/proofs.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'
import { ROOT } from '../../support/structure/documents.ts'

const [backend = expect.fail('there is a database')] = backends
/** Where pictures of the pages go, for a person to look at. */
const PICTURES = process.env['SCORELINE_TEST_PICTURES']

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)
  let visitor: ConsolePage
  let page: Page
  let slug: string

  beforeAll(async () => {
    const champion = sampleSpec()
    slug = (await team.deploy(champion)).slug
    const successor = { ...champion, version: '1.1.0', base_points: 470 }
    await team.challenge(slug, successor, 20)
    await team.shadow(slug, true)
    visitor = await browser.signIn()
    page = visitor.page
  })
  afterAll(() => visitor?.close())

  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return
    mkdirSync(PICTURES, { recursive: true })
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
  }

  const find = async (text: string) => {
    await page.getByLabel('Request id, or any part of a reference').fill(text)
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
    await visitor.heading('Why this score')
    await visitor.sees('answered')
    const points = (version: string) =>
      page.getByRole('region', {
        name: `Points of each feature in ${answer.model_name} ${version}`,
      })
    const champion = points('1.0.0')
    await champion.getByText('unseen category').waitFor()
    const rows = await champion.getByRole('row').allInnerTexts()
    expect(rows).toHaveLength(2 + 1 + Object.keys(answer.contributions).length)
    await points('1.1.0').waitFor()
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
    await team.scoreBatch(slug, body)
    await statsWith(service, team.key, slug, 3)
    await visitor.go('scores')
    await find(id)
    expect(new URL(page.url()).searchParams.get('reference')).toBe(id)
    await picture('scores-found')
    await page.getByRole('link', { name: id, exact: true }).click()
    await visitor.sees('Record 1 of 3')
    await page.getByRole('link', { name: 'Next' }).click()
    await visitor.sees('Record 2 of 3')
    await visitor.sees(`${id}1`)
    await picture('score-of-batch')
    // Somebody on the telephone has a part of the number, in capitals or not.
    await visitor.go('scores')
    await find('a-1/Ü 100 %1')
    await visitor.sees('These references contain it')
    await page.getByRole('link', { name: `${id}1`, exact: true }).waitFor()
    await visitor.go('scores')
    await find('nothing has this')
    await visitor.sees('No score has this reference')
  })

  test('an owner exports the log of a day as a file', async () => {
    await team.score(slug, sampleApplicants()[0]?.applicant ?? {})
    await visitor.go('proofs')
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

  // Whoever doubts a decision checks it, and hands the file to somebody who trusts nobody here.
  test('a record is proved unaltered, and its file convinces the offline verifier', async () => {
    const answer = await team.score(slug, sampleApplicants()[1]?.applicant ?? {})
    await provenBy(team, answer.request_id)
    await visitor.go(`scores/${answer.request_id}`)
    await visitor.press('Prove that it is unaltered')
    await visitor.sees('Recomputed to the bit')
    await visitor.sees('is signed with the key of this service')
    await page.getByText('Unaltered', { exact: true }).waitFor()
    const downloaded = page.waitForEvent('download')
    await visitor.press('Download the evidence')
    const path = await (await downloaded).path()
    const { key } = await team.done('GET', '/v1/log/key')
    const verifier = join(ROOT, 'docs/verify-proof.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [verifier, path, key])
    expect(stdout).toContain(answer.request_id)
    await picture('proof')
    expect(await visitor.violations()).toEqual([])
  })

  test('a request that the log lacks is told as such', async () => {
    await visitor.go('scores/req_0VLGkC4wLq8OzTn3HsAj9e')
    await visitor.sees('has no such score')
  })
})
