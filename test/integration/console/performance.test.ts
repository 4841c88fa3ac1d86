import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
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
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)
  let visitor: ConsolePage
  let slug: string
  let file: string

  beforeAll(async () => {
    const champion = sampleSpec()
    slug = (await team.deploy(champion)).slug
    const successor = { ...champion, version: '1.1.0', base_points: 470 }
    await team.challenge(slug, successor, 20)
    await team.shadow(slug, true)
    for (const months of ['06', '12']) {
      await team.done('PUT', `/v1/outcome-definitions/gb${months}`, {
        label: `Bad within ${Number(months)} months`,
        window_months: Number(months),
        bad_rule_text: '90 days past due',
        maturity_months: Number(months),
      })
    }
    const lines = ['request_id,kind,definition,outcome,as_of,booked_at,event_date']
    const applicants = sampleApplicants().slice(0, 60)
    for (const [index, { applicant }] of applicants.entries()) {
      const { request_id, pd } = await team.score(slug, applicant)
      const isBad = index % 4 === 0 || pd > 0.5
      if (index % 5 > 0) {
        const booked = index % 2 === 0 ? '2025-03-05,' : '2025-04-05,'
        const became = isBad ? '2025-09-14' : ''
        const outcome = isBad ? 'bad' : 'good'
        lines.push(`${request_id},performance,gb12,${outcome},2026-06-30,${booked}${became}`)
      }
    }
    lines.push('nothing,performance,gb12,great,2026-06-30,,')
    file = lines.join('\n')
    await statsWith(service, team.owner, slug, applicants.length)
    visitor = await browser.signIn()
  })
  afterAll(() => visitor?.close())

  test('outcomes are uploaded, and the page says how good the card is and where it is wrong', async () => {
    const { page } = visitor
    await visitor.go(`deployments/${slug}`)
    await page.getByRole('link', { name: 'Performance', exact: true }).click()
    await visitor.heading('Performance')
    await visitor.sees('No good or bad outcome yet')
    await page.getByRole('link', { name: 'Outcomes and definitions' }).click()
    await page.getByLabel('Outcomes', { exact: true }).setInputFiles({
      name: 'outcomes.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(file),
    })
    await visitor.press('Upload')
    await visitor.sees('48 accepted')
    await visitor.sees('Line 50: outcome must be good or bad or indeterminate or excluded')
    await visitor.go(`deployments/${slug}/performance?definition=gb12`)
    for (const text of [
      ...['Is the card still good?', 'Does it tell good from bad?', 'of 60 scored'],
      ...['How much is known?', 'Where is it wrong?', 'What would a cut-off have approved?'],
      ...['1.1.0 better?', 'Do newer accounts go bad sooner?'],
    ]) {
      await visitor.sees(text)
    }
    const vintages = page.getByRole('table', { name: 'Vintages' })
    await expect.poll(() => vintages.getByRole('row').count()).toBe(3)
    const answers = page.getByRole('table', { name: 'Answers' })
    await expect.poll(() => answers.getByRole('row').count()).toBe(5)
    await page.getByLabel('AUC at development (optional)').fill('0.99')
    await visitor.sees('after 0.990 at development')
    // Nobody types it on every visit.
    await visitor.press('Keep it with the model')
    const typed = page.getByLabel('AUC at development (optional)')
    await expect.poll(() => typed.inputValue()).toBe('')
    await page.reload()
    await visitor.sees('after 0.990 at development')
    expect(await typed.getAttribute('placeholder')).toBe('0.990')
    expect(await visitor.violations()).toEqual([])
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
    if (PICTURES !== undefined) {
      mkdirSync(PICTURES, { recursive: true })
      await page.screenshot({ path: join(PICTURES, 'performance.png'), fullPage: true })
    }
    await page.setViewportSize({ width: 320, height: 800 })
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
    if (PICTURES !== undefined) {
      await page.screenshot({ path: join(PICTURES, 'performance-narrow.png'), fullPage: true })
    }
  })

  test('a definition that somebody else has made or changed is not overwritten', async () => {
    const { page } = visitor
    const path = '/v1/outcome-definitions/late'
    const definition = { window_months: 3, bad_rule_text: '30 days', maturity_months: 3 }
    const readLabel = async () => {
      const { outcome_definitions: all } = await team.done('GET', '/v1/outcome-definitions')
      return all.find(({ id }: { id: string }) => id === 'late')?.label
    }
    await visitor.go('outcomes')
    await visitor.press('Define an outcome')
    await page.getByLabel('Short name').fill('late')
    await page.getByRole('textbox', { name: /^Name/ }).fill('Mine')
    await page.getByLabel('When an account is bad').fill('60 days')
    await team.done('PUT', path, { label: 'Theirs', ...definition })
    await visitor.press('Save')
    await visitor.sees('Another definition has this short name.')
    await visitor.press('Cancel')
    await visitor.go('outcomes')
    await visitor.press('Change Theirs')
    await page.getByRole('textbox', { name: /^Name/ }).fill('Mine')
    await team.done('PUT', path, { label: 'Theirs again', ...definition })
    await visitor.press('Save')
    await visitor.sees('Somebody else has changed the definition in the meantime')
    expect(await readLabel()).toBe('Theirs again')
    await visitor.press('Save')
    await expect.poll(readLabel).toBe('Mine')
  })

  test('the studio counts bads by the definition that is chosen, and a link shows the same', async () => {
    const team = await Team.of(service)
    const { slug } = await team.deploy({ ...sampleSpec(), version: '2.0.0' })
    const applicants = sampleApplicants().slice(0, 12)
    const outcomes = await Promise.all(
      applicants.map(async ({ applicant }, index) => ({
        request_id: (await team.score(slug, applicant)).request_id,
        kind: 'performance',
        definition: 'gb12',
        outcome: index % 3 === 0 ? 'bad' : 'good',
        as_of: '2026-06-30',
        booked_at: '2025-03-05',
      })),
    )
    await statsWith(service, team.owner, slug, applicants.length)
    await team.done('POST', '/v1/outcomes', { outcomes })
    const { page } = visitor
    await page.setViewportSize({ width: 1280, height: 900 })
    await visitor.go(`deployments/${slug}/cutoffs?definition=gb12`)
    await visitor.sees('Of 12 applicants with an outcome')
    await page.getByLabel('Definition of bad').selectOption('Bad within 6 months')
    await visitor.sees('No outcomes are known, so bads are expected ones')
    await page.reload()
    await visitor.sees('No outcomes are known, so bads are expected ones')
    expect(new URL(page.url()).searchParams.get('definition')).toBe('gb06')
    expect(await visitor.violations()).toEqual([])
    expect(await visitor.overflowPx()).toBeLessThanOrEqual(0)
  })
})
