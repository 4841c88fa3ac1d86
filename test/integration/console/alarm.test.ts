import { describe, expect, test } from 'vitest'
import { ConsoleBrowser, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  test('an alarm can be set before there are applicants', async () => {
    const visitor = await browser.signIn()
    const { slug: fresh } = await team.deploy(numberedSpec(1))
    await visitor.go(`deployments/${fresh}/stability`)
    await visitor.sees('No applicants in this period')
    await visitor.page.getByText('Levels', { exact: true }).click()
    await visitor.press('Switch the alarm on')
    await visitor.sees('Saved. The next evaluation uses the levels.')
    await visitor.sees('Not judged yet')
    await visitor.close()
  })

  // Enter pressed the first button of the form, which switched the alarm off, for good.
  test('Enter saves the levels of an alarm, which goes off and on by its buttons, and is not overwritten', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    const { slug: fresh } = await team.deploy(numberedSpec(1))
    const path = `/v1/deployments/${fresh}/stability/alarm`
    const readAlarm = async () => {
      const { is_on, watch } = await team.done('GET', path)
      return [is_on, watch]
    }
    await team.done('PUT', path, { watch: 0.1, act: 0.3 })
    await visitor.go(`deployments/${fresh}/stability`)
    await page.getByText('Levels', { exact: true }).click()
    await page.getByLabel('Moderate from').fill('0.12')
    await page.keyboard.press('Enter')
    await expect.poll(readAlarm).toEqual([true, 0.12])
    await visitor.press('Switch it off')
    await expect.poll(readAlarm).toEqual([false, 0.12])
    await visitor.press('Switch the alarm on')
    await expect.poll(readAlarm).toEqual([true, 0.12])
    await team.done('PUT', path, { watch: 0.2, act: 0.3 })
    await page.getByLabel('Moderate from').fill('0.15')
    await visitor.press('Save the levels')
    await visitor.sees('Somebody else has set the alarm in the meantime: on, moderate from 0.2000')
    expect(await readAlarm()).toEqual([true, 0.2])
    await visitor.press('Save the levels')
    await expect.poll(readAlarm).toEqual([true, 0.15])
    await visitor.close()
  })
})
