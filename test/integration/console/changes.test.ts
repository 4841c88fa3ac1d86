import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { statsWith } from '../../support/expect/stats.ts'
import { WebhookReceiver } from '../../support/servers/webhook-receiver.ts'
import { ConsoleBrowser, type ConsolePage, chromiumPath } from '../../support/start/browser.ts'
import { guard, memberToken } from '../../support/start/changes.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const [backend = expect.fail('there is a database')] = backends
/** Where pictures of the pages go, for a person to look at. */
const PICTURES = process.env['SCORELINE_TEST_PICTURES']

describe.skipIf(chromiumPath() === null)('in a browser', () => {
  let service: TestService
  let team: Team
  let browser: ConsoleBrowser
  let visitor: ConsolePage
  let receiver: WebhookReceiver
  let admin: string

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
    const env = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', WEBHOOK_RETRY_SECONDS: '1' }
    service = await TestService.start(backend, { env })
    team = await Team.of(service)
    admin = await memberToken(service, team.owner)
    browser = await ConsoleBrowser.start(service)
    visitor = await browser.signIn()
  })
  afterAll(async () => {
    await visitor?.close()
    await browser?.close()
    await service?.close()
    await receiver?.stop()
  })

  /** Nothing on the page breaks a rule of access, light or dark, or is wider than the window. */
  async function look(name: string): Promise<void> {
    const { page } = visitor
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await visitor.violations(), `${name}, ${colorScheme}`).toEqual([])
      for (const width of [320, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        expect(await visitor.overflowPx(), `${name} at ${width}`).toBeLessThanOrEqual(0)
        if (PICTURES === undefined) continue
        mkdirSync(PICTURES, { recursive: true })
        const path = join(PICTURES, `${name}-${colorScheme}-${width}.png`)
        await page.screenshot({ path, fullPage: true })
      }
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }

  async function guarded() {
    const { slug } = await team.deploy(numberedSpec(1))
    const entry = await team.challenge(slug, numberedSpec(2), 20)
    for (const income of [1, -1, 1]) await team.score(slug, { income })
    await statsWith(service, team.key, slug, 3)
    await guard(service, team.owner, slug)
    return { slug, entry }
  }

  // Who approves must see what changes, for whom, before the button.
  test('a change that waits is shown with its effects, and approved', async () => {
    const { slug, entry } = await guarded()
    const body = { challenger_id: entry.id, reason: 'a better card' }
    const url = `/v1/deployments/${slug}/promote`
    await service.call({ url, token: admin, body })
    await visitor.go('webhooks')
    await visitor.heading('Webhooks')
    await visitor.go('')
    await visitor.sees('1 waits for approval')
    await visitor.go(`deployments/${slug}`)
    await visitor.sees('Waiting for approval')
    await look('waiting')
    await visitor.press('Look at it: Promote')
    await visitor.sees('Points that differ, bin by bin')
    await visitor.sees('Of 3 applicants of the last 30 days, 3 would have another score.')
    await look('decision')
    await visitor.page.getByLabel('Comment').fill('as the committee decided')
    await visitor.press('Approve')
    await visitor.page.getByRole('dialog').waitFor({ state: 'detached' })
    const now = await team.deployment(slug)
    expect(now.champion_model.id).toBe(entry.modelId)
    const { change_requests: decided } = await team.done(
      'GET',
      `/v1/change-requests?deployment=${slug}`,
    )
    expect(decided).toMatchObject([{ state: 'approved', comment: 'as the committee decided' }])
  })

  // Behind the dialog nothing says where the change will be.
  test('a change names product and environment, and says when no answer comes', async () => {
    const { page } = visitor
    const { slug } = await team.deploy(numberedSpec(1))
    await visitor.go(`deployments/${slug}`)
    await visitor.press('Set the cut-off')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Ladder', { exact: true }).waitFor()
    await dialog.getByText('production', { exact: true }).waitFor()
    const held = Promise.withResolvers<void>()
    await page.route(`**/v1/deployments/${slug}`, async (route) => {
      if (route.request().method() === 'PATCH') await held.promise
      await route.continue()
    })
    const field = dialog.getByLabel('Cut-off')
    await field.fill('460')
    await dialog.getByRole('button', { name: 'Set the cut-off' }).click()
    await visitor.sees('No answer yet.')
    expect(await field.inputValue()).toBe('460')
    held.resolve()
    await visitor.sees('Done. The change is active.')
    await visitor.press('Done')
    await page.unroute(`**/v1/deployments/${slug}`)
    expect((await team.deployment(slug)).cutoff).toBe(460)
  })

  test('an own change waits, and can’t be decided on by its maker', async () => {
    const { slug } = await guarded()
    await visitor.go(`deployments/${slug}`)
    await visitor.press('Switch off')
    await visitor.press('Switch it off')
    await visitor.sees('Nothing has changed yet')
    await visitor.press('Done')
    await visitor.press('Look at it: Update')
    await visitor.sees('You asked for this change')
    expect(await visitor.page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await visitor.page.keyboard.press('Escape')
    expect((await team.deployment(slug)).is_active).toBe(true)
  })

  // A page that shows the new version beside the old history contradicts itself.
  test('a page that is open follows what is decided elsewhere', async () => {
    const { slug, entry } = await guarded()
    const body = { challenger_id: entry.id, reason: 'a better card' }
    const asked = await service.call({
      url: `/v1/deployments/${slug}/promote`,
      token: admin,
      body,
    })
    await visitor.go(`deployments/${slug}/changes`)
    await visitor.sees('Waiting for approval')
    // As from another tab.
    await team.done('POST', `/v1/change-requests/${asked.json().id}/approve`, {})
    const made = visitor.page.getByRole('region', { name: 'Changes of the deployment' })
    await made.getByText('2.0 promoted').waitFor({ timeout: 60_000 })
    await visitor.sees('approved a change')
    expect(await visitor.page.getByText('Waiting for approval').count()).toBe(0)
  })

  test('a webhook is created, tested, seen to fail and mended', async () => {
    const { page } = visitor
    await visitor.go('webhooks')
    await visitor.sees('There are no webhooks yet')
    await look('webhooks-empty')
    await visitor.press('Create a webhook')
    await page.getByLabel('Address').fill(`${receiver.url}/status/503`)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await visitor.sees('whsec_')
    await visitor.press('I have stored it')
    await page.getByRole('link', { name: `${receiver.url}/status/503` }).click()
    // Events of the other tests may come meanwhile.
    await visitor.press('Send a test event')
    await visitor.sees('webhook.test')
    const { webhooks } = await team.done('GET', '/v1/webhooks')
    const path = `/v1/webhooks/${webhooks[0].id}`
    const state = async () => {
      const { deliveries } = await team.done('GET', `${path}/deliveries`)
      return deliveries.find(({ type }: { type: string }) => type === 'webhook.test')?.state
    }
    await expect.poll(state).toBe('dead')
    await visitor.go('webhooks')
    await visitor.sees('fails')
    await look('webhooks')
    await page.getByRole('link', { name: `${receiver.url}/status/503` }).click()
    await visitor.sees('status 503')
    await look('webhook')
    await team.done('PATCH', path, { url: `${receiver.url}/ok` })
    await visitor.press('Send all dead events again')
    await expect.poll(state).toBe('delivered')
  })
})
