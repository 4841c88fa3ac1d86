import { describe, expect, test } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import { card, numeric } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends

/** Two features; a version scores as many points more as its shift. */
const scorecard = (name: string, version: string, shift = 0) =>
  card(
    [
      numeric('income', [
        ['(-Infinity, 1000]', -20],
        ['(1000, 2000]', 35 + shift],
        ['(2000, Infinity)', 60 + shift],
      ]),
      {
        name: 'housing',
        type: 'categorical',
        bins: [
          { value: 'rent%,%for free', points: -10 },
          { value: 'own', points: 15.5 },
          { value: 'Missing', points: 0 },
        ],
      },
    ],
    {
      name,
      version,
      base_points: 550,
      risk_grades: [
        { grade: 'A', min_score: 600, max_score: null },
        { grade: 'B', min_score: null, max_score: 599.99 },
      ],
    },
  )

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  const browser = ConsoleBrowser.forSuite(service)

  const uniqueName = () => `Loans ${newId('mod_', 0).slice(-6)}`

  /** A deployment with a model that could challenge its champion. */
  async function contest() {
    const name = uniqueName()
    const { slug, modelId } = await team.deploy(scorecard(name, '1.0'))
    return { name, slug, modelId, nextModelId: await team.register(scorecard(name, '2.0', 30)) }
  }

  /** The rows of the open dialog's table: what will change, now, then. */
  const planned = async ({ page }: ConsolePage) => {
    const rows = page.getByRole('dialog').getByRole('row')
    return (await rows.allInnerTexts()).slice(1).map((row) => row.split(/\s*\t\s*/))
  }
  const auditShown = ({ page }: ConsolePage) =>
    page.getByRole('dialog').getByText('Record in the audit log').waitFor()
  const isReady = async ({ page }: ConsolePage, name: string) =>
    (await page
      .getByRole('dialog')
      .getByRole('button', { name, exact: true })
      .getAttribute('aria-disabled')) !== 'true'
  const newestRecord = async (slug: string) =>
    (await team.done('GET', `/v1/audit-log?subject=${slug}&limit=1`)).records[0]

  test('a session goes on in the browser until it is signed out', async () => {
    const visitor = await browser.open()
    const { page } = visitor
    await page.getByLabel('Email').fill('owner@lender.example')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await visitor.press('Sign in')
    await visitor.sees('Email or password is wrong.')
    await visitor.signIn({ email: 'owner@lender.example', password: 'a long enough password' })
    await visitor.heading('Overview')

    // What scripts could read holds no token; what they can't read is the refresh token.
    const readable = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'
    expect(await page.evaluate(readable)).toBe('[{},{},""]')
    expect(await visitor.context.cookies()).toMatchObject([
      { name: 'scoreline_session', httpOnly: true, sameSite: 'Strict', path: '/console' },
    ])
    await page.reload()
    await visitor.heading('Overview')

    // Another tab ends with it.
    const tab = await visitor.context.newPage()
    await tab.goto(`${browser.url}/console/keys`)
    await tab.getByRole('heading', { name: 'API keys' }).waitFor()
    await visitor.press('Sign out')
    await visitor.heading('Sign in')
    await tab.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.reload()
    await visitor.heading('Sign in')
    expect(await visitor.context.cookies()).toEqual([])
    await visitor.close()
  })

  test('a faulty scorecard is shown with its lines; corrected, it is deployed', async () => {
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go('models/new')
    const name = uniqueName()
    const text = JSON.stringify(scorecard(name, '1.0'), null, 2)
    const choose = (content: string) =>
      page.getByLabel('Scorecard').setInputFiles({
        name: 'card.json',
        mimeType: 'application/json',
        buffer: Buffer.from(content),
      })
    const lines = text
      .replace('"(1000, 2000]"', '"(1000, 200]"')
      .replace('15.5', '"15.5"')
      .split('\n')
    await choose(lines.join('\n'))
    await visitor.press('Upload')
    await visitor.sees('2 faults; nothing was registered.')
    const shown = await page.locator('.faults li > p').allInnerTexts()
    const lineWith = (part: string) => lines.findIndex((line) => line.includes(part)) + 1
    expect(shown).toMatchObject([
      expect.stringContaining(`Line ${lineWith('(1000, 200]')} features[0].bins[1].range`),
      expect.stringContaining(`Line ${lineWith('"15.5"')} features[1].bins[1].points`),
    ])
    expect(await page.locator('.marked').allInnerTexts()).toMatchObject([
      expect.stringContaining('(1000, 200]'),
      expect.stringContaining('"15.5"'),
    ])

    await choose(text.replace('"bins"', 'bins'))
    await visitor.sees('b stands where a name in double quotes should be')
    await choose(text)
    await page.getByLabel('Environment').selectOption('production')
    // Nobody makes a champion by the way.
    await page.getByLabel('Deploy it as the champion').check()
    await visitor.press('Upload')
    await visitor.sees('is registered and answers.')
    await page.getByRole('link', { name: 'See the model' }).click()
    await visitor.heading(`${name} 1.0`)
    await page.getByRole('row', { name: 'own +15.5' }).waitFor()
    await visitor.go('')
    await page.getByRole('link', { name, exact: true }).click()
    await visitor.heading('Summary')
    await page.locator('.page-subject').getByText(name, { exact: true }).waitFor()
    await visitor.close()
  })

  test('an applicant is tried without a key, each feature with its points; nothing counts', async () => {
    const { slug, name } = await contest()
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`deployments/${slug}/try`)
    await page.getByLabel('Income').fill('1,500')
    await visitor.press('Score')
    await visitor.sees('Not a number.')
    await page.getByLabel('Income').fill('1500,5')
    await page.getByLabel('Housing', { exact: true }).selectOption('Another value …')
    await page.getByLabel('Another value of Housing').fill('Own')
    await visitor.sees('Did you mean “own”?')
    await visitor.press('Score')
    await visitor.sees('Housing: “Own” is in no bin')
    await page.getByLabel('Housing', { exact: true }).selectOption('own')
    await visitor.press('Score')
    const made = page.getByRole('region', { name: 'What made the score' })
    await made.getByText('600.5').waitFor()
    const rows = (await made.getByRole('row').allInnerTexts()).map((row) => row.split(/\s+/))
    expect(rows).toEqual([
      ['Feature', 'Value', 'Points'],
      ['Base', 'points', '550'],
      ['Income', '1500,5', '+35'],
      ['Housing', 'own', '+15.5'],
      ['Score', '600.5'],
    ])
    await visitor.sees(`${name} 1.0`)
    // What is typed afterwards is not what was scored.
    await page.getByLabel('Income').fill('')
    await visitor.sees('This was the score before the last change of the form.')
    await made.getByText('1500,5').waitFor()
    await page.getByLabel('Income').fill('3.200')
    await visitor.sees('Read as 3.2; 3200 is without the point.')
    await page.getByLabel('Income').fill('1,500')
    await visitor.press('Score')
    await made.waitFor({ state: 'detached' })
    await page.getByLabel('Income').fill('')
    await visitor.press('Score')
    await visitor.sees('1 of 2 values are missing: Income.')
    // Nothing that is tried may move a figure of the risk team.
    const stats = await team.done('GET', `/v1/deployments/${slug}/stats`)
    expect(stats.summary.total_requests).toBe(0)
    await visitor.close()
  })

  // What happens to applicants must be what the page said would happen.
  test('challengers are added, resized, shadowed, promoted and rolled back as announced', async () => {
    const { slug, name, modelId, nextModelId } = await contest()
    const visitor = await browser.signIn()
    const { page } = visitor
    const dialog = page.getByRole('dialog')
    await visitor.go(`deployments/${slug}`)

    await visitor.press('Add a challenger')
    await dialog.getByLabel('Model', { exact: true }).selectOption(nextModelId)
    await dialog.getByLabel('Share in percent').fill('51')
    await dialog.getByText('A share is a number from 1 to 50.').waitFor()
    await dialog.getByLabel('Share in percent').fill('20')
    await expect
      .poll(() => planned(visitor))
      .toEqual([
        ['Champion answers', '100 %', '80 %'],
        [`Challenger ${name} 2.0`, 'none', 'answers 20 %'],
      ])
    expect((await team.deployment(slug)).challengers).toEqual([])
    await visitor.press('Add the challenger')
    await auditShown(visitor)
    await dialog.getByText((await newestRecord(slug)).id).waitFor()
    await dialog.getByText(`${name} 2.0 20 %`).waitFor()
    await page.keyboard.press('Escape')
    const [challenger = expect.fail('it was added')] = (await team.deployment(slug)).challengers
    expect(challenger).toMatchObject({ model_id: nextModelId, traffic_pct: 20 })

    await visitor.press(`Change share: ${name} 2.0`)
    await dialog.getByLabel('Share in percent').fill('35')
    await expect
      .poll(() => planned(visitor))
      .toEqual([
        ['Champion answers', '80 %', '65 %'],
        [`Challenger ${name} 2.0`, 'answers 20 %', 'answers 35 %'],
      ])
    // Somebody is faster: what was announced would not be what happens.
    await team.shadow(slug, true)
    await visitor.press('Change the share')
    await dialog.getByText('Somebody else changed the deployment in the meantime.').waitFor()
    await expect
      .poll(() => planned(visitor))
      .toEqual([
        [
          `Challenger ${name} 2.0`,
          'scores silently (20 % when live)',
          'scores silently (35 % when live)',
        ],
      ])
    await visitor.press('Change the share')
    await auditShown(visitor)
    await page.keyboard.press('Escape')
    expect((await team.deployment(slug)).challengers).toMatchObject([{ traffic_pct: 35 }])

    await visitor.press('Switch to a live split')
    await visitor.press('Let challengers answer')
    await auditShown(visitor)
    await page.keyboard.press('Escape')
    expect((await team.deployment(slug)).shadow_mode).toBe(false)

    await visitor.press(`Promote: ${name} 2.0`)
    await expect
      .poll(() => planned(visitor))
      .toEqual([
        ['Champion', `${name} 1.0`, `${name} 2.0`],
        ['Champion answers', '65 %', '100 %'],
        [`Challenger ${name} 2.0`, 'answers 35 %', 'none'],
        ['A rollback would lead to', 'none', `${name} 1.0`],
      ])
    await visitor.press('Make it the champion')
    await auditShown(visitor)
    await page.keyboard.press('Escape')
    expect((await team.deployment(slug)).champion_model.id).toBe(nextModelId)

    await visitor.press(`Roll back to 1.0: ${name} 2.0`)
    expect(await isReady(visitor, 'Roll back')).toBe(false)
    await dialog.getByText('A reason is required.').waitFor()
    await dialog.getByLabel('Reason').fill('more defaults than expected')
    await expect
      .poll(() => planned(visitor))
      .toContainEqual(['Champion', `${name} 2.0`, `${name} 1.0`])
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click()
    await auditShown(visitor)
    await dialog.getByText('more defaults than expected').waitFor()
    await visitor.press('Done')
    expect((await team.deployment(slug)).champion_model.id).toBe(modelId)
    expect(await newestRecord(slug)).toMatchObject({
      action: 'deployment.rollback',
      reason: 'more defaults than expected',
    })
    await visitor.close()
  })

  test('a challenger stands beside the champion: its differences, its grades', async () => {
    const { slug, nextModelId } = await contest()
    await team.shadow(slug, true)
    await team.add(slug, nextModelId, 10)
    for (const income of [500, 1500, 1500, 2500]) await team.ask(slug, { income })
    await statsWith(service, team.key, slug, 4)
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`deployments/${slug}/challengers`)
    const grades = page.getByRole('region', { name: 'Migration of grades' })
    await grades.waitFor()
    const rows = async () =>
      (await grades.getByRole('row').allInnerTexts()).map((row) => row.trim().split(/\s*\t\s*/))
    await expect.poll(rows).toEqual([
      ['A', 'B'],
      ['A', '1 100.0 %', '0'],
      ['B', '2 66.7 %', '1 33.3 %'],
    ])
    await visitor.go(`deployments/${slug}/activity`)
    await visitor.sees('+22.5 on average')
    const recent = page.getByRole('region', { name: 'Newest answers' })
    await expect.poll(() => recent.getByRole('row').count()).toBe(5)
    await visitor.close()
  })

  test('a deployment is made strict and lenient as announced', async () => {
    const { slug } = await contest()
    const visitor = await browser.signIn()
    const { page } = visitor
    const dialog = page.getByRole('dialog')
    await visitor.go(`deployments/${slug}`)
    for (const [press, isStrict] of [
      ['Make it strict', true],
      ['Make it lenient', false],
    ] as const) {
      await visitor.press(press)
      await dialog.getByRole('row', { name: 'Missing or unknown features' }).waitFor()
      await dialog.getByRole('button', { name: press }).click()
      await dialog.getByText('Done. The change is active.').waitFor()
      expect((await team.deployment(slug)).strict_mode).toBe(isStrict)
      await dialog.getByRole('button', { name: 'Done' }).click()
    }
    await visitor.close()
  })

  test('a key is shown once, works, and ends when it is revoked', async () => {
    const { slug } = await contest()
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await visitor.go('keys')
    await visitor.press('Create a key')
    const name = `server ${newId('key_', 0)}`
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Quota, requests in any minute').fill('77')
    await visitor.press('Create')
    await visitor.heading('Copy the key now')
    const secret = await page.locator('.secret').innerText()
    await visitor.press('Copy the key')
    await visitor.sees('Copied')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret)
    const score = () => service.call({ url: `/v1/score/${slug}`, token: secret, body: {} })
    const answer = await score()
    expect([answer.statusCode, answer.headers['x-ratelimit-limit']]).toEqual([200, '77'])

    await visitor.press('I have stored it')
    await page
      .getByRole('row', { name: new RegExp(name) })
      .getByText('77')
      .waitFor()
    expect(await page.content()).not.toContain(secret)
    await visitor.press(`Revoke ${name}`)
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('row', { name: new RegExp(name) }).waitFor({ state: 'detached' })
    expect((await score()).statusCode).toBe(401)
    await visitor.close()
  })

  test('a model is archived and restored', async () => {
    const { nextModelId } = await contest()
    const visitor = await browser.signIn()
    const { page } = visitor
    await visitor.go(`models/${nextModelId}`)
    await visitor.press('Archive')
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('button', { name: 'Restore' }).waitFor()
    expect(await team.findStatus(nextModelId)).toBe('archived')
    await visitor.press('Restore')
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('button', { name: 'Archive' }).waitFor()
    expect(await team.findStatus(nextModelId)).toBe('active')
    await visitor.close()
  })
})
