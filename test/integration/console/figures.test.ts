import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/platform/clock.ts'
import { card, categorical, numeric } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
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

/** The time of day, so far back as is set. */
class ShiftedClock implements Clock {
  backMs = 0

  epochMs(): number {
    return Date.now() - this.backMs
  }

  monotonicMs(): number {
    return performance.now()
  }
}

/** A page answers in its own time. */
const poll = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 10_000 })

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
    slug = (await scored((number) => number, all)).slug
    await team.done('PUT', `/v1/deployments/${slug}/stability/alarm`, { n_min: 100 })
    await service.services.evaluator.runOnce()
    const second = await scored((number) => number / 20, { features: BIN_COUNTS })
    promoted = second.slug
    await team.promote(promoted, second.challengerId)
    browser = await ConsoleBrowser.start(service)
    visitor = await browser.signIn()
  }, 60_000)
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    await service?.close()
  })

  /** What stands below a name. */
  const tile = async (name: string) => {
    const named = visitor.page.getByRole('term').getByText(name, { exact: true })
    const found = visitor.page.locator('dl.tiles > div').filter({ has: named })
    return (await found.getByRole('definition').innerText()).replace(/\s+/g, ' ')
  }
  const table = (name: string) => visitor.page.getByRole('table', { name, exact: true })
  const cellsOf = async (name: string, row: string) => {
    const named = visitor.page.getByRole('rowheader', { name: row, exact: true })
    const found = table(name).getByRole('row').filter({ has: named })
    return (await found.getByRole('cell').allInnerTexts()).map((text) => text.trim())
  }

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
  // of the 200 whose region the sample knows: 0.3 ln 2.5 + 0.3 ln 1.6 = 0.4159. Over all
  // 240 two thirds are from the south, which was half of the sample: -20 / 6 points.
  test('the health of a deployment is a light with its figures, and two clicks lead to what moved', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}`)
    await visitor.sees('Newest answers')
    expect(await tile('Score')).toBe('major shift PSI 0.5635 n = 240')
    expect(await tile('Most moved feature')).toContain('region major shift PSI 0.4159')
    expect(await tile('Alarm')).toMatch(/major shift last 30 days, n = 240, since/)
    expect(await tile('Missing or in no bin')).toContain('8.33 %; 16.7 % of region')
    await looksRight('deployment')
    await page.getByRole('link', { name: 'Which feature moved?' }).click()
    await page.getByLabel('Period').waitFor()
    expect(await page.getByLabel('Period').inputValue()).toBe('month')
    await table('Features').getByRole('link').first().click()
    await table('Cells of region').waitFor()
    expect(await cellsOf('Cells of region', 'south')).toEqual([
      ...['−20', '50 %', '80 %', '160', '0.141', '−3.33'],
    ])
  })

  test('the scores stand in a chart beside those of the sample, with unit, number and period', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/stability`)
    const chart = page.getByRole('figure', {
      name: 'Score distribution against the development sample',
    })
    await chart.locator('canvas').first().waitFor()
    const basis = 'share of applicants, sample of 1,000 · n = 240 · '
    expect((await chart.innerText()).replace(/\s+/g, ' ')).toContain(basis)
    await chart.getByText('As a table').click()
    expect(await cellsOf('Score by band', 'below 470')).toEqual(['25 %', '50 %', '120', '0.1733'])
    await looksRight('stability')
  })

  test('any feature is charted, and the cells of one interval stand behind its point', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${daily}/stability`)
    await page.getByLabel('By', { exact: true }).selectOption('Day')
    const feature = page.getByLabel('Feature over time')
    await feature.waitFor()
    expect(await feature.locator('option').allInnerTexts()).toHaveLength(3)
    await feature.selectOption('region')
    const chart = page.getByRole('figure', { name: 'PSI by day' })
    expect(await chart.locator('.basis').innerText()).toMatch(/^PSI · n\s=\s153 · .+ – .+ UTC$/)
    await chart.getByText('As a table').click()
    const rows = await table('PSI by day').getByRole('row').allInnerTexts()
    expect(rows[1]).toMatch(/major shift, n\s=\s150/)
    expect(rows[2]).toMatch(/not enough data, n\s=\s3/)
    await visitor.sees('A hollow point has too few applicants for a verdict')
    // The newest day comes first.
    await page.getByLabel('Cells of one day').selectOption({ index: 1 })
    const today = page.getByRole('table', { name: /^Cells of region from / })
    await today.waitFor()
    const south = today.getByRole('row').filter({ hasText: 'south' })
    expect((await south.getByRole('cell').allInnerTexts()).slice(1, 4)).toEqual([
      ...['50 %', '100 %', '3'],
    ])
    await looksRight('stability-over-time')
  })

  // A drift of yesterday is small over a month, and would stand far below.
  test('features are sorted by the whole period, or by its newest interval', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${daily}/stability`)
    await page.getByLabel('By', { exact: true }).selectOption('Day')
    const sort = page.getByLabel('Sort features by')
    await sort.waitFor()
    const features = () => table('Features').getByRole('rowheader').allInnerTexts()
    expect(await features()).toEqual(['debt', 'region'])
    await sort.selectOption({ label: 'Newest day' })
    expect(await features()).toEqual(['region', 'debt'])
  })

  test('an alarm can be set before there are applicants', async () => {
    const { slug: fresh } = await team.deploy(CHAMPION)
    await visitor.go(`deployments/${fresh}/stability`)
    await visitor.sees('No applicants in this period')
    await visitor.page.getByText('Levels', { exact: true }).click()
    await visitor.press('Switch the alarm on')
    await visitor.sees('not evaluated yet')
  })

  test('a report without room is asked again', async () => {
    const { page } = visitor
    // The address must change for the page to load.
    await visitor.go('keys')
    let refused = 0
    const refuse = { status: 503, headers: { 'retry-after': '1' }, json: { error: 'unavailable' } }
    await page.route('**/cutoffs?*', (route) =>
      refused++ === 0 ? route.fulfill(refuse) : route.continue(),
    )
    await visitor.go(`deployments/${slug}/cutoffs`)
    await poll(() => tile('Approved')).toMatch(/\d/)
    expect(refused).toBeGreaterThan(1)
    await page.unroute('**/cutoffs?*')
  })

  test('every chart of a page says its unit, its number of applicants and its period', async () => {
    await visitor.go(`deployments/${slug}`)
    const charts = visitor.page.locator('figure.chart')
    await visitor.sees('Challengers compared with the champion')
    const lines = await charts.evaluateAll((found) =>
      (found as unknown as { querySelector(name: string): { textContent: string } | null }[]).map(
        (chart) => chart.querySelector('.basis')?.textContent.replace(/\s+/g, ' ') ?? 'nothing',
      ),
    )
    expect(lines.length).toBeGreaterThan(2)
    expect(lines.filter((line) => !/^[a-z ]+ · n = 240 · .+ – .+$/.test(line))).toEqual([])
  })

  // From 500 on the champion approves 100 of 240, from 520 on 20.
  test('the cut-off follows the slider, with its approval rate', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/cutoffs`)
    const slider = page.getByRole('slider', { name: 'Cut-off' })
    await slider.press('Home')
    for (let n = 0; n < 20 && (await slider.getAttribute('aria-valuetext')) !== '500'; n++) {
      await slider.press('ArrowRight')
    }
    await poll(() => tile('Approval rate')).toContain('41.7 %')
    expect(await tile('Approved')).toContain('100')
    await slider.press('ArrowRight')
    await poll(() => tile('Cut-off')).toContain('520')
    expect(await tile('Approval rate')).toContain('8.33 %')
    // Between two steps of the slider.
    await page.getByLabel('Exact cut-off').fill('455.5')
    await page.keyboard.press('Tab')
    await poll(() => tile('Cut-off')).toContain('455.5')
    expect(await tile('Approved')).toContain('160')
    await looksRight('cutoffs')
  })

  // At 480 and 500 the champion approves 120, and the challenger those of them with little debt.
  test('the swap set has four fields, also with a cut-off of the challenger, and a heat map', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/swap-set`)
    await page.getByLabel("Champion's cut-off").fill('480')
    await page.keyboard.press('Tab')
    const fields = async () => {
      const rows = await table('Swap set').getByRole('row').allInnerTexts()
      return rows.slice(1).map((row) => Number(row.split('\t')[1]))
    }
    await poll(fields).toEqual([100, 20, 80, 40])
    await page.getByLabel("Challenger's cut-off by").selectOption('A cut-off of its own')
    await page.getByLabel("Challenger's own cut-off").fill('500')
    await page.keyboard.press('Tab')
    await poll(fields).toEqual([100, 20, 0, 120])
    expect(await tile("Challenger's cut-off")).toContain('500')
    const bases = page.getByText(/^applicants scored by both · n\s=\s240 · .+ – .+$/)
    expect(await bases.count()).toBe(2)
    expect(await cellsOf('Migration of grades', 'A')).toEqual(['0', '20 (100 %)'])
    expect(await cellsOf('Migration of grades', 'B')).toEqual(['80 (36.4 %)', '140 (63.6 %)'])
    expect(await page.getByText('58.3 % keep their grade').count()).toBe(1)
    const shades = await table('Migration of grades')
      .locator('td.moved')
      .evaluateAll((cells) => cells.map((cell) => String(cell.getAttribute('style'))))
    expect(shades).toEqual(['--shade: 50%;', '--shade: 25%;'])
    await looksRight('swap-set')
  })

  test('two versions are compared bin by bin, with the points that scoring gives', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}/versions`)
    await page.getByText('region: 3 of 4 ranges changed').click()
    expect(await cellsOf('Bins of region', 'boat')).toEqual(['−7', '+4', '+11'])
    expect(await cellsOf('Bins of region', 'north')).toEqual(['+20', '−20', '−40'])
    expect(await tile('With other points')).toContain('100 % (240)')
    await looksRight('versions')
  })

  test('a former challenger still has its swap set', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${promoted}/swap-set`)
    const choice = page.getByLabel('Challenger', { exact: true })
    await choice.waitFor()
    expect(await choice.locator('option').allInnerTexts()).toEqual(['Loans 2.0 (ended)'])
    expect(await tile('Applicants scored by both')).toContain('12')
  })

  test('counts of bins alone are no missing baseline, and say so', async () => {
    const { slug: counted, modelId } = await team.deploy(CHAMPION)
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts: { features: BIN_COUNTS } })
    await team.scoreBatch(counted, [{ region: 'north', debt: 5 }])
    await statsWith(service, team.owner, counted, 1)
    await visitor.go(`deployments/${counted}`)
    expect(await tile('Score')).toBe('bin counts only: no distribution of scores n = 1')
    await visitor.go(`deployments/${counted}/stability`)
    await visitor.sees('There is no chart of the scores against the development sample')
    expect(await visitor.page.getByText('no baseline').count()).toBe(0)
    await looksRight('bin-counts')
  })

  test('changes that could not be read are told, not taken for none', async () => {
    const { page } = visitor
    await page.route('**/history?*', (route) => route.abort())
    await visitor.go(`deployments/${slug}`)
    await page.reload()
    await poll(() => tile('Last change')).toContain('could not be read')
    await visitor.sees('The changes of this deployment could not be read, so the charts mark none')
    expect(await visitor.violations()).toEqual([])
    await page.unroute('**/history?*')
    await visitor.press('Read the changes again')
    await poll(() => tile('Last change')).not.toContain('could not be read')
    await page.reload()
  })
})
