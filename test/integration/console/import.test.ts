import { describe, expect, test } from 'vitest'
import { fixture, sampleWith } from '../../support/cards/import-fixtures.ts'
import { ConsoleBrowser, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const browser = ConsoleBrowser.forSuite(service)

  test("a tool's card is compared and registered, and the page sums up the comparison", async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const name = 'Loans of a tool'
    const verdict = page.getByRole('region', { name: 'Verdict' })
    const file = (label: string, content: Buffer | string) =>
      page.getByLabel(label, { exact: true }).setInputFiles({
        name: 'scorecardpy.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(content),
      })
    await visitor.go('models/import')
    await file('Card', fixture('scorecardpy.csv'))
    await page.getByLabel('Name', { exact: true }).fill(name)
    await visitor.press('Check the card')
    await verdict.getByText('The card of scorecardpy can’t be imported yet.').waitFor()
    await verdict.getByText('Direction of the odds (scaling.odds_direction)').waitFor()

    await page.getByLabel('Points that double the odds').fill('fifty')
    await visitor.press('Check the card')
    await page.getByText('is not a number: fifty').waitFor()
    await page.getByLabel('Points that double the odds').fill('50,0')
    await visitor.press('Add a grade')
    await page.getByLabel('Grade 1', { exact: true }).fill('A')
    await page.getByLabel('Lowest score of grade 1').fill('560,5')
    await visitor.press('Add a grade')
    await page.getByLabel('Grade 2', { exact: true }).fill('B')
    await page.getByLabel('Score at the odds').fill('600')
    await page.getByLabel('Odds', { exact: true }).fill('1/19')
    await page.getByLabel('Direction of the odds').selectOption('bad:good')
    await page.getByLabel('An unseen category adds').selectOption('missing')
    await visitor.press('Check the card')
    await verdict.getByText('Nothing proves yet that it scores as scorecardpy.').waitFor()

    const sample = sampleWith('scorecardpy-scores.csv')
    const [heading = '', first = '', ...others] = sample.split('\n')
    // From the end, because a text in quotes may hold a comma.
    const place = heading.split(',').indexOf('score') - heading.split(',').length
    const wrong = [heading, first.split(',').with(place, '1').join(','), ...others]
    await file('Sample with scores (optional)', wrong.join('\n'))
    await visitor.press('Check the card')
    await verdict
      .getByText('1 of 1,000 rows of the sample do not score as in scorecardpy.')
      .waitFor()
    await verdict.getByRole('region', { name: 'Rows that differ' }).waitFor()
    expect(await verdict.getByRole('button', { name: 'Register' }).count()).toBe(0)

    await file('Sample with scores (optional)', sample)
    await visitor.press('Check the card')
    await verdict.getByText('All 1,000 rows of the sample score as in scorecardpy.').waitFor()
    await verdict.getByLabel('Description (optional)').fill('of the tool')
    await verdict.getByLabel('Accept that no applicant').check()
    await verdict.getByRole('button', { name: 'Register' }).click()
    await verdict.getByText('is registered.').waitFor()
    await verdict.getByText(/^bins of .+ and .+: have no Missing bin/).waitFor()
    expect(await verdict.innerText()).not.toContain('features[')

    await page.getByRole('link', { name: 'See the model' }).click()
    await visitor.heading(`${name} 1.0.0`)
    await page.getByRole('row', { name: 'A 560.5 no limit' }).waitFor()
    await page.getByRole('row', { name: 'B no limit 560.5' }).waitFor()
    await page.getByText('All 1,000 rows of the sample score as in scorecardpy.').first().waitFor()
    await page.getByText('The certificate').click()
    await page.getByRole('row', { name: 'Rows compared 1,000' }).waitFor()
    const changes = page.getByRole('region', { name: 'Audit records' })
    await changes.getByText('All 1,000 rows of the sample score as in scorecardpy.').waitFor()
    expect(await changes.innerText()).not.toContain('card sha256')
    await visitor.close()
  })
})
