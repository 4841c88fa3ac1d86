import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { ShiftedClock } from '../../support/start/shifted-clock.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
/** Where pictures of the pages go, for a person to look at. */
const PICTURES = process.env['SCORELINE_TEST_PICTURES']

const DEBT = numeric('debt', [
  ['(-Infinity, 10]', 30],
  ['(10, Infinity)', -30],
])

/** A card of 500 points; the grade is A from 520 on. */
const loans = (version: string, regions: readonly (readonly [string, number])[]) =>
  card([categorical('region', regions), DEBT], {
    name: 'Loans',
    version,
    base_points: 500,
    risk_grades: [
      { grade: 'A', min_score: 520, max_score: null },
      { grade: 'B', min_score: null, max_score: 520 },
    ],
  })
const CHAMPION = loans('1.0', [
  ['north', 20],
  ['south', -20],
  ['Missing', -7],
])
/** Exchanges the regions, and knows one more. */
const CHALLENGER = loans('2.0', [
  ['north', -20],
  ['south', 20],
  ['boat', 4],
  ['Missing', -7],
])

const BIN_COUNTS = {
  region: { bins: [500, 500, 0] },
  debt: { bins: [500, 500] },
}
const band = (min: number | null, max: number | null) => ({ min, max, n: 250 })
const SCORE_BANDS = [band(null, 470), band(470, 500), band(500, 530), band(530, null)]

/** Number, region, debt; with the scores of the champion and of the challenger. */
const APPLICANTS = [
  [80, 'south', 20], // 450, 490
  [20, 'north', 20], // 490, 450
  [80, 'south', 5], // 510, 550
  [20, 'north', 5], // 550, 510
  [40, 'boat', 20], // 463, 474
] as const

const DAY_MS = 86_400_000

/** A page answers in its own time. */
const poll = <T>(read: () => Promise<T>) => expect.poll(read)

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let visitor: ConsolePage
  let slug: string
  /** A deployment with counts of bins only, whose challenger was promoted. */
  let promoted: string
  /** A deployment that scored many applicants yesterday, and few today. */
  let daily: string

  /** Deploys the champion with a challenger in shadow mode, and scores. */
  async function scored(times: (number: number) => number, counts: object) {
    const { slug: found, modelId } = await team.deploy(CHAMPION)
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts })
    const { id } = await team.challenge(found, CHALLENGER, 10)
    await team.shadow(found, true)
    const records = APPLICANTS.flatMap(([number, region, debt]) =>
      Array.from({ length: times(number) }, () => ({ region, debt })),
    )
    await team.scoreBatch(found, records)
    await statsWith(service, team.owner, found, records.length)
    return { slug: found, challengerId: id }
  }

  /** Scores 150 applicants of the north with little debt yesterday, and 3 of the south today. */
  async function scoredDaily(clock: ShiftedClock, counts: object) {
    const { slug: found, modelId } = await team.deploy(CHAMPION)
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts })
    const of = (region: string, debts: readonly number[]) => debts.map((debt) => ({ region, debt }))
    clock.backMs = DAY_MS
    await team.scoreBatch(found, of('north', Array(150).fill(5)))
    await statsWith(service, team.owner, found, 150)
    clock.backMs = 0
    await team.scoreBatch(found, of('south', [5, 5, 20]))
    await statsWith(service, team.owner, found, 153)
    return found
  }

  beforeAll(async () => {
    const clock = new ShiftedClock()
    service = await TestService.start(backend, { clock })
    team = await Team.of(service)
    const all = { features: BIN_COUNTS, score_bands: SCORE_BANDS }
    daily = await scoredDaily(clock, all)
    // A week ago is always in the newest complete week, which the overview judges.
    clock.backMs = 7 * DAY_MS
    slug = (await scored((number) => number, all)).slug
    clock.backMs = 0
    await team.done('PUT', `/v1/deployments/${slug}/stability/alarm`, { n_min: 100 })
    await service.services.evaluator.periodic.runOnce()
    await service.services.overviewMaker.periodic.runOnce()
    const second = await scored((number) => number / 20, { features: BIN_COUNTS })
    promoted = second.slug
    await team.promote(promoted, second.challengerId)
    browser = await ConsoleBrowser.start(service)
    visitor = await browser.signIn()
  })
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    await service?.close()
  })

  /** What stands below a name. */
  const fact = async (name: string) => {
    const named = visitor.page.getByRole('term').getByText(name, { exact: true })
    const found = visitor.page.locator('dl.facts > div').filter({ has: named })
    return (await found.getByRole('definition').innerText()).replace(/\s+/g, ' ')
  }
  const table = (name: string) => visitor.page.getByRole('table', { name, exact: true })
  const figure = (name: string) => visitor.page.getByRole('figure', { name, exact: true })
  const cellsIn = async (rows: Locator, row: string) => {
    const named = visitor.page.getByRole('rowheader', { name: row, exact: true })
    const cells = await rows.filter({ has: named }).getByRole('cell').allInnerTexts()
    return cells.map((text) => text.replace(/\s+/g, ' ').trim())
  }
  const readCells = (name: string, row: string) => cellsIn(table(name).getByRole('row'), row)
  /** A row of the table behind a chart. */
  const behind = (name: string, row: string) => cellsIn(figure(name).getByRole('row'), row)
  const pageFacts = () => visitor.page.locator('.page-facts').innerText()
  const today = new Date().toISOString().slice(0, 10)
  const features = async () =>
    (await table('Features, most moved first').getByRole('rowheader').allInnerTexts()).map((name) =>
      name.trim(),
    )
  const shortDay = (ms: number) =>
    new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

  /** Looks at the page as it is: access, and widths, with pictures for a person. */
  async function looksRight(name: string) {
    const { page } = visitor
    expect(await visitor.violations()).toEqual([])
    const found: string[] = []
    for (const width of [320, 360, 1440]) {
      await page.setViewportSize({ width, height: 900 })
      const overflowPx = await visitor.overflowPx()
      if (overflowPx > 0) found.push(`${width} pixels by ${overflowPx}`)
      if (PICTURES === undefined || width === 360) continue
      mkdirSync(PICTURES, { recursive: true })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.waitForTimeout(300)
        const path = join(PICTURES, `${name}-${width}-${colorScheme}.png`)
        await page.screenshot({ path, fullPage: true })
      }
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(found).toEqual([])
  }

  // Shares of the bands 1/2, 1/12, 1/3, 1/12 against 1/4 each: an index of 0.5635. South has 160
  // of the 200 whose region the sample knows: 0.3 ln 2.5 + 0.3 ln 1.6 = 0.4159.
  test('the health of a deployment is a light with its figures, and two clicks lead to what moved', async () => {
    const { page } = visitor
    await visitor.go('')
    const row = page.getByRole('row').filter({ has: page.locator(`a[href$="/${slug}"]`) })
    await row.locator('.sparkline circle').first().waitFor()
    // The levels of an alarm are its own, so the usual one is not drawn.
    expect(await row.locator('.sparkline .level').count()).toBe(0)
    await visitor.go(`deployments/${slug}`)
    await visitor.heading('Models and traffic')
    const conclusion = page.locator('.conclusion')
    await conclusion.getByText('Act', { exact: true }).waitFor({ state: 'attached' })
    expect(await conclusion.innerText()).toMatch(
      /Moved: Region since .+ \(0\.4159\); PSI of the score 0\.5635\./,
    )
    expect(await fact('Applicants of the week')).toBe('240')
    expect(await fact('PSI of the week')).toMatch(/^0\.5635 chance explains up to 0\.0\d+$/)
    expect(await fact('Alarm')).toBe('Major shift last 30 days')
    expect(await pageFacts()).toMatch(/Version 1\.0\s+Week \d+ \w+ – /)
    await looksRight('deployment')
    await page.getByRole('link', { name: 'Stability', exact: true }).click()
    await visitor.sees('Missing or in no bin: Region (16.7 %).')
    expect(await page.getByLabel('Period').inputValue()).toBe('week')
    await visitor.press('Details of Region')
    await table('Bins of Region').waitFor()
    expect(await readCells('Bins of Region', 'south')).toEqual([
      ...['−20', '50.0 %', '80.0 %', '+30.0 pp', '160', '0.1410'],
    ])
  })

  test('the scores stand in a chart beside those of the sample, with number and period', async () => {
    await visitor.go(`deployments/${slug}/stability`)
    const chart = figure('Distribution of the scores')
    await chart.getByText('As a table').click()
    // Half of the applicants are in the lowest band, which has no lower end.
    expect(await behind('Distribution of the scores', 'below 470')).toEqual(['50.0 %', '25.0 %'])
    expect(await behind('Distribution of the scores', '530')).toEqual(['8.3 %', '25.0 %'])
    expect(await fact('Applicants')).toBe('240')
    expect(await fact('Development sample')).toBe('1,000')
    expect(await fact('PSI of the score')).toBe('0.5635')
    expect(await pageFacts()).toMatch(/Period: \d+ \w+ – \d+ \w+ \d+/)
    await looksRight('stability')
  })

  test('any feature is charted, and the bins of one interval stand behind its point', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${daily}/stability?period=all&by=day`)
    const feature = page.getByLabel('Feature of the curve')
    await feature.waitFor()
    expect(await feature.locator('option').allInnerTexts()).toEqual(['Region', 'Debt'])
    await feature.selectOption({ label: 'Region' })
    for (const name of ['PSI of Region', 'Applicants']) {
      await figure(name).getByText('As a table').click()
    }
    const [before, last] = [shortDay(Date.now() - DAY_MS), shortDay(Date.now())]
    expect(await behind('Applicants', before)).toEqual(['150'])
    expect(await behind('Applicants', last)).toEqual(['3'])
    expect((await behind('PSI of Region', before))[0]).toMatch(/^\d\.\d{4}$/)
    expect((await behind('PSI of Region', last))[0]).toMatch(/^\d+\.\d{4} \(too few applicants\)$/)
    await visitor.sees('A hollow point has too few applicants for a verdict')
    expect(await figure('PSI of Region').locator('circle.hollow').count()).toBe(1)
    await page.getByLabel('Period').selectOption('Days of my own')
    await page.getByLabel('First day (UTC)').fill(today)
    await page.getByLabel('Last day (UTC)').fill(today)
    await poll(() => fact('Applicants')).toBe('3')
    await visitor.press('Details of Region')
    expect((await readCells('Bins of Region', 'south')).slice(1, 5)).toEqual([
      ...['50.0 %', '100.0 %', '+50.0 pp', '3'],
    ])
    await looksRight('stability-over-time')
  })

  // A drift of yesterday is small over a month, and would stand far below.
  test('features are sorted by the period that is chosen, most moved first', async () => {
    await visitor.go(`deployments/${daily}/stability?period=all`)
    await poll(features).toEqual(['Debt', 'Region'])
    await visitor.go(`deployments/${daily}/stability?period=own&from=${today}&to=${today}`)
    await poll(features).toEqual(['Region', 'Debt'])
  })

  test('a report without room is asked again', async () => {
    const { page } = visitor
    let refused = 0
    const refuse = { status: 503, headers: { 'retry-after': '1' }, json: { error: 'unavailable' } }
    await page.route('**/cutoffs?*', (route) =>
      refused++ === 0 ? route.fulfill(refuse) : route.continue(),
    )
    await visitor.go(`deployments/${slug}/cutoffs`)
    await poll(() => readCells('Present and chosen cut-off', 'Approved')).not.toEqual([])
    expect(refused).toBeGreaterThan(1)
    await page.unroute('**/cutoffs?*')
  })

  test('every chart of a page names its series and has a table of all that it shows', async () => {
    const { page } = visitor
    for (const place of ['', '/stability', '/activity', '/cutoffs']) {
      await visitor.go(`deployments/${slug}${place}`)
      await page.locator('figure.chart').first().waitFor()
      const keys = await page
        .locator('figure.chart')
        .evaluateAll((found) =>
          (found as unknown as { querySelectorAll(name: string): { length: number } }[]).map(
            (chart) => [
              chart.querySelectorAll('.legend .key').length,
              chart.querySelectorAll('thead th').length - 1,
              chart.querySelectorAll('tbody tr').length > 0,
            ],
          ),
        )
      expect(keys.length).toBeGreaterThan(0)
      expect(keys.filter(([series, heads, isFull]) => series !== heads || !isFull)).toEqual([])
    }
  })

  // From 500 on the champion approves 100 of 240, from 520 on 20.
  test('the cut-off follows the slider, with its approval rate', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/cutoffs`)
    const slider = page.getByRole('slider', { name: 'Drag the cut-off' })
    const exact = page.getByLabel('Exact cut-off')
    const then = async (row: string) => (await readCells('Present and chosen cut-off', row))[1]
    await slider.fill('500')
    await poll(() => then('Share approved')).toBe('41.7 %')
    expect(await then('Approved')).toBe('100')
    expect(await exact.inputValue()).toBe('500')
    await slider.fill('519')
    await slider.press('ArrowRight')
    await poll(() => then('Cut-off')).toBe('520')
    expect(await then('Share approved')).toBe('8.3 %')
    // Between two steps of the slider.
    await exact.fill('455,5')
    await page.keyboard.press('Tab')
    await poll(() => then('Cut-off')).toBe('455.5')
    expect(await then('Approved')).toBe('160')
    // A link shows a colleague the same.
    await page.reload()
    await poll(() => then('Approved')).toBe('160')
    await looksRight('cutoffs')
  })

  // At 480 and 500 the champion approves 120, and the challenger those of them with little debt.
  test('the swap set has four fields, also with a cut-off of the challenger, and migrations', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/challengers`)
    // “106 of 8,660 applicants that the champion declines” made all applicants declined ones.
    await visitor.sees('applicants that both have scored, at equal approvals')
    await page.getByLabel("Champion's cut-off").fill('480')
    await page.getByLabel("Challenger's cut-off by").selectOption('Same cut-off')
    const fields = async () => {
      const rows = await table('Swap set').getByRole('row').allInnerTexts()
      return rows.slice(1).map((row) => Number(row.split('\t')[1]))
    }
    await poll(fields).toEqual([100, 20, 80, 40])
    await page.getByLabel("Challenger's cut-off by").selectOption('A cut-off of its own')
    await page.getByLabel("Challenger's own cut-off").fill('500')
    await poll(fields).toEqual([100, 20, 0, 120])
    const picture = table('Whom both approve, at these cut-offs').locator('strong')
    expect(await picture.allInnerTexts()).toEqual(['100', '20', '0', '120'])
    expect(await fact("Challenger's cut-off")).toBe('500')
    expect(await fact('Scored by both')).toBe('240 applicants')
    expect(await pageFacts()).toMatch(/Swaps: \d+ \w+ – \d+ \w+ \d+/)
    expect(await readCells('Migration of grades', 'A')).toEqual(['0', '20 100.0 %'])
    expect(await readCells('Migration of grades', 'B')).toEqual(['80 36.4 %', '140 63.6 %'])
    await visitor.sees('58.3 % keep their grade')
    const moved = table('Migration of grades').locator('td.swap-in')
    expect(await moved.allInnerTexts()).toEqual(['20 100.0 %', '80 36.4 %'])
    await looksRight('challengers')
  })

  test('two versions are compared bin by bin, with the points that scoring gives', async () => {
    await visitor.go(`deployments/${slug}/versions`)
    await visitor.press('Details of Region')
    expect(await readCells('Bins of Region', 'boat')).toEqual(['−7', '+4', '+11'])
    expect(await readCells('Bins of Region', 'north')).toEqual(['+20', '−20', '−40'])
    expect(await fact('With other points')).toBe('240 100.0 %')
    await looksRight('versions')
  })

  test('a former challenger still has its swap set', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${promoted}/challengers`)
    const choice = page.getByLabel('Challenger', { exact: true })
    await choice.waitFor()
    expect(await choice.locator('option').allInnerTexts()).toEqual(['Loans 2.0 (ended)'])
    await poll(() => fact('Scored by both')).toBe('12 applicants')
  })

  test('counts of bins alone are no missing baseline, and say so', async () => {
    const { slug: counted, modelId } = await team.deploy(CHAMPION)
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts: { features: BIN_COUNTS } })
    await team.scoreBatch(counted, [{ region: 'north', debt: 5 }])
    await statsWith(service, team.owner, counted, 1)
    await visitor.go(`deployments/${counted}/stability?period=all`)
    await visitor.sees('The development sample counts bins only')
    expect(await fact('Development sample')).toBe('1,000')
    expect(await figure('Distribution of the scores').count()).toBe(0)
    expect(await visitor.page.getByText('There is no development sample').count()).toBe(0)
    await looksRight('bin-counts')
  })

  test('changes that could not be read are told, not taken for none', async () => {
    const { page } = visitor
    // After a refusal, unlike without an answer, the page does not ask again by itself.
    const refusal = { status: 500, json: { error: 'internal_error', message: 'no' } }
    await page.route('**/history', (route) => route.fulfill(refusal))
    for (const place of ['stability', 'activity']) {
      await visitor.go(`deployments/${daily}/${place}`)
      await visitor.sees(
        'The changes of this deployment could not be read, so the charts mark none',
      )
      expect(await visitor.violations()).toEqual([])
    }
    await page.unroute('**/history')
    await visitor.press('Read the changes again')
    await page.getByText('could not be read').waitFor({ state: 'detached' })
  })
})
